"""cuda-core (cuda.core): devices, streams, pools, programs, linking and launches on NumPy's data. Its graphs: cuda_core_graphs.py."""
import ctypes
import pickle

import numpy as np
from cuda.core import (Buffer, Device, DeviceMemoryResource, DeviceMemoryResourceOptions, EventOptions, LaunchConfig,
                       LegacyPinnedMemoryResource, Linker, LinkerOptions, ManagedMemoryResource, ManagedMemoryResourceOptions, ObjectCode,
                       PinnedMemoryResource, PinnedMemoryResourceOptions, Program, ProgramOptions, StreamOptions, VirtualMemoryResource,
                       launch)

from checks import check, done

SAXPY = """
template <class T> __global__ void saxpy(T a, const T* x, T* y, unsigned long long count) {
  const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (i < count) y[i] = a * x[i] + y[i];
}
"""
ADD_ONE = """
extern "C" __global__ void add_one(int* x, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] += 1;
}
"""
COUNT = 1000
device = Device()
device.set_current()


def compiled(source, kind="ptx", names=(), **options):
    given = ProgramOptions(std="c++17", arch=f"sm_{device.arch}", **options)
    return Program(source, code_type="c++", options=given).compile(kind, name_expressions=names)


def numbers():
    """(buffer of the host that the device sees, its NumPy array)"""
    buffer = LegacyPinnedMemoryResource().allocate(4 * COUNT)
    array = np.from_dlpack(buffer).view(np.int32)
    array[:] = np.arange(COUNT)
    return buffer, array


