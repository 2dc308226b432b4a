"""Machine shapes: `raddle device` describes them and writes them as files, --shape and RADDLE_DEVICE read them."""
import glob
import json
import os

from command import INVALID, KERNELS, ROOT, CommandTest, tap


class ShapesTest(CommandTest):
    # proves: W-1h
    def test_presets_and_examples_read_back_as_they_were_dumped(self):
        examples = sorted(glob.glob(os.path.join(ROOT, "examples/shapes/*.json")))
        self.assertTrue(examples)
        for shape in ["h200", "a100", "tiny", "host"] + examples:
            dump = self.succeeds("device", "--shape", shape, "--dump")
            again = self.succeeds("device", "--shape", self.write("again.json", dump), "--dump")
            self.assertEqual(dump, again)
            described = json.loads(self.succeeds("device", "--shape", shape, "--workers", 1, "--json"))
            self.assertEqual(described["machine"], json.loads(dump))

    # proves: W-1a, W-1c, W-1h
    def test_kernels_run_on_the_machine_of_a_file(self):
        shape = self.write("seven.json", '{"name": "seven", "gpcs": [{"tpcs": [2, 1]}, {"tpcs": [1, 1, 2]}]}')
        device = json.loads(self.succeeds("device", "--shape", shape, "--json"))
        self.assertEqual((device["shape"], device["sms"], device["sms_per_gpc"]), ("seven", 7, [3, 4]))
        self.succeeds("run", os.path.join(KERNELS, "vector_add.ptx"), "--shape", shape, "--grid", 4, "--block", 256,
                      "--arg", "buf:f32:1K=iota", "--arg", "buf:f32:1K=1", "--arg", "buf:f32:1K",
                      "--arg", "i32:1024", "--expect", "1=1")

    def test_a_wrong_file_is_named_with_the_path_of_what_is_wrong(self):
        shape = self.write("wrong.json", '{"name": "x", "gpcs": [{"tpcs": 2}, {"tpcs": 0}], "sms": 2}')
        errors = self.fails(INVALID, "device", "--shape", shape)
        self.assertIn("wrong.json: ", errors)
        self.assertIn("$.gpcs[1].tpcs: 0 is no whole number", errors)
        self.assertIn("cannot open", self.fails(INVALID, "device", "--shape", "no/such.json"))

    # proves: W-13d
    def test_a_small_shape_says_so(self):
        tiny = json.loads(self.succeeds("device", "--shape", "tiny", "--json"))
        self.assertEqual(tiny["largest_portable_cluster"], 2)
        self.assertIn("no GPC of 'tiny' has 4 TPCs", tiny["warning"])
        self.assertIn("no GPC of 'tiny' has 4 TPCs", self.succeeds("device", "--shape", "tiny"))
        self.assertNotIn("warning", self.succeeds("device", "--shape", "h200"))


if __name__ == "__main__":
    tap.main()
