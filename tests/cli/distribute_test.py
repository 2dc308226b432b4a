"""raddle distribute and record: reports, recorded decisions, views, loads from real launches."""
import json
import os
import subprocess
import sys
import unittest
import unittest.mock

from command import INVALID, KERNELS, RADDLE, ROOT, USAGE, CommandTest, tap

GRIDS = 12 if os.environ.get("RADDLE_SANITIZE") else 60  # sanitizers take ten times as long for each
LOAD = open(os.path.join(ROOT, "examples/loads/mixed.json")).read().replace('"count": 60', f'"count": {GRIDS}')
VECTOR_ADD = ("run", f"{KERNELS}/vector_add.ptx", "--kernel", "vector_add", "--grid", 300, "--block", 128, "--arg", "buf:f32:38400=iota",
              "--arg", "buf:f32:38400=2", "--arg", "buf:f32:38400", "--arg", "i32:38400")

CUDA_PROGRAM = """import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def check(status):
    assert status == 0, status
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), b".version 8.0\\n.target sm_90\\n.address_size 64\\n.visible .entry nothing() { ret; }"))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"nothing"))
for i in range(3):
    check(cuda.cuLaunchKernel(function, 40 + i, 1, 1, 64, 1, 1, 0, None, None, None))
check(cuda.cuCtxSynchronize())
"""


# Three contexts, one after the other: address spaces. Each thread writes the same word of its space.
THREE_SPACES = CUDA_PROGRAM.split("check(cuda.cuDevicePrimaryCtxRetain")[0] + """
word = ctypes.c_uint64()
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(word))
for space in range(3):
    check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
    check(cuda.cuMemAlloc_v2(ctypes.byref(word), ctypes.c_size_t(4)))
    check(cuda.cuModuleLoadData(ctypes.byref(module), b".version 8.0\\n.target sm_90\\n.address_size 64\\n"
        b".visible .entry write(.param .u64 word) { .reg .u64 %a; ld.param.u64 %a, [word]; st.global.u32 [%a], 1; ret; }"))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"write"))
    check(cuda.cuLaunchKernel(function, 40, 1, 1, 64, 1, 1, 0, None, parameters, None))
    check(cuda.cuCtxSynchronize())
print("done")
"""


