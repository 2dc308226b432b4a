"""`raddle serve`: what the command says, where it listens, how it ends; what it does for programs is tested in tests/serve."""
import os
import shutil
import signal
import subprocess
import sys
import unittest

import command
from command import RADDLE, CommandTest, tap

SANITIZED = os.environ.get("RADDLE_SANITIZE")
NOT_INSTRUMENTED = "programs that are not instrumented cannot load libraries that are"


class Serve(CommandTest):
    def start(self, *options):
        server = subprocess.Popen([RADDLE, "serve", "--socket", self.path("socket"), *options], text=True, stdout=subprocess.PIPE)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertIn("listening", server.stdout.readline())
        self.assertIn(f"RADDLE_SERVER={self.path('socket')}", server.stdout.readline())
        return server

    def test_ends_when_it_is_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            server = self.start()
            self.assertTrue(os.path.exists(self.path("socket")))
            server.send_signal(number)
            self.assertEqual(server.wait(), command.SUCCESS)
            self.assertFalse(os.path.exists(self.path("socket")))

    def test_one_at_a_path(self):
        self.start()
        self.assertIn("a server listens there already", self.fails(command.INVALID, "serve", "--socket", self.path("socket")))

    def test_a_path_that_a_dead_server_left(self):
        server = self.start()
        server.kill()
        server.wait()
        self.assertTrue(os.path.exists(self.path("socket")))
        self.start()

    def test_a_file_is_not_overwritten(self):
        with open(self.path("file"), "w") as file:
            file.write("mine")
        self.assertIn("bind", self.fails(command.INVALID, "serve", "--socket", self.path("file")))
        with open(self.path("file")) as file:
            self.assertEqual(file.read(), "mine")

    # proves: A-21a, A-21b
    def test_a_program_sees_its_instance(self):
        library = os.path.join(os.path.dirname(os.path.dirname(RADDLE)), "lib/libcuda.so.1")
        if not os.path.exists(library):
            self.skipTest("this build has no libcuda.so.1")
        if SANITIZED:
            self.skipTest(NOT_INSTRUMENTED)
        self.start("--shape", "h200", "--instance", "part=gpcs:2,memory:64M")
        program = """
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1])
count, memory, name = ctypes.c_int(), ctypes.c_size_t(), ctypes.create_string_buffer(100)
assert cuda.cuInit(0) == 0
assert cuda.cuDeviceGetAttribute(ctypes.byref(count), 16, 0) == 0
assert cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), 0) == 0
assert cuda.cuDeviceGetName(name, 100, 0) == 0
print(count.value, memory.value, name.value.decode())
"""
        environment = dict(os.environ, RADDLE_SERVER=self.path("socket") + "#part")
        done = subprocess.run([sys.executable, "-c", program, library], env=environment, text=True, stdout=subprocess.PIPE)
        self.assertEqual(done.stdout.strip(), f"36 {64 << 20} Raddle h200 instance part")

    def test_instances_that_cannot_be(self):
        self.assertIn("--instance: ", self.fails(command.INVALID, "serve", "--socket", self.path("socket"), "--instance", "part"))
        self.assertIn("wants 9 GPCs, 8 are left", self.fails(command.INVALID, "serve", "--socket", self.path("socket"), "--instance", "part=gpcs:9,memory:1M"))

    def test_bad_paths(self):
        self.assertIn("No such file", self.fails(command.INVALID, "serve", "--socket", self.path("none/socket")))
        self.assertIn("bytes", self.fails(command.INVALID, "serve", "--socket", "x" * 200))
        self.fails(command.USAGE, "serve")

    @unittest.skipUnless(shutil.which("mpirun"), "Open MPI is not installed (openmpi-bin libopenmpi-dev)")
    @unittest.skipIf(SANITIZED, NOT_INSTRUMENTED)
    def test_ranks_of_mpi_share_a_device(self):
        run = subprocess.run([os.path.join(command.ROOT, "examples/mpi/run"), "4"], text=True, capture_output=True, timeout=120,
                             env={**os.environ, "RADDLE_BUILD": os.path.dirname(os.path.dirname(RADDLE))})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout, "heat: 4 ranks, 256 rows, 60 steps, 0 wrong\n")


if __name__ == "__main__":
    tap.main()
