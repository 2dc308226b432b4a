// How tensor cores add: products of drawn matrices whose elements' exponents spread over a few or many binades. For each kind and
// spread a line of A, of B, of C and of the result D, in the order of the lanes' registers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "matrix_types.h"
#include "probe.h"

namespace {

constexpr int kProducts = 24;

struct Words {
  std::uint32_t a[4], b[2], c[4], d[4];
};

#define PRODUCT(name, shape, types, a_registers, b_registers)                                                            \
  __global__ void name(Words* words) {                                                                                   \
    Words& w = words[blockIdx.x * 32 + threadIdx.x];                                                                     \
    asm volatile("mma.sync.aligned." shape ".row.col." types " {%0,%1,%2,%3}, " a_registers ", " b_registers             \
                 ", {%10,%11,%12,%13};"                                                                                  \
                 : "=r"(w.d[0]), "=r"(w.d[1]), "=r"(w.d[2]), "=r"(w.d[3])                                                \
                 : "r"(w.a[0]), "r"(w.a[1]), "r"(w.a[2]), "r"(w.a[3]), "r"(w.b[0]), "r"(w.b[1]), "r"(w.c[0]),            \
                   "r"(w.c[1]), "r"(w.c[2]), "r"(w.c[3]));                                                               \
  }
PRODUCT(halves, "m16n8k16", "f32.f16.f16.f32", "{%4,%5,%6,%7}", "{%8,%9}")
PRODUCT(halves_k8, "m16n8k8", "f32.f16.f16.f32", "{%4,%5}", "{%8}")
PRODUCT(brain, "m16n8k16", "f32.bf16.bf16.f32", "{%4,%5,%6,%7}", "{%8,%9}")
PRODUCT(tensor_floats, "m16n8k8", "f32.tf32.tf32.f32", "{%4,%5,%6,%7}", "{%8,%9}")
PRODUCT(tensor_floats_k4, "m16n8k4", "f32.tf32.tf32.f32", "{%4,%5}", "{%8}")
PRODUCT(e4m3, "m16n8k32", "f32.e4m3.e4m3.f32", "{%4,%5,%6,%7}", "{%8,%9}")
PRODUCT(e5m2, "m16n8k32", "f32.e5m2.e5m2.f32", "{%4,%5,%6,%7}", "{%8,%9}")
#undef PRODUCT

__global__ void halves_to_halves(Words* words) {
  Words& w = words[blockIdx.x * 32 + threadIdx.x];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};"
               : "=r"(w.d[0]), "=r"(w.d[1])
               : "r"(w.a[0]), "r"(w.a[1]), "r"(w.a[2]), "r"(w.a[3]), "r"(w.b[0]), "r"(w.b[1]), "r"(w.c[0]), "r"(w.c[1]));
}

/// wgmma with A in registers (a warp's are those of mma.sync) and B, 16 by 8, in shared memory without swizzle.
template <int kKind>
__global__ void warpgroup(Words* words) {
  __shared__ alignas(128) std::uint32_t b[64];
  Words& w = words[blockIdx.x * 128 + threadIdx.x];
  if (threadIdx.x < 64) b[threadIdx.x] = words[blockIdx.x * 128 + threadIdx.x / 2].b[threadIdx.x % 2];
  asm volatile("fence.proxy.async;");
  __syncthreads();
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(b));
  const std::uint64_t descriptor = (address >> 4) | (128ull >> 4) << 16 | (128ull >> 4) << 32;
  for (int i = 0; i < 4; ++i) w.d[i] = w.c[i];
  asm volatile("wgmma.fence.sync.aligned;");
