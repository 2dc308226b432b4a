"""Compile-accept: CUDA sources that use every corner of the language and its libraries, compiled by nvcc, are accepted by
`raddle inspect` but for instructions of later versions, and every kernel without such instructions compiles.

The sources are no part of this repository: RADDLE_CORPUS names a directory whose `features` folder has them, or it lies beside the
checkout as shared/corpus. Without them, or without nvcc, all is skipped. RADDLE_TEST_ALL=1 (./test --all) takes the files that use
libraries in turn, half of them a day (RADDLE_TEST_SEED), and every other file; without it a few quick ones are taken. Libraries choose
other code for older devices: each file that uses them is compiled for one of three targets, which RADDLE_TEST_SEED chooses.
RADDLE_TEST_EXHAUSTIVE takes all files, for all targets. What nvcc makes is kept in the build directory, by content.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap  # noqa: E402
import turns  # noqa: E402
from turns import ALL, EXHAUSTIVE, SEED  # noqa: E402

RADDLE = os.environ.get("RADDLE", os.path.join(ROOT, "build/bin/raddle"))
KEPT = os.environ.get("RADDLE_CORPUS_PTX", os.path.join(ROOT, "build/corpus"))
CORPUS = os.path.join(os.environ.get("RADDLE_CORPUS", os.path.join(ROOT, "..", "shared/corpus")), "features")
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")

FEW = ["atomics", "cg_grid", "cub_block", "intops", "pdl", "warp", "wmma"]  # in seconds; all kinds of results
NEWEST = "90a"
NO_TURN = "the turn of other files (RADDLE_TEST_SEED)"
OLDER_TOO, TARGETS = ("cub_", "thrust_"), ("75", "80", NEWEST)  # nvcc compiles for sm_75 where nobody says otherwise
NVCC_SECONDS = 600  # for all files together, when nothing is kept yet
SECONDS_PER_INSTRUCTION = 2e-3  # far beyond the quick tier's time on a loaded machine: what is not linear exceeds it
MEGABYTES = 8000  # of address space

# What later versions execute: texts of the rows' notes, and functions of device-side launches and of other files.
LATER = re.compile(r"(textures|surfaces|thread block clusters|mbarriers|multimem|asynchronous \w+|tensor copies|matrix instructions) (are|is) not "
                   "executed yet")
ELSEWHERE = re.compile(r"__cudaCDP2\w+|cudaGraph\w+")


def sources():
    """Pairs of a source and the target it is compiled for."""
    if not os.path.isdir(CORPUS) or not NVCC:
        return []
    names = sorted(f[:-3] for f in os.listdir(CORPUS) if f.endswith(".cu"))
    wanted = [(number, name) for number, name in enumerate(names) if ALL or name in FEW]
    return [(name, target) for number, name in wanted for target in targets_of(number, name)]


def targets_of(number, name):
    """Of the file of this number; a third of the files is compiled for each target, and in six days each for all."""
    if not ALL or not name.startswith(OLDER_TOO):
        return [NEWEST]
    return TARGETS if EXHAUSTIVE else [TARGETS[(SEED + number) % len(TARGETS)]]


def has_turn(name):
    """Files of the language always; of libraries half of them."""
    if not ALL or EXHAUSTIVE or not name.startswith(OLDER_TOO) or name in FEW:
        return True
    libraries = sorted(f[:-3] for f in os.listdir(CORPUS) if f.endswith(".cu") and f.startswith(OLDER_TOO))
    return turns.has_turn(libraries.index(name), 2)


def ptx_of(name, target):
    """Path of a source's PTX: kept from before, or made by nvcc."""
    with open(os.path.join(CORPUS, name + ".cu"), "rb") as file:
        key = hashlib.sha256(file.read() + NVCC.encode()).hexdigest()[:16]
    path = os.path.join(KEPT, f"{name}.{key}.ptx" if target == NEWEST else f"{name}.sm_{target}.{key}.ptx")
    if os.path.exists(path):
        return path
    os.makedirs(KEPT, exist_ok=True)
    errors = ""
    for options in ([], ["-rdc=true"]):  # device-side launches need the second
        done = subprocess.run([NVCC, f"-arch=sm_{target}", "-ptx", "--extended-lambda", *options, os.path.join(CORPUS, name + ".cu"), "-o", path + ".new"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0:
            os.rename(path + ".new", path)
            return path
        errors += done.stdout
    raise AssertionError("nvcc: " + errors[-2000:])


class Nvcc:
    """Runs ahead of the tests on two cores, until its time is up."""

    def __init__(self, names):
        self.end = time.monotonic() + NVCC_SECONDS
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.made = {name: self.pool.submit(self.make, *name) for name in names}

    def make(self, name, target):
        return ptx_of(name, target) if time.monotonic() < self.end else None


@unittest.skipUnless(NVCC, "there is no nvcc")
@unittest.skipUnless(os.path.isdir(CORPUS), "no corpus: RADDLE_CORPUS names none")
class Features(unittest.TestCase):
    nvcc = None

    def inspect(self, path):
        done = subprocess.run([RADDLE, "inspect", "--json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertIn(done.returncode, (0, 4), done.stderr)
        return json.loads(done.stdout)

    def check(self, name, target=None):
        if not has_turn(name):
            self.skipTest(NO_TURN)
        if Features.nvcc is None:
            Features.nvcc = Nvcc([(name, target) for name, target in sources() if has_turn(name)])
        path = Features.nvcc.made[name, target].result()
        if path is None:
            self.skipTest(f"nvcc had its {NVCC_SECONDS} s")
        report = self.inspect(path)
        with open(path) as file:
            text = file.read()
        declared_elsewhere = set(re.findall(r"^\.extern \.func .*?(\w+)$", text, re.M))
        for u in report["unsupported"]:
            self.assertTrue(LATER.fullmatch(u["reason"]), u)
        for kernel in report["kernels"]:
            for function in kernel["unresolved"]:
                self.assertTrue(ELSEWHERE.fullmatch(function) or function in declared_elsewhere, f"{function} is not defined")
        if ".extern .global" in text:
            return  # a variable of another file: only a device linker makes it a program
        expected = sum(not kernel["unsupported"] and not kernel["unresolved"] for kernel in report["kernels"])
        self.compile(path, expected, len(re.findall(r";\s*$", text, re.M)))

    def compile(self, path, expected, instructions):
        limit = 20 + instructions * SECONDS_PER_INSTRUCTION
        done = subprocess.run(["/bin/sh", "-c", f'ulimit -v {MEGABYTES * 1024}; exec "$@"', "sh", RADDLE, "compile", "--tier", "quick", "--code-cache",
                               "off", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit)
        self.assertIn(done.returncode, (0, 4), done.stderr[-2000:])
        self.assertEqual(len(done.stdout.splitlines()), expected, done.stdout + done.stderr[-2000:])


def add(name, target):
    ending = "" if target == NEWEST else "_sm_" + target
    setattr(Features, "test_" + name + ending, lambda self: self.check(name, target))


for source in sources():
    add(*source)
if not sources():
    setattr(Features, "test_features", lambda self: self.check(""))  # skipped, with the reason

if __name__ == "__main__":
    tap.main()
