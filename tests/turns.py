"""What ./test asks of tests that take long: RADDLE_TEST_ALL a day's share of them, which RADDLE_TEST_SEED chooses; RADDLE_TEST_EXHAUSTIVE
all of them."""
import os


def is_asked(name):
    return os.environ.get(name, "0") not in ("", "0")


ALL, EXHAUSTIVE = is_asked("RADDLE_TEST_ALL"), is_asked("RADDLE_TEST_EXHAUSTIVE")
SEED = int(os.environ.get("RADDLE_TEST_SEED", "1"))


def has_turn(number, of):
    """Whether the thing of this number, of those that take turns by `of` days, is today's."""
    return EXHAUSTIVE or (SEED + number) % of == 0
