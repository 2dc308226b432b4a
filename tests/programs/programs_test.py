"""Whole CUDA programs, compiled by nvcc as anyone would, run on Raddle's libraries: unmodified with -cudart shared, and linked
against libcudart_static.a by -L; then the same on a machine that `raddle serve` shares. A program is a .cu file that ends with another
status than 0 when something is wrong.

In its comments a program may say:
  // nvcc: OPTIONS      more options for nvcc (without -arch among them it is -arch=sm_90)
  // targets: 75 90     built and run for each of these instead
  // with: FILE...      more sources
  // headers: WHEEL DIR headers in a folder of a wheel, which pip brings from PyPI; skipped where it cannot
  // output: LINE       a line that it must print
  // devices: LIST...   run with each of these as RADDLE_DEVICE, under each translation
  // slow: WHY          only with RADDLE_TEST_ALL, for one of its targets, which RADDLE_TEST_SEED chooses, every sixth day
  // missing: WHAT      skipped: Raddle lacks something
  // missing 90: WHAT   for that target only

RADDLE_TEST_EXHAUSTIVE takes every target, and links every program both ways.
RADDLE_LIB is the folder of the libraries; RADDLE_PROGRAM names one program to run, or how the names of several begin."""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import tap  # noqa: E402
import turns  # noqa: E402
from turns import ALL, EXHAUSTIVE, SEED  # noqa: E402

NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
LIBRARIES = os.environ.get("RADDLE_LIB", os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "lib"))
TURNS = 6  # days until all slow programs had theirs
ALSO_STATIC = ("vector_add", "symbols")  # without RADDLE_TEST_EXHAUSTIVE; with it, every program of one target
LINKS = {"shared": ["-cudart", "shared"], "static": [f"-L{LIBRARIES}"]}


NOTES = ("nvcc", "targets", "with", "headers", "output", "slow", "devices")


class Program:
    def __init__(self, path, notes, target=None):
        self.notes = notes
        self.missing = [what for only, what in notes["missing"] if only in ("", target)]
        self.name = os.path.basename(path).removesuffix(".cu") + (f"_sm_{target}" if target else "")
        self.sources = [path] + [os.path.join(HERE, name) for line in self.notes["with"] for name in line.split()]
        self.options = [word for line in self.notes["nvcc"] for word in line.split()]
        if target or not any(word.startswith("-arch") for word in self.options):
            self.options.append(f"-arch=sm_{target or 90}")

    @staticmethod
    def of(path):
        """The program of a source; several, where it says for which targets."""
        with open(path) as file:
            text = file.read()
        notes = {key: re.findall(rf"^// {key}: (.*)$", text, re.M) for key in NOTES}
        notes["missing"] = re.findall(r"^// missing(?: (\d+))?: (.*)$", text, re.M)
        targets = [target for line in notes["targets"] for target in line.split()]
        if notes["slow"] and targets and not EXHAUSTIVE:
            targets = [targets[(SEED // TURNS + len(os.path.basename(path))) % len(targets)]]
        return [Program(path, notes, target) for target in targets or [None]]

    @functools.lru_cache(maxsize=None)
    def objects(self, folder):
        made = []
        for source in self.sources:
            made.append(os.path.join(folder, f"{self.name}.{os.path.basename(source)}.o"))
            nvcc("-std=c++20", *self.options, "-c", source, "-o", made[-1])
        return made

    def build(self, folder, kind):
        binary = os.path.join(folder, f"{self.name}.{kind}")
        nvcc(*self.options, *self.objects(folder), *LINKS[kind], "-o", binary)
        return binary


@functools.lru_cache(maxsize=None)
def wheel(requirement):
    """The folder of a wheel's files, kept for the next time; None where pip does not bring it."""
    kept = os.path.join(os.path.expanduser(os.environ.get("XDG_CACHE_HOME", "~/.cache")), "raddle-tests", requirement)
    if os.path.isdir(kept):
        return kept
    with tempfile.TemporaryDirectory() as folder:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", folder, requirement]
        if subprocess.run(download, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            return None
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        with tempfile.TemporaryDirectory(dir=os.path.dirname(kept)) as fresh, zipfile.ZipFile(glob.glob(f"{folder}/*.whl")[0]) as files:
            files.extractall(f"{fresh}/files")
            os.rename(f"{fresh}/files", kept)
    return kept


def nvcc(*arguments):
    done = subprocess.run([NVCC, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise AssertionError(f"nvcc {' '.join(arguments)}\n{done.stdout}")


def programs():
    found = [program for path in sorted(glob.glob(os.path.join(HERE, "*.cu"))) for program in Program.of(path)]
    parts = {source for program in found for source in program.sources[1:]}
    only = os.environ.get("RADDLE_PROGRAM", "")
    return [program for program in found if program.sources[0] not in parts and program.name.startswith(only)]


@functools.lru_cache(maxsize=None)
def slow_sources():
    """In an order that is the same in every checkout."""
    return [path for path in sorted(glob.glob(os.path.join(HERE, "*.cu"))) if re.search("^// slow: ", open(path).read(), re.M)]


def has_turn(program):
    return turns.has_turn(slow_sources().index(program.sources[0]), TURNS)


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.socket = os.path.join(cls.folder.name, "server")
        command = os.path.join(os.path.dirname(LIBRARIES), "bin", "raddle")
        cls.server = subprocess.Popen([command, "serve", "--socket", cls.socket], stdout=subprocess.DEVNULL)
        while not os.path.exists(cls.socket) and cls.server.poll() is None:
            time.sleep(0.01)

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        assert cls.server.wait() == 0, "the server did not end well"
        cls.folder.cleanup()

    def check(self, program, kind):
        if NVCC is None:
            self.skipTest("no nvcc")
        if program.missing:
            self.skipTest(f"Raddle lacks {program.missing[0]}")
        if not ALL and program.notes["slow"]:
            self.skipTest(f"slow ({program.notes['slow'][0]}): with RADDLE_TEST_ALL")
        if program.notes["slow"] and not has_turn(program):
            self.skipTest("the turn of other slow programs (RADDLE_TEST_SEED)")
        for requirement, path in (line.split() for line in program.notes["headers"]):
            if wheel(requirement) is None:
                self.skipTest(f"pip does not bring {requirement}")
            program.options.append(f"-I{wheel(requirement)}/{path}")
        binary = program.build(self.folder.name, kind)
        for devices in (devices for line in program.notes["devices"] for devices in line.split()):
            for translation in ("direct", "windowed", "modelled"):
                self.run_program(program, binary, {"RADDLE_DEVICE": devices, "RADDLE_MMU": translation})
        if not program.notes["devices"]:
            self.run_program(program, binary, {})
        self.run_program(program, binary, {"RADDLE_SERVER": self.socket})

    def run_program(self, program, binary, variables):
        environment = dict(os.environ, LD_LIBRARY_PATH=LIBRARIES, **variables)
        done = subprocess.run([binary], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=900 if program.notes["slow"] else 300)  # some kernels of CUB take LLVM half a minute each
        self.assertEqual(done.returncode, 0, done.stdout)
        for line in program.notes["output"]:
            self.assertIn(line, done.stdout.splitlines())


def add_tests():
    for program in programs():
        for kind in LINKS:
            also_static = (EXHAUSTIVE and not program.notes["targets"]) or program.name in ALSO_STATIC
            if kind == "shared" or also_static:
                setattr(Programs, f"test_{program.name}_{kind}", lambda self, p=program, k=kind: self.check(p, k))


add_tests()
if __name__ == "__main__":
    tap.main()
