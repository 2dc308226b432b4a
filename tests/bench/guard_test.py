"""bench/run --against on four quick kernels, when it is asked for: RADDLE_BENCH_AGAINST names results that `bench/run --quick
--json` wrote, or the build directory of a parent commit, whose bench_kernels then makes them on this machine."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap  # noqa: E402

BUILD = os.environ.get("RADDLE_BUILD", os.path.join(ROOT, "build"))
AGAINST = os.environ.get("RADDLE_BENCH_AGAINST")
KERNELS = ["saxpy", "sgemm_32x32", "bitonic_sort", "scan"]
TIME_LIMIT = 300  # seconds, of one run


def bench(build, *options):
    return subprocess.run([os.path.join(build, "bin/bench_kernels"), "--quick", "--kernels", ",".join(KERNELS), *options],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIME_LIMIT)


@unittest.skipUnless(AGAINST, "takes long and a quiet machine: RADDLE_BENCH_AGAINST names no results or parent's build")
class Guard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.results = AGAINST
        if os.path.isdir(AGAINST):
            cls.results = os.path.join(cls.directory.name, "parent.json")
            done = bench(AGAINST, "--systems", "raddle-jit", "--json", cls.results)
            if done.returncode != 0:
                raise RuntimeError(f"the parent's benchmark failed:\n{done.stdout}")
        subprocess.run(["ninja", "-C", BUILD, "--quiet", "bench_kernels"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def changed(self, factor):
        """The results with every share times the factor."""
        with open(self.results) as file:
            results = json.load(file)
        for row in results["rows"]:
            row["share"] = row["share"] and row["share"] * factor
        path = os.path.join(self.directory.name, f"times_{factor}.json")
        with open(path, "w") as file:
            json.dump(results, file)
        return path

    def test_no_kernel_fell(self):
        done = bench(BUILD, "--against", self.results)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_kernels_a_twentieth_of_what_they_were_fail(self):
        done = bench(BUILD, "--against", self.changed(20))
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertEqual(re.findall(r"^fell three times out of three: (\w+):", done.stdout, re.MULTILINE), sorted(KERNELS))

    def test_kernels_twenty_times_what_they_were_do_not(self):
        done = bench(BUILD, "--against", self.changed(0.05))
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    tap.main()
