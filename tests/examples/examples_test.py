"""Runs run_examples with small problems and the options given, and prints a line of TAP per example, from its table.
--compiler=RADDLE compiles the kernels with `RADDLE cc` first, in place of nvcc's PTX that is checked in. --turn=K/N: runs only
where RADDLE_TEST_SEED modulo N is K, or with RADDLE_TEST_EXHAUSTIVE. --parts=N: runs one example in N, which the seed chooses as well."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from turns import EXHAUSTIVE, SEED  # noqa: E402

TIME_LIMIT = 600  # seconds: of all examples, on a machine with other work
SKIPPED = 77  # exit status
LEAST = 53  # examples there are, so that an empty table fails


def rows(lines):
    """(name, verdict, line) of the table's rows; continuation lines are indented, the head and the sum are no rows."""
    for line in lines:
        words = line.split()
        if len(words) >= 3 and not line.startswith(" ") and words[0] != "example" and words[1] != "examples,":
            yield words[0], words[1], line.rstrip()


KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/kernels")


def compiled(compiler, directory):
    """The option that names the directory, once every kernel's source is compiled into it. Those that only nvcc compiles
    stay as they are checked in."""
    for source in sorted(glob.glob(os.path.join(KERNELS, "*.cu"))):
        name = os.path.splitext(os.path.basename(source))[0]
        with open(source) as file:
            if file.readline().startswith("// compiler: nvcc"):
                shutil.copy(os.path.join(KERNELS, f"{name}.ptx"), directory)
                continue
        subprocess.run([compiler, "cc", "--ptx", source, "-o", f"{directory}/{name}.ptx"], check=True)
    return f"--kernels={directory}"


def is_its_turn(turns):
    return EXHAUSTIVE or all(SEED % int(n) == int(k) for k, n in turns)


def values(options, name):
    return [option.removeprefix(name) for option in options if option.startswith(name)]


def part_of(options):
    """(the options for run_examples, in how many parts the examples run): this day's part, of suites that have every second day."""
    parts = [int(count) for count in values(options, "--parts=")]
    options = [option for option in options if not option.startswith("--parts=")]
    if not parts or EXHAUSTIVE:
        return options, 1
    return [*options, f"--part={SEED // 2 % parts[0]}/{parts[0]}"], parts[0]


def main():
    program, *options = sys.argv[1:]
    if not is_its_turn([turn.split("/") for turn in values(options, "--turn=")]):
        print("the turn of another vector width (RADDLE_TEST_SEED)")
        return SKIPPED
    options = [option for option in options if not option.startswith("--turn=")]
    compilers = values(options, "--compiler=")
    options = [option for option in options if not option.startswith("--compiler=")]
    if not compilers:
        return check(program, options)
    with tempfile.TemporaryDirectory() as directory:
        return check(program, [*options, compiled(compilers[0], directory)])


def check(program, options):
    options, parts = part_of(options)
    try:
        done = subprocess.run([program, *options, "--small"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=TIME_LIMIT)
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        output, status = (error.stdout or b"").decode(errors="replace"), f"timeout after {TIME_LIMIT} s"
    number, failed = 0, False
    for name, verdict, line in rows(output.splitlines()):
        number += 1
        if verdict != "ok":
            failed = True
            print(line)
        print(f"{'ok' if verdict == 'ok' else 'not ok'} {number} - {name} with {' '.join(o for o in options if not o.startswith('--kernels='))}{' of clang' if any(o.startswith('--kernels=') for o in options) else ''}")
    few = number < LEAST // parts
    if parts > 1:
        number += 1
        print(f"ok {number} - the other examples # SKIP one example in {parts} has its turn (RADDLE_TEST_SEED)")
    if few or (status != 0 and not failed):
        number += 1
        failed = True
        print(f"{output[-2000:]}\nended with {status} after {number - 1} examples\nnot ok {number} - run_examples")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
