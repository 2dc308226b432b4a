// Compiled by clang 19 for sm_50, with neither CUDA nor its headers, into clang.ptx:
// clang-19 --target=nvptx64-nvidia-cuda -Xclang -target-feature -Xclang +ptx60 -march=sm_50 -O2 -S clang.c -o
// clang.ptx
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
static SHARED float tile[256];
__attribute__((nvptx_kernel)) void reverse(GLOBAL float* out, const GLOBAL float* in, int n) {
  int t = __nvvm_read_ptx_sreg_tid_x();
  int base = __nvvm_read_ptx_sreg_ctaid_x() * 256;
  tile[t] = base + t < n ? in[base + t] : 0.0f;
  __syncthreads();
  if (base + t < n) out[base + t] = tile[255 - t] * 2.0f;
}
