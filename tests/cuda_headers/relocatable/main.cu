// Relocatable device code: this file uses functions, variables and kernels of other.cu and library.cu.
#include "shared.h"

static __device__ int own = 1;  // other.cu has one of this name, too
namespace {
__global__ void kernel(int value) { total += own + weighted(value, 1) + twice(value); }
struct Add final : Operation {
  int much;
  __device__ explicit Add(int how_much) : much(how_much) {}
  __device__ int apply(int value) const override { return value + much; }
};
}  // namespace
__global__ void by_pointer(int* result) { *result = apply(Add(40), 2); }

int main() {
  int now = 0;
  const int weights_here[3] = {2, 10, 100};
  must(cudaMemcpyToSymbol(weights, weights_here, sizeof weights_here));
  kernel<<<1, 1>>>(3);
  must(cudaMemcpyFromSymbol(&now, total, sizeof now));
  check(now == 1000 + 1 + 30 + 6, "a function and a variable of another file");
  check(run_other(5) == 5007, "static names of two files do not meet");
  must(cudaMemcpyFromSymbol(&now, own, sizeof now));
  check(now == 1, "nor for the host");
  add_weighted<<<1, 1>>>(4);
  must(cudaMemcpyFromSymbol(&now, total, sizeof now));
  check(now == 1037 + 40, "a kernel of another file");
  check(seen == 2, "a managed variable of another file");
  seen = 50;
  add_weighted<<<1, 1>>>(0);
  must(cudaDeviceSynchronize());
  check(seen == 51, "which the host writes");
  Buffer<int> result(1);
  by_pointer<<<1, 1>>>(result.get());
  check(result.contents()[0] == 42, "virtual functions across files");
  return finish();
}
