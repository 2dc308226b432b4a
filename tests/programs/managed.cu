// Managed memory: one pointer for host and device, its attributes, advice and prefetches.
#include "program.h"

__global__ void square(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= data[i];
}

int main() {
  constexpr int kCount = 5000;
  int* data;
  CUDA(cudaMallocManaged(&data, kCount * sizeof(int)));
  for (int i = 0; i < kCount; ++i) data[i] = i;
  int device;
  CUDA(cudaGetDevice(&device));
  const cudaMemLocation here{cudaMemLocationTypeDevice, device}, host{cudaMemLocationTypeHost, 0};
  CUDA(cudaMemAdvise(data, kCount * sizeof(int), cudaMemAdviseSetPreferredLocation, here));
  CUDA(cudaMemPrefetchAsync(data, kCount * sizeof(int), here, 0));
  square<<<(kCount + 127) / 128, 128>>>(data, kCount);
  CUDA(cudaMemPrefetchAsync(data, kCount * sizeof(int), host, 0));
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) CHECK(data[i] == i * i);

  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, data + 7));
  CHECK(attributes.type == cudaMemoryTypeManaged && attributes.device == device);
  CHECK(attributes.devicePointer == data + 7 && attributes.hostPointer == data + 7);
  int plain;
  CUDA(cudaPointerGetAttributes(&attributes, &plain));
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  int* on_device;
  CUDA(cudaMalloc(&on_device, 4));
  CUDA(cudaPointerGetAttributes(&attributes, on_device));
  CHECK(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == on_device);
  int* pinned;
  CUDA(cudaMallocHost(&pinned, 4));
  CUDA(cudaPointerGetAttributes(&attributes, pinned));
  CHECK(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == pinned);
  CUDA(cudaFree(data));
  CUDA(cudaFree(on_device));
  CUDA(cudaFreeHost(pinned));
}
