"""What ./test asks of tests that take long: RADDLE_TEST_ALL a day's share of them, which RADDLE_TEST_SEED chooses; RADDLE_TEST_EXHAUSTIVE
all of them."""
import os
import re
import sys


def is_asked(name):
    return os.environ.get(name, "0") not in ("", "0")


ALL, EXHAUSTIVE = is_asked("RADDLE_TEST_ALL"), is_asked("RADDLE_TEST_EXHAUSTIVE")
SEED = int(os.environ.get("RADDLE_TEST_SEED", "1"))


# Programs that take long to build or to run with ASan, and their suites (an expression; programs of every day need no name): those
# of one number run on even days, the others on odd ones. TSan, which sees half of the others, is built on even ones, so that
# both days take the same time (docs/adr/0031).
SANITIZED = (
    (0, "test_kernels", "kernels"),
    (0, "test_exhaustive", "exhaustive"),
    (0, "test_hardware", r"hardware(\..*)?"),
    (0, "test_graph", r"unit\.graph"),
    (0, "test_approximate", "approximate"),
    (0, "test_isa", r"isa\..*"),
    (0, "test_attacks", "attacks"),
    (0, "fuzz_parse", r"fuzz\.parse"),
    (0, "fuzz_fatbin", r"fuzz\.fatbin"),
    (0, "fuzz_arguments", r"fuzz\.arguments"),
    (0, "fuzz_load", r"fuzz\.load"),
    (1, "fuzz_shape", r"fuzz\.shape"),
    (1, "fuzz_serve", r"fuzz\.serve"),
    (1, "fuzz_graph", r"fuzz\.graph"),
    (1, "test_graphics", r"unit\.graphics"),
    (1, "test_serve", "serve"),
    (1, "test_machine", r"unit\.machine(\.rest)?"),
    (1, "test_driver", r"unit\.driver(\.contexts)?"),
    (1, "test_runtime", r"unit\.runtime"),
    (1, "test_cudart", r"unit\.cudart"),
    (1, "test_ptx", r"unit\.ptx"),
    (1, "run_examples", r"examples\.interp(\..*)?"),
    (1, None, r"cli\.(cc|distribute|docs|page|run)"),
)
TSAN = 0


def has_turn(number, of):
    """Whether the thing of this number, of those that take turns by `of` days, is today's."""
    return EXHAUSTIVE or (SEED + number) % of == 0


def sanitized_suite_has_turn(name):
    return all(has_turn(number, 2) for number, _, suites in SANITIZED if re.fullmatch(suites, name))


def sanitized_program_has_turn(name):
    return all(has_turn(number, 2) for number, program, _ in SANITIZED if program == name)


if __name__ == "__main__" and sys.argv[1:] == ["--tsan"]:
    sys.exit(0 if has_turn(TSAN, 2) else 1)
