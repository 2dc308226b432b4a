// Compiles a product of bf16 matrices by mma.h at run time for compute_90, as programs do, and prints the PTX
// that is checked in as nvrtc_matrices.ptx: g++ -I$CUDA/include nvrtc_matrices.cpp -o /tmp/nvrtc
// -L$CUDA/lib64 -lnvrtc && /tmp/nvrtc $CUDA/include > nvrtc_matrices.ptx
#include <nvrtc.h>

#include <cstdio>
#include <string>
#include <vector>

constexpr const char* kSource = R"(
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda::wmma;
// A warp for each 16x16 part of out; n is a multiple of 16. b lies by columns.
extern "C" __global__ void product(float* out, const __nv_bfloat16* a, const __nv_bfloat16* b, int n) {
  fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> x;
  fragment<matrix_b, 16, 16, 16, __nv_bfloat16, col_major> y;
  fragment<accumulator, 16, 16, 16, float> sums;
  fill_fragment(sums, 0.0f);
  const int row = blockIdx.y * 16, column = (blockIdx.x * blockDim.y + threadIdx.y) * 16;
  for (int k = 0; k < n; k += 16) {
    load_matrix_sync(x, a + row * n + k, n);
    load_matrix_sync(y, b + column * n + k, n);
    mma_sync(sums, x, y, sums);
  }
  store_matrix_sync(out + row * n + column, sums, n, mem_row_major);
})";

int main(int, char** arguments) {
  nvrtcProgram program;
  nvrtcCreateProgram(&program, kSource, "product.cu", 0, nullptr, nullptr);
  const std::string headers = std::string("--include-path=") + arguments[1];
  const char* options[] = {"--gpu-architecture=compute_90", headers.c_str()};
  if (nvrtcCompileProgram(program, 2, options) != NVRTC_SUCCESS) return 1;
  size_t size = 0;
  nvrtcGetPTXSize(program, &size);
  std::vector<char> text(size);
  nvrtcGetPTX(program, text.data());
  std::fputs(text.data(), stdout);
}
