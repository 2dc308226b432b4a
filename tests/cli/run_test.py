"""raddle run and device: buffers in and out, expectations, faults, limits, both engines."""
import json
import os
import re
import signal
import struct
import subprocess
import time
import unittest
from xml.etree import ElementTree

import command
from command import ENGINES, EXPECTATION, FAULT, HEAD, INVALID, KERNELS, MEMORY, RADDLE, TIMEOUT, UNSUPPORTED, USAGE, CommandTest, tap

VECTOR_ADD = ("run", f"{KERNELS}/vector_add.ptx", "--kernel", "vector_add", "--grid", 8, "--block", 128, "--arg", "buf:f32:1000=iota",
              "--arg", "buf:f32:1000=2", "--arg", "buf:f32:1000", "--arg", "i32:1000")

# p[i] = i * k in kernel `scale`; `spin` never ends; `wild` writes to address 8; `later` needs an instruction not there yet.
KERNELS_OF_OURS = HEAD + """
.visible .entry scale(.param .u64 p, .param .u32 k)
{
  .reg .b32 %r<5>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [p];
  ld.param.u32 %r1, [k];
  mov.u32 %r2, %tid.x;
  mul.lo.u32 %r3, %r2, %r1;
  mul.wide.u32 %d2, %r2, 4;
  add.u64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r3;
  ret;
}
.visible .entry spin()
{
again:
  bra again;
}
.visible .entry wild()
{
  .reg .b64 %d<2>;
  mov.u64 %d1, 8;
  st.global.u32 [%d1], 1;
  ret;
}
.visible .entry later()
{
  .reg .f32 %f;
  redux.sync.min.f32 %f, %f, -1;
  frobnicate.u32;
  ret;
}
"""


