#!/bin/sh
# Compilers call the assembler by this name.
exec "$(dirname "$(readlink -f "$0")")/../../bin/raddle" ptxas "$@"
