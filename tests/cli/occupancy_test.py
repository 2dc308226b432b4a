"""raddle occupancy: blocks and clusters that run at once, what limits them, several machines side by side."""
import json
import os

from command import HEAD, INVALID, KERNELS, ROOT, CommandTest, tap

VECTOR_ADD = os.path.join(KERNELS, "vector_add.ptx")


class OccupancyTest(CommandTest):
    def ask(self, *arguments):
        return json.loads(self.succeeds("occupancy", *arguments, "--json"))

    def machine(self, *arguments):
        (machine,) = self.ask(*arguments)["machines"]
        return machine

    # proves: W-13a
    def test_clusters_are_counted_gpc_by_gpc(self):
        floor_swept = os.path.join(ROOT, "examples/shapes/floor_swept.json")
        for shape in ["h200", "a100", "tiny", floor_swept]:
            gpcs = json.loads(self.succeeds("device", "--shape", shape, "--json"))["sms_per_gpc"]
            for block, per_sm in [(1024, 2), (512, 4), (256, 8)]:
                found = self.machine(VECTOR_ADD, "--shape", shape, "--block", block, "--cluster", "2x2x1")
                self.assertEqual(found["blocks_per_sm"], per_sm)
                self.assertEqual(found["limited_by"], ["threads", "warps"])
                self.assertEqual(found["active_blocks"], sum(gpcs) * per_sm)
                self.assertEqual(found["active_clusters"], sum(sms * per_sm // 4 for sms in gpcs))
                for size in found["cluster_sizes"]:
                    self.assertEqual(size["clusters"], sum(sms * per_sm // size["blocks"] for sms in gpcs))
                running = {size["blocks"]: size["blocks"] * size["clusters"] for size in found["cluster_sizes"]}
                self.assertEqual(list(running), [1, 2, 4, 8, 16])
                best = max(size for size in running if running[size] == max(running.values()))
                self.assertEqual(found["best_cluster_size"], best)

    # proves: W-13b
    def test_the_answer_is_the_rule_s_and_no_formula(self):
        # Three SMs of one block each in a CPC: CPC clusters of two leave one SM of each idle, GPC clusters do not.
        shape = self.write("odd.json", '{"name": "odd", "cpcs": 2, "tpcs": [2, 1]}')
        one_each = [VECTOR_ADD, "--shape", shape, "--block", 1024, "--shared", "200K"]
        self.assertEqual(self.machine(*one_each, "--cluster", "cpc:2")["active_clusters"], 2)
        self.assertEqual(self.machine(*one_each, "--cluster", "gpc:2")["active_clusters"], 3)
        nested = self.machine(*one_each, "--cluster", "gpc:2", "--cluster", "cpc:2")
        self.assertEqual((nested["active_clusters"], nested["blocks_in_clusters"]), (1, 4))
        # Two blocks fit an SM; one of a cluster at most when it multicasts: eight need as many SMs.
        two_each = [VECTOR_ADD, "--shape", shape, "--block", 1024, "--cluster", "8"]
        self.assertEqual(self.machine(*two_each)["active_clusters"], 1)
        self.assertEqual(self.machine(*two_each, "--multicast")["active_clusters"], 0)
        small = self.machine(*two_each)
        self.assertEqual((small["largest_portable_cluster"], small["largest_cluster_size"]), (8, 8))

    # proves: W-13d, W-13e
    def test_machines_side_by_side_and_the_warning_of_a_small_one(self):
        both = self.ask(VECTOR_ADD, "--shape", "h200", "--shape", "tiny", "--shared", "100K", "--policy", "first_fit")
        self.assertEqual([(m["shape"], m["blocks_per_sm"]) for m in both["machines"]], [("h200", 2), ("tiny", 2)])
        self.assertEqual(both["machines"][0]["limited_by"], ["shared memory"])
        text = self.succeeds("occupancy", VECTOR_ADD, "--shape", "h200", "--shape", "tiny")
        self.assertIn("limited by", text)
        self.assertIn("warning: no GPC of 'tiny' has 4 TPCs", text)
        none = self.machine(VECTOR_ADD, "--shared", "228K")
        self.assertEqual((none["blocks_per_sm"], none["limited_by"]), (0, ["shared memory per block"]))
        self.assertEqual((none["active_clusters"], none["best_cluster_size"]), (0, 0))

    def test_the_kernel_s_own_cluster_and_block_are_taken(self):
        own = self.write("own.ptx", HEAD + """
            .visible .entry own() .reqntid 512, 1, 1 .explicitcluster .reqnctapercluster 4, 2, 1 { ret; }
            .visible .entry few() .maxclusterrank 4 .explicitcluster { ret; }""")
        found = self.ask(own, "--kernel", "own")
        self.assertEqual((found["threads"], found["cluster"], found["blocks_per_cluster"]), (512, "gpc:4x2x1", 8))
        few = self.machine(own, "--kernel", "few")
        self.assertEqual([size["blocks"] for size in few["cluster_sizes"]], [1, 2, 4])
        self.assertIn("--kernel is needed; the file has: own, few", self.fails(INVALID, "occupancy", own))

    def test_wrong_questions(self):
        for arguments, message in [
            (["--cluster", "core:2"], "no level 'core'"),
            (["--cluster", "cpc:2", "--cluster", "gpc:2"], "must lie in a level inside"),
            (["--cluster", "0"], "each at least 1"),
            (["--cluster", "4096x4096"], "more than 1048576 blocks"),
            (["--policy", "fair"], "no policy 'fair'"),
            (["--shape", "h300"], "no machine shape 'h300'"),
            (["--block", "2048"], "exceeds 1024"),
            (["--kernel", "nothing"], "no kernel 'nothing'"),
        ]:
            self.assertIn(message, self.fails(INVALID, "occupancy", VECTOR_ADD, *arguments))


if __name__ == "__main__":
    tap.main()
