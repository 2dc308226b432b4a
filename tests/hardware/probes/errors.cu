// What the runtime answers to calls that a program gets wrong, or asks early: the call's result, and the last error after it.
#include <cooperative_groups.h>

#include "probe.h"

namespace {

__device__ int symbol;
__global__ void nothing() {}
__global__ void __launch_bounds__(64) narrow() {}
__global__ void __cluster_dims__(4, 1, 1) squares() {}
__global__ void wait_for(volatile int* flag) {
  while (*flag == 0) {
  }
}
__global__ void much_shared() { __shared__ int words[12000]; words[threadIdx.x] = 1; }

void say(const char* what, cudaError_t result) {
  const cudaError_t peeked = cudaPeekAtLastError(), last = cudaGetLastError();
  std::printf("%s: %d, peek %d, last %d\n", what, result, peeked, last);
}
#define ASK(call) say(#call, (call))

template <typename Kernel>
cudaError_t launch(Kernel kernel, dim3 grid, dim3 block, std::size_t shared = 0) {
  kernel<<<grid, block, shared>>>();
  return cudaPeekAtLastError();
}

void launches() {
  ASK(launch(nothing, 1, 1025));
  ASK(launch(nothing, 1, 2000));
  ASK(launch(nothing, 0, 32));
  ASK(launch(nothing, 1, 0));
  ASK(launch(nothing, dim3(1, 65536), 32));
  ASK(launch(nothing, 1, dim3(1, 1, 65)));
  ASK(launch(nothing, 1, 32, 49 << 10));
  ASK(launch(nothing, 1, 32, 300 << 10));
  ASK(launch(much_shared, 1, 32, 4 << 10));
  ASK(launch(narrow, 1, 65));
  ASK(launch(squares, 3, 32));
  ASK(launch(squares, 4, 32));
  void* none[] = {nullptr};
  ASK(cudaLaunchKernel(reinterpret_cast<const void*>(&std::exit), dim3(1), dim3(1), none, 0, nullptr));
  ASK(cudaLaunchKernel(static_cast<const void*>(nullptr), dim3(1), dim3(1), none, 0, nullptr));
  ASK(cudaLaunchCooperativeKernel(nothing, dim3(100000), dim3(1024), none, 0, nullptr));
  cudaFuncAttributes attributes;
  ASK(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&std::exit)));
  ASK(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 300 << 10));
  int size = 0;
  cudaLaunchConfig_t config{};
  config.gridDim = 64, config.blockDim = 32;
  ASK(cudaOccupancyMaxPotentialClusterSize(&size, nothing, &config));
  std::printf("size %d\n", size);
  ASK(cudaOccupancyMaxPotentialClusterSize(&size, squares, &config));
  std::printf("size %d\n", size);
  ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&size, nothing, 2000, 0));
  ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&size, nothing, 64, 300 << 10));
  std::printf("blocks %d\n", size);
}

