"""Runs run_examples with small problems and the options given, and prints a line of TAP per example, from its table."""
import subprocess
import sys

TIME_LIMIT = 240  # seconds
LEAST = 30  # examples there are, so that an empty table fails


def rows(lines):
    """(name, verdict, line) of the table's rows; continuation lines are indented, the head and the sum are no rows."""
    for line in lines:
        words = line.split()
        if len(words) >= 3 and not line.startswith(" ") and words[0] != "example" and words[1] != "examples,":
            yield words[0], words[1], line.rstrip()


def main():
    program, *options = sys.argv[1:]
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
        print(f"{'ok' if verdict == 'ok' else 'not ok'} {number} - {name} with {' '.join(options)}")
    if number < LEAST or (status != 0 and not failed):
        number += 1
        failed = True
        print(f"{output[-2000:]}\nended with {status} after {number - 1} examples\nnot ok {number} - run_examples")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
