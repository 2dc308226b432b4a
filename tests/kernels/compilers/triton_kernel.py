"""A softmax over rows, compiled by Triton for sm_80 into triton.ptx (Triton 3.1.0; no GPU needed):
TRITON_CACHE_DIR=$(mktemp -d) python3 triton_kernel.py > triton.ptx"""
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax_rows(out, inp, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(inp + row * columns + offsets, mask=mask, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    e = tl.exp(x)
    tl.store(out + row * columns + offsets, e / tl.sum(e, axis=0), mask=mask)


source = ASTSource(fn=softmax_rows, signature={0: "*fp32", 1: "*fp32", 2: "i32"}, constants={3: 512})
print(triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4}).asm["ptx"])