void memory() {
  void* memory = nullptr;
  char host[64];
  ASK(cudaMalloc(&memory, std::size_t{1} << 50));
  ASK(cudaMalloc(&memory, 0));
  std::printf("null %d\n", memory == nullptr);
  ASK(cudaMalloc(&memory, 4096));
  ASK(cudaFree(static_cast<char*>(memory) + 16));
  ASK(cudaFree(nullptr));
  ASK(cudaFree(host));
  ASK(cudaMemcpy(memory, host, 1 << 30, cudaMemcpyHostToDevice));
  ASK(cudaMemcpy(memory, host, 64, static_cast<cudaMemcpyKind>(9)));
  ASK(cudaMemcpy(nullptr, host, 64, cudaMemcpyHostToDevice));
  ASK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
  ASK(cudaMemcpy(host, host + 32, 16, cudaMemcpyDeviceToDevice));
  ASK(cudaMemcpy(host, host + 32, 16, cudaMemcpyHostToDevice));
  ASK(cudaMemset(host, 0, 16));
  ASK(cudaMemset(nullptr, 0, 16));
  ASK(cudaMemset(memory, 0, 8192));
  ASK(cudaMemcpyToSymbol(symbol, host, 8));
  ASK(cudaMemcpyToSymbol(host, host, 4));
  void* address = nullptr;
  ASK(cudaGetSymbolAddress(&address, host));
  cudaPointerAttributes attributes;
  ASK(cudaPointerGetAttributes(&attributes, host));
  std::printf("type %d device %d\n", attributes.type, attributes.device);
  ASK(cudaPointerGetAttributes(&attributes, memory));
  std::printf("type %d device %d\n", attributes.type, attributes.device);
  ASK(cudaPointerGetAttributes(&attributes, nullptr));
  std::printf("type %d device %d\n", attributes.type, attributes.device);
  ASK(cudaHostUnregister(host));
  ASK(cudaFreeHost(host));
  ASK(cudaFreeHost(nullptr));
  for (const std::size_t width : {1, 31, 32, 100, 511, 513, 1000, 4097}) {
    std::size_t pitch = 0;
    void* rows = nullptr;
    ASK(cudaMallocPitch(&rows, &pitch, width, 10));
    std::printf("pitch of %zu: %zu, modulo 512: %zu\n", width, pitch, reinterpret_cast<std::size_t>(rows) % 512);
    cudaFree(rows);
  }
  cudaArray_t array;
  const cudaChannelFormatDesc three = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindUnsigned), one = cudaCreateChannelDesc<float>();
  ASK(cudaMallocArray(&array, &three, 16, 16));
  ASK(cudaMallocArray(&array, &one, 0, 16));
  ASK(cudaMallocArray(&array, &one, 1 << 20, 16));
  ASK(cudaFree(memory));
  ASK(cudaFree(memory));
}

void streams() {
  ASK(cudaSetDevice(99));
  ASK(cudaSetDevice(-1));
  int count = 0;
  ASK(cudaGetDeviceCount(&count));
  ASK(cudaDeviceSetLimit(cudaLimitStackSize, std::size_t{1} << 40));
  ASK(cudaDeviceSetLimit(static_cast<cudaLimit>(77), 1));
  cudaStream_t stream;
  cudaEvent_t early, late, quick;
  ASK(cudaStreamCreateWithFlags(&stream, 77));
  ASK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  ASK(cudaEventCreateWithFlags(&early, 77));
  ASK(cudaEventCreate(&early));
  ASK(cudaEventCreate(&late));
  ASK(cudaEventCreateWithFlags(&quick, cudaEventDisableTiming));
  float time = 0;
  ASK(cudaEventElapsedTime(&time, early, late));
  ASK(cudaEventQuery(early));
  ASK(cudaEventRecord(early, stream));
  int* flag;
  ASK(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped));
  *flag = 0;
  wait_for<<<1, 1, 0, stream>>>(flag);
  ASK(cudaEventRecord(late, stream));
  ASK(cudaEventRecord(quick, stream));
  ASK(cudaStreamQuery(stream));
  ASK(cudaEventQuery(late));
  ASK(cudaEventElapsedTime(&time, early, late));
  ASK(cudaEventElapsedTime(&time, early, quick));
  *static_cast<volatile int*>(flag) = 1;
  ASK(cudaStreamSynchronize(stream));
  ASK(cudaEventElapsedTime(&time, late, early));
  ASK(cudaEventElapsedTime(&time, early, quick));
  ASK(cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(7)));
  ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ASK(cudaStreamSynchronize(stream));
  void* memory = nullptr;
  ASK(cudaMalloc(&memory, 16));
  cudaGraph_t graph = nullptr;
  ASK(cudaStreamEndCapture(stream, &graph));
  std::printf("graph %d\n", graph != nullptr);
  ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  ASK(cudaMalloc(&memory, 16));
  ASK(cudaStreamQuery(stream));
  ASK(cudaStreamEndCapture(stream, &graph));
  ASK(cudaStreamEndCapture(stream, &graph));
  ASK(cudaGraphInstantiate(nullptr, graph, 0));
  ASK(cudaStreamDestroy(stream));
}

}  // namespace

int main() {
  cudaGetLastError();
  launches();
  memory();
  streams();
}
