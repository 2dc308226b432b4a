"""The stand-in for ptxas: by its own name, with the command lines that compilers write."""
import os
import re
import shutil
import subprocess
import unittest
import unittest.mock

from command import HEAD, KERNELS, RADDLE, CommandTest, tap

PTXAS = os.path.join(os.path.dirname(os.path.dirname(RADDLE)), "libexec/raddle/ptxas")
NVIDIAS = "/usr/local/cuda/bin/ptxas"
FAILED = 255
REGISTERS = {"u8": "%h", "s8": "%h", "u16": "%h", "s16": "%h", "f16": "%h", "bf16": "%h", "u32": "%r", "s32": "%r", "f32": "%f",
             "u64": "%d", "s64": "%d", "f64": "%g"}


def conversions():
    """A kernel with every spelling of cvt between plain types, legal or not; its instructions."""
    lines = [f"cvt{rounding}{flush}{limit}.{to}.{of} {REGISTERS[to]}0, {REGISTERS[of]}1;"
             for to in ("f16", "bf16", "f32", "f64", "s32", "u8") for of in ("f16", "bf16", "f32", "f64", "s32")
             for rounding in ("", ".rn", ".rz", ".rm", ".rp", ".rni", ".rpi") for flush in ("", ".ftz") for limit in ("", ".sat", ".relu", ".satfinite")]
    registers = "".join(f".reg .{kind} {name}<2>; " for kind, name in (("b16", "%h"), ("b32", "%r"), ("b64", "%d"), ("f32", "%f"), ("f64", "%g")))
    return ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n" + registers + "\n" + "\n".join(lines) + "\nret;\n}\n", lines


