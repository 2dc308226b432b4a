// Graphs as programs use them: captured with a fork, built node by node, updated, with a loop that a kernel ends.
#include "program.h"

__global__ void step(int* x, int factor, int summand) { *x = *x * factor + summand; }

__global__ void add_up(const int* from, int* sum, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(sum, from[i]);
}

__global__ void count_down(cudaGraphConditionalHandle handle, int* left) {
  cudaGraphSetConditional(handle, --*left > 0);
}

namespace {

int read(const int* x) {
  int value;
  CUDA(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

int launch(cudaGraph_t graph, int* x) {
  cudaGraphExec_t exec;
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CUDA(cudaMemset(x, 0, sizeof *x));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaStreamDestroy(stream));
  return read(x);
}

void captured(int* x, int* y) {
  cudaStream_t first, second;
  cudaEvent_t fork, join;
  CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  constexpr int kCount = 1000;
  int *numbers, *sum, *on_host;
  CUDA(cudaMalloc(&numbers, kCount * sizeof(int)));
  CUDA(cudaMalloc(&sum, sizeof(int)));
  CUDA(cudaMallocHost(&on_host, kCount * sizeof(int)));
  for (int i = 0; i < kCount; ++i) on_host[i] = i;
  cudaGraph_t graph;
  CUDA(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
  step<<<1, 1, 0, first>>>(x, 10, 1);
  CUDA(cudaEventRecord(fork, first));
  CUDA(cudaStreamWaitEvent(second, fork, 0));
  CUDA(cudaMemcpyAsync(numbers, on_host, kCount * sizeof(int), cudaMemcpyHostToDevice, second));
  CUDA(cudaMemsetAsync(sum, 0, sizeof(int), second));
  add_up<<<1, 128, 0, second>>>(numbers, sum, kCount);
  CUDA(cudaEventRecord(join, second));
  step<<<1, 1, 0, first>>>(x, 10, 2);
  CUDA(cudaStreamWaitEvent(first, join, 0));
  CUDA(cudaMemcpyAsync(y, sum, sizeof(int), cudaMemcpyDeviceToDevice, first));
  CUDA(cudaStreamEndCapture(first, &graph));
  size_t nodes;
  CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 6);
  CHECK(launch(graph, x) == 1212);
  CHECK(read(y) == kCount * (kCount - 1) / 2);
  CUDA(cudaGraphDestroy(graph));
}

void built(int* x) {
  cudaGraph_t graph, inner;
  CUDA(cudaGraphCreate(&graph, 0));
  CUDA(cudaGraphCreate(&inner, 0));
  int factor = 10, one = 1, two = 2, calls = 0;
  void* arguments[] = {&x, &factor, &one};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(step);
  kernel.gridDim = kernel.blockDim = dim3(1);
  kernel.kernelParams = arguments;
  cudaGraphNode_t first, child, call;
  CUDA(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
  arguments[2] = &two;
  cudaGraphNode_t inside;
  CUDA(cudaGraphAddKernelNode(&inside, inner, nullptr, 0, &kernel));
  CUDA(cudaGraphAddChildGraphNode(&child, graph, &first, 1, inner));
  cudaHostNodeParams host{[](void* count) { ++*static_cast<int*>(count); }, &calls};
  CUDA(cudaGraphAddHostNode(&call, graph, &child, 1, &host));
  CHECK(launch(graph, x) == 1212);
  CHECK(calls == 2);
  cudaGraphExec_t exec;
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  int seven = 7;
  arguments[2] = &seven;
  CUDA(cudaGraphExecKernelNodeSetParams(exec, first, &kernel));
  CUDA(cudaMemset(x, 0, sizeof *x));
  CUDA(cudaGraphLaunch(exec, nullptr));
  CUDA(cudaDeviceSynchronize());
  CHECK(read(x) == 72);
  CUDA(cudaGraphKernelNodeGetParams(first, &kernel));
  CHECK(kernel.func == reinterpret_cast<void*>(step));
}

void loops(int* x, int* left) {
  cudaGraph_t graph;
  CUDA(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle handle;
  CUDA(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 1;
  cudaGraphNode_t loop;
  CUDA(cudaGraphAddNode(&loop, graph, nullptr, nullptr, 0, &params));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaStreamBeginCaptureToGraph(stream, params.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                     cudaStreamCaptureModeGlobal));
  step<<<1, 1, 0, stream>>>(x, 2, 1);
  count_down<<<1, 1, 0, stream>>>(handle, left);
  CUDA(cudaStreamEndCapture(stream, nullptr));
  const int times = 10;
  CUDA(cudaMemcpy(left, &times, sizeof times, cudaMemcpyHostToDevice));
  CUDA(cudaMemset(x, 0, sizeof *x));
  cudaGraphExec_t exec;
  const cudaError_t error = cudaGraphInstantiate(&exec, graph, 0);
  if (error == cudaErrorNotSupported) return;  // the machine is another process's, which says so
  CUDA(error);
  CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  CHECK(read(x) == 1023);
}

}  // namespace

int main() {
  int* words;
  CUDA(cudaMalloc(&words, 3 * sizeof(int)));
  CUDA(cudaMemset(words, 0, 3 * sizeof(int)));
  captured(words, words + 1);
  built(words);
  loops(words, words + 2);
  return 0;
}
