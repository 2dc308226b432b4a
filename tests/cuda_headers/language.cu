// CUDA C++ as `raddle cc` compiles it: built-in variables, templates, lambdas, virtual functions, new and delete, printf,
// symbols, dynamic shared memory, launch bounds, parameters by value, and the runtime API's C++ forms.
#include <cuda_runtime.h>

#include <algorithm>
#include <functional>
#include <type_traits>

#include "check.h"

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
  float radius;
  __device__ Circle(float r) : radius(r) {}
  __device__ float area() const override { return 3.0f * radius * radius; }
};
__global__ void areas(float* out, int n) {
  const int i = threadIdx.x;
  Shape* shape = i % 2 ? static_cast<Shape*>(new Square(i)) : new Circle(i);
  if (i < n) out[i] = shape->area();
  delete shape;
}

__constant__ float weights[3] = {1, 2, 3};
__device__ int counter = 5;
__device__ float results[8];
__global__ void symbols() {
  if (threadIdx.x < 8) results[threadIdx.x] = weights[threadIdx.x % 3] + counter;
  if (threadIdx.x == 0) atomicAdd(&counter, blockDim.x);
}

struct Large {
  int numbers[40];
  double scale;
};
__global__ void __launch_bounds__(64, 2) by_value(const __grid_constant__ Large large, double* out) {
  out[threadIdx.x] = large.numbers[threadIdx.x] * large.scale;
}

extern __shared__ int dynamic[];
__global__ void reversed(int* data) {
  dynamic[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

template <typename T, int factor>
__global__ void scaled(T* data, T offset) {
  const dim3 index = threadIdx;
  const uint3 block = blockIdx;
  if constexpr (std::is_integral_v<T>) {
    data[block.x * blockDim.x + index.x] = std::max<T>(factor * index.x, 4) + offset;
  } else {
    data[block.x * blockDim.x + index.x] = std::abs(T(index.x) - 4) * factor + offset + gridDim.y + warpSize;
  }
}

template <typename F>
__global__ void call(F f, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) f(i);
}

__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
__global__ void by_pointer(int* out) {
  int (*const functions[])(int) = {twice, square};
  out[threadIdx.x] = functions[threadIdx.x & 1](threadIdx.x);
}

__global__ void copies(char* out, const char* in, int n) {
  char local[64];
  memcpy(local, in, 64);
  memset(local + 8, 'x', 8);
  for (int i = 0; i < n; ++i) out[i] = local[i];
}

static void check_memory() {
  const Buffer<float> out(32);
  areas<<<1, 32>>>(out.get(), 32);
  must(cudaDeviceSynchronize());
  const std::vector<float> got = out.contents();
  int wrong = 0;
  for (int i = 0; i < 32; ++i) wrong += got[i] != (i % 2 ? i * i : 3.0f * i * i);
  check(wrong == 0, "new, delete and virtual functions");
  Buffer<char> text(64);
  std::vector<char> letters(64);
  for (int i = 0; i < 64; ++i) letters[i] = (char)('0' + i);
  const Buffer<char> from(letters);
  copies<<<1, 1>>>(text.get(), from.get(), 64);
  for (int i = 8; i < 16; ++i) letters[i] = 'x';
  check(text.contents() == letters, "memcpy and memset");
}

static void check_symbols() {
  const float replaced[] = {10, 20, 30};
  must(cudaMemcpyToSymbol(weights, replaced, sizeof replaced));
  symbols<<<1, 64>>>();
  float got[8];
  int count = 0;
  size_t bytes = 0;
  must(cudaMemcpyFromSymbol(got, results, sizeof got));
  must(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  must(cudaGetSymbolSize(&bytes, results));
  check(got[0] == 15 && got[4] == 25 && got[5] == 35 && count == 69 && bytes == sizeof got, "symbols");
  void* address = nullptr;
  must(cudaGetSymbolAddress(&address, results));
  must(cudaMemset(address, 0, sizeof(float)));
  must(cudaMemcpyFromSymbol(got, results, sizeof(float)));
  check(got[0] == 0 && got[1] == 25, "a symbol's address");
}

static void check_launches() {
  Large large;
  for (int i = 0; i < 40; ++i) large.numbers[i] = i;
  large.scale = 0.5;
  const Buffer<double> doubles(40);
  by_value<<<1, 40>>>(large, doubles.get());
  check(doubles.contents()[39] == 19.5, "a parameter by value, constant in the grid");
  std::vector<int> numbers(100);
  for (int i = 0; i < 100; ++i) numbers[i] = i;
  const Buffer<int> data(numbers);
  reversed<<<1, 100, 100 * sizeof(int)>>>(data.get());
  std::reverse(numbers.begin(), numbers.end());
  check(data.contents() == numbers, "dynamic shared memory");
  const Buffer<int> whole(16);
  const Buffer<double> parts(16);
  scaled<int, 3><<<2, 8>>>(whole.get(), 1);
  scaled<double, 3><<<dim3(2, 1, 1), 8>>>(parts.get(), 1);
  check(whole.contents()[0] == 5 && whole.contents()[15] == 22 && parts.contents()[8] == 12 + 1 + 1 + 32, "templates and std::");
  call<<<1, 32>>>([p = whole.get()] __device__(int i) { p[i] = i * 7; }, 16);
  check(whole.contents()[15] == 105, "a lambda");
  by_pointer<<<1, 16>>>(whole.get());
  check(whole.contents()[6] == 12 && whole.contents()[7] == 49, "functions by pointer");
  int* pointer = whole.get();
  void* arguments[] = {&pointer};
  must(cudaLaunchKernel(by_pointer, dim3(1), dim3(4), arguments));
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = dim3(2);
  configuration.blockDim = dim3(8);
  must(cudaLaunchKernelEx(&configuration, scaled<int, 2>, pointer, 40));
  check(whole.contents()[15] == 54, "cudaLaunchKernel and cudaLaunchKernelEx");
}

static void check_queries() {
  cudaFuncAttributes attributes;
  must(cudaFuncGetAttributes(&attributes, by_value));
  check(attributes.maxThreadsPerBlock == 64, "a kernel's attributes");
  int blocks = 0, threads = 0, resident = 0;
  must(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, by_value));
  must(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, by_value, 64, 0));
  check(threads > 0 && threads <= 64 && resident > 0 && blocks >= resident, "occupancy");
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc<float4>();
  check(channels.x == 32 && channels.w == 32 && channels.f == cudaChannelFormatKindFloat, "channels of a type");
}

