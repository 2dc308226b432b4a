"""The commands that README.md and docs/*.md show run as they stand there."""
import glob
import os
import re
import shlex
import subprocess
import unittest

import command
from command import RADDLE, ROOT, CommandTest, tap


def commands(path):
    """Command lines of `raddle` in the code blocks of a page, with their line numbers."""
    with open(path) as file:
        text = file.read()
    for block in re.finditer(r"^```\w*\n(.*?)^```", text, re.M | re.S):
        body = block.group(1).replace("\\\n", " ")
        for line in body.splitlines():
            line = re.sub(r"\s+#.*", "", line.strip())
            if re.match(r"(build/bin/)?raddle\s", line) and not re.search(r"\b[A-Z]{4,}\b", line):
                yield line


def can_run(line):
    """False for commands that want a program or package of the reader's or a toolkit, or want a server (serve_test.py, top_test.py); `cc` links with the runtime
    library, once it is built."""
    subcommand = line.split()[1]
    libraries = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(RADDLE))), "lib")
    runtime = not os.environ.get("RADDLE_SANITIZE") and os.path.exists(os.path.join(libraries, "libcudart.so"))
    return "venv/" not in line and subcommand not in ("nvcc", "exec", "record", "serve", "top") and (subcommand != "cc" or runtime)


class Docs(CommandTest):
    def test_commands(self):
        os.symlink(os.path.join(ROOT, "examples"), self.path("examples"))
        os.symlink(os.path.join(ROOT, "tests/data/fatbin/plain.o"), self.path("app"))  # stands for a program
        pages = [os.path.join(ROOT, "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))]
        found = [(page, line) for page in pages for line in commands(page) if can_run(line)]
        self.assertGreaterEqual(len(found), 4)
        for page, line in found:
            with self.subTest(line):
                done = subprocess.run([RADDLE, *shlex.split(line)[1:]], cwd=self.directory.name, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, timeout=300)
                self.assertEqual(done.returncode, command.SUCCESS, f"{page}: {line}\n{done.stdout}")


if __name__ == "__main__":
    tap.main()
