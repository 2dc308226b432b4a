"""raddle nvcc: what it says where nvcc fails because toolkit 13 no longer has something: each row of src/cli/nvcc_removed.def."""
import os
import re
import shutil
import subprocess
import unittest

from command import RADDLE, ROOT, CommandTest, tap


def rows():
    with open(os.path.join(ROOT, "src/cli/nvcc_removed.def")) as file:
        return re.findall(r'^REMOVED\((\w+), ([\w.]+), "(.*)"\)$', file.read(), re.MULTILINE)


def is_toolkit_13():
    return shutil.which("nvcc") and "release 13." in subprocess.run(["nvcc", "--version"], stdout=subprocess.PIPE, text=True).stdout


@unittest.skipUnless(is_toolkit_13(), "no nvcc of toolkit 13 on this machine")
class Nvcc(CommandTest):
    def compile(self, source, *options):
        """(exit status, lines of raddle's, all messages), the status compared with that of nvcc alone"""
        words = [*options, "-c", self.write("old.cu", source), "-o", self.path("old.o")]
        status, _, errors = self.raddle("nvcc", *words)
        return status, [line for line in errors.splitlines() if line.startswith("raddle nvcc: ")], errors

    def expect_lines(self, found, rows):
        for _, name, replacement in rows:
            matching = [line for line in found if f" {name} is not in CUDA toolkit 13 any more; instead: {replacement}" in line]
            self.assertEqual(len(matching), 1, (name, found))
        self.assertEqual(len(found), len(rows), found)

    def test_names_that_are_gone_and_what_replaces_them(self):
        kinds = ("identifier", "property", "template", "conversion")
        chosen = [row for row in rows() if row[0] in kinds]
        self.assertGreater(len(chosen), 20)
        text = "int main() {\ncudaDeviceProp properties;\n"
        for kind, name, _ in chosen:
            text += {"identifier": f"{name}();\n", "property": f"properties.{name};\n",
                     "conversion": "cudaMemPrefetchAsync(nullptr, 1, 0, 0);\n"}.get(kind, "")
        text += "}\n" + "".join(f"{name}<float, 1> a_{name};\n" for kind, name, _ in chosen if kind == "template")
        status, lines, errors = self.compile(text)
        self.expect_lines(lines, chosen)
        plain = subprocess.run(["nvcc", "-c", self.path("old.cu"), "-o", self.path("old.o")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertNotEqual(plain.returncode, 0)
        self.assertEqual(status, plain.returncode)
        self.assertIn(plain.stdout.strip(), errors)  # and all that nvcc says

    def test_headers_and_architectures(self):
        for row in rows():
            if row[0] == "header":
                self.expect_lines(self.compile(f"#include <{row[1]}>\n")[1], [row])
            elif row[0] == "architecture":
                option = f"-arch={row[1]}" if row[1].startswith("sm_") else f"-gencode=arch={row[1]},code={row[1]}"
                self.expect_lines(self.compile("", option)[1], [row])

    def test_other_failures_get_no_line(self):
        status, lines, errors = self.compile("// cudaThreadExit\nint main() { return nothing_like_it; }\n")
        self.assertNotEqual(status, 0)
        self.assertEqual(lines, [])
        self.assertIn("nothing_like_it", errors)
        self.assertEqual(self.compile("int main() { return cudaDeviceSynchronize(); }\n")[:2], (0, []))


if __name__ == "__main__":
    tap.main()
