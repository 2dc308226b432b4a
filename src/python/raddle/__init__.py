"""Raddle, a GPU made of software: CUDA programs run on CPU cores.

raddle.use() before numba.cuda, triton or torch is imported makes them run here; `python -m raddle exec python app.py`
does so from outside. raddle.Device loads and launches kernels directly. The page docs/python.md shows both.
"""
from typing import TYPE_CHECKING

from raddle._compiler import compile
from raddle._use import use
from raddle.errors import (CompileError, Error, FileError, InvalidError, KernelFault, LaunchTimeout, NotFoundError,
                           OutOfMemoryError, ServerError, UnsupportedError)

if TYPE_CHECKING:
    from raddle._raddle import Event, KernelInfo, KernelParameter, Launch, LaunchReport, Stream, __version__
    from raddle.buffer import Buffer
    from raddle.device import Device, Kernel, Module, inspect

_LAZY = {"Device": "device", "Module": "device", "Kernel": "device", "inspect": "device", "Buffer": "buffer",
         "KernelInfo": "_raddle", "KernelParameter": "_raddle", "Launch": "_raddle", "LaunchReport": "_raddle", "Stream": "_raddle",
         "Event": "_raddle", "__version__": "_raddle"}

__all__ = ["use", "compile", *_LAZY, "CompileError", "Error", "FileError", "InvalidError", "KernelFault",
           "LaunchTimeout", "NotFoundError", "OutOfMemoryError", "ServerError", "UnsupportedError"]


def __getattr__(name):
    """The devices' part, with its own copy of LLVM, is loaded when it is asked for: use() does without."""
    if name not in _LAZY:
        raise AttributeError(f"module 'raddle' has no attribute '{name}'")
    import importlib
    return getattr(importlib.import_module(f"raddle.{_LAZY[name]}"), name)
