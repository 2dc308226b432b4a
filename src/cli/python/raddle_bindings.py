"""What Python packages need to run on Raddle: cuda.bindings' runtime API, and old Triton's idea of an assembler.

An extension module of it (before 13.4 another than since) holds NVIDIA's CUDA runtime, which runs on NVIDIA's driver only: whatever
of it a program calls answers cudaErrorSymbolNotFound here. Its functions have C types, and Cython hands their addresses to the
modules above it in capsules, by name. install() has these capsules replaced as soon as the module is imported, by ones with the
addresses of the functions of that name in Raddle's libcudart. Functions that Raddle has not stay as they are.

Triton up to 3.4 stops at an assembler of a CUDA release that it does not know, 13.0 among them: Raddle's then calls itself 12.6."""
import ctypes
import importlib.machinery
import importlib.metadata
import os
import re
import sys

MODULES = {"cuda.bindings._internal.runtime": "", "cuda.bindings._internal.runtime_ptds": "_ptds",  # what its symbols end in
           "cuda.bindings._bindings.cyruntime": "", "cuda.bindings._bindings.cyruntime_ptds": "_ptds"}
LIBRARY = "libcudart.so.13"
_kept = []  # the names, which capsules do not copy


def _capsules():
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype, python.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    python.PyCapsule_New.restype = ctypes.py_object
    python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return python


def _function(library, name, ending):
    """The address of a function of the library, of the variant for streams per thread where there is one; None if there is none."""
    for symbol in (name + ending, name + ending.replace("ptds", "ptsz"), name):
        try:
            return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
        except AttributeError:
            pass
    return None


def replace(module, ending):
    """The capsules of a module that has been imported."""
    try:
        library = ctypes.CDLL(LIBRARY)  # preloaded by `raddle exec`
    except OSError:
        return
    python, table = _capsules(), getattr(module, "__pyx_capi__", {})
    for name, capsule in list(table.items()):
        address = _function(library, name.lstrip("_"), ending)
        if address is not None:
            signature = python.PyCapsule_GetName(capsule)
            _kept.append(signature)
            table[name] = python.PyCapsule_New(address, signature, None)


def choose_release():
    """Of what Raddle's ptxas is to say that it is, for the Triton that is being imported."""
    try:
        version = importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and tuple(map(int, numbers.groups())) < (3, 5):
        os.environ.setdefault("RADDLE_PTXAS_RELEASE", "12.6")


class _Loader:
    """The module's own loader, and replace() after it."""

    def __init__(self, loader, ending):
        self._loader, self._ending = loader, ending

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        replace(module, self._ending)


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "triton":
            choose_release()
        if name not in MODULES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, MODULES[name])
        return spec


def install():
    """For imports from now on; a second call changes nothing."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
