"""Adds vectors by numba.cuda and prints the seconds of one more launch, ready compiled; NUMBA_ENABLE_CUDASIM=1 chooses
Numba's simulator."""
import sys
import time

import numpy
from numba import cuda


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


def main(threads, again):
    a = cuda.to_device(numpy.arange(threads, dtype=numpy.float32))
    b = cuda.to_device(numpy.full(threads, 2, numpy.float32))
    c = cuda.device_array(threads, numpy.float32)
    seconds = 0
    for _ in range(2 if again else 1):
        start = time.perf_counter()
        add[(threads + 255) // 256, 256](a, b, c)
        cuda.synchronize()
        seconds = time.perf_counter() - start
    assert (c.copy_to_host() == numpy.arange(threads, dtype=numpy.float32) + 2).all()
    print(seconds)


main(int(sys.argv[1]), sys.argv[2] == "again")
