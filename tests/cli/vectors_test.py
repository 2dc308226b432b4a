"""A warp is vectors and a mask: the JIT's code of a kernel at every width, and which width it chooses."""
import os
import re
import subprocess
import unittest

import command
from command import ENGINES, HEAD, CommandTest, tap

# out[i] = i odd ? 5 x : x + 7, with x = 3 i, where i < n.
DIVERGENT = HEAD + """
.visible .entry k(.param .u64 out, .param .u32 n)
{
  .reg .b32 %r<6>; .reg .b64 %d<4>; .reg .f32 %f<6>; .reg .pred %p<3>;
  ld.param.u64 %d1, [out]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 ret;
  cvt.rn.f32.u32 %f1, %r2; mul.f32 %f2, %f1, 0f40400000;
  and.b32 %r3, %r2, 1; setp.ne.u32 %p2, %r3, 0;
  @%p2 bra ODD;
  add.f32 %f3, %f2, 0f40E00000;
  bra STORE;
ODD:
  mul.f32 %f3, %f2, 0f40A00000;
STORE:
  mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d1, %d2; st.global.f32 [%d3], %f3;
  ret;
}
"""
LANES = {"avx512": 16, "avx2": 8, "sse42": 4}


def host_level():
    with open("/proc/cpuinfo") as file:
        flags = set(next(line for line in file if line.startswith("flags")).split())
    if {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= flags:
        return "avx512"
    return "avx2" if {"avx2", "fma"} <= flags else "sse42"


@unittest.skipUnless("jit" in ENGINES, "this build has no JIT")
class Vectors(CommandTest):
    def code(self, *options):
        """The kernel's optimised code."""
        done = subprocess.run([command.RADDLE, "compile", "--engine", "jit", "--tier", "optimised", "--code-cache", "off", "--block", "32", *options,
                               self.write("k.ptx", DIVERGENT)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True,
                              env=dict(os.environ, RADDLE_DUMP="optimised"))
        return done.stderr

    def check(self, code, lanes):
        self.assertEqual(len(re.findall(rf"fmul <{lanes} x float>.*5.000000e\+00", code)), 32 // lanes, code)
        self.assertEqual(len(re.findall(rf"fadd <{lanes} x float>.*7.000000e\+00", code)), 32 // lanes)
        self.assertNotRegex(code, r"= f(mul|add) float ")
        # Both sides run; the mask chooses. And lanes beyond n are masked out of the store.
        self.assertGreaterEqual(len(re.findall(rf"select <{lanes} x i1> ", code)), 32 // lanes)
        self.assertRegex(code, rf"masked.store.v{lanes}[fi]32.*<{lanes} x i1>")

    # proves: K-3a, K-3b
    def test_lanes_run_in_vectors_under_a_mask(self):
        for level in list(LANES)[list(LANES).index(host_level()):]:
            with self.subTest(level):
                self.check(self.code("--simd", level), LANES[level])

    # proves: K-3c
    def test_the_widest_that_the_host_has_is_chosen(self):
        self.check(self.code(), LANES[host_level()])
        self.check(self.code("--simd", "avx512"), LANES[host_level()])  # never more than it has

    # proves: K-3b
    def test_results_of_partial_warps(self):
        path = self.write("k.ptx", DIVERGENT)
        for engine in ENGINES:
            for count in (1, 13, 32, 45):
                results = [15 * i if i % 2 else 3 * i + 7 for i in range(count)] + [-1] * 16  # as it was beyond
                expected = "argument 0: " + " ".join(map(str, results[:16]))
                with self.subTest(engine=engine, count=count):
                    output = self.succeeds("run", path, "--engine", engine, "--block", 64, "--arg", "buf:f32:64=-1", "--arg", f"u32:{count}", "--print", 0)
                    self.assertIn(expected, output)


if __name__ == "__main__":
    tap.main()
