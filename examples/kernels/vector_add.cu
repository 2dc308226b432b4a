// c = a + b, one element per thread: the smallest complete kernel.
// Shows a guarded tail, so any n works with any block size.
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
