"""cuda-core's graphs: captured, written node by node, with conditions, updated, with memory of their own."""
import ctypes

import numpy as np
from cuda.core import Device, GraphMemoryResource, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch
from cuda.core.graph import GraphBuilder, GraphDefinition

from checks import check, done

SOURCE = """
extern "C" __device__ __cudart_builtin__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);
extern "C" __global__ void add_one(int* x) { *x += 1; }
extern "C" __global__ void choose(unsigned long long handle, int value) { cudaGraphSetConditional(handle, value); }
extern "C" __global__ void add_until(unsigned long long handle, int* x, int end) {
  *x += 1;
  cudaGraphSetConditional(handle, *x < end);
}
"""
ONE = LaunchConfig(grid=1, block=1)
device = Device()
device.set_current()
module = Program(SOURCE, code_type="c++", options=ProgramOptions(std="c++17", arch=f"sm_{device.arch}")).compile("ptx")
add_one, choose, add_until = (module.get_kernel(name) for name in ("add_one", "choose", "add_until"))
buffer = LegacyPinnedMemoryResource().allocate(4)
number = np.from_dlpack(buffer).view(np.int32)


def begin():
    number[0] = 0
    return device.create_graph_builder().begin_building()


def runs(graph, wanted, times=1):
    stream = device.create_stream()
    for _ in range(times):
        graph.launch(stream)
    stream.sync()
    assert number[0] == wanted, number


def captured():
    builder = begin()
    for _ in range(3):
        launch(builder, ONE, add_one, buffer)
    left, right = builder.split(2)
    launch(left, ONE, add_one, buffer)
    builder = GraphBuilder.join(left, right)
    graph = builder.end_building().complete()
    graph.upload(device.create_stream())
    runs(graph, 8, times=2)


def body(builder):
    builder.begin_building()
    launch(builder, ONE, add_one, buffer)
    builder.end_building()


def conditions():
    builder = begin()
    chosen = builder.create_condition(default_value=0)
    launch(builder, ONE, choose, chosen, ctypes.c_int(1))
    body(builder.if_then(chosen))
    again = builder.create_condition(default_value=1)
    loop = builder.while_loop(again).begin_building()
    launch(loop, ONE, add_until, again, buffer, ctypes.c_int(5))
    loop.end_building()
    for each in builder.if_else(builder.create_condition(default_value=1)):
        body(each)
    for each in builder.switch(builder.create_condition(default_value=2), 3):
        body(each)
    runs(builder.end_building().complete(), 7)


def node_by_node():
    number[0] = 0
    definition, calls = GraphDefinition(), []
    node = definition.launch(ONE, add_one, buffer).launch(ONE, add_one, buffer)
    node.callback(lambda: calls.append(int(number[0])))
    memory = definition.allocate(1024)
    memory.memset(memory.dptr, 0, 1024)
    runs(definition.instantiate(), 2)
    assert calls == [2], calls


def updated():
    def chain(length, block):
        builder = begin()
        for _ in range(length):
            launch(builder, LaunchConfig(grid=1, block=block), add_one, buffer)
        return builder.end_building()
    graph = chain(2, 1).complete()
    graph.update(chain(2, 1))
    runs(graph, 2)
    try:
        graph.update(chain(3, 1))
    except Exception as error:
        assert "update" in str(error).lower(), error
    else:
        raise AssertionError("a graph of another form was taken")


def with_memory():
    resource, builder = GraphMemoryResource(device), begin()
    memory = resource.allocate(1 << 16, stream=builder)
    memory.fill(1, stream=builder)
    launch(builder, ONE, add_one, buffer)
    memory.close(builder)
    runs(builder.end_building().complete(), 2, times=2)
    resource.trim()


for part in (captured, conditions, node_by_node, updated, with_memory):
    check(part.__name__, part)
done()
