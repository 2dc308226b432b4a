"""Every number that the command line takes: anything else, or one that does not fit, is an error that names the option and the text."""
import re
import unittest

from command import HEAD, INVALID, MEMORY, USAGE, CommandTest, tap

KERNEL = HEAD + ".visible .entry nothing() { ret; }\n.visible .entry takes(.param .u64 p, .param .f32 f) { ret; }\n"
SUBCOMMANDS = ("inspect", "isa", "device", "compile", "run", "distribute", "record", "occupancy", "doctor")
BEYOND = "99999999999999999999"  # above 2^64


class Numbers(CommandTest):
    def kernel(self):
        return self.write("kernel.ptx", KERNEL)

    def refuses(self, status, text, *arguments):
        """The message has the text, and nothing else happened to the process."""
        errors = self.fails(status, *arguments)
        self.assertIn(text, errors)
        return errors

    def test_options(self):
        """As `--help` lists them, so that none is forgotten; the types that CLI11 reads by itself saturate and wrap."""
        found = 0
        for subcommand in SUBCOMMANDS:
            text = self.succeeds(subcommand, "--help")
            self.assertNotRegex(text, r"\b(U?INT|FLOAT)\b")
            for option, kind in re.findall(r"(--[a-z-]+) (COUNT|NUMBER)\b", text):
                found += 1
                wrong = ["x", "-1", "1x", "", " 1", BEYOND + "K" if kind == "COUNT" else "nan", "1e999", BEYOND]
                for value in wrong[:7 if option == "--tolerance" else 8]:
                    with self.subTest(subcommand=subcommand, option=option, value=value):
                        errors = self.refuses(USAGE, value, subcommand, f"{option}={value}" if value != "" else option, *([""] if value == "" else []))
                        self.assertIn(option, errors)
        self.assertEqual(found, 11)

    def test_flags(self):
        for value in ("x", BEYOND, "-1", "1.5", "true"):
            with self.subTest(value=value):
                self.assertIn("--deterministic", self.refuses(USAGE, value, "run", self.kernel(), "--kernel", "nothing", f"--deterministic={value}"))
        for seed in ("", "=0", "=0xff", "=18446744073709551615", "=1K"):
            self.succeeds("run", self.kernel(), "--kernel", "nothing", f"--deterministic{seed}")

    def test_extents(self):
        for option in ("--grid", "--block"):
            for value in ("x", "0", "-1", "1,x", "1,2,3,4", "4294967296", BEYOND, "1x", ""):
                with self.subTest(option=option, value=value):
                    self.refuses(INVALID, value, "run", self.kernel(), "--kernel", "nothing", f"{option}={value or ','}")
        for value in ("4294967295,4294967295,4294967295", "4294967295,1,4294967295"):
            self.fails(INVALID, "run", self.kernel(), "--kernel", "nothing", "--grid", value, "--time-limit", "0.001")
            self.fails(INVALID, "run", self.kernel(), "--kernel", "nothing", "--block", value)
        for value in ("x", "0", "gpc:x", "gpc:0", f"gpc:{BEYOND}", "4294967295,4294967295,4294967295", "gpc:"):
            with self.subTest(cluster=value):
                self.fails(INVALID, "run", self.kernel(), "--kernel", "nothing", "--cluster", value)
                self.fails(INVALID, "occupancy", self.kernel(), "--kernel", "nothing", "--cluster", value)

    def test_arguments(self):
        for value in ("u64:x", f"u64:{BEYOND}", "u64:-1", "i8:128", "i8:-129", "u32:4294967296", "f32:1e39", "f32:1e999", "f16:65520", "bf16:1e39", "f32:x",
                      "u64:", "f32:", "f32:1x", f"buf:u8:{BEYOND}", "buf:u8:x", "buf:u8:4=256", "buf:f32:4=1e39", f"buf:u8:4=random:{BEYOND}", "buf:u8:4=random:x",
                      "buf:u8:4=random:"):
            with self.subTest(value=value):
                self.assertIn("--arg", self.refuses(INVALID, value, "run", self.kernel(), "--kernel", "takes", "--arg", value))
        self.refuses(MEMORY, "999G", "run", self.kernel(), "--kernel", "takes", "--arg", "buf:u8:999G")
        for option in ("--out", "--expect", "--print"):
            for index in ("x", "1", "-1", BEYOND):
                with self.subTest(option=option, index=index):
                    text = index if option == "--print" else f"{index}=zeros"
                    self.assertIn(option, self.refuses(INVALID, index, "run", self.kernel(), "--kernel", "takes", "--arg", "buf:u8:4", f"{option}={text}"))

    def test_files(self):
        def npy(header):
            header += " " * (-(len(header) + 11) % 64) + "\n"
            return self.write("a.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())

        for descr, shape in (("|u1", f"({BEYOND},)"), ("|u1", f"(0, {BEYOND})"), ("|u1", "(-1,)"), ("|u1", "(x,)"), ("<u18446744073709551617", "(0,)")):
            with self.subTest(descr=descr, shape=shape):
                path = npy(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}")
                self.refuses(INVALID, "a.npy", "run", self.kernel(), "--kernel", "takes", "--arg", f"buf:u8={path}", "--arg", "f32:0")
        for value in (BEYOND, "-1", "1e999", '"x"', f'"{BEYOND}"', '"99999999999G"'):
            with self.subTest(memory=value):
                shape = self.write("shape.json", '{"name": "s", "sms": 1, "memory_bytes": %s}' % value)
                self.refuses(INVALID, "shape.json", "device", "--shape", shape)

    def test_too_much_is_an_error(self):
        """Values that fit a number but no machine."""
        self.fails(INVALID, "run", self.kernel(), "--kernel", "nothing", "--shared", "18446744073709551615")
        self.fails(INVALID, "run", self.kernel(), "--kernel", "nothing", "--shared", "4294967296")
        self.fails(INVALID, "run", self.kernel(), "--kernel", "nothing", "--workers", "4294967295")
        self.fails(INVALID, "run", self.kernel(), "--kernel", "nothing", "--stack", "4294967295")
        for heap in ("18446744073709551615", "8589934592G"):
            self.refuses(MEMORY, "heap", "run", self.kernel(), "--kernel", "nothing", "--heap", heap)

    def test_ptxas(self):
        for value in ("sm_x", "sm_", f"sm_{BEYOND}", "sm_4294967386", "sm_19", "compute_99999", "sm_90x"):
            with self.subTest(value=value):
                self.assertIn("gpu-name", self.refuses(255, value, "ptxas", f"-arch={value}", self.kernel(), "-o", self.path("a.cubin")))


if __name__ == "__main__":
    tap.main()
