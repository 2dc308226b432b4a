"""What the programs here share: a line for each check, and an exit status. They run under `raddle exec`, in the
environment of a package from PyPI (tools/programs); arguments name the checks to run, by default all."""
import sys
import traceback

failed = False


def check(name, function):
    """Calls a function that asserts what it finds."""
    global failed
    if name not in (sys.argv[1:] or [name]):
        return
    try:
        function()
        print(f"ok {name}", flush=True)
    except Exception as error:  # whatever a package raises is the answer
        failed = True
        traceback.print_exc()
        said = str(error).strip()
        print(f"not ok {name}: {type(error).__name__}: {said.splitlines()[0] if said else ''}", flush=True)


def done():
    sys.exit(1 if failed else 0)
