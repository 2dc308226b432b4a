"""bench/table: Markdown tables from results."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap  # noqa: E402


def row(kernel, system, value, headline=True, state="measured"):
    return {"kernel": kernel, "system": system, "value": value, "unit": "GB/s", "limit": "copy", "share": value / 40,
            "headline": headline, "state": state}


def table(*arguments):
    return subprocess.run([os.path.join(ROOT, "bench/table"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Table(unittest.TestCase):
    def write(self, *rows):
        file = tempfile.NamedTemporaryFile("w", suffix=".json")
        self.addCleanup(file.close)
        json.dump({"rows": rows}, file)
        file.flush()
        return file.name

    def test_a_run_has_a_row_for_each_kernel_and_the_means(self):
        results = self.write(row("saxpy", "raddle-jit", 20), row("saxpy", "pocl", 5), row("saxpy", "openmp", 10),
                             row("scan", "raddle-jit", 10, False), row("scan", "openmp", 20, False),
                             row("scan", "pocl", 1, False, "failed"))
        done = table(results)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[2], "| saxpy | GB/s | copy | 20 | 0.50 | 4.00 | 2.00 | - |")
        self.assertEqual(lines[3], "| scan * | GB/s | copy | 10 | 0.25 | - | 0.50 | - |")
        self.assertIn("the headline's kernels, times OpenMP C++: 2.00 (worst 2.00, saxpy)", lines[-1])
        self.assertIn("all rows, times OpenMP C++: 1.00 (worst 0.50, scan)", lines[-1])
        self.assertNotIn("library", lines[-1])

    def test_runs_lie_side_by_side(self):
        first = self.write(row("saxpy", "raddle-jit", 20), row("saxpy", "openmp", 10), row("scan", "raddle-jit", 4))
        second = self.write(row("saxpy", "raddle-jit", 30), row("saxpy", "openmp", 40))
        lines = table("Zen=" + first, "Xeon=" + second).stdout.splitlines()
        self.assertEqual(lines[0], "| kernel | limit | Zen: share | Xeon: share | Zen: times OpenMP | Xeon: times OpenMP |")
        self.assertEqual(lines[2], "| saxpy | copy | 0.50 | 0.75 | 2.00 | 0.75 |")
        self.assertEqual(lines[3], "| scan | copy | 0.10 | - | - | - |")

    def test_values_are_of_every_system_that_was_measured(self):
        results = self.write(row("saxpy", "raddle-avx2", 20), row("saxpy", "raddle-avx512", 0, state="missing"),
                             row("saxpy", "openmp-avx2", 10), row("scan", "raddle-avx2", 3.14159, False))
        lines = table("--values", results).stdout.splitlines()
        self.assertEqual(lines[0], "| kernel | unit | raddle-avx2 | openmp-avx2 |")
        self.assertEqual(lines[2:], ["| saxpy | GB/s | 20 | 10 |", "| scan * | GB/s | 3.142 | - |"])

    def test_what_is_no_result_is_named(self):
        self.assertEqual(table().returncode, 2)
        self.assertEqual(table("a.json", "b.json").returncode, 2)
        done = table("nowhere.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nowhere.json", done.stderr)
        self.assertEqual(table(__file__).returncode, 1)


if __name__ == "__main__":
    tap.main()
