"""raddle inspect, isa and device: needs before any launch, everything unknown at once, errors with place and caret."""
import glob
import json
import os
import subprocess
import unittest

import command
from command import HEAD, INVALID, KERNELS, UNSUPPORTED, USAGE, CommandTest, tap

TWO_KERNELS = HEAD + """.func helper()
{
  frobnicate.f32 %f1;
  ret;
}
.visible .entry bad()
{
  .reg .f32 %f<3>;
  wibble.u32 %f1, %f2;
  wibble.u32 %f2, %f1;
  call helper;
  ret;
}
.visible .entry good(.param .u64 p, .param .u32 n)
.maxntid 128, 1, 1
{
  .shared .align 4 .b8 tile[1024];
  bar.sync 0;
  bar.sync 3, 64;
  ret;
}
"""


class Inspect(CommandTest):
    def test_text(self):
        output = self.succeeds("inspect", f"{KERNELS}/vector_add.ptx")
        for part in ("1 kernel", "host: ", "kernel vector_add", "registers", "4 in 28 B"):
            self.assertIn(part, output)

    # proves: K-8d
    def test_needs_of_every_kernel_before_any_launch(self):
        status, output, _ = self.raddle("inspect", "--json", self.write("two.ptx", TWO_KERNELS))
        self.assertEqual(status, UNSUPPORTED)
        kernels = {kernel["name"]: kernel for kernel in json.loads(output)["kernels"]}
        good = kernels["good"]
        self.assertTrue(good["runnable"])
        self.assertEqual((good["parameters"], good["parameter_bytes"]), (2, 12))
        self.assertEqual(good["static_shared_bytes"], 1024)
        self.assertEqual(good["maximal_block"], [128, 1, 1])
        self.assertEqual(good["barriers"], 4)  # 0 and 3: ids up to 3 are in use
        self.assertFalse(kernels["bad"]["runnable"])

    # proves: K-8d
    def test_every_need_has_its_number(self):
        path = self.write("needs.ptx", HEAD + """.const .align 8 .b8 table[24];
            .shared .align 4 .b8 cells[200];
            .extern .shared .align 16 .b8 more[];
            .func deep() { .local .align 8 .b8 frame[40]; ret; }
            .visible .entry k(.param .u64 p, .param .f32 f) .reqntid 16, 4, 2 .explicitcluster .reqnctapercluster 2, 3, 1
            {
              .local .align 8 .b8 mine[16];
              .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .f64 %f<3>;
              mov.u32 %r1, cells; mov.u32 %r2, more; ld.const.u32 %r3, [table]; ld.const.f64 %f1, [table+8];
              call deep;
              bar.sync 0; bar.sync 6, 64;
              st.shared.u32 [%r1], %r2; st.shared.u32 [%r2], %r3; st.shared.f64 [%r1+8], %f1;
              ret;
            }""")
        kernel = json.loads(self.succeeds("inspect", "--json", path))["kernels"][0]
        expected = {"registers": 11, "static_shared_bytes": 200, "dynamic_shared": True, "local_bytes_per_thread": 56, "constant_bytes": 24,
                    "barriers": 7, "cluster": [2, 3, 1], "required_block": [16, 4, 2], "parameter_bytes": 12}
        self.assertEqual({key: kernel[key] for key in expected}, expected)
        text = self.succeeds("inspect", path)
        for part in ("11 (32-bit", "200 B static + dynamic", "56 B per thread", "24 B", "7", "16x4x2 (required)", "2x3x1 (required)"):
            self.assertIn(part, text)

    # proves: K-8e
    def test_the_host_is_what_the_system_says(self):
        def read(path):
            with open(path) as file:
                return file.read()
        path = self.write("k.ptx", HEAD + ".visible .entry k() { ret; }\n")
        for document in (json.loads(self.succeeds("inspect", "--json", path)), json.loads(self.succeeds("device", "--json"))):
            host = document["host"]
            cpus = os.sched_getaffinity(0)
            self.assertEqual(host["hardware_threads"], len(cpus))
            self.assertLessEqual(host["usable_cores"], len(cpus))
            self.assertLessEqual(host["cores"], len(cpus))
            flags = set(next((line for line in read("/proc/cpuinfo").splitlines() if line.startswith("flags")), "").split())
            widest = 512 if {"avx512f", "avx512vl", "avx512bw"} <= flags else 256 if "avx2" in flags else 128
            self.assertEqual(host["vector_bits"], widest)
            caches = {}
            for index in glob.glob(f"/sys/devices/system/cpu/cpu{min(cpus)}/cache/index*"):
                if read(f"{index}/type").strip() != "Instruction":
                    size = read(f"{index}/size").strip()
                    caches[read(f"{index}/level").strip()] = int(size[:-1]) << {"K": 10, "M": 20}[size[-1]]
            self.assertEqual([host["l1_data_bytes"], host["l2_bytes"], host["l3_bytes"]], [caches.get(level, 0) for level in "123"])
            ram = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
            self.assertLessEqual(host["memory_bytes"], ram)
            self.assertGreater(host["memory_bytes"], 0)
            gpus = glob.glob("/proc/driver/nvidia/gpus/*")
            self.assertEqual(len(host["gpus"]), len(gpus))

    # proves: K-8e
    def test_the_host_is_what_this_process_may_use(self):
        cpu = min(os.sched_getaffinity(0))
        done = subprocess.run([command.RADDLE, "device", "--json"], stdout=subprocess.PIPE, text=True, check=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        document = json.loads(done.stdout)
        self.assertEqual((document["host"]["hardware_threads"], document["host"]["usable_cores"], document["workers"]), (1, 1, 1))

    def test_cluster_directives(self):
        kernels = {"plain": "", "pair": ".explicitcluster .reqnctapercluster 2, 1, 1", "must": ".explicitcluster", "few": ".maxclusterrank 4",
                   "counted": ".blocksareclusters .reqntid 64 .reqnctapercluster 2"}
        path = self.write("clusters.ptx", HEAD + "".join(f".visible .entry {name}() {directives} {{ ret; }}\n" for name, directives in kernels.items()))
        output = self.succeeds("inspect", path)
        for part in ("2x1x1 (required)", "to be given at launch", "at most 4 blocks", "(required; grids count clusters)"):
            self.assertIn(part, output)
        found = {kernel["name"]: kernel for kernel in json.loads(self.succeeds("inspect", "--json", path))["kernels"]}
        self.assertEqual((found["plain"]["cluster"], found["plain"]["largest_cluster"], found["plain"]["needs_cluster"]), (None, None, False))
        self.assertEqual((found["pair"]["cluster"], found["pair"]["needs_cluster"]), ([2, 1, 1], True))
        self.assertEqual(found["few"]["largest_cluster"], 4)
        self.assertTrue(found["counted"]["blocks_are_clusters"])

    def test_host_is_described(self):
        host = json.loads(self.succeeds("inspect", "--json", f"{KERNELS}/vector_add.ptx"))["host"]
        self.assertGreaterEqual(host["hardware_threads"], host["cores"])
        self.assertGreater(host["cores"], 0)
        self.assertGreater(host["memory_bytes"], 1 << 28)
        self.assertIn(host["vector_bits"], (128, 256, 512))

    # proves: K-17g
    def test_all_unknown_things_at_once(self):
        status, output, _ = self.raddle("inspect", "--json", self.write("two.ptx", TWO_KERNELS))
        missing = json.loads(output)["unsupported"]
        self.assertEqual([(m["what"], m["first_line"], m["count"], m["kernels"], m["unknown"]) for m in missing],
                         [("frobnicate.f32", 6, 1, ["bad"], True), ("wibble.u32", 12, 2, ["bad"], True)])

    # proves: K-17g
    def test_known_instructions_with_unknown_modifiers(self):
        path = self.write("odd.ptx", HEAD + ".visible .entry good() { ret; }\n.visible .entry bad()\n{\n  add.sat.u64 %a, %b, %c;\n"
                          "  st.const.u32 [%d], 1;\n  ret;\n}\n")
        status, output, _ = self.raddle("inspect", "--json", path)
        self.assertEqual(status, UNSUPPORTED)
        self.assertEqual([(m["what"], m["count"], m["kernels"], m["unknown"]) for m in json.loads(output)["unsupported"]],
                         [("add.sat.u64", 1, ["bad"], True), ("st.const.u32", 1, ["bad"], True)])

    def test_unknown_things_as_text(self):
        status, output, _ = self.raddle("inspect", self.write("two.ptx", TWO_KERNELS))
        self.assertEqual(status, UNSUPPORTED)
        self.assertIn("wibble.u32: first at line 12, 2 times, in bad", output)

    def test_every_example_is_runnable(self):
        for name in sorted(command.os.listdir(KERNELS)):
            if name.endswith(".ptx"):
                with self.subTest(name):
                    self.succeeds("inspect", f"{KERNELS}/{name}")

    def test_error_has_place_line_and_caret(self):
        path = self.write("wrong.ptx", HEAD + ".visible .entry k()\n{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, %r9;\n\tret;\n}\n")
        lines = self.fails(INVALID, "inspect", path).splitlines()
        self.assertRegex(lines[0], rf"^{path}:7:\d+: error: .*%r9")
        self.assertEqual(lines[1], "\tmov.u32 %r1, %r9;")
        self.assertEqual(lines[2].rstrip("^"), "\t" + " " * lines[1][1:].index("%r9"))

    def test_malformed_input_never_crashes(self):
        with open(f"{KERNELS}/vector_add.ptx", "rb") as file:
            good = file.read()
        for name, contents in (("empty", b""), ("zeros", b"\0" * 100), ("bytes", bytes(range(256)) * 4), ("text", b"hello, world\n"),
                               ("half", good[: len(good) // 2]), ("swapped", good.replace(b".u32", b".f99"))):
            with self.subTest(name):
                status, _, errors = self.raddle("inspect", self.write(name, contents))
                self.assertIn(status, (INVALID, UNSUPPORTED), errors)

    def test_missing_file(self):
        self.assertIn("cannot open", self.fails(INVALID, "inspect", self.path("missing.ptx")))


class Isa(CommandTest):
    def test_one_instruction(self):
        output = self.succeeds("isa", "add")
        self.assertIn("add.sat.s32 d, a, b", output)
        self.assertIn("https://docs.nvidia.com/cuda/parallel-thread-execution/#", output)

    def test_list_and_page_agree(self):
        last = self.succeeds("isa").splitlines()[-1]
        self.assertRegex(last, r"^\d+ rows, \d+ done$")
        self.assertIn(last, self.succeeds("isa", "--markdown"))

    def test_unknown_instruction(self):
        self.assertIn("frobnicate", self.fails(INVALID, "isa", "frobnicate"))


class Usage(CommandTest):
    def test_wrong_command_lines(self):
        for arguments in ((), ("fly",), ("inspect",), ("inspect", "--nope", "x"), ("isa", "a", "b")):
            with self.subTest(arguments):
                self.fails(USAGE, *arguments)

    def test_help(self):
        self.assertIn("inspect", self.succeeds("--help"))


if __name__ == "__main__":
    tap.main()
