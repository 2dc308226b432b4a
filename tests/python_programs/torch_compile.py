"""torch.compile makes Triton kernels of small modules; the answers are those of torch on the host."""
import torch

from checks import check, done

TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}


def compiled(module, *shapes):
    def run():
        torch.manual_seed(1)
        inputs = [torch.randn(shape) for shape in shapes]
        wanted = module(*inputs)
        on_device = [torch.empty(shape, device="cuda") for shape in shapes]
        for device, host in zip(on_device, inputs):
            device.copy_(host)
        found = torch.compile(module)(*on_device)
        torch.testing.assert_close(found.cpu(), wanted, **TOLERANCE)
    return run


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def layer_norm(x):
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)


check("softmax", compiled(lambda x: torch.softmax(x, -1), (64, 512)))
check("layer_norm", compiled(layer_norm, (64, 512)))
check("gelu", compiled(gelu, (4096,)))
check("sum_of_rows", compiled(lambda x: (x * x).sum(-1), (128, 300)))
check("add_and_relu", compiled(lambda x, y: torch.relu(x + y), (100, 33), (33,)))
check("log_sum_exp", compiled(lambda x: torch.logsumexp(x, 0), (200, 40)))  # folds a constant by a kernel of torch's own
done()
