"""Compiles each program of this folder with `raddle cc` and runs it; and whole programs of examples/programs, with nvcc too
where it is there. A program checks itself against the host's arithmetic and prints TAP."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RADDLE = os.environ.get("RADDLE", os.path.join(ROOT, "build/bin/raddle"))
LIBRARIES = os.path.join(os.path.dirname(os.path.dirname(RADDLE)), "lib")
ALL = os.environ.get("RADDLE_TEST_ALL", "0") not in ("", "0")
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap  # noqa: E402

RUNTIME_IS_THERE = os.path.exists(os.path.join(LIBRARIES, "libcudart.so"))
NO_RUNTIME = "no libcudart.so beside the raddle command"


def run(words, **environment):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                          env={**os.environ, **environment}, errors="replace")
    return done.returncode, done.stdout


class Programs(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.directory.cleanup()

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def succeeds(self, words, **environment):
        status, output = run(words, **environment)
        self.assertEqual(status, 0, f"{' '.join(words)}\n{output[-4000:]}")
        return output

    def checks(self, name):
        """Compiles and runs a program; `raddle inspect` must find nothing in it that cannot run."""
        if not RUNTIME_IS_THERE:
            self.skipTest(NO_RUNTIME)
        program = self.path(name)
        self.succeeds([RADDLE, "cc", os.path.join(HERE, name + ".cu"), "-o", program])
        self.assertNotIn("unsupported", self.succeeds([RADDLE, "inspect", program]))
        for engine in ("jit", "interp"):
            output = self.succeeds([program], RADDLE_ENGINE=engine)
            self.assertRegex(output, r"1\.\.[1-9]", "no check was made")
            self.assertNotIn("not ok", output)

    # proves: K-18d
    def test_math(self):
        self.checks("math")

    def test_integers_conversions_and_rounded_arithmetic(self):
        self.checks("integers")

    def test_warps_atomics_and_memory(self):
        self.checks("warps")

    # proves: K-18d
    def test_language_and_runtime_api(self):
        self.checks("language")

    def test_halves(self):
        self.checks("halves")

    def test_cooperative_groups(self):
        self.checks("groups")

    def test_clusters(self):
        self.checks("clusters")

    def test_ptx_of_all_headers_is_accepted(self):
        """Without a runtime: clang's code of every header can run."""
        for source in sorted(glob.glob(os.path.join(HERE, "*.cu"))) if ALL or not RUNTIME_IS_THERE else [os.path.join(HERE, "groups.cu")]:
            ptx = self.path("headers.ptx")
            self.succeeds([RADDLE, "cc", "--ptx", source, "-o", ptx])
            self.assertNotIn("unsupported", self.succeeds([RADDLE, "inspect", ptx]))


class Examples(Programs):
    # proves: K-18d
    def test_examples_run_and_agree_with_nvcc(self):
        if not RUNTIME_IS_THERE:
            self.skipTest(NO_RUNTIME)
        sources = sorted(glob.glob(os.path.join(ROOT, "examples/programs/*.cu")))
        self.assertGreaterEqual(len(sources), 4)
        nvcc = shutil.which("nvcc")
        for source in sources:
            with self.subTest(os.path.basename(source)):
                self.succeeds([RADDLE, "cc", source, "-o", self.path("by_clang")])
                answer = self.succeeds([self.path("by_clang")])
                self.assertIn("0 wrong", answer)
                if not nvcc or not ALL:
                    continue
                self.succeeds([nvcc, "-std=c++17", "-arch=sm_90", "-cudart", "shared", source, "-o", self.path("by_nvcc")])
                self.assertEqual(self.succeeds([self.path("by_nvcc")], LD_LIBRARY_PATH=LIBRARIES), answer)


for inherited in [name for name in dir(Programs) if name.startswith("test_")]:
    setattr(Examples, inherited, None)  # they are Programs' own

if __name__ == "__main__":
    tap.main()
