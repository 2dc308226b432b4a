#!/bin/sh
# `raddle ptxas` and `raddle nvcc` by the names that compilers and programs call. This folder leaves the path, since the command
# would find this file where it looks for NVIDIA's nvcc.
here=$(dirname "$(readlink -f "$0")")
rest=
set -f
IFS=:
for folder in $PATH; do
  [ "$folder" = "$here" ] || rest=$rest${rest:+:}$folder
done
PATH=$rest exec "$here/../../bin/raddle" "${0##*/}" "$@"
