// Managed variables: one value for host and kernels, in every way that host code can name one.
#include "check.h"

struct Pair {
  int first, second;
};
__managed__ int counter = 5;
__managed__ Pair pairs[4] = {{1, 2}, {3, 4}};
static __managed__ double hidden = 0.5;
__device__ __managed__ float* pointer;
inline __managed__ int in_each_file = 9;

__global__ void change() {
  ++counter;
  pairs[2].second = pairs[1].first + pairs[0].second;
  hidden *= 3;
  if (pointer) *pointer = 2.5f;
  in_each_file += counter;
}

__host__ __device__ int read() { return counter; }

static int choices = 0;
static int* chosen(bool first) { return first ? &counter : (++choices, &pairs[2].second); }

int main() {
  check(counter == 5 && pairs[1].second == 4 && hidden == 0.5, "initial values are there before any launch");
  counter = 7;
  pairs[0].second = 20;
  must(cudaMallocManaged(&pointer, sizeof(float)));
  change<<<1, 1>>>();
  must(cudaDeviceSynchronize());
  check(counter == 8 && read() == 8, "a kernel sees the host's value, the host the kernel's");
  check(pairs[2].second == 23, "members of elements");
  check(hidden == 1.5, "a static variable");
  check(*pointer == 2.5f, "a managed pointer to managed memory");
  check(in_each_file == 17, "an inline variable");
  for (int i = 0; i < 2; ++i) *chosen(i) += 100;
  check(choices == 1 && counter == 108 && pairs[2].second == 123, "addresses that a condition chooses");
  Pair* volatile first = pairs;
  int* volatile other = &counter;
  check((long)&pairs[3].second - (long)&counter == (long)&first[3].second - (long)other, "differences of addresses");
  int copy = 0;
  must(cudaMemcpyFromSymbol(&copy, counter, sizeof copy));
  check(copy == 108, "a symbol of the runtime API");
  void* address = nullptr;
  must(cudaGetSymbolAddress(&address, pairs));
  check(address == pairs, "its address is the same on both sides");
  cudaPointerAttributes attributes;
  must(cudaPointerGetAttributes(&attributes, &hidden));
  check(attributes.type == cudaMemoryTypeManaged, "it is managed memory");
  return finish();
}
