"""raddle.use(): CUDA in this process and its children is Raddle."""
import ctypes
import glob
import importlib.util
import os
import subprocess

from raddle._files import PACKAGE, command

# In the order in which they are loaded: the others look for the driver.
_FIRST = "libcuda.so.1"
_used = False


def _libraries():
    """The libraries that programs look for by name; libraddle.so is the package's own."""
    found = sorted(glob.glob(os.path.join(PACKAGE, "lib", "lib*.so.[0-9]*")))
    names = {}
    for path in found:  # one of each: libcudart.so.13, not libcudart.so.13.0, which is the same file
        names.setdefault(os.path.realpath(path), path)
    return sorted(names.values(), key=lambda path: (os.path.basename(path) != _FIRST, path))


def _loaded(name):
    """The paths from which a library of that name is in this process."""
    with open("/proc/self/maps") as file:
        paths = {line.split(None, 5)[5].strip() for line in file if line.count("/")}
    return {os.path.realpath(path) for path in paths if os.path.basename(path).startswith(name.split(".so")[0] + ".so")}


def _environment():
    """What `raddle exec` sets, for the programs and threads that look there."""
    done = subprocess.run([command(), "exec", "/usr/bin/env", "-0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    pairs = (entry.partition("=") for entry in done.stdout.split("\0") if "=" in entry)
    return {name: value for name, _, value in pairs if os.environ.get(name) != value and name != "_"}


def _prepare_bindings(path):
    """What `raddle exec` has Python do when it starts, for this process: path is its PYTHONPATH."""
    folder = path.split(":")[0]
    file = os.path.join(folder, "raddle_bindings.py")
    if os.path.exists(file):
        spec = importlib.util.spec_from_file_location("raddle_bindings", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.install()


def use() -> None:
    """Makes Raddle's CUDA libraries the ones that this process and the programs it starts find.

    Call it before a library that uses CUDA (numba.cuda, triton, torch, cuda.bindings) is imported. It loads Raddle's
    libcuda.so.1, libcudart, libnvrtc and the rest for the whole process, and sets the variables that `raddle exec` sets,
    among them those by which Triton finds an assembler. Calling it again changes nothing.

    Raises RuntimeError if another libcuda.so.1 is loaded already, and names its file.
    """
    global _used
    if _used:
        return
    libraries = _libraries()
    if not libraries or os.path.basename(libraries[0]) != _FIRST:
        raise RuntimeError(f"no {_FIRST} in {os.path.join(PACKAGE, 'lib')}: the package is not complete")
    other = _loaded(_FIRST) - {os.path.realpath(libraries[0])}
    if other:
        raise RuntimeError(f"{other.pop()} is loaded already: call raddle.use() before what imports CUDA")
    for path in libraries:
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    os.environ.update(_environment())
    _prepare_bindings(os.environ.get("PYTHONPATH", ""))
    _used = True
