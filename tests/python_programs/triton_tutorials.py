"""Triton's own tutorials, as the files in python/tutorials of its repository are, up to their benchmarks. The host computes what
they ask of torch itself (torch_on_host.py): their inputs, and the answers that they compare with. RADDLE_SOURCES names the folder."""
import os
import pathlib
import runpy

import torch

import torch_on_host

torch_on_host.install()

import triton.testing  # noqa: E402

from checks import check, done  # noqa: E402


class LeftOut:
    """In the place of a benchmark."""

    def __init__(self, function):
        self.function = function

    def run(self, *arguments, **named):
        pass


triton.testing.perf_report = lambda benchmarks: LeftOut


def tutorial(name):
    """The variables of a tutorial that was run as a program; their own assertions hold."""
    torch.manual_seed(0)
    return runpy.run_path(str(pathlib.Path(os.environ["RADDLE_SOURCES"], name + ".py")), run_name="__main__")


def vector_add():
    found = tutorial("01-vector-add")
    assert found["output_triton"].numel() == found["size"]
    assert torch.equal(found["output_triton"].cpu(), found["x"].cpu() + found["y"].cpu())


def fused_softmax():
    found = tutorial("02-fused-softmax")
    torch.testing.assert_close(found["y_triton"].cpu(), torch.softmax(found["x"].cpu(), 1))


def matrix_multiplication():
    found = tutorial("03-matrix-multiplication")  # prints whether it matches
    a, b = found["a"].cpu(), found["b"].cpu()
    wanted = a.float() @ b.float()
    torch.testing.assert_close(found["matmul"](found["a"], found["b"]).cpu().float(), wanted, atol=1e-1, rtol=1e-2)


def low_memory_dropout():
    found = tutorial("04-low-memory-dropout")
    x, first, second, third = (found[name].cpu() for name in ("x", "output", "output2", "output3"))
    assert torch.equal(first, second) and not torch.equal(first, third)
    for output in (first, third):
        assert torch.all((output == 0) | torch.isclose(output, 2 * x)), output


def layer_norm():
    tutorial("05-layer-norm")  # forwards and backwards against torch


def fused_attention():
    """The smallest of its own tests, forwards and backwards; it reads by tensor maps."""
    part = runpy.run_path(str(pathlib.Path(os.environ["RADDLE_SOURCES"], "06-fused-attention.py")))
    for causal in (False, True):
        part["test_op"](1, 2, 128, 64, causal, False, "bwd", "triton-fp16")


for part in (vector_add, fused_softmax, low_memory_dropout, layer_norm, matrix_multiplication, fused_attention):
    check(part.__name__, part)
done()