static void check_streams() {
  cudaStream_t stream;
  cudaEvent_t before, after;
  must(cudaStreamCreate(&stream));
  must(cudaEventCreate(&before));
  must(cudaEventCreate(&after, cudaEventDefault));
  int *pinned, *device;
  must(cudaMallocHost(&pinned, 64 * sizeof(int)));
  must(cudaMalloc(&device, 64 * sizeof(int)));
  for (int i = 0; i < 64; ++i) pinned[i] = i;
  must(cudaEventRecord(before, stream));
  must(cudaMemcpyAsync(device, pinned, 64 * sizeof(int), cudaMemcpyHostToDevice, stream));
  reversed<<<1, 64, 64 * sizeof(int), stream>>>(device);
  must(cudaMemcpyAsync(pinned, device, 64 * sizeof(int), cudaMemcpyDeviceToHost, stream));
  must(cudaEventRecord(after, stream));
  must(cudaStreamSynchronize(stream));
  float milliseconds = -1;
  must(cudaEventElapsedTime(&milliseconds, before, after));
  check(pinned[0] == 63 && pinned[63] == 0 && milliseconds >= 0, "a stream with copies and events");
  must(cudaFree(device));
  must(cudaFreeHost(pinned));
  must(cudaStreamDestroy(stream));
}

__global__ void speaks(int x) {
  if (threadIdx.x == 2) printf("# thread %d of %d says %s %.2f\n", threadIdx.x, blockDim.x, "hello", x * 0.5);
  assert(x == 3);
  const long long start = clock64();
  __nanosleep(10);
  if (clock64() < start) __trap();
}

int main() {
  check_memory();
  check_symbols();
  check_launches();
  check_queries();
  check_streams();
  speaks<<<1, 4>>>(3);
  check(cudaDeviceSynchronize() == cudaSuccess, "printf, an assertion that holds, clocks");
  speaks<<<1, 4>>>(4);
  check(cudaDeviceSynchronize() == cudaErrorAssert, "an assertion that does not hold");
  return finish();
}
