"""Kernels in Triton, as its tutorials have them: elementwise, softmax of rows, a matrix product, attention's dropout, a tensor map."""
import torch
import triton
import triton.language as tl

from checks import check, done


@triton.jit
def add_kernel(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax_kernel(out, x, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + inner)[None, :], mask=(rows < M)[:, None] & (k + inner < K)[None, :], other=0.0)
        right = tl.load(b + (k + inner)[:, None] * N + columns[None, :], mask=(k + inner < K)[:, None] & (columns < N)[None, :], other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16), mask=(rows < M)[:, None] & (columns < N)[None, :])


@triton.jit
def dropout_kernel(x, out, count, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(kept, tl.load(x + at, mask=at < count) / (1 - p), 0.0), mask=at < count)


@triton.jit
def rows_kernel(descriptor, out, first, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + at, descriptor.load([first, 0]))


def upload(host):
    device = torch.empty(host.shape, dtype=host.dtype, device="cuda")
    device.copy_(host)
    return device


def add():
    x, y = torch.rand(98432), torch.rand(98432)
    out = torch.empty(98432, device="cuda")
    add_kernel[(triton.cdiv(98432, 1024),)](upload(x), upload(y), out, 98432, BLOCK=1024)
    assert torch.equal(out.cpu(), x + y)


def softmax():
    x = torch.randn(183, 781)
    out = torch.empty(183, 781, device="cuda")
    softmax_kernel[(183,)](out, upload(x), 781, 781, BLOCK=1024)
    torch.testing.assert_close(out.cpu(), torch.softmax(x, 1))


def matmul():
    a, b = torch.randn(100, 72, dtype=torch.float16), torch.randn(72, 130, dtype=torch.float16)
    c = torch.empty(100, 130, dtype=torch.float16, device="cuda")
    matmul_kernel[(triton.cdiv(100, 32), triton.cdiv(130, 64))](upload(a), upload(b), c, 100, 130, 72, BM=32, BN=64, BK=32)
    torch.testing.assert_close(c.cpu(), (a.float() @ b.float()).half(), rtol=1e-2, atol=1e-2)


def dropout():
    x = torch.ones(10000)
    outs = []
    for seed in (123, 123, 512):
        out = torch.empty(10000, device="cuda")
        dropout_kernel[(triton.cdiv(10000, 1024),)](upload(x), out, 10000, 0.5, seed, BLOCK=1024)
        outs.append(out.cpu())
    assert torch.equal(outs[0], outs[1]) and not torch.equal(outs[0], outs[2])
    assert 4500 < int((outs[0] == 2).sum()) < 5500, outs[0].sum()


def tensor_map():
    """Triton edits the map of a tensor as small as this, for a fault of NVIDIA's drivers."""
    x = torch.randn(256, 64, dtype=torch.float16)
    kept = [upload(x) for _ in range(80)]  # on pages of 2 MiB with even and odd numbers
    for on_device in kept:
        out = torch.empty(64, 64, dtype=torch.float16, device="cuda")
        rows_kernel[(1,)](TensorDescriptor(on_device, shape=[256, 64], strides=[64, 1], block_shape=[64, 64]), out, 192, 64, 64)
        assert torch.equal(out.cpu(), x[192:])


kernels = [add, softmax, matmul, dropout]
try:
    from triton.tools.tensor_descriptor import TensorDescriptor
    kernels.append(tensor_map)
except ImportError:  # before 3.4
    pass
for kernel in kernels:
    check(kernel.__name__, kernel)
done()
