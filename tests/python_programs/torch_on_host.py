"""torch's own operations on tensors in device memory, computed by the host.

torch ships its kernels as machine code without PTX, which Raddle cannot run: torch.rand(4, device="cuda") answers "no kernel
image". Programs need a few such operations around the kernels that matter, those that Triton compiles: to make inputs, and to
compute the wanted answers. After install() an operation of torch's copies what its arguments' memory holds to the host, runs
torch's kernel for CPUs and copies back what it made or changed. What Triton, numba or inductor launch is untouched.

The streams are waited for before each operation. Draws come from the generator of the host, whatever device a generator has."""
import ctypes
import functools
import warnings

import torch
from torch.utils._pytree import tree_map

# They touch no elements, or are copies by the driver already.
KEPT = {"aten::empty.memory_layout", "aten::empty_strided", "aten::resize_", "aten::_local_scalar_dense", "aten::record_stream",
        "aten::_pin_memory", "aten::is_pinned", "aten::_unsafe_view"}
# Their sums of halves are floats on GPUs; the kernels for CPUs round them to halves on the way (an error of 0.06 in the third
# gradient of Triton's tutorial on layer norm, where 0.01 is allowed). The number says how many results are halves again.
WIDE = {"native_layer_norm": 1, "native_layer_norm_backward": 3}
HALVES = (torch.float16, torch.bfloat16)
DEFAULT_DIRECTION = 4  # cudaMemcpyDefault: which memory is where follows from the addresses
_installed = []


def copy_bytes(target, source, count):
    if count:
        status = _installed[0].cudaMemcpy(ctypes.c_void_p(target), ctypes.c_void_p(source), ctypes.c_size_t(count), DEFAULT_DIRECTION)
        if status:
            raise RuntimeError(f"cudaMemcpy of {count} bytes: error {status}")


class Arguments:
    """Copies on the host: one of each storage, so that views of one memory stay views of one."""

    def __init__(self):
        self.storages = {}
        self.originals = []  # (copy, original)

    def on_host(self, value):
        if isinstance(value, torch.device):
            return torch.device("cpu")
        if isinstance(value, torch.Generator):
            return None
        if not isinstance(value, torch.Tensor) or not value.is_cuda:
            return value
        storage = value.untyped_storage()
        if storage.data_ptr() not in self.storages:
            copied = torch.empty(storage.nbytes(), dtype=torch.uint8)
            copy_bytes(copied.data_ptr(), storage.data_ptr(), storage.nbytes())
            self.storages[storage.data_ptr()] = copied.untyped_storage()
        view = torch.empty(0, dtype=value.dtype).set_(self.storages[storage.data_ptr()], value.storage_offset(), value.size(), value.stride())
        self.originals.append((view, value))
        return view

    def original(self, view):
        """The tensor of the device of which this is the copy, or None."""
        return next((original for copied, original in self.originals if copied is view), None)

    def give_back(self, view):
        """Writes the memory behind a copy back to the device. An operation may have made it larger ("out=")."""
        original = self.original(view)
        if original is None:
            return
        if original.shape != view.shape:
            original.resize_(view.shape)
            view = view.contiguous()
            copy_bytes(original.data_ptr(), view.data_ptr(), view.numel() * view.itemsize)
            return
        storage = original.untyped_storage()
        copy_bytes(storage.data_ptr(), view.untyped_storage().data_ptr(), storage.nbytes())


def to_device(arguments, value):
    if not isinstance(value, torch.Tensor):
        return value
    original = arguments.original(value)
    if original is not None:
        return original
    if not torch.ops.aten.is_non_overlapping_and_dense(value):
        value = value.contiguous()
    made = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="cuda")
    copy_bytes(made.data_ptr(), value.data_ptr(), value.numel() * value.itemsize)
    return made


def written(schema, args, kwargs):
    """The arguments that the operation changes."""
    for place, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[place] if place < len(args) else kwargs.get(argument.name)
            yield from value if isinstance(value, (list, tuple)) else [value]


def name_of(operation):
    return operation._schema.name.removeprefix("aten::")


def in_floats(operation, args, kwargs):
    """Calls an operation of WIDE with halves as floats."""
    narrow = args[0].dtype
    widened = tree_map(lambda value: value.float() if isinstance(value, torch.Tensor) and value.dtype in HALVES else value, args)
    results = operation(*widened, **kwargs)
    again = WIDE[name_of(operation)]
    return [value if value is None or place >= again else value.to(narrow) for place, value in enumerate(results)]


def run_on_host(operation, *args, **kwargs):
    torch.cuda.synchronize()
    arguments = Arguments()
    args, kwargs = tree_map(arguments.on_host, args), tree_map(arguments.on_host, kwargs)
    wide = name_of(operation) in WIDE and operation._overloadname == "default"
    result = in_floats(operation, args, kwargs) if wide else operation(*args, **kwargs)
    for value in written(operation._schema, args, kwargs):
        if isinstance(value, torch.Tensor):
            arguments.give_back(value)
    return tree_map(functools.partial(to_device, arguments), result)


def copy_(target, source, non_blocking=False):
    """Of any layouts, types and devices."""
    torch.cuda.synchronize()
    arguments = Arguments()
    on_host = arguments.on_host(target)
    on_host.copy_(arguments.on_host(source))
    arguments.give_back(on_host)
    return target


def zero_(target):
    """By the driver where the elements lie together: benchmarks clear a buffer as large as a GPU's cache between runs."""
    if not torch.ops.aten.is_non_overlapping_and_dense(target):
        return copy_(target, torch.zeros(target.shape, dtype=target.dtype))
    bytes_there = target.numel() * target.itemsize
    if bytes_there and _installed[0].cudaMemset(ctypes.c_void_p(target.data_ptr()), 0, ctypes.c_size_t(bytes_there)):
        raise RuntimeError(f"cudaMemset of {bytes_there} bytes failed")
    return target


def is_view(schema):
    return any(value.alias_info is not None and not value.alias_info.is_write for value in schema.returns)


def install():
    """Once, before the program makes tensors."""
    if _installed:
        return
    _installed.append(ctypes.CDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}"))
    library = torch.library.Library("aten", "IMPL")
    _installed.append(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that operations are replaced
        for replaced in (copy_, zero_):
            library.impl(replaced.__name__, replaced, "CUDA")
        for name in torch._C._dispatch_get_registrations_for_dispatch_key("CUDA"):
            if not name.startswith("aten::") or name in KEPT or name.startswith(("aten::set_", "aten::zero_", "aten::copy_")):
                continue
            if not torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, "CPU"):
                continue
            packet, _, overload = name.removeprefix("aten::").partition(".")
            operation = getattr(getattr(torch.ops.aten, packet), overload or "default")
            if not is_view(operation._schema):
                library.impl(name, functools.partial(run_on_host, operation), "CUDA")
    torch.backends.cudnn.enabled = False  # its operations have no kernels for CPUs
