"""What `cmake --install` and CPack make, used as others use it. Debian's packages are installed in a system of their own by
./test --exhaustive."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RADDLE_BUILD", os.path.join(ROOT, "build"))
KERNEL = os.path.join(ROOT, "examples/kernels/vector_add.ptx")
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap  # noqa: E402

RUN = ["--kernel", "vector_add", "--grid", "4", "--block", "256", "--arg", "buf:f32:1000=1", "--arg", "buf:f32:1000=2",
       "--arg", "buf:f32:1000", "--arg", "i32:1000", "--expect", "2=3"]

DRIVER = """
import raddle; raddle.use()
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
name = ctypes.create_string_buffer(100)
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetName(name, 100, 0) == 0
print(name.value.decode())
"""
ARRAYS = """
import numpy, raddle
a, b, c = (numpy.full(2, value, numpy.float32) for value in (1, 2, 0))
raddle.Device().load("/vector_add.ptx")["vector_add"](a, b, c, 2, grid=1)
print(c)
"""
SOURCES = """deb http://deb.debian.org/debian bookworm main
deb http://deb.debian.org/debian bookworm-updates main
deb http://deb.debian.org/debian-security bookworm-security main
"""


class PackagesTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def path(self, *names):
        return os.path.join(self.directory.name, *names)

    def succeeds(self, *words, **options):
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
        self.assertEqual(done.returncode, 0, f"{' '.join(words)}\n{done.stdout[-4000:]}")
        return done.stdout


class Installed(PackagesTest):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.prefix = os.path.join(directory.name, "usr")
        for component in ("cuda", "raddle"):
            subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", component], check=True, stdout=subprocess.DEVNULL)

    def installed(self, *names):
        return os.path.join(self.prefix, *names)

    def test_the_command_finds_what_is_installed(self):
        raddle = self.installed("bin/raddle")
        self.succeeds(raddle, "run", KERNEL, *RUN)
        self.assertIn(self.installed("lib/raddle/lib"), self.succeeds(raddle, "exec", "/usr/bin/env"))
        ptxas = self.installed("lib/raddle/libexec/raddle/ptxas")
        self.succeeds(ptxas, "-arch=sm_90", KERNEL, "-o", self.path("out.cubin"))
        self.assertGreater(os.path.getsize(self.path("out.cubin")), 0)

    def test_nvcc_by_its_name_is_not_taken_for_nvidias(self):
        os.mkdir(self.path("bin"))
        with open(self.path("bin/nvcc"), "w") as file:
            file.write("#!/bin/sh\necho NVIDIA: $*\n")
        os.chmod(self.path("bin/nvcc"), 0o755)
        folder = self.installed("lib/raddle/libexec/raddle")
        found = self.succeeds("nvcc", "app.cu", env=dict(os.environ, PATH=f"{folder}:{self.path('bin')}:{os.environ['PATH']}"), timeout=60)
        self.assertRegex(found, "^NVIDIA: -L.*/usr/lib/raddle/lib .*app.cu")  # what `raddle nvcc` adds

    def test_a_project_finds_the_library(self):
        self.succeeds("cmake", "-S", os.path.join(ROOT, "tests/packages/consumer"), "-B", self.path("b"), "-G", "Ninja",
                      f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.succeeds("ninja", "-C", self.path("b"))
        self.assertEqual(self.succeeds(self.path("b/consumer")), "2 4 6 8\n")
        with open(self.path("b/found")) as file:
            for found in file.read().split():
                self.assertTrue(os.path.exists(found), found)


@unittest.skipUnless(os.environ.get("RADDLE_TEST_EXHAUSTIVE"), "packages in a Debian system of their own: ./test --exhaustive")
class Debian(PackagesTest):
    """A system that debootstrap makes, without compilers or LLVM; only what the packages depend on is added."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not shutil.which("debootstrap"):
            self.skipTest("debootstrap (Debian package) and root are needed")
        self.system = self.path("system")
        self.succeeds("debootstrap", "--variant=minbase", "bookworm", self.system)
        with open(self.system + "/etc/apt/sources.list", "w") as file:
            file.write(SOURCES)
        shutil.copy("/etc/resolv.conf", self.system + "/etc/resolv.conf")
        self.succeeds("mount", "-t", "proc", "proc", self.system + "/proc")
        self.addCleanup(subprocess.run, ["umount", self.system + "/proc"])
        self.inside("apt-get", "update", "-qq")
        shutil.copy(KERNEL, self.system)

    def inside(self, *words):
        clean = {"DEBIAN_FRONTEND": "noninteractive", "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
        return self.succeeds("chroot", self.system, *words, env=clean)

    def install(self, *packages):
        self.inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)

    def test_packages_are_all_that_is_needed(self):
        self.succeeds("cpack", "-G", "DEB", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", self.path("debs"))
        packages = [os.path.basename(path) for path in glob.glob(self.path("debs/*.deb"))]
        self.assertEqual(sorted(name.split("_")[0] for name in packages), ["libraddle-cuda1", "raddle"])
        for name in packages:
            shutil.copy(self.path("debs", name), self.system)
        self.install(*("/" + name for name in packages))
        self.inside("raddle", "run", "/vector_add.ptx", *RUN)
        self.assertIn("/usr/lib/raddle/lib", self.inside("raddle", "exec", "/usr/bin/env"))
        self.install("clang-19")  # which `raddle` recommends
        shutil.copy(os.path.join(ROOT, "examples/programs/vector_add.cu"), self.system)
        self.inside("raddle", "cc", "/vector_add.cu", "-o", "/vector_add")
        self.assertIn("0 wrong", self.inside("/vector_add"))
        self.inside("apt-get", "remove", "-y", "-qq", "raddle", "libraddle-cuda1")
        self.assertFalse(os.path.exists(self.system + "/usr/lib/raddle"))

    def test_a_wheel_is_all_that_is_needed(self):
        self.succeeds(os.path.join(ROOT, "tools/wheel"), self.path("wheels"))
        wheel, = glob.glob(self.path("wheels/*manylinux*.whl"))
        shutil.copy(wheel, self.system)
        self.install("python3-pip", "python3-numpy")
        self.inside("pip", "install", "--break-system-packages", "--no-index", "/" + os.path.basename(wheel))
        self.inside("raddle", "run", "/vector_add.ptx", *RUN)
        self.assertIn("Raddle", self.inside("python3", "-c", DRIVER))
        self.assertEqual(self.inside("python3", "-c", ARRAYS), "[3. 3.]\n")


if __name__ == "__main__":
    tap.main()
