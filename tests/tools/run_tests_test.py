"""tools/run_tests counts what a suite did, and a suite that dies or runs nothing is a failure."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap  # noqa: E402


def run(script):
    """The last line and status of run_tests on a shell script as suite."""
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools/run_tests"), "--command", "suite", "sh", "-c", script],
                          stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()[-1], done.returncode, done.stdout


GTEST_HEAD = r"printf '[==========] Running 3 tests from 1 test suite.\n[ RUN      ] A.one\n[       OK ] A.one (0 ms)\n'; "


class RunTests(unittest.TestCase):
    def test_plain_program(self):
        self.assertEqual(run("exit 0")[:2], ("1 passed, 0 failed, 0 skipped", 0))
        self.assertEqual(run("exit 3")[:2], ("0 passed, 1 failed, 0 skipped", 1))

    def test_skip_alone_is_a_failure_and_keeps_its_reason(self):
        last, status, output = run("echo no GPU here; exit 77")
        self.assertEqual((last, status), ("0 passed, 0 failed, 1 skipped", 1))
        self.assertIn("no GPU here", output)

    def test_tap(self):
        script = r"printf '1..3\nok 1 - a\nok 2 - b # SKIP none\nnot ok 3 - c\n'; exit 1"
        self.assertEqual(run(script)[:2], ("1 passed, 1 failed, 1 skipped", 1))

    def test_tap_that_ends_early(self):
        self.assertEqual(run(r"printf '1..3\nok 1 - a\n'")[:2], ("1 passed, 1 failed, 0 skipped", 1))

    def test_tap_that_passes_but_exits_badly(self):
        self.assertEqual(run(r"printf '1..1\nok 1 - a\n'; exit 1")[:2], ("1 passed, 1 failed, 0 skipped", 1))

    def test_gtest(self):
        script = GTEST_HEAD + (r"printf '[ RUN      ] A.two\nx_test.cpp:3: Skipped\nno AVX\n[  SKIPPED ] A.two (0 ms)\n"
                               r"[ RUN      ] A.three\nwrong\n[  FAILED  ] A.three (0 ms)\n'; exit 1")
        last, status, output = run(script)
        self.assertEqual((last, status), ("1 passed, 1 failed, 1 skipped", 1))
        self.assertIn("no AVX", output)
        self.assertIn("wrong", output)

    def test_gtest_that_crashes(self):
        last, status, output = run(GTEST_HEAD + r"printf '[ RUN      ] A.two\n'; kill -SEGV $$")  # the same at each start
        self.assertEqual((last, status), ("1 passed, 2 failed, 0 skipped", 1))
        self.assertIn("A.two", output)

    def test_one_death_does_not_take_the_others_along(self):
        again = r"""[ "$0" = --gtest_filter=-A.one:A.two ] && {
          printf '[==========] Running 1 test from 1 test suite.\n[ RUN      ] A.three\n[       OK ] A.three (7000 ms)\n'; exit 0; }; """
        last, status, output = run(again + GTEST_HEAD + r"printf '[ RUN      ] A.two\n'; kill -ALRM $$")
        self.assertEqual((last, status), ("2 passed, 1 failed, 0 skipped", 1))
        self.assertIn("slow   suite: A.three 7.0 s", output)

    def test_total(self):
        with tempfile.NamedTemporaryFile("w", suffix=".tally") as tally:
            for rows, expected, code in (("3 0 1\n2 1 0\n", "5 passed, 1 failed, 1 skipped", 1),
                                         ("3 0 1\n", "3 passed, 0 failed, 1 skipped", 0),
                                         ("", "0 passed, 0 failed, 0 skipped", 1)):
                tally.seek(0)
                tally.truncate()
                tally.write(rows)
                tally.flush()
                done = subprocess.run([sys.executable, os.path.join(ROOT, "tools/run_tests"), "--total", tally.name],
                                      stdout=subprocess.PIPE, text=True)
                self.assertEqual((done.stdout.splitlines()[-1], done.returncode), (expected, code))


if __name__ == "__main__":
    tap.main()
