"""raddle.use() and `python -m raddle`, each in a process of its own."""
import os
import subprocess
import sys
import tempfile

from package import KERNELS, PackageTest, tap

NAME_OF_DEVICE = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
name = ctypes.create_string_buffer(100)
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetName(name, 100, 0) == 0
print(name.value.decode())
"""


class Use(PackageTest):
    def test_libraries_are_raddles_without_a_new_process(self):
        output = self.python_succeeds("import raddle; raddle.use(); raddle.use()\n" + NAME_OF_DEVICE + """
for library in ("libcudart.so.13", "libnvrtc.so.13"):
    ctypes.CDLL(library)
paths = {line.split()[-1] for line in open("/proc/self/maps") if "/lib" in line}
import os
ours = os.path.realpath(os.path.join(os.path.dirname(raddle.__file__), "lib"))
print([path for path in paths if "libcuda" in path and os.path.dirname(path) != ours])
""")
        self.assertRegex(output, r"(?i)raddle")
        self.assertEqual(output.splitlines()[1], "[]")

    def test_children_find_them_too(self):
        output = self.python_succeeds("import raddle, subprocess, sys; raddle.use()\n"
                                      f"print(subprocess.run([sys.executable, '-c', {NAME_OF_DEVICE!r}], stdout=-1, text=True).stdout)")
        self.assertRegex(output, r"(?i)raddle")

    def test_devices_of_both_parts_side_by_side(self):
        self.python_succeeds("import raddle; raddle.use()\n" + NAME_OF_DEVICE + """
context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(4000)) == 0
class Other:
    __cuda_array_interface__ = {"data": (pointer.value, False), "shape": (1000,), "typestr": "<f4", "version": 3}
import numpy, sys
a = numpy.arange(1000, dtype=numpy.float32)
raddle.Device("tiny").load(sys.argv[1])["vector_add"](a, a, Other(), 1000, grid=4, block=256)
back = numpy.zeros(1000, numpy.float32)
assert cuda.cuMemcpyDtoH_v2(back.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(4000)) == 0
assert (back == a + a).all()
""", os.path.join(KERNELS, "vector_add.ptx"))

    def test_it_is_too_late_after_another_driver(self):
        with tempfile.TemporaryDirectory() as directory:
            other = os.path.join(directory, "libcuda.so.1")
            subprocess.run(["clang-19", "-shared", "-x", "c", "/dev/null", "-o", other], check=True)
            output = self.python_succeeds(f"""
import ctypes, raddle
ctypes.CDLL({other!r})
try:
    raddle.use()
except RuntimeError as error:
    print(error)
""")
        self.assertRegex(output, "libcuda.so.1 is loaded already: call raddle.use")

    def test_import_is_quick(self):
        output = self.python_succeeds("import time; start = time.process_time(); import raddle; print(time.process_time() - start)\n"
                                      "import sys; assert 'raddle._raddle' not in sys.modules and 'numpy' not in sys.modules")
        self.assertLess(float(output), 0.5)


class Command(PackageTest):
    def test_it_is_raddle(self):
        done = subprocess.run([sys.executable, "-m", "raddle", "device"], stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("h200", done.stdout.lower())

    def test_exec(self):
        done = subprocess.run([sys.executable, "-m", "raddle", "exec", sys.executable, "-c", NAME_OF_DEVICE], stdout=subprocess.PIPE,
                              text=True)
        self.assertRegex(done.stdout, r"(?i)raddle")


if __name__ == "__main__":
    tap.main()
