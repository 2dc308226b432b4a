"""tools/run_tests counts what a suite did, and a suite that dies or runs nothing is a failure."""
import glob
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


class Turns(unittest.TestCase):
    """Of sanitizers' suites (tests/turns.py): what a day leaves out runs on the next, and is counted."""

    PROGRAMS = ("test_base", "test_kernels", "test_machine")
    SUITES = {"cli.run": "true", "kernels": "true", "unit.base": "true", "unit.machine": "true", "unit.machine.rest": "true"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("CTestTestfile.cmake", "".join(f"add_test({name} {program})\n" for name, program in self.SUITES.items()))
        rule = "CXX_EXECUTABLE_LINKER__{}_RelWithDebInfo"
        self.write("build.ninja", "".join(f"rule {rule.format(name)}\n  command = false\nbuild bin/{name}: {rule.format(name)}\n"
                                          for name in self.PROGRAMS) + "build all: phony bin/" + " bin/".join(self.PROGRAMS) + "\n"
                                       + "rule kept\n  command = true\nbuild build.ninja: kept\n  generator = 1\n")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def call(self, *arguments, program="tools/run_tests", **environment):
        plain = {name: value for name, value in os.environ.items() if not name.startswith("RADDLE_TEST_")}
        return subprocess.run([sys.executable, os.path.join(ROOT, program), *arguments], stdout=subprocess.PIPE, text=True,
                              env=plain | environment)

    def day(self, **environment):
        """The suites that ran, and the programs that are to be built."""
        output = self.call("--in-turns", self.folder, **environment).stdout
        ran = {line.split()[1] for line in output.splitlines() if line.startswith("ok ") and line.split()[2] == "1"}
        rest = len(self.SUITES) - len(ran)
        self.assertEqual(output.splitlines()[-1], f"{len(ran)} passed, 0 failed, {rest} skipped")
        self.assertEqual(output.count("the turn of other suites (RADDLE_TEST_SEED)"), rest)
        return ran, set(self.call("--programs", self.folder, **environment).stdout.split())

    def test_two_days_are_all(self):
        even, odd = self.day(RADDLE_TEST_SEED="20261128"), self.day(RADDLE_TEST_SEED="20261129")
        self.assertEqual(even, ({"kernels", "unit.base"}, {"bin/test_base", "bin/test_kernels"}))
        self.assertEqual(odd, (set(self.SUITES) - {"kernels"}, {"bin/test_base", "bin/test_machine"}))
        self.assertEqual(even[0] | odd[0], set(self.SUITES))

    def test_exhaustive_asks_for_all(self):
        everything = self.day(RADDLE_TEST_EXHAUSTIVE="1")
        self.assertEqual(everything, (set(self.SUITES), {"bin/" + name for name in self.PROGRAMS}))

    def test_by_hand_all_suites_run(self):
        self.assertIn("5 passed, 0 failed, 0 skipped", self.call(self.folder).stdout)

    def test_thread_sanitizer_has_the_even_days(self):
        for environment, status in (({"RADDLE_TEST_SEED": "2"}, 0), ({"RADDLE_TEST_SEED": "3"}, 1),
                                    ({"RADDLE_TEST_SEED": "3", "RADDLE_TEST_EXHAUSTIVE": "1"}, 0)):
            self.assertEqual(self.call("--tsan", program="tests/turns.py", **environment).returncode, status)

    def test_the_table_names_suites_that_there_are(self):
        """A suite that was renamed would run every day."""
        sys.path.insert(0, os.path.join(ROOT, "tests"))
        import turns
        text = ""
        for folder in ("tests", "fuzz"):
            for path in glob.glob(os.path.join(ROOT, folder, "**/CMakeLists.txt"), recursive=True):
                with open(path) as file:
                    text += file.read()
        for _, program, _ in turns.SANITIZED:
            if program:
                folder = program.split("_", 1)[1]
                named = rf"{program}\b|raddle_fuzz\({folder} |\bfolder [^)]*\b{folder}\b|raddle_unit_tests\({folder} "
                self.assertRegex(text, named)


if __name__ == "__main__":
    tap.main()