def adds_one(stream, kernel, **config):
    buffer, array = numbers()
    launch(stream, LaunchConfig(grid=(COUNT + 127) // 128, block=128, **config), kernel, buffer, ctypes.c_int(COUNT))
    stream.sync()
    np.testing.assert_array_equal(array, np.arange(COUNT) + 1)


def fails(function, word):
    try:
        function()
    except Exception as error:  # each call has its own class
        assert word in str(error), error
    else:
        raise AssertionError(f"no {word}")


def saxpy(kind):
    def run():
        stream = device.create_stream()
        kernel = compiled(SAXPY, kind, ("saxpy<float>",)).get_kernel("saxpy<float>")
        count = 10000
        x, y = np.arange(count, dtype=np.float32), np.ones(count, dtype=np.float32)
        on_device = [device.allocate(x.nbytes, stream=stream) for _ in range(2)]
        from cuda.bindings import driver
        for buffer, data in zip(on_device, (x, y)):
            driver.cuMemcpyHtoD(int(buffer.handle), data.ctypes.data, data.nbytes)
        launch(stream, LaunchConfig(grid=(count + 255) // 256, block=256), kernel, ctypes.c_float(2), on_device[0], on_device[1],
               ctypes.c_uint64(count))
        stream.sync()
        found = np.empty_like(y)
        driver.cuMemcpyDtoH(found.ctypes.data, int(on_device[1].handle), found.nbytes)
        np.testing.assert_array_equal(found, 2 * x + 1)
    return run


def properties():
    """Partly answered by the runtime library that cuda.bindings brings."""
    every = {name: getattr(device.properties, name) for name in dir(device.properties) if not name.startswith("_")}
    assert every["warp_size"] == 32 and every["multiprocessor_count"] > 0, every
    assert device.name and device.uuid and device.pci_bus_id.count(":") == 2
    device.sync()


def streams_and_events():
    kernel = compiled(ADD_ONE).get_kernel("add_one")
    first, second = device.create_stream(options=StreamOptions(nonblocking=True, priority=-1)), device.create_stream()
    assert first.is_nonblocking and first.priority == -1
    begin = first.record(options=EventOptions(timing_enabled=True))
    adds_one(first, kernel)
    end = first.record(options=EventOptions(timing_enabled=True))
    second.wait(end)
    second.wait(first)
    adds_one(second, kernel)
    assert end.is_done and end - begin >= 0


def pool():
    stream = device.create_stream()
    resource = DeviceMemoryResource(device, options=DeviceMemoryResourceOptions(max_size=1 << 22))
    blocks = [resource.allocate(1 << 20, stream=stream) for _ in range(2)]
    blocks[0].fill(7, stream=stream)
    blocks[0].copy_to(blocks[1], stream=stream)
    host = LegacyPinnedMemoryResource().allocate(1 << 20)
    blocks[1].copy_to(host, stream=stream)
    stream.sync()
    assert (np.from_dlpack(host).view(np.uint8) == 7).all()
    assert resource.attributes.used_mem_current == 2 << 20
    fails(lambda: resource.allocate(1 << 23, stream=stream), "OUT_OF_MEMORY")
    for block in blocks:
        block.close(stream)
    stream.sync()
    assert resource.attributes.used_mem_current == 0 and resource.attributes.used_mem_high == 2 << 20


def pool_for_other_processes():
    stream = device.create_stream()
    resource = DeviceMemoryResource(device, options=DeviceMemoryResourceOptions(max_size=1 << 22, ipc_enabled=True))
    block = resource.allocate(4096, stream=stream)
    other = DeviceMemoryResource.from_allocation_handle(device, resource.allocation_handle)
    same = Buffer.from_ipc_descriptor(other, block.ipc_descriptor, stream=stream)
    block.fill(5, stream=stream)
    host = LegacyPinnedMemoryResource().allocate(4096)
    same.copy_to(host, stream=stream)
    device.sync()
    assert other.is_mapped and (np.from_dlpack(host).view(np.uint8) == 5).all()


def pool_of_the_host():
    resource = PinnedMemoryResource(PinnedMemoryResourceOptions(max_size=1 << 20))
    assert resource.allocate(4096, stream=device.default_stream).is_host_accessible


def pool_of_managed_memory():
    resource = ManagedMemoryResource(options=ManagedMemoryResourceOptions(preferred_location=device.device_id))
    assert resource.allocate(4096, stream=device.default_stream).is_managed


def virtual_memory():
    stream = device.create_stream()
    resource = VirtualMemoryResource(device)
    block = resource.allocate(1 << 21)
    block.fill(1, stream=stream)
    stream.sync()
    block.close()


def kernel_attributes():
    kernel = compiled(ADD_ONE).get_kernel("add_one")
    assert kernel.num_arguments == 2
    assert [(argument.offset, argument.size) for argument in kernel.arguments_info] == [(0, 8), (8, 4)]
    assert kernel.attributes.max_threads_per_block >= 128
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(128, 0) > 0
    assert kernel.occupancy.max_potential_block_size(0, 1024).max_block_size > 0


def kinds_of_launch():
    kernel, stream = compiled(ADD_ONE).get_kernel("add_one"), device.create_stream()
    adds_one(stream, kernel, cluster=2)
    adds_one(stream, kernel, is_cooperative=True)
    adds_one(stream, kernel, programmatic_stream_serialization=True)


def linked():
    parts = [compiled(source, relocatable_device_code=True) for source in (
        'extern "C" __device__ int next(int); extern "C" __global__ void add_one(int* x, int count) {'
        "const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < count) x[i] = next(x[i]); }",
        'extern "C" __device__ int next(int value) { return value + 1; }')]
    module = Linker(*parts, options=LinkerOptions(arch=f"sm_{device.arch}")).link("cubin")
    adds_one(device.create_stream(), module.get_kernel("add_one"))


def modules():
    stream = device.create_stream()
    module = compiled(ADD_ONE, "cubin")
    for copy in (ObjectCode.from_cubin(module.code), ObjectCode.from_ptx(compiled(ADD_ONE).code), pickle.loads(pickle.dumps(module))):
        adds_one(stream, copy.get_kernel("add_one"))
    fails(lambda: module.get_kernel("subtract_one"), "NOT_FOUND")


def compiler_options():
    for options in ({"debug": True}, {"lineinfo": True}, {"max_register_count": 32}, {"use_fast_math": True}, {"fma": False},
                    {"split_compile": 2}, {"extensible_whole_program": True}):
        adds_one(device.create_stream(), compiled(ADD_ONE, "cubin", **options).get_kernel("add_one"))


def errors():
    stream, kernel = device.create_stream(), compiled(ADD_ONE).get_kernel("add_one")
    buffer, _ = numbers()
    for config in (LaunchConfig(grid=1, block=2048), LaunchConfig(grid=(1, 70000), block=1), LaunchConfig(grid=1, block=1, shmem_size=1 << 20)):
        fails(lambda: launch(stream, config, kernel, buffer, ctypes.c_int(0)), "INVALID_VALUE")
    fails(lambda: compiled("no source"), "error")
    fails(lambda: ObjectCode.from_ptx(b".version 8.0 .garbage").get_kernel("x"), "INVALID_PTX")


def multiprocessors_of_a_part():
    assert device.resources.sm.sm_count == device.properties.multiprocessor_count


check("saxpy_ptx", saxpy("ptx"))
check("saxpy_cubin", saxpy("cubin"))
for part in (properties, streams_and_events, pool, pool_for_other_processes, pool_of_the_host, pool_of_managed_memory, virtual_memory,
             kernel_attributes, kinds_of_launch, linked, modules, compiler_options, errors, multiprocessors_of_a_part):
    check(part.__name__, part)
done()
