"""PTX of every ISA version and target that clang can write, with its line information and inline assembly, runs."""
import os
import shutil
import subprocess
import unittest

from command import ENGINES, CommandTest, tap

CLANG = "clang-19"
VERSIONS = (32, 40, 41, 42, 43, 50, 60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85)
TARGETS = ("sm_20", "sm_35", "sm_52", "sm_70", "sm_80", "sm_90", "sm_90a")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "versions.ll")


@unittest.skipUnless(shutil.which(CLANG), f"{CLANG} is not installed (tools/setup.sh installs it)")
class Versions(CommandTest):
    def ptx(self, version, target, *options):
        """The path of what clang makes of the source: no older than `version`, as the target may need a newer one."""
        path = self.path(f"{version}.{target}.ptx")
        subprocess.run([CLANG, "-x", "ir", "-S", SOURCE, "-o", path, "--target=nvptx64-nvidia-cuda", "-nogpulib", "-Xclang", "-target-feature",
                        "-Xclang", "-ptx85", "-Xclang", "-target-feature", "-Xclang", f"+ptx{version}", "-Xclang", "-target-cpu", "-Xclang", target, *options],
                       check=True)
        return path

    def runs(self, path, engine):
        """out[i] = 3 * (i ^ 1) + i + 5"""
        return self.succeeds("run", path, "--engine", engine, "--block", 128, "--arg", "buf:f32:128", "--print", "0")

    # proves: K-17b, K-17e, K-17f
    def test_every_version_and_target_of_clang(self):
        seen, expected = set(), " ".join(str(3 * (i ^ 1) + i + 5) for i in range(8))
        for number, version in enumerate(VERSIONS):
            target = TARGETS[number % len(TARGETS)]
            with self.subTest(version=version, target=target):
                path = self.ptx(version, target, "-O0" if number % 2 else "-O2")
                with open(path) as file:
                    text = file.read()
                seen.add(text.split(".version ")[1].split()[0])
                for part in (".loc", ".file", ".section", "begin inline asm"):
                    self.assertIn(part, text)
                self.assertIn(expected, self.runs(path, ENGINES[number % len(ENGINES)]))
        self.assertGreaterEqual(len(seen), 15, seen)


if __name__ == "__main__":
    tap.main()
