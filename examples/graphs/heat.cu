// Kernels of heat.lua: heat in a rod, and how much it still changes.

/// One step of diffusion; the ends keep their heat.
extern "C" __global__ void diffuse(float* to, const float* from, unsigned n, float rate) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const bool is_end = i == 0 || i == n - 1;
  to[i] = is_end ? from[i] : from[i] + rate * (from[i - 1] - 2 * from[i] + from[i + 1]);
}

/// The largest difference of a block's elements, as bits of a float that is not negative.
extern "C" __global__ void largest_change(unsigned* change, const float* one, const float* other, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMax(change, __float_as_uint(fabsf(one[i] - other[i])));
}
