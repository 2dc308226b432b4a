"""Where the package has its libraries and programs: bin, lib, libexec and include beside this file."""
import os

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def command():
    """The path of the raddle command. Raises FileNotFoundError."""
    path = os.path.join(PACKAGE, "bin", "raddle")
    if not os.access(path, os.X_OK):
        raise FileNotFoundError(f"no raddle command in {os.path.dirname(path)}: the package is not complete")
    return path
