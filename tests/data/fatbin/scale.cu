// Input of the fat binary tests; regenerate makes the files beside it.
__device__ int calls;
extern "C" __global__ void scale(float* values, float factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
#if __CUDA_ARCH__ < 800
  if (i == 0) calls = 75;  // tells which architecture was chosen
#else
  if (i == 0) calls = 90;
#endif
}
