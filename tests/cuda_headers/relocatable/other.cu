// The other part of main.cu.
#include "shared.h"

__device__ int total = 1000;
__managed__ int seen = 1;
static __device__ int own = 5000;
namespace {
__global__ void kernel(int value, int* result) { *result = own + value + twice(1); }
}  // namespace
__global__ void add_weighted(int value) {
  total += weighted(value, 1);
  ++seen;
}
int run_other(int value) {
  Buffer<int> result(1);
  kernel<<<1, 1>>>(value, result.get());
  return result.contents()[0];
}