class Ptxas(CommandTest):
    def ptxas(self, *arguments):
        done = subprocess.run([PTXAS, *arguments], capture_output=True, text=True, timeout=120, cwd=self.directory.name)
        return done.returncode, done.stdout, done.stderr

    # proves: K-18b
    def test_what_it_makes_runs(self):
        status, _, errors = self.ptxas("-arch=sm_90", "-m64", "--opt-level", "3", "-O3", f"{KERNELS}/vector_add.ptx", "-o", "add.cubin")
        self.assertEqual(status, 0, errors)
        output = self.succeeds("run", self.path("add.cubin"), "--kernel", "vector_add", "--block", 32, "--arg", "buf:f32:4=iota",
                               "--arg", "buf:f32:4=iota", "--arg", "buf:f32:4", "--arg", "i32:4", "--print", 2)
        self.assertIn("0 2 4 6", output)

    def test_resources_are_told(self):
        status, _, errors = self.ptxas("-v", "--gpu-name", "sm_100", f"{KERNELS}/transpose.ptx")
        self.assertEqual(status, 0, errors)
        self.assertRegex(errors, r"ptxas info    : Compiling entry function '\w+' for 'sm_100'")
        self.assertRegex(errors, r"Used \d+ registers, used 1 barriers, \d+ bytes smem")
        self.assertTrue(os.path.exists(self.path("elf.o")))

    def test_errors_have_lines(self):
        bad = self.write("bad.ptx", HEAD + ".visible .entry k()\n{\n  bogus.u32 1;\n  mov.u32 %r, 1;\n  ret;\n}\n")
        status, _, errors = self.ptxas("-arch=sm_90", bad, "-o", "bad.cubin")
        self.assertEqual(status, FAILED)
        self.assertIn(f"ptxas {bad}, line 7; error   : '%r' is not declared", errors)
        self.assertIn("ptxas fatal   : Ptx assembly aborted due to errors", errors)
        self.assertFalse(os.path.exists(self.path("bad.cubin")))
        unknown = self.write("unknown.ptx", HEAD + ".visible .entry k()\n{\n  bogus.u32 1;\n  ret;\n}\n")
        self.assertIn(f"ptxas {unknown}, line 6; error", self.ptxas(unknown, "-arch=sm_90")[2])

    def test_too_much_memory_is_refused(self):
        """As by NVIDIA's, in the same words."""
        def refused(text, words):
            status, _, errors = self.ptxas("-arch=sm_90", self.write("large.ptx", HEAD + text), "-o", "large.cubin")
            self.assertEqual((status, words in errors), (FAILED, True), errors)

        refused(".const .b8 c[65537]; .visible .entry k() { ret; }", "File uses too much global constant data (0x10001 bytes, 0x10000 max)")
        refused(".const .b8 c[40000]; .const .b8 d[40000]; .visible .entry k() { ret; }", "(0x13880 bytes, 0x10000 max)")
        refused(".visible .entry k() { .shared .b8 s[49153]; st.shared.b8 [s], 1; ret; }",
                "Entry function 'k' uses too much shared data (0xc001 bytes, 0xc000 max)")
        refused(".visible .entry k(.param .align 4 .b8 p[32765]) { ret; }", "Entry function 'k' uses too much parameter space (0x7ffd bytes, 0x7ffc max)")
        full = ".const .b8 c[65536]; .visible .entry k(.param .align 4 .b8 p[32764]) { .shared .b8 s[49152]; st.shared.b8 [s], 1; ret; }"
        self.assertEqual(self.ptxas("-arch=sm_90", self.write("full.ptx", HEAD + full), "-o", "full.cubin")[0], 0)

    def test_newer_code_is_refused(self):
        new = self.write("new.ptx", HEAD + ".visible .entry k() { ret; }\n")
        status, _, errors = self.ptxas("-arch=sm_80", new)
        self.assertEqual(status, FAILED)
        self.assertIn("'.target sm_90' is newer than sm_80", errors)

    def test_command_lines(self):
        self.assertRegex(self.ptxas("--version")[1], r"\n.*release 13\.0, V13\.0\.\d+\n")
        with unittest.mock.patch.dict(os.environ, RADDLE_PTXAS_RELEASE="12.6"):
            self.assertRegex(self.ptxas("--version")[1], r"\n.*release 12\.6, V12\.6\.\d+\n")
        self.assertIn("Usage  : ptxas", self.ptxas("--help")[1])
        for words, said in ((["-arch=sm_90", "none.ptx"], "Input file 'none.ptx' could not be opened"), ([], "No input files"),
                            (["-arch=sm_x", "a.ptx"], "Value 'sm_x' is not defined for option 'gpu-name'"),
                            (["-o"], "Option '-o' has no value")):
            status, _, errors = self.ptxas(*words)
            self.assertEqual((status, said in errors), (FAILED, True), errors)
        status, _, errors = self.ptxas("-arch=sm_90", "--regAllocOptLevel=2", "--newer", "--other=3", f"{KERNELS}/vector_add.ptx", "-o", "odd.cubin")
        self.assertEqual(status, 0, errors)
        self.assertIn("ptxas warning : Unknown option '--newer' ignored", errors)
        self.assertIn("Unknown option '--other=3' ignored", errors)
        self.assertNotIn("regAllocOptLevel", errors)
        self.assertEqual(self.ptxas("-arch=sm_90", "-Werror", "--newer", f"{KERNELS}/vector_add.ptx")[0], FAILED)
        self.assertEqual(self.ptxas("-arch=compute_90", "-ias", HEAD)[0], 0)
        self.assertFalse(os.path.exists(self.path("elf.o")))
        self.write("options", f"-arch=sm_90 -o two.cubin\n{KERNELS}/transpose.ptx")
        self.assertEqual(self.ptxas("-optf", "options", f"{KERNELS}/vector_add.ptx")[0], 0)
        self.assertIn("kernel transpose", self.raddle("inspect", self.path("two.cubin"))[1])

    @unittest.skipUnless(os.path.exists(NVIDIAS), "no ptxas of NVIDIA's toolkit on this machine")
    def test_cvt_is_legal_as_for_nvidias(self):
        """What NVIDIA's ptxas takes of every rounding, modifier and pair of types, this takes as well."""
        text, lines = conversions()
        path = self.write("cvt.ptx", text)
        refused = {}
        for ptxas in (PTXAS, NVIDIAS):
            done = subprocess.run([ptxas, "-arch=sm_90", path, "-o", self.path("cvt.cubin")], capture_output=True, text=True, timeout=300)
            refused[ptxas] = {int(line) for line in re.findall(r"line (\d+); (?:error|warning)", done.stderr)}
        self.assertLess(len(refused[NVIDIAS]), len(lines) - 150)
        all_lines = text.splitlines()
        self.assertEqual([all_lines[line - 1] for line in sorted(refused[PTXAS] - refused[NVIDIAS])], [])

    @unittest.skipUnless(shutil.which("fatbinary"), "no fatbinary of NVIDIA's toolkit on this machine")
    # proves: K-18b
    def test_nvidias_fatbinary_takes_the_cubin(self):
        self.ptxas("-arch=sm_90", f"{KERNELS}/vector_add.ptx", "-o", "add.cubin")
        subprocess.run(["fatbinary", "-64", f"--image3=kind=elf,sm=90,file={self.path('add.cubin')}",
                        f"--create={self.path('add.fatbin')}"], check=True)
        self.assertIn("kernel vector_add", self.succeeds("inspect", self.path("add.fatbin")))


if __name__ == "__main__":
    tap.main()
