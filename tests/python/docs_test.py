"""The programs that docs/python.md shows run as they stand there, and print what it says; the stubs are Python."""
import ast
import contextlib
import io
import os
import re
import unittest

import raddle
from package import ROOT, tap

PAGE = os.path.join(ROOT, "docs/python.md")


def programs():
    """(line, text, output or None): blocks of Python, each with the block of text after it, if there is one."""
    with open(PAGE) as file:
        page = file.read()
    for match in re.finditer(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", page, re.M | re.S):
        yield page.count("\n", 0, match.start()) + 2, match.group(1), match.group(2)


class Docs(unittest.TestCase):
    def test_programs(self):
        there = os.getcwd()
        os.chdir(ROOT)
        try:
            found = list(programs())
            self.assertGreaterEqual(len(found), 4)
            names = {}
            for line, program, expected in found:
                with self.subTest(line=line), contextlib.redirect_stdout(io.StringIO()) as output:
                    exec(compile("\n" * (line - 1) + program, PAGE, "exec"), names)
                    if expected is not None:
                        self.assertRegex(output.getvalue(), "^" + re.escape(expected).replace(r"\.\.\.", ".*") + "$")
        finally:
            os.chdir(there)


class Stubs(unittest.TestCase):
    def test_every_class_is_typed(self):
        path = os.path.join(os.path.dirname(raddle.__file__), "_raddle.pyi")
        beside = os.path.join(os.environ["RADDLE_BUILD"], "python/raddle/_raddle.pyi")
        with open(beside if os.path.exists(beside) else path) as file:
            tree = ast.parse(file.read())
        classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
        self.assertLessEqual({"Device", "Kernel", "KernelInfo", "Launch", "LaunchReport", "Memory", "Module"}, classes)


if __name__ == "__main__":
    tap.main()
