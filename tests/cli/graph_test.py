"""`raddle graph`: programs in Lua run and shown, and the page in a real browser."""
import json
import os
import re
import shutil
import subprocess
import unittest

from command import INVALID, LIBCUDA, ROOT, SUCCESS, CommandTest, has_jit, tap

HEAT = os.path.join(ROOT, "examples/graphs/heat.lua")
BROWSER = shutil.which("chromium")
REASON = ("a browser is started with RADDLE_TEST_ALL=1 only" if not os.environ.get("RADDLE_TEST_ALL") else
          "no chromium here (tools/setup.sh --all installs it)" if BROWSER is None else None)
WORKED = """
local R = {buffer("R1", 64, "input")}
for i = 2, 5 do R[i] = buffer("R" .. i, 64) end
R[6] = buffer("R6", 64, "output")
local one = pass{name="one", reads={"a"}, writes={"b"}, commands=function(p, v) p:copy{to=v.b, from=v.a} end}
one{a=R[1], b=R[2]}
for i = 3, 5 do one{a=R[2], b=R[i]} end
pass{name="join", reads={"a", "b", "c"}, writes={"d"}, commands=function(p, v) p:copy{to=v.d, from=v.a} end}{a=R[3], b=R[4], c=R[5], d=R[6]}
"""


class Graph(CommandTest):
    # proves: G-3d
    def test_parameters_reach_the_program(self):
        program = self.write("p.lua", 'print(param("n", 4) * 2, param("name", "none"))')
        self.assertEqual(self.raddle("graph", "run", program)[1], "8\tnone\n")
        self.assertEqual(self.raddle("graph", "run", program, "--param", "n=5", "--param", "name=x=y")[1], "10\tx=y\n")
        status, _, errors = self.raddle("graph", "run", program, "--param", "n")
        self.assertEqual(status, INVALID)
        self.assertIn("NAME=VALUE", errors)

    def test_the_example_gives_the_same_with_every_policy(self):
        wanted = None
        for policy in ("fastest", "least_memory", "program_order", "random_order"):
            for engine in ("interp", "jit") if has_jit() else ("interp",):
                status, output, errors = self.raddle("graph", "run", HEAT, "--param", "n=512", "--param", "rounds=3", "--scheduling", policy,
                                                     "--engine", engine)
                self.assertEqual(status, SUCCESS, errors)
                wanted = wanted or output
                self.assertEqual(output, wanted)

    # proves: G-19d
    def test_the_hosts_processor(self):
        status, output, errors = self.raddle("graph", "run", HEAT, "--param", "rounds=1", "--target", "host", "--report")
        self.assertEqual(status, SUCCESS, errors)
        self.assertIn("passes on host", errors)

    # proves: G-19e
    def test_the_driver_of_a_gpu(self):
        arguments = ("graph", "run", HEAT, "--param", "n=512", "--param", "rounds=3", "--report", "--target")
        _, wanted, _ = self.raddle(*arguments, "device")
        status, output, errors = self.raddle(*arguments, "gpu", environment={"RADDLE_GPU_DRIVER": LIBCUDA})
        self.assertEqual(status, SUCCESS, errors)
        self.assertEqual(output, wanted)
        self.assertIn("passes on Raddle h200", errors)

    def test_a_machine_without_a_gpu(self):
        status, _, errors = self.raddle("graph", "run", HEAT, "--target", "gpu", environment={"RADDLE_GPU_DRIVER": "/nowhere.so"})
        self.assertEqual(status, INVALID)
        self.assertIn("no driver of a GPU", errors)

    def test_errors_show_the_line(self):
        program = self.write("p.lua", "local r = buffer('r', 64)\nset_resources({r}, {})\nfill{view=r, word=1}\n")
        status, _, errors = self.raddle("graph", "run", program)
        self.assertEqual(status, INVALID)
        self.assertIn("p.lua:3", errors)
        self.assertIn("fill{view=r, word=1}", errors)
        status, _, errors = self.raddle("graph", "run", self.write("q.lua", "while true do end"), "--instructions", "100000")
        self.assertEqual(status, INVALID)
        self.assertIn("limit of 100000 instructions", errors)

    # proves: G-11e
    def test_measurements_are_kept_between_processes(self):
        history = self.path("history.json")
        for runs in (1, 2):
            self.succeeds("graph", "run", HEAT, "--param", "rounds=1", "--history", history)
            document = json.load(open(history))
            step = [one for one in document["passes"] if one["what"].startswith("step (")]
            self.assertEqual(len(step), 1)  # one definition with one shape, invoked eight times
            self.assertEqual(step[0]["runs"], 8 * runs)

    # proves: G-1d, G-15a
    def test_graphviz(self):
        program, dot = self.write("p.lua", WORKED), self.path("p.dot")
        self.succeeds("graph", "run", program, "--dot", dot)
        text = open(dot).read()
        self.assertEqual(len(re.findall(r"shape=box", text)), 5)
        self.assertEqual(len(re.findall(r"shape=ellipse", text)), 6)
        self.assertEqual(len(re.findall(r"r\d+ -> n\d+", text)), 7)
        self.assertEqual(len(re.findall(r"n\d+ -> r\d+", text)), 5)
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tsvg", dot, "-o", self.path("p.svg")], check=True)


@unittest.skipIf(REASON, REASON)
class GraphPage(CommandTest):
    def drawn(self, page, fragment):
        """What the page says it drew, and what the browser has in its document."""
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.path('profile')}",
                               "--virtual-time-budget=1500", "--dump-dom", f"file://{page}#{fragment}"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        document = done.stdout.decode()
        found = re.search(r'<pre id="drawn"[^>]*>(.*?)</pre>', document, re.S)
        self.assertTrue(found, done.stderr.decode(errors="replace"))
        return json.loads(found.group(1).replace("&quot;", '"').replace("&gt;", ">").replace("&amp;", "&")), document

    # proves: G-15b, G-15c, G-15d
    def test_graph_timeline_memory_and_why(self):
        program, page = self.write("p.lua", WORKED), self.path("p.html")
        self.succeeds("graph", "show", program, "--html", page, "--memory", "2048")
        self.assertNotIn("http://", open(page).read().replace("http://www.w3.org/2000/svg", ""))
        drawn, document = self.drawn(page, "times=estimated")
        self.assertEqual(drawn["graph"]["nodes"], 5)
        self.assertEqual(drawn["graph"]["columns"], 3)
        self.assertEqual(drawn["timeline"]["bars"], 5)
        self.assertEqual(drawn["memory"]["parts"], 4)
        self.assertFalse(drawn["measured"])
        self.assertEqual(document.count('<rect class="live"'), 4)
        measured, _ = self.drawn(page, "times=measured&node=4")
        self.assertTrue(measured["measured"])
        self.assertEqual(measured["chosen"], 4)
        self.assertIn("it reads what 'one' writes to", measured["why"])
        self.assertIn("p.lua:8", measured["why"])

    def test_several_runs(self):
        page = self.path("heat.html")
        self.succeeds("graph", "run", HEAT, "--param", "rounds=3", "--html", page)
        drawn, document = self.drawn(page, "run=2")
        self.assertEqual(drawn["run"], 2)
        self.assertIn("3 of 3", document)


if __name__ == "__main__":
    tap.main()
