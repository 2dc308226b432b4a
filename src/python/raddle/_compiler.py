"""CUDA source to PTX, by `raddle cc`."""
import os
import subprocess
import tempfile
from collections.abc import Sequence

from raddle._files import command
from raddle.errors import CompileError


def compile(source: str, options: Sequence[str] = ()) -> str:
    """Compiles CUDA C++ to PTX with clang 19 and Raddle's own headers.

    source: the text of a .cu file. options: more options of `raddle cc`, such as "-DN=4" or "--use_fast_math".
    Returns the PTX as a str. Kernels without extern "C" have mangled names in it.
    Raises CompileError with what the compiler printed, also where there is no clang.
    """
    with tempfile.TemporaryDirectory(prefix="raddle-") as directory:
        path, result = (os.path.join(directory, "source" + suffix) for suffix in (".cu", ".ptx"))
        with open(path, "w") as file:
            file.write(source)
        done = subprocess.run([command(), "cc", "--ptx", path, "-o", result, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise CompileError(done.stdout.replace(path, "<source>").strip())
        with open(result) as file:
            return file.read()