def npy(kind, values, code):
    """A .npy file of one dimension."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{code}", *values)


class Run(CommandTest):
    def ours(self, kernel, *options):
        return ("run", self.write("ours.ptx", KERNELS_OF_OURS), "--kernel", kernel, *options)

    # Three buffers in one huge page: the TLB of each of the eight SMs misses once, their GPC's once for all.
    def test_a_modelled_device_tells_how_often_its_tlbs_missed(self):
        run = (*VECTOR_ADD, "--mmu", "modelled", "--shape", "h200")
        for option in (), ("--tlb", "l1=4:2:fifo,l2=8"):
            self.assertRegex(self.succeeds(*run, *option), r"SMs' TLBs +2992 hits +8 misses +99.73 % hits\n  GPCs' TLBs +7 hits +1 misses")
        for wrong in "l3=4", "l1=0", "l1=8:3", "l1=8:2:mru":
            self.assertIn("--tlb: ", self.fails(INVALID, *run, "--tlb", wrong))

    # Each buffer has huge pages of its own, and each warp goes to all three.
    def test_a_sweep_draws_hit_rates_over_the_sizes_of_tlbs(self):
        buffer, page = ("--arg", "buf:f32:512K"), self.path("sweep.html")
        run = ("run", f"{KERNELS}/vector_add.ptx", "--grid", 2048, "--block", 256, *buffer * 3, "--arg", "i32:524288", "--mmu", "modelled", "--deterministic")
        self.assertIn(page, self.succeeds(*run, "--tlb-sweep", page))
        with open(page) as file:
            html = file.read()
        diagrams = [ElementTree.fromstring(svg) for svg in re.findall("<svg.*?</svg>", html, re.DOTALL)]
        self.assertEqual([(len(svg.findall("polyline")), len(svg.findall("circle"))) for svg in diagrams], [(2, 20), (2, 20)])
        rows = [[float(cell) for cell in re.findall("<td>(.*?)</td>", row)] for row in re.findall("<tr>(<td>.*?)</tr>", html)]
        self.assertEqual([row[0] for row in rows], [2**i for i in range(10)] + [2**i for i in range(3, 13)])
        for row in rows:
            self.assertEqual(row[1] + row[2], 3 * 524288)  # each element of each buffer
            self.assertEqual(row[4] + row[5], row[2])
        self.assertEqual(rows[0][2], 3 * 524288 / 32)  # one entry: each warp misses each buffer
        self.assertLess(rows[9][2], 132 * 6 + 1)  # at most two pages of each buffer: each SM misses them once
        tops = [min(float(dot.get("cy")) for dot in svg.findall("circle")) for svg in diagrams]
        self.assertGreater(float(diagrams[0].findall("circle")[0].get("cy")), tops[0])  # fewer hits are drawn lower
        self.assertIn("needs --mmu=modelled", self.fails(INVALID, *run[:-3], "--tlb-sweep", page))

    # proves: W-3b, W-3d, W-3f
    def test_clusters(self):
        sums = self.write("sums.npy", npy("<u4", [i % 8192 + 1 for i in range(16384)], "I"))
        scan = ("run", f"{KERNELS}/cluster_scan.ptx", "--grid", 8, "--block", 128, "--arg", "buf:u32:16K=1", "--arg", "buf:u32:16K", "--arg", "i32:16K")
        for engine in ENGINES:
            for clusters in (("--cluster", 4), ("--cluster", 4, "--spread"), ("--cluster", "gpu:2", "--cluster", "gpc:2,1", "--cluster", "cpc:2"),
                             ("--cluster", "gpu:2", "--cluster", "gpc:4"), ("--cluster", 4, "--cooperative")):
                with self.subTest(clusters=clusters, engine=engine):
                    expected = sums if "cpc:2" not in clusters else self.write("pairs.npy", npy("<u4", [i % 4096 + 1 for i in range(16384)], "I"))
                    self.succeeds(*scan, "--engine", engine, *clusters, "--expect", f"1={expected}")
        for clusters, words in ((("--cluster", 3), "not divided"), (("--cluster", "moon:2"), "no level 'moon'"), (("--cluster", 2, "--cluster", 2), "each is named"),
                                (("--cluster", "gpc:2", "--cluster", "gpu:2"), "cannot lie in"), (("--cluster", "4", "--policy", "nobody"), "lake")):
            with self.subTest(clusters=clusters):
                self.assertIn(words, self.fails(INVALID, *scan, *clusters))

    def test_both_engines(self):
        expected = self.write("expected.npy", npy("<f4", [i + 2 for i in range(1000)], "f"))
        for engine in ENGINES:
            with self.subTest(engine):
                output = self.succeeds(*VECTOR_ADD, "--engine", engine, "--expect", f"2={expected}", "--expect", "1=2")
                self.assertIn(f"engine {engine}", output)
                self.assertIn("not vectorised", output)

    # proves: K-3c
    def test_every_width_of_vectors(self):
        if "jit" not in ENGINES:
            self.skipTest("this build has no JIT")
        expected = self.write("expected.npy", npy("<f4", [i + 2 for i in range(1000)], "f"))
        for simd in ("avx512", "avx2", "sse42"):  # a host without one takes the next
            with self.subTest(simd):
                self.succeeds(*VECTOR_ADD, "--engine", "jit", "--simd", simd, "--expect", f"2={expected}")

    def test_files_in_and_out(self):
        source = self.write("in.npy", npy("<i4", [0] * 32, "i"))
        out = self.path("out.npy")
        self.succeeds(*self.ours("scale", "--block", 32, "--arg", f"buf:i32={source}", "--arg", "u32:3", "--out", f"0={out}"))
        with open(out, "rb") as file:
            self.assertEqual(file.read(), npy("<i4", [3 * i for i in range(32)], "i"))

    def test_expectation_that_does_not_hold(self):
        errors = self.fails(EXPECTATION, *VECTOR_ADD, "--expect", "2=iota")
        self.assertIn("element 0 is 2, expected 0 (1000 of 1000 elements differ)", errors)
        self.succeeds(*VECTOR_ADD, "--expect", "2=iota", "--tolerance", "2")

    def test_the_only_kernel_needs_no_name(self):
        without = [a for a in VECTOR_ADD if a not in ("--kernel", "vector_add")]
        self.succeeds(*without)
        self.assertIn("scale, spin", self.fails(INVALID, "run", self.write("ours.ptx", KERNELS_OF_OURS)))

    def test_block_is_chosen_when_not_given(self):
        bounded = self.write("bounded.ptx", HEAD + ".visible .entry k()\n.maxntid 64, 2, 1\n{ ret; }\n")
        self.assertIn("blocks of 64x2 threads", self.succeeds("run", bounded))
        free = self.write("free.ptx", HEAD + ".visible .entry k()\n{ ret; }\n")
        self.assertIn("blocks of 256 threads", self.succeeds("run", free))

    def test_a_cooperative_grid_is_resident_at_once(self):
        meet = ("run", os.path.join(os.path.dirname(__file__), "..", "kernels", "cooperative.ptx"), "--kernel", "meet", "--cooperative",
                "--shape", "tiny", "--block", 1024, "--arg", "buf:s32:8", "--arg", "buf:s32:1", "--arg", "s32:2")
        self.succeeds(*meet, "--grid", 4, "--expect", "1=0")
        self.assertIn("holds 4 of these at once", self.fails(INVALID, *meet, "--grid", 5))

    # proves: K-12f
    def test_fault_names_kernel_and_address(self):
        for engine in ENGINES:
            with self.subTest(engine):
                errors = self.fails(FAULT, *self.ours("wild", "--block", 32, "--engine", engine))
                self.assertIn("illegal address 0x8 in kernel wild, block (0,0,0)", errors)

    # proves: K-12e
    def test_fault_shows_its_source_line(self):
        errors = self.fails(FAULT, *self.ours("wild", "--block", 32, "--engine", "interp")).splitlines()
        self.assertRegex(errors[0], r"ours\.ptx:\d+: error: illegal address 0x8 .*thread \(0,0,0\)")
        self.assertEqual(errors[1].strip(), "st.global.u32 [%d1], 1;")

    def test_time_limit(self):
        for engine in ENGINES:
            with self.subTest(engine):
                start = time.monotonic()
                self.fails(TIMEOUT, *self.ours("spin", "--block", 32, "--engine", engine, "--time-limit", "0.3"))
                self.assertLess(time.monotonic() - start, 20)

    def test_interrupt(self):
        process = subprocess.Popen([RADDLE, *map(str, self.ours("spin", "--block", 32))], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), 130)
        process.stderr.close()

    # proves: K-1c, K-1d
    def test_workers_are_pinned_and_no_more_than_cores(self):
        environment = {name: value for name, value in os.environ.items() if name != "RADDLE_PIN"}
        process = subprocess.Popen([RADDLE, *map(str, self.ours("spin", "--grid", 64, "--block", 32))], env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)
        busy = []
        for task in os.listdir(f"/proc/{process.pid}/task"):
            with open(f"/proc/{process.pid}/task/{task}/stat") as stat:
                ticks = int(stat.read().rsplit(")", 1)[1].split()[11])
            if ticks > 0.05 * os.sysconf("SC_CLK_TCK"):
                busy.append(os.sched_getaffinity(int(task)))
        process.kill()
        process.wait()
        cores = len(os.sched_getaffinity(0))
        workers = [cpus for cpus in busy if len(cpus) == 1]
        self.assertEqual(len(workers), len(set(map(tuple, workers))), "two workers on one core")
        self.assertGreaterEqual(len(workers), 1)
        self.assertLessEqual(len(workers), cores)
        self.assertLessEqual(len(busy), cores + 1, "the main thread compiles, workers run, nobody else")

    # proves: K-17h
    def test_unsupported_parts_are_named_before_anything_runs(self):
        errors = self.fails(UNSUPPORTED, *self.ours("later"))
        self.assertIn("redux.sync.min.f32", errors)
        self.assertIn("frobnicate", errors)
        self.succeeds(*self.ours("scale", "--block", 32, "--arg", "buf:i32:32", "--arg", "u32:1"))  # other kernels stay usable

    # proves: K-18f
    def test_functions_that_nobody_defines_are_named_before_launch(self):
        path = self.write("far.ptx", HEAD + """.extern .func (.param .b32 r) far(.param .b32 a);
            .extern .func gone();
            .visible .entry calls(.param .u64 out)
            {
              .reg .b32 %r<3>; .reg .b64 %d<2>; .param .b32 a, r;
              ld.param.u64 %d1, [out];
              st.global.u32 [%d1], 1;
              st.param.b32 [a], 1; call (r), far, (a); call gone;
              ret;
            }
            .visible .entry alone(.param .u64 out) { .reg .b64 %d; ld.param.u64 %d, [out]; st.global.u32 [%d], 7; ret; }""")
        for engine in ENGINES:
            with self.subTest(engine):
                status, output, errors = self.raddle("run", path, "--engine", engine, "--kernel", "calls", "--arg", "buf:u32:1", "--print", 0)
                self.assertEqual((status, output), (UNSUPPORTED, ""))
                self.assertIn("function far is not defined", errors)
                self.assertIn("function gone is not defined", errors)
                self.succeeds("run", path, "--engine", engine, "--kernel", "alone", "--arg", "buf:u32:1", "--expect", "0=7")

    def test_deterministic_runs_repeat(self):
        arguments = ("run", f"{KERNELS}/scan_lookback.ptx", "--help")
        self.succeeds(*arguments)
        for seed in ("--deterministic", "--deterministic=7"):
            self.succeeds(*VECTOR_ADD, seed)

    def test_wrong_arguments(self):
        scale = ("--block", 32)
        for status, options in ((INVALID, ("--arg", "buf:i32:32")),  # one missing
                                (INVALID, ("--arg", "buf:i32:32", "--arg", "u64:1")),  # wrong size
                                (INVALID, ("--arg", "buf:i32:32", "--arg", "u32:1", "--arg", "u32:1")),  # one too many
                                (INVALID, ("--arg", "buf:i32:x", "--arg", "u32:1")),
                                (INVALID, ("--arg", "buf:i32:32", "--arg", "u32:1", "--expect", "1=zeros")),
                                (INVALID, ("--arg", f"buf:i32={self.path('missing.npy')}", "--arg", "u32:1"))):
            with self.subTest(options):
                self.fails(status, *self.ours("scale", *scale, *options))
        self.fails(INVALID, *self.ours("nothing"))
        self.fails(INVALID, *self.ours("scale", "--block", "2048", "--arg", "buf:i32:32", "--arg", "u32:1"))
        self.fails(USAGE, *self.ours("scale", "--engine", "steam"))

    def test_too_little_memory_is_an_error_before_any_block(self):
        self.fails(MEMORY, *self.ours("scale", "--block", 32, "--arg", "buf:f64:999G", "--arg", "u32:1"))

    def test_variables_that_no_machine_has_room_for(self):
        def refused(status, words, text, *options):
            path = self.write("large.ptx", HEAD + text)
            for engine in ENGINES:
                self.assertIn(words, self.fails(status, "run", path, "--kernel", "k", "--block", 1, "--engine", engine, *options))

        nothing = ".visible .entry k() { ret; }"
        for bytes in (65537, 1 << 32, 1 << 40):
            refused(INVALID, f"{bytes} bytes of constants; a module has 65536", f".const .b8 c[{bytes}];" + nothing)
        refused(INVALID, "80000 bytes of constants", ".const .b8 c[40000]; .const .b8 d[40000];" + nothing)
        for bytes in (1 << 38, 1 << 40):
            refused(MEMORY, f"{bytes} bytes wanted", f".global .b8 g[{bytes}];" + nothing)
        for bytes in ((512 << 10) + 1, 1 << 32, (1 << 32) - 1, 1 << 40):
            refused(MEMORY, "bytes of local memory per thread exceed 524288", f".visible .entry k() {{ .local .b8 l[{bytes}]; st.local.b8 [l], 1; ret; }}")
        for bytes in ((227 << 10) + 1, 1 << 32, (1 << 32) - 1, 1 << 40):
            refused(INVALID, "of a block",
                    f".visible .entry k() {{ .shared .b8 s[{bytes}]; st.shared.b8 [s], 1; ret; }}")
        refused(INVALID, "of a block", ".visible .entry k() { .shared .b8 s[16]; st.shared.b8 [s], 1; ret; }", "--shared", "18446744073709551615")
        # A large buffer that fits takes no time and no memory before it is used.
        large = self.write("fits.ptx", HEAD + ".const .b8 c[65536]; .global .b8 g[8589934592];" + nothing)
        self.succeeds("run", large, "--kernel", "k", "--block", 1)

    def test_malformed_source_has_place_and_caret(self):
        errors = self.fails(INVALID, "run", self.write("bad.ptx", HEAD + ".visible .entry k( {\n"))
        self.assertRegex(errors.splitlines()[0], r"bad\.ptx:4:\d+: error: ")
        self.assertEqual(errors.splitlines()[2].strip(), "^")


class Device(CommandTest):
    def test_text(self):
        output = self.succeeds("device")
        for part in ("h200", "132 SMs", "workers", "host"):
            self.assertIn(part, output)

    def test_json(self):
        device = json.loads(self.succeeds("device", "--json", "--shape", "tiny", "--workers", 1))
        self.assertEqual((device["shape"], device["sms"], device["workers"]), ("tiny", 2, 1))

    def test_unknown_shape(self):
        self.assertIn("h200", self.fails(INVALID, "device", "--shape", "round"))


if __name__ == "__main__":
    tap.main()
