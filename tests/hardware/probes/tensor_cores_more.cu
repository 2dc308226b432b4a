// How tensor cores add, the other kinds: f16 sums, mixed fp8, sparse, wgmma of more types; and values at the edges: NaN, infinities,
// subnormals, zeros of both signs, sums that overflow. For each kind and spread, the lanes' words: a[4], b[4], c[4], d[4], metadata.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "matrix_types.h"
#include "probe.h"

namespace {

constexpr int kProducts = 12;

struct Words {
  std::uint32_t a[4], b[4], c[4], d[4], e;
};

#define F32_OUT "=r"(w.d[0]), "=r"(w.d[1]), "=r"(w.d[2]), "=r"(w.d[3])
#define F16_OUT "=r"(w.d[0]), "=r"(w.d[1])
#define INPUTS                                                                                                          \
  "r"(w.a[0]), "r"(w.a[1]), "r"(w.a[2]), "r"(w.a[3]), "r"(w.b[0]), "r"(w.b[1]), "r"(w.b[2]), "r"(w.b[3]), "r"(w.c[0]), \
      "r"(w.c[1]), "r"(w.c[2]), "r"(w.c[3]), "r"(w.e)
// outputs 4: a 4..7, b 8..11, c 12..15, e 16
#define PRODUCT(name, shape, types, a_registers, b_registers)                                                         \
  __global__ void name(Words* words) {                                                                               \
    Words& w = words[blockIdx.x * 32 + threadIdx.x];                                                                 \
    asm volatile("mma.sync.aligned." shape ".row.col." types " {%0,%1,%2,%3}, " a_registers ", " b_registers         \
                 ", {%12,%13,%14,%15};"                                                                              \
                 : F32_OUT                                                                                           \
                 : INPUTS);                                                                                          \
  }
#define HALF_PRODUCT(name, shape, types, a_registers, b_registers)                                                   \
  __global__ void name(Words* words) {                                                                               \
    Words& w = words[blockIdx.x * 32 + threadIdx.x];                                                                 \
    asm volatile("mma.sync.aligned." shape ".row.col." types " {%0,%1}, " a_registers ", " b_registers ", {%10,%11};" \
                 : F16_OUT                                                                                           \
                 : INPUTS);                                                                                          \
  }
#define SPARSE(name, shape, types, a_registers, b_registers)                                                         \
  __global__ void name(Words* words) {                                                                               \
    Words& w = words[blockIdx.x * 32 + threadIdx.x];                                                                 \
    asm volatile("mma.sp::ordered_metadata.sync.aligned." shape ".row.col." types " {%0,%1,%2,%3}, " a_registers ", " b_registers      \
                 ", {%12,%13,%14,%15}, %16, 0;"                                                                      \
                 : F32_OUT                                                                                           \
                 : INPUTS);                                                                                          \
  }
#define A4 "{%4,%5,%6,%7}"
#define A2 "{%4,%5}"
#define B4 "{%8,%9,%10,%11}"
#define B2 "{%8,%9}"
#define B1 "{%8}"
#define HA4 "{%2,%3,%4,%5}"
#define HA2 "{%2,%3}"
#define HB2 "{%6,%7}"
#define HB1 "{%6}"
PRODUCT(halves, "m16n8k16", "f32.f16.f16.f32", A4, B2)
PRODUCT(brain, "m16n8k16", "f32.bf16.bf16.f32", A4, B2)
PRODUCT(brain_k8, "m16n8k8", "f32.bf16.bf16.f32", A2, B1)
PRODUCT(tensor_floats, "m16n8k8", "f32.tf32.tf32.f32", A4, B2)
PRODUCT(e4m3, "m16n8k32", "f32.e4m3.e4m3.f32", A4, B2)
PRODUCT(e5m2, "m16n8k32", "f32.e5m2.e5m2.f32", A4, B2)
PRODUCT(mixed, "m16n8k32", "f32.e4m3.e5m2.f32", A4, B2)
PRODUCT(e4m3_k16, "m16n8k16", "f32.e4m3.e4m3.f32", A2, B1)
HALF_PRODUCT(halves_16, "m16n8k16", "f16.f16.f16.f16", HA4, HB2)
HALF_PRODUCT(halves_16_k8, "m16n8k8", "f16.f16.f16.f16", HA2, HB1)
HALF_PRODUCT(e4m3_16, "m16n8k32", "f16.e4m3.e4m3.f16", HA4, HB2)
SPARSE(sparse_halves, "m16n8k32", "f32.f16.f16.f32", A4, B4)
SPARSE(sparse_halves_k16, "m16n8k16", "f32.f16.f16.f32", A2, B2)
SPARSE(sparse_brain, "m16n8k32", "f32.bf16.bf16.f32", A4, B4)
SPARSE(sparse_tf32, "m16n8k16", "f32.tf32.tf32.f32", A4, B4)
SPARSE(sparse_tf32_k8, "m16n8k8", "f32.tf32.tf32.f32", A2, B2)
SPARSE(sparse_e4m3, "m16n8k64", "f32.e4m3.e4m3.f32", A4, B4)
SPARSE(sparse_e5m2, "m16n8k64", "f32.e5m2.e5m2.f32", A4, B4)

/// wgmma with A in registers (a warp's are those of mma.sync) and B, 8 columns, in shared memory without swizzle, from lanes 0 to 31.
template <int kKind>
__global__ void warpgroup(Words* words) {
  __shared__ alignas(128) std::uint32_t b[128];
  Words& w = words[blockIdx.x * 128 + threadIdx.x];
  b[threadIdx.x] = words[blockIdx.x * 128 + threadIdx.x / 4].b[threadIdx.x % 4];
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
#define WGMMA_HALF(types, last)                                                                  \
  asm volatile("wgmma.mma_async.sync.aligned." types " {%0,%1}, {%2,%3,%4,%5}, %6, 1, 1, 1" last \
               : "+r"(w.d[0]), "+r"(w.d[1])                                                      \
               : "r"(w.a[0]), "r"(w.a[1]), "r"(w.a[2]), "r"(w.a[3]), "l"(descriptor))
#define WGMMA_SP(types, last)                                                                                       \
  asm volatile("wgmma.mma_async.sp.sync.aligned." types " {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, %9, 0, 1, 1, 1" last \
               : "+r"(w.d[0]), "+r"(w.d[1]), "+r"(w.d[2]), "+r"(w.d[3])                                             \
               : "r"(w.a[0]), "r"(w.a[1]), "r"(w.a[2]), "r"(w.a[3]), "l"(descriptor), "r"(w.e))
  if (kKind == 0) WGMMA("m64n8k16.f32.f16.f16", ", 0;");
  if (kKind == 1) WGMMA("m64n8k16.f32.bf16.bf16", ", 0;");
  if (kKind == 2) WGMMA("m64n8k8.f32.tf32.tf32", ";");
  if (kKind == 3) WGMMA("m64n8k32.f32.e4m3.e4m3", ";");
  if (kKind == 4) WGMMA("m64n8k32.f32.e5m2.e5m2", ";");
  if (kKind == 5) WGMMA("m64n8k32.f32.e5m2.e4m3", ";");
  if (kKind == 6) WGMMA_HALF("m64n8k16.f16.f16.f16", ", 0;");
  if (kKind == 7) WGMMA_HALF("m64n8k32.f16.e4m3.e4m3", ";");
  if (kKind == 8) WGMMA_SP("m64n8k32.f32.f16.f16", ", 0;");
  if (kKind == 9) WGMMA_SP("m64n8k64.f32.e4m3.e4m3", ";");
  if (kKind == 10) WGMMA_SP("m64n8k16.f32.tf32.tf32", ";");
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/// A number of either sign between 1 and 2^spread or their inverses, a zero now and then.
/// Spread -1: any finite bits. -2: mostly zeros and small subnormal numbers. -3: now and then infinities and NaNs. -4: the largest.
std::uint32_t draw(Draws& draws, const Type& type, int spread) {
  const std::uint32_t sign = static_cast<std::uint32_t>(draws.below(2)) << (type.bits - 1);
  const std::uint32_t mantissa = static_cast<std::uint32_t>(draws.word()) & ((1u << type.mantissa_bits) - 1);
  const int most = (1 << type.exponent_bits) - 2;
  if (spread == -1) return sign | static_cast<std::uint32_t>(draws.below(most + 1)) << type.mantissa_bits | mantissa;
  if (spread == -2) {
    const auto k = draws.below(4);
    return sign | (k < 2 ? 0 : k == 2 ? mantissa : mantissa & mantissa >> 1 & 3) | (draws.once_in(3) ? 1u << type.mantissa_bits : 0);
  }
  if (spread == -3 && draws.once_in(24)) {
    const std::uint32_t top = static_cast<std::uint32_t>(most + 1) << type.mantissa_bits;
    return draws.once_in(4) ? sign | top | mantissa : sign | top;
  }
  if (spread == -4) return sign | static_cast<std::uint32_t>(most - draws.below(2)) << type.mantissa_bits | mantissa;
  if (spread == -3) spread = 4;
  if (draws.once_in(16)) return 0;
  int exponent = type.bias - spread / 2 + static_cast<int>(draws.below(static_cast<std::uint64_t>(spread) + 1));
  exponent = exponent < 1 ? 1 : exponent > most ? most : exponent;
  return sign | static_cast<std::uint32_t>(exponent) << type.mantissa_bits | mantissa;
}

std::uint32_t draw_word(Draws& draws, const Type& type, int spread) {
  std::uint32_t word = 0;
  for (int at = 0; at < 32; at += type.bits) word |= draw(draws, type, spread) << at;
  return word;
}

struct Kind {
  const char* name;
  void (*kernel)(Words*);
  Type in, b_in, sum;
  unsigned threads;
};

}  // namespace

int main() {
  const Kind kinds[] = {{"mma m16n8k16 f16 f32", halves, kHalf, kHalf, kFloat, 32},
                        {"mma m16n8k16 bf16 f32", brain, kBrain, kBrain, kFloat, 32},
                        {"mma m16n8k8 bf16 f32", brain_k8, kBrain, kBrain, kFloat, 32},
                        {"mma m16n8k8 tf32 f32", tensor_floats, kTensorFloat, kTensorFloat, kFloat, 32},
                        {"mma m16n8k32 e4m3 f32", e4m3, kE4m3, kE4m3, kFloat, 32},
                        {"mma m16n8k32 e5m2 f32", e5m2, kE5m2, kE5m2, kFloat, 32},
                        {"mma m16n8k32 e4m3.e5m2 f32", mixed, kE4m3, kE5m2, kFloat, 32},
                        {"mma m16n8k16 e4m3 f32", e4m3_k16, kE4m3, kE4m3, kFloat, 32},
                        {"mma m16n8k16 f16 f16", halves_16, kHalf, kHalf, kHalf, 32},
                        {"mma m16n8k8 f16 f16", halves_16_k8, kHalf, kHalf, kHalf, 32},
                        {"mma m16n8k32 e4m3 f16", e4m3_16, kE4m3, kE4m3, kHalf, 32},
                        {"sparse m16n8k32 f16 f32", sparse_halves, kHalf, kHalf, kFloat, 32},
                        {"sparse m16n8k16 f16 f32", sparse_halves_k16, kHalf, kHalf, kFloat, 32},
                        {"sparse m16n8k32 bf16 f32", sparse_brain, kBrain, kBrain, kFloat, 32},
                        {"sparse m16n8k16 tf32 f32", sparse_tf32, kTensorFloat, kTensorFloat, kFloat, 32},
                        {"sparse m16n8k8 tf32 f32", sparse_tf32_k8, kTensorFloat, kTensorFloat, kFloat, 32},
                        {"sparse m16n8k64 e4m3 f32", sparse_e4m3, kE4m3, kE4m3, kFloat, 32},
                        {"sparse m16n8k64 e5m2 f32", sparse_e5m2, kE5m2, kE5m2, kFloat, 32},
                        {"wgmma m64n8k16 f16 f32", warpgroup<0>, kHalf, kHalf, kFloat, 128},
                        {"wgmma m64n8k16 bf16 f32", warpgroup<1>, kBrain, kBrain, kFloat, 128},
                        {"wgmma m64n8k8 tf32 f32", warpgroup<2>, kTensorFloat, kTensorFloat, kFloat, 128},
                        {"wgmma m64n8k32 e4m3 f32", warpgroup<3>, kE4m3, kE4m3, kFloat, 128},
                        {"wgmma m64n8k32 e5m2 f32", warpgroup<4>, kE5m2, kE5m2, kFloat, 128},
                        {"wgmma m64n8k32 e5m2.e4m3 f32", warpgroup<5>, kE5m2, kE4m3, kFloat, 128},
                        {"wgmma m64n8k16 f16 f16", warpgroup<6>, kHalf, kHalf, kHalf, 128},
                        {"wgmma m64n8k32 e4m3 f16", warpgroup<7>, kE4m3, kE4m3, kHalf, 128},
                        {"wgmma_sp m64n8k32 f16 f32", warpgroup<8>, kHalf, kHalf, kFloat, 128},
                        {"wgmma_sp m64n8k64 e4m3 f32", warpgroup<9>, kE4m3, kE4m3, kFloat, 128},
                        {"wgmma_sp m64n8k16 tf32 f32", warpgroup<10>, kTensorFloat, kTensorFloat, kFloat, 128}};
  Words* words;
  NEEDED(cudaMalloc(&words, kProducts * 128 * sizeof(Words)));
  Draws draws(5);
  for (const Kind& kind : kinds)
    for (const int spread : {4, 16, -1, -2, -3, -4}) {
      const unsigned blocks = kProducts * 32 / kind.threads, count = kProducts * 32;
      std::vector<Words> values(count);
      for (Words& w : values) {
        for (auto& word : w.a) word = draw_word(draws, kind.in, spread);
        for (auto& word : w.b) word = draw_word(draws, kind.b_in, spread);
        for (auto& word : w.c) word = draw_word(draws, kind.sum, spread);
        for (auto& word : w.d) word = 0;
        constexpr std::uint32_t kPairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}, kOne[] = {0x4, 0xe};
        w.e = 0;
        for (int at = 0; at < 32; at += 4) w.e |= (kind.in.mantissa_bits == 23 ? draws.one_of(kOne) : draws.one_of(kPairs)) << at;
      }
      NEEDED(cudaMemcpy(words, values.data(), count * sizeof(Words), cudaMemcpyHostToDevice));
      kind.kernel<<<blocks, kind.threads>>>(words);
      NEEDED(cudaMemcpy(values.data(), words, count * sizeof(Words), cudaMemcpyDeviceToHost));
      std::printf("%s spread %d: ", kind.name, spread);
      print_hex(values.data(), count * sizeof(Words));
    }
}
