"""`python -m raddle` and the script `raddle`: the raddle command, in this process's place."""
import os
import sys

from raddle._files import command


def main():
    os.execv(command(), ["raddle", *sys.argv[1:]])


if __name__ == "__main__":
    main()
