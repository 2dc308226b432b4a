// Programmatic dependent launches through the runtime: a kernel that begins before the one before it in its stream ends, and
// one that begins at an event which the primary triggers. The primary waits for them, so it would not end otherwise.
#include "program.h"

constexpr int kBlocks = 8, kThreads = 128, kCount = kBlocks * kThreads;

__global__ void primary(volatile int* flag, int* data) {
  cudaTriggerProgrammaticLaunchCompletion();
  while (*flag == 0) {
  }
  data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

__global__ void unaware(volatile int* flag, int* data) {
  while (*flag == 0) {
  }
  data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

__global__ void dependent(volatile int* flag, const int* data, int* out) {
  __shared__ int own[kThreads];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) *flag = 1;
  own[threadIdx.x] = 10 * i;
  __syncthreads();
  cudaGridDependencySynchronize();
  out[i] = data[i] + own[threadIdx.x];
}

struct Launch {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attribute{};

  explicit Launch(cudaStream_t stream) {
    config.gridDim = dim3(kBlocks);
    config.blockDim = dim3(kThreads);
    config.stream = stream;
  }
  cudaLaunchAttribute& with(cudaLaunchAttributeID id) {
    attribute.id = id;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return attribute;
  }
};

int *flag, *data, *out;

void check(int rounds) {
  CUDA(cudaDeviceSynchronize());
  std::vector<int> values(kCount);
  CUDA(cudaMemcpy(values.data(), out, kCount * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) CHECK(values[i] == rounds + 10 * i);
  CUDA(cudaMemset(flag, 0, sizeof(int)));
  CUDA(cudaDeviceSynchronize());
}

int main() {
  CUDA(cudaMalloc(&flag, sizeof(int)));
  CUDA(cudaMalloc(&data, kCount * sizeof(int)));
  CUDA(cudaMalloc(&out, kCount * sizeof(int)));
  CUDA(cudaMemset(flag, 0, sizeof(int)));
  CUDA(cudaMemset(data, 0, kCount * sizeof(int)));
  CUDA(cudaDeviceSynchronize());
  cudaStream_t one, other;
  CUDA(cudaStreamCreate(&one));
  CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  cudaEvent_t event;
  CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  int rounds = 0;

  for (cudaStream_t stream : {one, other, cudaStream_t{}}) {
    primary<<<kBlocks, kThreads, 0, stream>>>(flag, data);
    Launch launch(stream);
    launch.with(cudaLaunchAttributeProgrammaticStreamSerialization).val.programmaticStreamSerializationAllowed = 1;
    CUDA(cudaLaunchKernelEx(&launch.config, dependent, flag, data, out));
    check(++rounds);
  }

  for (const bool at_start : {false, true}) {
    Launch launch(one);
    auto& value = launch.with(cudaLaunchAttributeProgrammaticEvent).val.programmaticEvent;
    value.event = event;
    value.triggerAtBlockStart = at_start;
    CUDA(cudaLaunchKernelEx(&launch.config, at_start ? unaware : primary, flag, data));
    CUDA(cudaStreamWaitEvent(other, event, 0));
    dependent<<<kBlocks, kThreads, 0, other>>>(flag, data, out);
    CUDA(cudaEventSynchronize(event));
    check(++rounds);
  }

  // Not allowed: in order, and another stream lets the primary end.
  primary<<<kBlocks, kThreads, 0, one>>>(flag, data);
  Launch launch(one);
  launch.with(cudaLaunchAttributeProgrammaticStreamSerialization).val.programmaticStreamSerializationAllowed = 0;
  CUDA(cudaLaunchKernelEx(&launch.config, dependent, flag, data, out));
  CUDA(cudaMemsetAsync(flag, 1, sizeof(int), other));
  check(++rounds);
  std::printf("ok\n");
  return 0;
}
