// A product of 16x16 halves by clang 19's builtins for tensor cores, for sm_70, with neither CUDA nor its headers, into
// clang_matrices.ptx: clang-19 --target=nvptx64-nvidia-cuda -Xclang -target-feature -Xclang +ptx60 -march=sm_70 -O2 -S
// clang_matrices.c -o clang_matrices.ptx
enum { kRow, kRowTimesColumn = 1, kNoSaturation = 0, kPitch = 16 };
__attribute__((nvptx_kernel)) void product(float* out, const int* a, const int* b) {
  int x[8], y[8];
  float sums[8] = {};
  __hmma_m16n16k16_ld_a(x, a, kPitch, kRow);
  __hmma_m16n16k16_ld_b(y, b, kPitch, 1);
  __hmma_m16n16k16_mma_f32f32(sums, x, y, sums, kRowTimesColumn, kNoSaturation);
  __hmma_m16n16k16_st_c_f32(out, sums, kPitch, kRow);
}
