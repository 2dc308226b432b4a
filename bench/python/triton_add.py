"""Adds vectors by Triton and prints the seconds of one more launch, ready compiled; TRITON_INTERPRET=1 chooses Triton's
interpreter, which runs on memory of the host."""
import os
import sys
import time

import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(c + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


def main(threads, again):
    place = "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"
    host = torch.arange(threads, dtype=torch.float32), torch.full((threads,), 2.0)
    a, b, c = (torch.empty(threads, device=place) for _ in range(3))
    a.copy_(host[0])  # made there: torch's own kernels are machine code
    b.copy_(host[1])
    seconds = 0
    for _ in range(2 if again else 1):
        start = time.perf_counter()
        add[(triton.cdiv(threads, 1024),)](a, b, c, threads, BLOCK=1024)
        if place == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
    assert torch.equal(c.cpu(), host[0] + host[1])
    print(seconds)


main(int(sys.argv[1]), sys.argv[2] == "again")
