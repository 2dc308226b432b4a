"""What goes wrong, as exceptions. All are raddle.Error; each is also Python's own class for its kind."""
import re


class Error(Exception):
    """An error of Raddle's.

    file, line, column: where in a source text, counted from 1; 0 or "" where that is unknown.
    source: the text of that line, where it is known.
    """

    def __init__(self, message: str, file: str = "", line: int = 0, column: int = 0, source: str = ""):
        place = ":".join(str(part) for part in (file, line, column) if part)
        text = f"{place}: {message}" if file else message
        super().__init__(f"{text}\n    {source.strip()}" if source.strip() else text)
        self.message, self.file, self.line, self.column, self.source = message, file, line, column, source.strip()


class InvalidError(Error, ValueError):
    """Malformed input, or a wrong argument."""


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but Raddle cannot do it; the message names what is missing."""


class NotFoundError(Error, LookupError):
    """A name that the module, file or device does not have."""


class OutOfMemoryError(Error, MemoryError):
    """The device has not as much memory."""


class LaunchTimeout(Error, TimeoutError):
    """The device's time limit was reached; the device takes no more work."""


class FileError(Error, OSError):
    """A file or system call failed."""


class ServerError(Error, ConnectionError):
    """`raddle serve` refuses, or has gone."""


class CompileError(Error):
    """A compiler refused CUDA source; the message is what it printed."""


class KernelFault(Error, RuntimeError):
    """A kernel faulted. The device takes no more work: open another.

    line, source: the PTX line. kernel: its name. block, thread: (x, y, z), or None where they are unknown.
    cuda_source: "file.cu:12" from the PTX's line information, or "".
    """

    def __init__(self, message, file="", line=0, column=0, source=""):
        super().__init__(message, file, line, column, source)
        kernel = re.search(r" in kernel (\S+?)(?=,|:|$)", message)
        self.kernel = kernel.group(1) if kernel else ""
        self.block, self.thread = (_extents(message, name) for name in ("block", "thread"))
        place = re.search(r", PTX line \d+ \((.*?)\)(?=:|$)", message)
        self.cuda_source = place.group(1) if place else ""


def _extents(message, name):
    found = re.search(rf", {name} \((\d+),(\d+),(\d+)\)", message)
    return tuple(map(int, found.groups())) if found else None


_CLASSES = {"invalid": InvalidError, "unsupported": UnsupportedError, "not_found": NotFoundError,
            "out_of_memory": OutOfMemoryError, "too_large": InvalidError, "invalid_cluster": InvalidError,
            "kernel_fault": KernelFault, "timeout": LaunchTimeout, "server": ServerError, "io": FileError}


def _make(code, message, file, line, column, source):
    """Called by the C++ part, with the name of an ErrorCode."""
    return _CLASSES[code](message, file, line, column, source)
