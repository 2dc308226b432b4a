"""tinygrad's CUDA device; the answers are NumPy's."""
import os

os.environ.setdefault("DEV", "CUDA")
import numpy as np  # noqa: E402
from tinygrad import Tensor, TinyJit  # noqa: E402

from checks import check, done  # noqa: E402

RANDOM = np.random.default_rng(1)
A, B = RANDOM.standard_normal((64, 96)).astype(np.float32), RANDOM.standard_normal((96, 48)).astype(np.float32)


def close(found, wanted):
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4)


def convolution():
    image, weights = RANDOM.standard_normal((1, 3, 16, 16)), RANDOM.standard_normal((4, 3, 3, 3))
    wanted = np.zeros((1, 4, 14, 14))
    for y in range(14):
        for x in range(14):
            wanted[0, :, y, x] = np.tensordot(weights, image[0, :, y:y + 3, x:x + 3], axes=3)
    close(Tensor(image.astype(np.float32)).conv2d(Tensor(weights.astype(np.float32))), wanted)


def gradient():
    x = Tensor(A)
    close((x * x).sum().gradient(x)[0], 2 * A)


def jitted():
    @TinyJit
    def step(x):
        return (x + 1).relu().realize()
    for _ in range(4):
        close(step(Tensor(A)), np.maximum(A + 1, 0))


for name, function in {
        "elementwise": lambda: close(Tensor(A).exp() * 2 + Tensor(A), np.exp(A) * 2 + A),
        "matmul": lambda: close(Tensor(A) @ Tensor(B), A @ B),
        "sum": lambda: close(Tensor(A).sum(axis=1), A.sum(axis=1)),
        "max": lambda: close(Tensor(A).max(axis=0), A.max(axis=0)),
        "softmax": lambda: close(Tensor(A).softmax(), np.exp(A) / np.exp(A).sum(axis=1, keepdims=True)),
        "cumsum": lambda: close(Tensor(A).cumsum(axis=1), np.cumsum(A, axis=1)),
        "gather": lambda: close(Tensor(A)[Tensor([5, 1, 63])], A[[5, 1, 63]]),
        "half": lambda: np.testing.assert_allclose((Tensor(A).half() + 1).float().numpy(), A + 1, atol=1e-2),
        "convolution": convolution, "gradient": gradient, "jit": jitted}.items():
    check(name, function)
done()
