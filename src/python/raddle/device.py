"""Devices, modules and kernels."""
import os
from collections.abc import Sequence
from typing import Any

import numpy

from raddle import _compiler, _raddle
from raddle.buffer import Buffer
from raddle.errors import FileError

Source = str | os.PathLike | bytes | bytearray | memoryview
Extents = int | Sequence[int]


def _read(source):
    """(bytes, name) of a path, of PTX text or of the bytes of an image."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), "<memory>"
    if isinstance(source, str) and ("\n" in source or not source):
        return source.encode(), "<memory>"
    try:
        with open(source, "rb") as file:
            return file.read(), os.fspath(source)
    except OSError as error:
        raise FileError(f"cannot read {os.fspath(source)}: {error.strerror}") from None


def _extents(value):
    return (value,) if isinstance(value, (int, numpy.integer)) else tuple(value)


class Device:
    """A GPU made of software.

    shape: the machine that is modelled: "h200", "a100", "tiny", "host", or a path that ends in .json.
    engine: "jit", "interp", or "" for the first that there is. workers: threads that run kernels; 0: one per core.
    memory_bytes: at most so much device memory; 0: what shape and host give. time_limit: seconds for a launch; 0: none.
    deterministic: a seed, for one worker and an order drawn from it. server: the path of the socket of `raddle serve`.
    code_cache: folder for compiled code; "off": none; "": RADDLE_CACHE or ~/.cache/raddle.

    Raises NotFoundError for an unknown shape or engine, InvalidError for other wrong options.
    """

    def __init__(self, shape: str = "h200", *, engine: str = "", workers: int = 0, memory_bytes: int = 0, time_limit: float = 0.0,
                 deterministic: int | None = None, server: str = "", code_cache: str = ""):
        self._device = _raddle.open(shape, engine, workers, memory_bytes, time_limit, deterministic, server, code_cache)

    @property
    def properties(self) -> dict[str, Any]:
        """A dict: shape, engine, sm_count, workers, capability (major, minor), memory_bytes, shared_bytes_per_block,
        threads_per_block."""
        return self._device.properties()

    @property
    def memory_used(self) -> int:
        """Bytes of device memory in use."""
        return self._device.memory_used

    def load(self, source: Source) -> "Module":
        """Loads device code as a Module.

        source: PTX text, the path of a file, or bytes: PTX, a fat binary, a cubin of Raddle's ptxas, or a program or
        object file that nvcc made. A str of one line is a path.
        Raises InvalidError with line and column, NotFoundError for an external variable without a definition,
        UnsupportedError for device code without PTX, FileError.
        """
        return Module(self, self._device.load(*_read(source)))

    def compile(self, source: str, options: Sequence[str] = ()) -> "Module":
        """Compiles CUDA C++ (raddle.compile) and loads it. Raises CompileError, and what load() raises."""
        return self.load(_compiler.compile(source, options))

    def empty(self, shape: Extents, dtype: Any = "float32") -> Buffer:
        """A Buffer of that shape, whose contents are left open. Raises OutOfMemoryError; InvalidError for no elements."""
        return Buffer(self, shape, dtype)

    def buffer(self, array: Any) -> Buffer:
        """A Buffer with a copy of an array of the host. Raises as empty()."""
        array = numpy.ascontiguousarray(array)
        made = Buffer(self, array.shape, array.dtype)
        made.write(array)
        return made

    def stream(self, priority: int = 0) -> _raddle.Stream:
        """A new Stream, for Kernel.launch(): its work runs in order, beside that of other streams.

        priority: of its work; lower numbers run first.
        """
        return _raddle.open_stream(self._device, priority)

    def synchronize(self) -> None:
        """Waits for all work. Raises KernelFault or LaunchTimeout for what went wrong first."""
        self._device.synchronize()

    def __repr__(self):
        found = self.properties
        return f"<raddle.Device {found['shape']}: {found['engine']}, {found['workers']} workers>"


class Module:
    """Device code on a device. Device.load() and Device.compile() make it."""

    def __init__(self, device, module):
        self.device = device
        self._module = module

    @property
    def kernels(self) -> list[str]:
        """The names of its kernels."""
        return self._module.kernels

    def __getitem__(self, name: str) -> "Kernel":
        """A Kernel by its name. Raises NotFoundError, which lists the names; UnsupportedError, which names the
        instructions and functions that are missing."""
        return Kernel(self, _raddle.kernel(self._module, name))

    def variable(self, name: str) -> tuple[int, int]:
        """(address, bytes) of a .global or .const variable. Raises NotFoundError."""
        return self._module.variable(name)


class Kernel:
    """A kernel of a module. Calling it runs it."""

    def __init__(self, module, kernel):
        self.module = module
        self._kernel = kernel

    @property
    def info(self) -> _raddle.KernelInfo:
        """What it needs: a KernelInfo."""
        return self._kernel.info

    @property
    def suggested_block(self) -> tuple[int, int, int]:
        """(x, y, z): a block size for this kernel on this host, in threads."""
        return self._kernel.suggested_block

    def launch(self, *arguments: Any, grid: Extents, block: Extents | None = None, shared: int = 0,
               cluster: Extents | None = None, cooperative: bool = False, stream: _raddle.Stream | None = None) -> _raddle.Launch:
        """Starts the kernel and returns a Launch at once; its wait() returns a LaunchReport.

        arguments: in the order of the parameters. For a pointer: a Buffer; an array in device memory
        (__cuda_array_interface__ or DLPack), used where it lies; an array of the host (buffer protocol,
        __array_interface__ or DLPack; contiguous in the order of C), copied to the device before and, unless it is
        read-only, back when wait() returns; an address; None. For a number: a number that fits. For a structure: an
        object of the buffer protocol with as many bytes.
        grid: blocks; block: threads, by default suggested_block; cluster: blocks. Each is a number or up to three.
        shared: bytes of dynamic shared memory for a block. cooperative: all blocks are resident at once.
        stream: one of Device.stream(); None: the device's default one. An array of the host is copied when no stream has work:
        with several streams, use buffers.

        Raises InvalidError for what exceeds a limit, a wrong number of arguments and another device's stream, TypeError, OverflowError or
        ValueError with number and parameter for an argument that does not fit, OutOfMemoryError, UnsupportedError;
        KernelFault if an earlier kernel of the device faulted.
        """
        extents = [None if value is None else _extents(value) for value in (grid, block, cluster)]
        return self._kernel.start(arguments, extents[0], extents[1], shared, extents[2], cooperative, stream)

    def __call__(self, *arguments: Any, grid: Extents, block: Extents | None = None, shared: int = 0,
                 cluster: Extents | None = None, cooperative: bool = False,
                 stream: _raddle.Stream | None = None) -> _raddle.LaunchReport:
        """Runs the kernel to its end and returns a LaunchReport; arguments and errors as launch(), and as Launch.wait()."""
        return self.launch(*arguments, grid=grid, block=block, shared=shared, cluster=cluster,
                           cooperative=cooperative, stream=stream).wait()

    def __repr__(self):
        return f"<raddle.Kernel {self.info.name}>"


def inspect(source: Source, capability: tuple[int, int] = (9, 0)) -> list[_raddle.KernelInfo]:
    """What each kernel of device code needs: a list of KernelInfo. It takes what Device.load() takes and needs no device.

    capability: of the device that it is for, (major, minor); it chooses among several architectures in one file.
    Raises as Device.load().
    """
    image, name = _read(source)
    return _raddle.inspect(image, name, 10 * capability[0] + capability[1])
