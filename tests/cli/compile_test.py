"""raddle compile and the code cache: ahead of time, found again, by-passed; and the tiers of the JIT."""
import os
import resource
import subprocess
import unittest

from command import HEAD, INVALID, KERNELS, RADDLE, UNSUPPORTED, CommandTest, has_jit, tap

VECTOR_ADD = f"{KERNELS}/vector_add.ptx"
RUN = ("run", VECTOR_ADD, "--kernel", "vector_add", "--grid", 8, "--block", 256, "--arg", "buf:f32:1000=iota", "--arg", "buf:f32:1000=2",
       "--arg", "buf:f32:1000", "--arg", "i32:1000")


def long_kernel(instructions):
    """p[i] = i * 3^k mod 2^32 by one multiplication after another."""
    return HEAD + """
.visible .entry power(.param .u64 p)
{
  .reg .b32 %r<3>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [p];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %r0;
""" + "  mul.lo.u32 %r1, %r1, 3;\n  xor.b32 %r1, %r1, %r0;\n  xor.b32 %r1, %r1, %r0;\n" * instructions + """
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d1, %d1, %d2;
  st.global.u32 [%d1], %r1;
  ret;
}
"""


@unittest.skipUnless(has_jit(), "this build has no JIT")
class Compile(CommandTest):
    def cached(self, *arguments):
        return self.succeeds(*arguments, "--code-cache", self.path("cache"))

    def test_run_takes_what_compile_made(self):
        self.assertNotIn("code cache", self.cached("compile", VECTOR_ADD))
        self.assertIn("from the code cache", self.cached(*RUN))

    def test_the_second_run_does_not_compile(self):
        self.assertNotIn("code cache", self.cached(*RUN))
        self.assertIn("from the code cache", self.cached(*RUN))

    def test_off_is_off(self):
        self.cached(*RUN)
        self.assertNotIn("code cache", self.succeeds(*RUN, "--code-cache", "off"))

    def test_the_environment_names_the_directory(self):
        environment = {**os.environ, "RADDLE_CACHE": self.path("elsewhere")}
        for _ in range(2):
            done = subprocess.run([RADDLE, *map(str, RUN)], stdout=subprocess.PIPE, text=True, env=environment)
        self.assertIn("from the code cache", done.stdout)
        self.assertEqual(len(os.listdir(self.path("elsewhere"))), 1)

    def test_every_kernel_of_a_file(self):
        output = self.cached("compile", f"{KERNELS}/sgemm_tiled.ptx")
        self.assertEqual(len(output.splitlines()), 4, output)

    def test_only_the_kernel_asked_for(self):
        self.fails(INVALID, "compile", VECTOR_ADD, "--kernel", "nothing")
        self.assertEqual(len(self.cached("compile", VECTOR_ADD, "--kernel", "vector_add").splitlines()), 1)

    def test_a_launch_compiles_its_kernel_and_no_other(self):
        for kernels, kernel in enumerate(["sgemm_16", "sgemm_32"], 1):
            self.cached("run", f"{KERNELS}/sgemm_tiled.ptx", "--kernel", kernel, "--block", "16,16", *["--arg", "buf:f32:1024"] * 3, "--arg",
                        "i32:16")
            self.assertEqual(len(os.listdir(self.path("cache"))), kernels)

    def test_one_bad_kernel_does_not_keep_the_others(self):
        file = self.write("two.ptx", HEAD + ".visible .entry good() { ret; }\n.visible .entry bad() { frobnicate.u32; ret; }\n")
        status, output, errors = self.raddle("compile", file, "--code-cache", self.path("cache"))
        self.assertEqual(status, UNSUPPORTED)
        self.assertIn("good:", output)
        self.assertIn("frobnicate", errors)

    def power(self, count, *options):
        expected = [i * pow(3, count, 2**32) % 2**32 for i in range(4)]
        output = self.succeeds("run", self.write("power.ptx", long_kernel(count)), "--block", 64, "--arg", "buf:u32:64", "--print", 0,
                               "--code-cache", self.path("cache"), *options)
        self.assertIn("argument 0: " + " ".join(map(str, expected)), output)
        return output

    def test_a_large_kernel_starts_quick(self):
        self.assertIn("quick tier", self.power(1000))
        self.assertNotIn("quick tier", self.power(20))

    def test_forty_thousand_registers(self):
        """Each a sum of two before it: time and memory stay in bounds in both tiers."""
        count = 40000
        lines = [f"  add.u32 %r{i}, %r{i * 7919 % (i - max(0, i - 50)) + max(0, i - 50)}, %r{i - 1};" for i in range(1, count)]
        file = self.write("registers.ptx", HEAD + f"""
.visible .entry sums(.param .u64 p)
{{
  .reg .b32 %r<{count}>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [p];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d1, %d1, %d2;
""" + "\n".join(lines) + f"\n  st.global.u32 [%d1], %r{count - 1};\n  ret;\n}}\n")
        values = [1]
        for i in range(1, count):
            values.append((values[i * 7919 % (i - max(0, i - 50)) + max(0, i - 50)] + values[i - 1]) % 2**32)
        for tier in "quick", "optimised":
            output = self.succeeds("run", file, "--block", 32, "--arg", "buf:u32:32", "--print", 0, "--tier", tier, "--code-cache", "off")
            self.assertIn(f"argument 0: 0 {values[-1]} ", output, tier)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 1 << 20, "KiB")

    def test_the_tier_can_be_chosen(self):
        self.assertIn("quick tier", self.power(20, "--tier", "quick"))
        self.assertNotIn("quick tier", self.power(1000, "--tier", "optimised"))

    def test_optimised_code_from_before_is_better_than_quick(self):
        self.power(1000, "--tier", "optimised")
        self.assertIn("from the code cache", self.power(1000))

    def test_a_large_kernel_that_runs_long_is_optimised_meanwhile(self):
        file = self.write("power.ptx", long_kernel(1000))
        self.succeeds("run", file, "--grid", 16000000, "--block", 64, "--arg", "buf:u32:64", "--code-cache", self.path("cache"))
        self.assertEqual(len(os.listdir(self.path("cache"))), 1)


if __name__ == "__main__":
    tap.main()
