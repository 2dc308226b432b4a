"""What the tests of the Python package share."""
import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KERNELS = os.path.join(ROOT, "examples/kernels")
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap  # noqa: E402,F401

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def run_python(program, *arguments, **options):
    """(status, stdout and stderr) of a Python program's text in a process of its own."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=120, **options)
    return done.returncode, done.stdout


def store_kernel(name, type_, parameters=""):
    """PTX of a kernel that stores its second parameter, of that type, through its first."""
    register = {"f16": "b16"}.get(type_, type_)
    return f"""{HEAD}
.visible .entry {name}(.param .u64 to, .param .{type_} value{parameters}) {{
  .reg .u64 %to; .reg .{'b32' if type_ in ('u8', 's8', 'b8') else register} %value;
  ld.param.u64 %to, [to];
  ld.param.{register} %value, [value];
  st.global.{register} [%to], %value;
  ret;
}}
"""


class PackageTest(unittest.TestCase):
    def python_succeeds(self, program, *arguments, **options):
        status, output = run_python(program, *arguments, **options)
        self.assertEqual(status, 0, output)
        return output
