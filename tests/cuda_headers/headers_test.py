"""Compiles each program of this folder with `raddle cc` and runs it; and whole programs of examples/programs, with nvcc too
where it is there. A program checks itself against the host's arithmetic and prints TAP. RADDLE_TEST_ALL adds what takes long, which
RADDLE_TEST_SEED chooses: one of the packages, half of the programs by nvcc; RADDLE_TEST_EXHAUSTIVE all of it."""
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
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap  # noqa: E402
from turns import ALL, EXHAUSTIVE, SEED, has_turn  # noqa: E402

RUNTIME_IS_THERE = os.path.exists(os.path.join(LIBRARIES, "libcudart.so"))
NO_RUNTIME = "no libcudart.so beside the raddle command"


def run(words, **environment):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                          env={**os.environ, **environment}, errors="replace")
    return done.returncode, done.stdout


PACKAGES = ["thrust", "cub", "random"]


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

    def checks(self, name, engines=("jit", "interp"), **environment):
        """Compiles and runs a program; `raddle inspect` must find nothing in it that cannot run. What it prints."""
        if not RUNTIME_IS_THERE:
            self.skipTest(NO_RUNTIME)
        program = self.path(os.path.basename(name))
        self.succeeds([RADDLE, "cc", "-I", HERE, os.path.join(HERE, name + ".cu"), "-o", program], **environment)
        self.assertNotIn("unsupported", self.succeeds([RADDLE, "inspect", program]))
        for engine in engines:
            output = self.succeeds([program], RADDLE_ENGINE=engine)
            self.assertRegex(output, r"1\.\.[1-9]", "no check was made")
            self.assertNotIn("not ok", output)
        return output

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

    def test_matrices_of_warps(self):
        self.checks("matrices", ("jit", "interp") if ALL else ("jit",))

    def test_managed_variables(self):
        self.checks("managed")

    def test_relocatable_device_code(self):
        """-dc, a static library, -dlink as users of nvcc write it, and what the linker says about names."""
        if not RUNTIME_IS_THERE:
            self.skipTest(NO_RUNTIME)
        folder = os.path.join(HERE, "relocatable")
        for part in ("main", "other", "library"):
            self.succeeds([RADDLE, "cc", "-dc", "-O1", "-I", HERE, os.path.join(folder, part + ".cu"), "-o", self.path(part + ".o")])
        objects = [self.path("main.o"), self.path("other.o")]
        library = self.path("libdevice_part.a")
        self.succeeds([RADDLE, "cc", "-lib", self.path("library.o"), "-o", library])
        self.succeeds([RADDLE, "cc", *objects, "-L" + self.directory.name, "-ldevice_part", "-o", self.path("program")])
        for engine in ("jit", "interp"):
            output = self.succeeds([self.path("program")], RADDLE_ENGINE=engine)
            self.assertIn("1..7", output)
            self.assertNotIn("not ok", output)
        self.succeeds([RADDLE, "cc", "-dlink", *objects, library, "-o", self.path("linked.o")])
        self.succeeds(["g++", *objects, self.path("linked.o"), library, os.path.join(LIBRARIES, "libcudart.so"), "-o", self.path("by_gcc")])
        self.assertNotIn("not ok", self.succeeds([self.path("by_gcc")], LD_LIBRARY_PATH=LIBRARIES))
        status, output = run([RADDLE, "cc", *objects, "-o", self.path("lacks")])
        self.assertNotEqual(status, 0)
        self.assertIn("undefined reference to `raddle.device._Z8weightedii'", output)
        status, output = run([RADDLE, "cc", *objects, self.path("library.o"), library, self.path("other.o"), "-o", self.path("twice")])
        self.assertNotEqual(status, 0)
        self.assertIn("multiple definition of `raddle.device.total'", output)

    def checks_package(self, header, name):
        """A program that includes headers of NVIDIA's packages, from the Python in use or beside nvcc."""
        if not ALL:
            self.skipTest("slow (10 s of compilation): with RADDLE_TEST_ALL")
        if not has_turn(PACKAGES.index(name), len(PACKAGES)):
            self.skipTest("the turn of another package (RADDLE_TEST_SEED)")
        environment = {}
        with open(self.path("probe.cu"), "w") as file:
            file.write(f"#if !__has_include(<{header}>)\n#error none\n#endif\n")
        probe = [RADDLE, "cc", "--ptx", self.path("probe.cu"), "-o", self.path("probe.ptx")]
        if run(probe)[0] != 0:
            environment["CUDA_HOME"] = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc") or "/none/bin/nvcc")))
            if run(probe, **environment)[0] != 0:
                self.skipTest(f"no {header}: neither a package of Python's nor beside nvcc")
        return self.checks(os.path.join("packages", name), ("jit",), **environment)

    def test_thrust(self):
        self.checks_package("thrust/sort.h", "thrust")

    def test_cub_and_libcuxx(self):
        self.checks_package("cub/cub.cuh", "cub")

    def test_curand(self):
        ours = self.checks_package("curand_kernel.h", "random")
        if nvcc := shutil.which("nvcc"):
            source = os.path.join(HERE, "packages/random.cu")
            self.succeeds([nvcc, "-std=c++17", "-arch=sm_90", "-I", HERE, "-cudart", "shared", source, "-o", self.path("by_nvcc")])
            self.assertEqual(self.succeeds([self.path("by_nvcc")], LD_LIBRARY_PATH=LIBRARIES), ours)

    def test_ptx_of_all_headers_is_accepted(self):
        """Without a runtime: clang's code of every header can run. With it checks() asks the same of the programs: one is enough."""
        sources = sorted(glob.glob(os.path.join(HERE, "*.cu")))
        for source in sources if EXHAUSTIVE or not RUNTIME_IS_THERE else [sources[SEED % len(sources)]]:
            ptx = self.path("headers.ptx")
            self.succeeds([RADDLE, "cc", "--ptx", source, "-o", ptx])
            self.assertNotIn("unsupported", self.succeeds([RADDLE, "inspect", ptx]))


