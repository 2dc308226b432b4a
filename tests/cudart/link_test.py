"""libcudart as linkers see it: what programs that nvcc built ask for is there, and nothing else gets out; the archive needs no more
than nvcc's own link line gives; without a driver a program says what to do. Needs readelf and nm."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap  # noqa: E402

STUB = "/usr/local/cuda/lib64/stubs/libcuda.so"  # what programs link where there is no driver
LIBRARIES = os.environ.get("RADDLE_LIB", os.path.join(ROOT, "build", "lib"))
OURS = os.path.join(ROOT, "include", "raddle", "cuda")
COMPILER = os.environ.get("CXX", "clang++-19")
PROGRAM = """#include <cuda_runtime_api.h>
#include <cstdio>
extern "C" char __cudaInitModule(void**);  // as generated code refers to it
volatile auto keep = &__cudaInitModule;
int main() {
  int count = -1;
  const cudaError_t error = cudaGetDeviceCount(&count);
  std::printf("%s %d\\n", cudaGetErrorName(error), count);
}
"""


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def entries():
    text = "".join(open(os.path.join(ROOT, "src", "cudart", f"{name}.def")).read() for name in ("entries", "missing"))
    for kind, symbol, variant in re.findall(r"^(STREAM_ENTRY|ENTRY|EXPORT|MISSING)\((\w+)(?:, (pt[sd][sz]))?", text, re.M):
        yield symbol
        if kind == "STREAM_ENTRY":
            yield f"{symbol}_{variant}"


class Link(unittest.TestCase):
    def build(self, folder, *options):
        source, binary = os.path.join(folder, "program.cpp"), os.path.join(folder, "program")
        with open(source, "w") as file:
            file.write(PROGRAM)
        output(COMPILER, "-isystem", OURS, source, "-o", binary, f"-L{LIBRARIES}", *options)
        return binary

    def test_exports_are_the_entries_in_the_version_that_nvcc_asks_for(self):
        table = output("readelf", "--dyn-syms", "-W", os.path.join(LIBRARIES, "libcudart.so.13"))
        defined = {line.split()[7] for line in table.splitlines() if re.search(r"(FUNC|OBJECT) +(GLOBAL|WEAK)", line) and " UND " not in line}
        defined = {name for name in defined if not name.startswith("libcudart.so.13")}  # the version itself
        self.assertEqual(defined, {f"{name}@@libcudart.so.13" for name in entries()})

    @unittest.skipUnless(os.path.exists(STUB), "needs the toolkit's stub of the driver")
    def test_the_driver_exports_all_that_programs_link(self):
        def exported(library):
            return {line.split()[2] for line in output("nm", "-D", "--defined-only", library).splitlines() if " T " in line}

        self.assertEqual(exported(STUB) - exported(os.path.join(LIBRARIES, "libcuda.so.1")), set())

    def test_the_archive_keeps_the_rest_to_itself(self):
        table = output("readelf", "--syms", "-W", os.path.join(LIBRARIES, "libcudart_static.a"), stderr=subprocess.DEVNULL)
        seen = {line.split()[7] for line in table.splitlines() if re.search(r"GLOBAL +DEFAULT +\d+", line)}
        self.assertEqual(seen, set(entries()))

    def test_nvccs_link_line_is_enough(self):
        with tempfile.TemporaryDirectory() as folder:
            binary = self.build(folder, "-lcudart_static", "-lrt", "-lpthread", "-ldl")
            self.assertEqual(output(binary, env=dict(os.environ, LD_LIBRARY_PATH=LIBRARIES)), "cudaSuccess 1\n")
            needed = set(re.findall(r"NEEDED.*\[(.*?)\.so", output("readelf", "-d", binary)))
            self.assertLessEqual(needed, {"libstdc++", "libm", "libgcc_s", "libc", "libpthread", "libdl", "librt", "ld-linux-x86-64"})

    def test_programs_with_the_archive_carry_a_note(self):
        with tempfile.TemporaryDirectory() as folder:
            notes = output("readelf", "-n", "-W", self.build(folder, "-lcudart_static", "-ldl"))
            self.assertRegex(notes, r"\.note\.raddle\n.*\n +raddle +0x00000004")

    def test_the_shared_library_finds_the_driver_beside_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            binary = self.build(folder, "-lcudart", f"-Wl,-rpath,{LIBRARIES}")
            environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
            self.assertEqual(output(binary, env=environment), "cudaSuccess 1\n")

    def test_without_a_driver_one_line_says_what_to_do(self):
        with tempfile.TemporaryDirectory() as folder:
            binary = self.build(folder, "-lcudart_static", "-lrt", "-lpthread", "-ldl")
            environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
            done = subprocess.run([binary], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
            if done.stdout.startswith("cudaSuccess"):
                self.skipTest("this machine has a libcuda.so.1 of its own")
            self.assertEqual(done.stdout, "cudaErrorInsufficientDriver -1\n")
            self.assertRegex(done.stderr, r"\Araddle: libcuda\.so\.1 cannot be used .*LD_LIBRARY_PATH.*\n\Z")

    def test_traces_calls_as_the_driver_does(self):
        with tempfile.TemporaryDirectory() as folder:
            binary = self.build(folder, "-lcudart")
            done = subprocess.run([binary], env=dict(os.environ, LD_LIBRARY_PATH=LIBRARIES, RADDLE_TRACE="api"), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=True)
            self.assertRegex(done.stderr, r"raddle: cuDeviceGetCount\(count=\[1\]\) = CUDA_SUCCESS in [\d.]+ us\n"
                                          r"raddle: cudaGetDeviceCount\(count=\[1\]\) = cudaSuccess in [\d.]+ us\n")


if __name__ == "__main__":
    tap.main()
