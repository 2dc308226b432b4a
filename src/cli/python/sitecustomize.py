"""Python imports this when it starts, under `raddle exec`, whose PYTHONPATH begins with this folder. It prepares cuda.bindings for
Raddle and then makes way for the sitecustomize that Python would have imported without it."""
import os
import sys

import raddle_bindings

raddle_bindings.install()

_here = os.path.dirname(os.path.abspath(__file__))
_this = sys.modules.pop(__name__)
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _here]
try:
    import sitecustomize  # noqa: F401  another one
except ImportError as _error:
    if _error.name != "sitecustomize":
        raise
finally:
    sys.modules.setdefault(__name__, _this)