class Distribute(CommandTest):
    def load(self):
        return self.write("load.json", LOAD)

    def rows(self, table):
        """Of raddle compare, by figure."""
        return {line[:24].strip(): line[24:].split() for line in table.splitlines()}

    # proves: W-22a, W-22b
    def test_policies_stand_side_by_side_and_reports_repeat(self):
        command = ("distribute", "--trace", self.load(), "--policy", "all", "--json")
        first, again = self.succeeds(*command), self.succeeds(*command)
        self.assertEqual(first, again)
        policies = json.loads(first)["policies"]
        self.assertEqual([p["policy"] for p in policies][:1], ["lake"])
        self.assertGreaterEqual(len(policies), 4)
        for policy in policies:
            self.assertEqual(policy["ctas"], policies[0]["ctas"])
            self.assertEqual(policy["grids"], GRIDS)
            self.assertEqual(policy["stuck_grids"], 0)
            self.assertLess(0, policy["fairness"])
            self.assertLessEqual(policy["fairness"], 1)
        table = self.succeeds("distribute", "--trace", self.load(), "--policy", "lake,round_robin")
        for word in ("lake", "round_robin", "makespan, ns", "selection steps", "of priority -1"):
            self.assertIn(word, table)

    def test_what_is_wrong_is_said(self):
        errors = self.fails(INVALID, "distribute", "--trace", self.write("bad.json", LOAD.replace('"threads": 256', '"threads": -1')))
        self.assertIn("bad.json: $.generators[0].mix[0].grid.needs.threads: -1 is no whole number", errors)
        self.assertIn("lake", self.fails(INVALID, "distribute", "--trace", self.load(), "--policy", "wishful"))
        self.fails(INVALID, "distribute", "--trace", self.load(), "--shape", "no such shape")
        self.fails(INVALID, "distribute", "--trace", self.path("absent.json"))
        self.fails(USAGE, "distribute")
        self.fails(USAGE, "distribute", "--trace", self.load(), "--show", "x")
        self.assertIn("never holds: large", self.fails(INVALID, "distribute", "--shape", "tiny", "--trace", self.write("large.json", """
            {"raddle": "load", "version": 1, "grids": [{"name": "large", "grid": [16], "needs": {"threads": 1024}, "duration": 5,
             "clusters": [{"level": "gpc", "extent": [16]}]}]}""")))

    def test_decisions_are_written_and_shown_again(self):
        log, timeline = self.path("log.jsonl"), self.path("timeline.json")
        command = ("distribute", "--trace", self.load(), "--policy", "lake,first_fit", "--most-steps", 100000)
        self.succeeds(*command, "--decisions", log, "--timeline", timeline)
        table = self.succeeds(*command, "--decisions", "table")
        shown = self.succeeds("distribute", "--show", log, "--most-steps", 100000)
        self.assertTrue(table.startswith(shown))  # the report follows
        again = self.path("again.json")
        self.succeeds("distribute", "--show", log, "--most-steps", 100000, "--timeline", again)
        self.assertEqual(open(again).read(), open(timeline).read())
        processes = {event["args"]["name"] for event in json.load(open(timeline))["traceEvents"] if event["name"] == "process_name"}
        self.assertIn("first_fit GPC 7", processes)
        self.assertIn("log.jsonl:1", self.fails(INVALID, "distribute", "--show", self.write("log.jsonl", "{}")))

    def test_examples(self):
        lake = self.succeeds("distribute", "--example", "lake")
        self.assertEqual(sum(line.split()[2] == "launch" for line in lake.splitlines()[2:] if line), 7)  # before, and six levels
        cluster = self.succeeds("distribute", "--example", "cluster")
        self.assertIn("fail", cluster)
        self.assertIn("cluster of 100", cluster)
        self.assertIn("gpc 0:fail 1:0 2:", self.succeeds("distribute", "--example", "nested"))

    # proves: W-21a, W-21d, W-21f, W-22c
    def test_a_live_launch_becomes_a_load_and_decisions(self):
        load, log = self.path("recorded.json"), self.path("log.jsonl")
        self.succeeds(*VECTOR_ADD, "--record", load, "--decisions", log)
        recorded = json.load(open(load))["grids"]
        self.assertEqual(len(recorded), 1)
        self.assertEqual(recorded[0]["name"], "vector_add")
        self.assertEqual(recorded[0]["grid"], [300, 1, 1])
        self.assertEqual(recorded[0]["needs"]["threads"], 128)
        self.assertEqual(len(recorded[0]["duration"]["list"]), 300)
        report = json.loads(self.succeeds("distribute", "--trace", load, "--json"))["policies"][0]
        self.assertEqual(report["ctas"], 300)
        steps = [json.loads(line) for line in open(log)]
        self.assertEqual(sum(len(step["sms"]) for step in steps if step.get("step") == "launch"), 300)
        self.assertEqual(sum(len(step["sms"]) for step in steps if step.get("step") == "complete"), 300)
        self.assertIn("vector_add", self.succeeds("distribute", "--show", log))

    def most_resident(self, log):
        resident, most = {}, 0
        for step in map(json.loads, open(log)):
            for sm in step.get("sms", []):
                resident[sm] = resident.get(sm, 0) + {"launch": 1, "complete": -1}.get(step["step"], 0)
                most = max(most, resident[sm])
        return most

    # proves: W-23a, W-23b
    def test_options_of_the_distributor(self):
        log = self.path("log.jsonl")
        for text, most in (("", 16), ("cap_per_sm=3", 3), ("cap_per_sm.lake=2", 2), ("grid_cap_per_sm=1", 1)):
            self.succeeds(*VECTOR_ADD, "--shape", "tiny", "--decisions", log, "--distributor", text)
            self.assertEqual(self.most_resident(log), most, text)
        one = '{"raddle": "load", "version": 1, "grids": [{"grid": [64], "needs": {"threads": 512}, "duration": 5}]}'
        for command in (VECTOR_ADD, ("distribute", "--trace", self.write("one.json", one)), ("occupancy", f"{KERNELS}/vector_add.ptx"), ("device",)):
            self.assertIn("--distributor: option credits: 'x'", self.fails(INVALID, *command, "--distributor", "credits=x"))
            if command[0] != "distribute":
                self.assertIn("option sm_order: names 2 of the 132 SMs", self.fails(INVALID, *command, "--distributor", "sm_order=1-0"))
        ends = [json.loads(self.succeeds("distribute", "--shape", "tiny", "--trace", self.path("one.json"), "--json", "--distributor", text))
                ["policies"][0]["makespan"] for text in ("", "cap_per_sm=1", "cap_per_sm.first_fit=1")]
        self.assertEqual(ends, [40, 160, 40])
        occupancy = json.loads(self.succeeds("occupancy", f"{KERNELS}/vector_add.ptx", "--json", "--distributor", "cap_per_sm=3"))["machines"][0]
        self.assertEqual((occupancy["blocks_per_sm"], occupancy["active_blocks"], occupancy["limited_by"]), (3, 396, ["cap"]))

    # proves: W-13d
    def test_a_run_says_what_its_machine_cannot_do(self):
        status, _, errors = self.raddle(*VECTOR_ADD, "--shape", "tiny")
        self.assertEqual(status, 0)
        self.assertEqual(errors, "raddle: " + json.loads(self.succeeds("device", "--shape", "tiny", "--json"))["warning"] + "\n")
        self.assertEqual(self.raddle(*VECTOR_ADD)[2], "")

    def program(self, **environment):
        done = subprocess.run([RADDLE, "exec", sys.executable, self.write("program.py", CUDA_PROGRAM)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120, env=dict(os.environ, **environment))
        return done.returncode, done.stderr

    # proves: W-13d
    @unittest.skipIf(os.environ.get("RADDLE_SANITIZE"), "programs that are not instrumented cannot load libraries that are")
    def test_programs_hear_of_options_and_of_small_machines(self):
        log = self.path("log.jsonl")
        for options, most in (("", 21), ("cap_per_sm=2", 2), ("grid_cap_per_sm=3", 3)):
            status, errors = self.program(RADDLE_DEVICE="tiny", RADDLE_DISTRIBUTOR=options, RADDLE_DECISIONS=log)
            self.assertEqual((status, errors.count("no GPC of 'tiny' has 4 TPCs")), (0, 1), errors)
            self.assertEqual(self.most_resident(log), most)
        status, errors = self.program(RADDLE_DISTRIBUTOR="ties=dice")
        self.assertNotEqual(status, 0)
        self.assertIn("raddle: RADDLE_DISTRIBUTOR: option ties: 'dice' is none of load, waiting, priority", errors)
        self.assertIn("raddle: RADDLE_POLICY: no policy 'dice'", self.program(RADDLE_POLICY="dice")[1])
        self.assertIn("raddle: RADDLE_ENGINE: no engine 'dice'", self.program(RADDLE_ENGINE="dice")[1])
        self.assertIn("raddle: RADDLE_ASYNC: no asynchrony 'dice'", self.program(RADDLE_ASYNC="dice")[1])
        self.assertIn("raddle: RADDLE_MMA: no arithmetic of matrices 'dice'", self.program(RADDLE_MMA="dice")[1])
        self.assertIn("raddle: RADDLE_MMU: no translation 'dice'", self.program(RADDLE_MMU="dice")[1])
        self.assertIn("raddle: RADDLE_BOUNDS: no bounds 'dice'; there are exact, hardware", self.program(RADDLE_BOUNDS="dice")[1])
        self.assertIn("raddle: RADDLE_PLACEMENT: no placement 'dice'; there are wide, deep, auto, auto_per_task", self.program(RADDLE_PLACEMENT="dice")[1])
        self.assertEqual(self.program(RADDLE_DISTRIBUTOR="")[1], "")

    def sms_used(self, log):
        return len({sm for step in map(json.loads, open(log)) if step.get("step") == "launch" for sm in step["sms"]})

    # proves: A-16c
    @unittest.skipIf(os.environ.get("RADDLE_SANITIZE"), "programs that are not instrumented cannot load libraries that are")
    def test_programs_hear_of_placement(self):
        log = self.path("log.jsonl")
        used = {}
        for placement in ("", "wide", "deep", "auto"):
            self.assertEqual(self.program(RADDLE_PLACEMENT=placement, RADDLE_DECISIONS=log), (0, ""))
            used[placement] = self.sms_used(log)
        self.assertEqual(used[""], used["wide"])
        self.assertEqual(used["auto"], used["wide"])
        self.assertLess(used["deep"], used["wide"])

    # proves: A-17d
    @unittest.skipIf(os.environ.get("RADDLE_SANITIZE"), "programs that are not instrumented cannot load libraries that are")
    def test_compare_runs_a_program_under_each_placement(self):
        program = self.write("three.py", THREE_SPACES)
        status, output, errors = self.raddle("compare", "--", sys.executable, program)
        self.assertEqual((status, errors), (0, "done\ndone\n"))
        rows = self.rows(output)
        self.assertEqual(rows[""], ["wide", "deep"])
        self.assertEqual(rows["CTAs"], ["120", "120"])
        self.assertEqual(rows["SMs that had a CTA"], ["40", "6"])
        self.assertEqual(rows["spaces on an SM, mean"], ["3", "1"])
        self.assertNotIn("misses", output)
        report = json.loads(self.succeeds("compare", "--placement", "deep", "--json", "--", sys.executable, program))
        self.assertEqual([(run["placement"], run["figures"][2]) for run in report["runs"]],
                         [("deep", {"name": "SMs that had a CTA", "value": 6.0})])
        self.assertIn("ended with status 3 under wide placement", self.fails(3, "compare", "--", sys.executable, "-c", "exit(3)"))
        self.assertIn("ran nothing on a device", self.fails(INVALID, "compare", "--", sys.executable, "-c", ""))
        self.assertIn("no placement 'dice'", self.fails(INVALID, "compare", "--placement", "dice", "--", sys.executable, program))
        self.fails(USAGE, "compare")

    # The first thread of a space on an SM misses in its TLB and its cache; the first of all in the physical cache.
    # proves: A-17b, A-17c, A-17d
    @unittest.skipIf(os.environ.get("RADDLE_SANITIZE"), "programs that are not instrumented cannot load libraries that are")
    def test_compare_shows_misses_of_modelled_spaces(self):
        command = ("compare", "--", sys.executable, self.write("three.py", THREE_SPACES))
        with unittest.mock.patch.dict(os.environ, RADDLE_MMU="modelled"):
            wide, deep = self.rows(self.succeeds("compare", "--", RADDLE, *VECTOR_ADD))["TLB misses"]
            self.assertGreater(int(wide), int(deep))
            rows = self.rows(self.succeeds(*command))
            self.assertEqual(rows["TLB misses"], ["120", "6"])
            self.assertNotIn("virtual cache misses", rows)
            with unittest.mock.patch.dict(os.environ, RADDLE_TLB="virtual=64,physical=4096"):
                rows = self.rows(self.succeeds(*command))
                self.assertEqual(rows["virtual cache misses"], ["120", "6"])
                self.assertEqual(rows["physical cache misses"], ["3", "3"])

    # proves: A-16a
    def test_commands_take_placements(self):
        log = self.path("log.jsonl")
        used = []
        for placement in ("wide", "deep"):
            self.succeeds(*VECTOR_ADD, "--decisions", log, "--placement", placement)
            used.append(self.sms_used(log))
        self.assertLess(used[1], used[0])
        self.assertIn("--placement: no placement 'dice'", self.fails(INVALID, *VECTOR_ADD, "--placement", "dice"))
        load = self.write("three.json", json.dumps({"raddle": "load", "version": 1, "grids": [
            {"space": space, "grid": [4], "needs": {"threads": 512}, "duration": 5, "placement": "deep"} for space in (1, 2, 3)]}))
        report = json.loads(self.succeeds("distribute", "--trace", load, "--shape", "tiny", "--json", "--placement", "wide,deep,auto"))
        self.assertEqual([(run["policy"], run["sms_used"], run["spaces_most"]) for run in report["policies"]],
                         [("wide", 2, 3), ("deep", 2, 2), ("auto", 2, 2)])
        self.assertEqual(json.loads(self.succeeds("distribute", "--trace", load, "--json"))["policies"][0]["sms_used"], 3)
        self.assertIn("--placement: no placement 'dice'", self.fails(INVALID, "distribute", "--trace", load, "--placement", "dice"))
        self.fails(USAGE, "distribute", "--trace", load, "--placement", "deep", "--policy", "lake")

    def test_the_variables_of_programs_preset_the_options_of_run(self):
        with unittest.mock.patch.dict(os.environ, RADDLE_POLICY="dice"):
            self.assertIn("no policy 'dice'; there are lake, ", self.fails(INVALID, *VECTOR_ADD))
            self.succeeds(*VECTOR_ADD, "--policy", "round_robin")
            self.assertIn("no policy 'dice'", self.fails(INVALID, "device"))

    def test_record_runs_a_program(self):
        load = self.path("recorded.json")
        output = self.succeeds("record", "-o", load, "--", RADDLE, *VECTOR_ADD)
        self.assertIn("vector_add", output)
        self.assertEqual(json.load(open(load))["grids"][0]["name"], "vector_add")
        self.fails(USAGE, "record", "-o", load)
        self.fails(INVALID, "record", "-o", self.path("no/such/directory.json"), "--", RADDLE, *VECTOR_ADD)

    @unittest.skipIf(os.environ.get("RADDLE_SANITIZE"), "programs that are not instrumented cannot load libraries that are")
    def test_programs_that_never_close_their_device_are_recorded_when_they_exit(self):
        load, log = self.path("recorded.json"), self.path("log.jsonl")
        self.succeeds("record", "-o", load, "--decisions", log, "--", sys.executable, self.write("program.py", CUDA_PROGRAM))
        self.assertEqual([grid["grid"][0] for grid in json.load(open(load))["grids"]], [40, 41, 42])
        self.assertEqual(self.succeeds("distribute", "--show", log).count("nothing"), open(log).read().count('"step"'))


if __name__ == "__main__":
    tap.main()
