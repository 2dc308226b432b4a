"""Softmax of the rows of a matrix by Triton, and the seconds of one more launch, ready compiled; TRITON_INTERPRET=1 chooses Triton's
interpreter, which runs on memory of the host. The argument is the number of elements: rows of 1,024."""
import os
import sys
import time

import torch
import triton
import triton.language as tl

COLUMNS = 1024


@triton.jit
def softmax(out, x, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), mask=at < columns)


def main(elements, again):
    place = "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"
    rows = max(1, elements // COLUMNS)
    host = torch.randn(rows, COLUMNS)
    x = torch.empty(host.shape, device=place)
    x.copy_(host)
    out = torch.empty_like(x)
    seconds = 0
    for _ in range(2 if again else 1):
        start = time.perf_counter()
        softmax[(rows,)](out, x, COLUMNS, COLUMNS, BLOCK=COLUMNS)
        if place == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
    torch.testing.assert_close(out.cpu(), torch.softmax(host, 1))
    print(seconds)


main(int(sys.argv[1]), sys.argv[2] == "again")
