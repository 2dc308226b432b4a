"""What the tests of the raddle command share: running it, and files to run it on."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RADDLE = os.environ.get("RADDLE", os.path.join(ROOT, "build/bin/raddle"))
LIBCUDA = os.path.join(os.path.dirname(os.path.dirname(RADDLE)), "lib/libcuda.so.1")
KERNELS = os.path.join(ROOT, "examples/kernels")
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap  # noqa: E402,F401

SUCCESS, EXPECTATION, USAGE, INVALID, UNSUPPORTED, FAULT, TIMEOUT, MEMORY = range(8)
HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def has_jit():
    """Whether this build has the engine that compiles."""
    return "jit" in subprocess.run([RADDLE, "device"], stdout=subprocess.PIPE, text=True).stdout


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.directory.cleanup()

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def write(self, name, text):
        with open(self.path(name), "wb" if isinstance(text, bytes) else "w") as file:
            file.write(text)
        return self.path(name)

    def raddle(self, *arguments, timeout=300, environment=None):
        """(status, stdout, stderr); `environment` is added to this process's"""
        done = subprocess.run([RADDLE, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, timeout=timeout, errors="replace",
                              env=os.environ | (environment or {}))
        return done.returncode, done.stdout, done.stderr

    def succeeds(self, *arguments, environment=None):
        status, output, errors = self.raddle(*arguments, environment=environment)
        self.assertEqual(status, SUCCESS, output + errors)
        return output

    def fails(self, status, *arguments, environment=None):
        found, output, errors = self.raddle(*arguments, environment=environment)
        self.assertEqual(found, status, output + errors)
        return errors


def engines():
    """The engines that this build has."""
    done = subprocess.run([RADDLE, "device", "--engine", "jit"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return ("interp", "jit") if done.returncode == 0 else ("interp",)


ENGINES = engines()