class Examples(Programs):
    sources = sorted(glob.glob(os.path.join(ROOT, "examples/programs/*.cu")))
    answers = {}  # of what clang compiled, by source

    def by_clang(self, source):
        if not RUNTIME_IS_THERE:
            self.skipTest(NO_RUNTIME)
        if source not in self.answers:
            self.succeeds([RADDLE, "cc", source, "-o", self.path("by_clang")])
            self.answers[source] = self.succeeds([self.path("by_clang")])
        return self.answers[source]

    # proves: K-18d
    def test_examples_are_right(self):
        self.assertGreaterEqual(len(self.sources), 4)
        for source in self.sources:
            with self.subTest(os.path.basename(source)):
                self.assertIn("0 wrong", self.by_clang(source))

    def agrees_with_nvcc(self, number, source):
        if not ALL or not shutil.which("nvcc"):
            self.skipTest("with RADDLE_TEST_ALL, where there is nvcc")
        if not has_turn(number, 2):
            self.skipTest("the turn of other programs (RADDLE_TEST_SEED)")
        self.succeeds(["nvcc", "-std=c++17", "-arch=sm_90", "-cudart", "shared", source, "-o", self.path("by_nvcc")])
        self.assertEqual(self.succeeds([self.path("by_nvcc")], LD_LIBRARY_PATH=LIBRARIES), self.by_clang(source))


for inherited in [name for name in dir(Programs) if name.startswith("test_")]:
    setattr(Examples, inherited, None)  # they are Programs' own
for number, source in enumerate(Examples.sources):
    name = os.path.basename(source).removesuffix(".cu")
    setattr(Examples, f"test_{name}_agrees_with_nvcc", lambda self, n=number, s=source: self.agrees_with_nvcc(n, s))

if __name__ == "__main__":
    tap.main()
