"""torch.compile makes Triton kernels of small modules; the answers are those of torch on the host. Nothing of torch's own kernels
runs on the device: they are machine code."""
import torch
import torch._inductor.select_algorithm
from torch.nn import functional

from checks import check, done

TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}
# Without folding of constants, for which inductor calls torch's own kernels; with products as Triton kernels instead of cuBLAS.
FOLD_NOTHING = {"joint_graph_constant_folding": False}
OPTIONS = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON", **FOLD_NOTHING}

# Of the kernels that would do, inductor takes the fastest; Raddle's times say nothing about GPUs, so it gets one to choose from.
torch._inductor.select_algorithm.add_preprocessing_fn(lambda choices: choices[:1])


def upload(host):
    device = torch.empty(host.shape, dtype=host.dtype, device="cuda")
    device.copy_(host)
    return device


def compiled(module, *inputs):
    """inputs: tensors of the host, or shapes of random ones."""
    def run():
        torch.manual_seed(1)
        host = [torch.randn(value) if isinstance(value, tuple) else value for value in inputs]
        found = torch.compile(module, options=OPTIONS)(*map(upload, host))
        torch.testing.assert_close(found.cpu(), module(*host), **TOLERANCE)
    return run


def layer_norm_by_hand(x):
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)


def rotate(x, cosine, sine):
    first, second = x[..., :32], x[..., 32:]
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


MODULES = {
    "softmax": compiled(lambda x: torch.softmax(x, -1), (64, 512)),
    "layer_norm": compiled(lambda x, weight, bias: functional.layer_norm(x, (512,), weight, bias), (64, 512), (512,), (512,)),
    "layer_norm_by_hand": compiled(layer_norm_by_hand, (64, 512)),
    "rms_norm": compiled(lambda x, weight: functional.rms_norm(x, (512,), weight, 1e-5), (64, 512), (512,)),
    "batch_norm": compiled(lambda x, mean, variance, weight: functional.batch_norm(x, mean, variance.abs(), weight),
                           (8, 16, 12, 12), (16,), (16,), (16,)),
    "gelu": compiled(functional.gelu, (4096,)),
    "add_and_relu": compiled(lambda x, y: torch.relu(x + y), (100, 33), (33,)),
    "gated": compiled(lambda x, gate: functional.silu(gate) * x, (64, 500), (64, 500)),
    "sum_of_rows": compiled(lambda x: (x * x).sum(-1), (128, 300)),
    "variance": compiled(lambda x: torch.var(x, 0), (300, 50)),
    "largest": compiled(lambda x: x.argmax(-1), (64, 500)),
    "running_sum": compiled(lambda x: torch.cumsum(x, -1), (64, 500)),
    "log_sum_exp": compiled(lambda x: torch.logsumexp(x, 0), (200, 40)),
    "embedding": compiled(functional.embedding, torch.arange(40).reshape(5, 8) * 7 % 100, (100, 64)),
    "cross_entropy": compiled(functional.cross_entropy, (64, 100), torch.arange(64) * 7 % 100),
    "max_pool": compiled(lambda x: functional.max_pool2d(x, 2), (2, 8, 16, 16)),
    "rotary_embedding": compiled(rotate, (4, 16, 64), (16, 32), (16, 32)),
    "matrix_product": compiled(lambda a, b: torch.relu(a @ b), (64, 96), (96, 48)),
    "perceptron": compiled(lambda x, first, second: functional.gelu(x @ first) @ second, (64, 96), (96, 128), (128, 48)),
    "attention": compiled(lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v, *[(4, 32, 64)] * 3),
}
for name, module in MODULES.items():
    check(name, module)
done()
