// Compiles a kernel at run time for compute_75, as programs do, and prints the PTX that is checked in as
// nvrtc.ptx: g++ -I$CUDA/include nvrtc.cpp -o /tmp/nvrtc -L$CUDA/lib64 -lnvrtc && /tmp/nvrtc > nvrtc.ptx
#include <nvrtc.h>

#include <cstdio>
#include <vector>

constexpr const char* kSource = R"(
template <class T> __device__ T square(T x) { return x * x; }
extern "C" __global__ void sum_of_squares(float* out, const float* in, int n) {
  __shared__ float partial[8];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += square(in[i]);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; ++w) sum += partial[w];
    atomicAdd(out, sum);
  }
})";

int main() {
  nvrtcProgram program;
  nvrtcCreateProgram(&program, kSource, "squares.cu", 0, nullptr, nullptr);
  const char* options[] = {"--gpu-architecture=compute_75"};
  if (nvrtcCompileProgram(program, 1, options) != NVRTC_SUCCESS) return 1;
  size_t size = 0;
  nvrtcGetPTXSize(program, &size);
  std::vector<char> text(size);
  nvrtcGetPTX(program, text.data());
  std::fputs(text.data(), stdout);
}