#define WGMMA(types, last)                                                                             \
  asm volatile("wgmma.mma_async.sync.aligned." types " {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1" last \
               : "+r"(w.d[0]), "+r"(w.d[1]), "+r"(w.d[2]), "+r"(w.d[3])                                \
               : "r"(w.a[0]), "r"(w.a[1]), "r"(w.a[2]), "r"(w.a[3]), "l"(descriptor))
  if (kKind == 0) WGMMA("m64n8k16.f32.f16.f16", ", 0;");
  if (kKind == 1) WGMMA("m64n8k16.f32.bf16.bf16", ", 0;");
  if (kKind == 2) WGMMA("m64n8k8.f32.tf32.tf32", ";");
  if (kKind == 3) WGMMA("m64n8k32.f32.e4m3.e4m3", ";");
#undef WGMMA
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/// A number of either sign between 1 and 2^spread or their inverses, a zero now and then.
std::uint32_t draw(Draws& draws, const Type& type, int spread) {
  if (draws.once_in(16)) return 0;
  int exponent = type.bias - spread / 2 + static_cast<int>(draws.below(static_cast<std::uint64_t>(spread) + 1));
  const int most = (1 << type.exponent_bits) - 2;
  exponent = exponent < 1 ? 1 : exponent > most ? most : exponent;
  return static_cast<std::uint32_t>(draws.below(2)) << (type.bits - 1) | static_cast<std::uint32_t>(exponent) << type.mantissa_bits |
         static_cast<std::uint32_t>(draws.word() & ((1u << type.mantissa_bits) - 1));
}

std::uint32_t draw_word(Draws& draws, const Type& type, int spread) {
  std::uint32_t word = 0;
  for (int at = 0; at < 32; at += type.bits) word |= draw(draws, type, spread) << at;
  return word;
}

struct Kind {
  const char* name;
  void (*kernel)(Words*);
  Type in, sum;
  unsigned threads;
};

}  // namespace

int main() {
  const Kind kinds[] = {{"mma m16n8k16 f16 f32", halves, kHalf, kFloat, 32},
                        {"mma m16n8k8 f16 f32", halves_k8, kHalf, kFloat, 32},
                        {"mma m16n8k16 f16 f16", halves_to_halves, kHalf, kHalf, 32},
                        {"mma m16n8k16 bf16 f32", brain, kBrain, kFloat, 32},
                        {"mma m16n8k8 tf32 f32", tensor_floats, kTensorFloat, kFloat, 32},
                        {"mma m16n8k4 tf32 f32", tensor_floats_k4, kTensorFloat, kFloat, 32},
                        {"mma m16n8k32 e4m3 f32", e4m3, kE4m3, kFloat, 32},
                        {"mma m16n8k32 e5m2 f32", e5m2, kE5m2, kFloat, 32},
                        {"wgmma m64n8k16 f16 f32", warpgroup<0>, kHalf, kFloat, 128},
                        {"wgmma m64n8k16 bf16 f32", warpgroup<1>, kBrain, kFloat, 128},
                        {"wgmma m64n8k8 tf32 f32", warpgroup<2>, kTensorFloat, kFloat, 128},
                        {"wgmma m64n8k32 e4m3 f32", warpgroup<3>, kE4m3, kFloat, 128}};
  Words* words;
  NEEDED(cudaMalloc(&words, kProducts * 128 * sizeof(Words)));
  Draws draws(3);
  for (const Kind& kind : kinds)
    for (const int spread : {0, 4, 12, 24, 40}) {
      const unsigned blocks = kProducts * 32 / kind.threads, count = kProducts * 32;
      std::vector<Words> values(count);
      for (Words& w : values) {
        for (auto& word : w.a) word = draw_word(draws, kind.in, spread);
        for (auto& word : w.b) word = draw_word(draws, kind.in, spread);
        for (auto& word : w.c) word = draw_word(draws, kind.sum, spread);
      }
      NEEDED(cudaMemcpy(words, values.data(), count * sizeof(Words), cudaMemcpyHostToDevice));
      kind.kernel<<<blocks, kind.threads>>>(words);
      NEEDED(cudaMemcpy(values.data(), words, count * sizeof(Words), cudaMemcpyDeviceToHost));
      std::printf("%s spread %d: ", kind.name, spread);
      print_hex(values.data(), count * sizeof(Words));
    }
}
