"""raddle on device code as nvcc wraps it: fat binaries, object files, and programs where nvcc is at hand."""
import json
import os
import shutil
import subprocess
import unittest

import command
from command import INVALID, ROOT, UNSUPPORTED, CommandTest, tap

DATA = os.path.join(ROOT, "tests/data/fatbin")
SCALE = ("--kernel", "scale", "--block", 32, "--arg", "buf:f32:20=iota", "--arg", "f32:3", "--arg", "i32:20", "--print", 0)

PROGRAM = """
__global__ void %s(int* out) { out[threadIdx.x] = %d * threadIdx.x; }
"""


class Wrappings(CommandTest):
    # proves: K-18a
    def test_run_from_every_wrapping(self):
        for name in ("zstd.fatbin", "lz4.fatbin", "stored.fatbin", "plain.o", "relocatable.o", "newer.fatbin"):
            self.assertIn("0 3 6 9 12", self.succeeds("run", f"{DATA}/{name}", *SCALE), name)

    def test_inspect_names_the_module(self):
        module = json.loads(self.succeeds("inspect", "--json", f"{DATA}/plain.o"))
        self.assertEqual((module["file"], module["target"]), (f"{DATA}/plain.o.1.sm_90.ptx", "sm_90"))
        module = json.loads(self.succeeds("inspect", "--json", "--shape", "a100", f"{DATA}/plain.o"))
        self.assertEqual(module["target"], "sm_75")

    def test_newer_code_is_tried_with_a_warning(self):
        status, _, errors = self.raddle("inspect", f"{DATA}/newer.fatbin")
        self.assertEqual(status, 0)
        self.assertIn("is for sm_100, newer than the device (sm_90)", errors)

    def test_extract(self):
        self.succeeds("inspect", "--extract", self.directory.name, f"{DATA}/zstd.fatbin")
        with open(self.path("zstd.fatbin.1.sm_90.ptx")) as file:
            self.assertIn(".target sm_90", file.read())
        self.fails(INVALID, "inspect", "--extract", self.path("nowhere"), f"{DATA}/zstd.fatbin")

    def test_compile_from_a_wrapping(self):
        output = self.succeeds("compile", "--engine", "interp", f"{DATA}/plain.o")
        self.assertIn("scale: ", output)

    def test_several_modules(self):
        with open(f"{DATA}/zstd.fatbin", "rb") as file:
            twice = self.write("twice.fatbin", file.read() * 2)
        self.assertEqual(len(json.loads(self.succeeds("inspect", "--json", twice))), 2)
        errors = self.fails(INVALID, "run", twice, *SCALE[2:])
        self.assertIn("--kernel is needed; the file has: scale, scale", errors)
        self.assertIn("no kernel 'other'", self.fails(INVALID, "run", twice, "--kernel", "other"))

    def test_nothing_to_run(self):
        self.assertIn("no device code in it", self.fails(UNSUPPORTED, "inspect", command.RADDLE))
        with open(f"{DATA}/zstd.fatbin", "rb") as file:
            cut = self.write("cut.fatbin", file.read()[:100])
        self.assertIn("claims 16 + 944 bytes, 100 are there", self.fails(INVALID, "inspect", cut))

    @unittest.skipUnless(shutil.which("nvcc"), "no nvcc on this machine")
    def test_a_program_of_two_sources(self):
        for name, factor in (("twice", 2), ("thrice", 3)):
            self.write(f"{name}.cu", PROGRAM % (name, factor))
        self.write("main.cu", "int main() { return 0; }\n")
        sources = [self.path(name) for name in ("twice.cu", "thrice.cu", "main.cu")]
        subprocess.run(["nvcc", "-arch=sm_90", *sources, "-o", self.path("app")], check=True, cwd=self.directory.name)
        for name, result in (("_Z5twicePi", "0 2 4 6"), ("_Z6thricePi", "0 3 6 9")):
            output = self.succeeds("run", self.path("app"), "--kernel", name, "--block", 4, "--arg", "buf:i32:4", "--print", 0)
            self.assertIn(result, output)


if __name__ == "__main__":
    tap.main()
