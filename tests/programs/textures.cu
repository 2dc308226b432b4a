// Textures and surfaces of arrays: filtering, address modes, a surface written and read back.
#include <cmath>

#include "program.h"

__global__ void sample(cudaTextureObject_t texture, float* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tex2D<float>(texture, i * 0.25f, 1.0f);
}

__global__ void paint(cudaSurfaceObject_t surface) {
  surf2Dwrite<float>(threadIdx.x * 10.0f + threadIdx.y, surface, threadIdx.x * sizeof(float), threadIdx.y);
}

int main() {
  constexpr int kWidth = 8, kHeight = 4;
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CUDA(cudaMallocArray(&array, &floats, kWidth, kHeight, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  CUDA(cudaCreateSurfaceObject(&surface, &resource));
  paint<<<1, dim3(kWidth, kHeight)>>>(surface);
  cudaTextureDesc description{};
  description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
  description.filterMode = cudaFilterModeLinear;
  description.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture;
  CUDA(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  float* out;
  CUDA(cudaMallocManaged(&out, 40 * sizeof(float)));
  sample<<<1, 32>>>(texture, out, 40);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 40; ++i) {
    const float x = std::fmin(std::fmax(i * 0.25f - 0.5f, 0.0f), kWidth - 1.0f);
    CHECK(std::fabs(out[i] - (x * 10 + 0.5f)) < 0.05f);  // halfway between rows 0 and 1
  }
  CUDA(cudaDestroyTextureObject(texture));
  CUDA(cudaDestroySurfaceObject(surface));
  CUDA(cudaFreeArray(array));
}
