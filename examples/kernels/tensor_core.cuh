// What kernels on tensor cores share: matrices in registers for mma, matrices in shared memory for wgmma.
#pragma once

#include "async.cuh"

// ---- mma: fragments of a warp ----

/// Four matrices of 8 rows of 16 bytes; lane l names row l % 8 of matrix l / 8.
__device__ inline void load_matrices(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

/// Types of elements: d (16 x 8) += a (16 rows of 32 bytes) * b (8 columns of 32 bytes).
#define MMA(NAME, RESULT, CONSTRAINT, TEXT)                                                                     \
  struct NAME {                                                                                                 \
    using Result = RESULT;                                                                                      \
    static __device__ void mma(Result (&d)[4], const unsigned (&a)[4], const unsigned* b) {                     \
      asm("mma.sync.aligned." TEXT " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"           \
          : "+" CONSTRAINT(d[0]), "+" CONSTRAINT(d[1]), "+" CONSTRAINT(d[2]), "+" CONSTRAINT(d[3])              \
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                                  \
    }                                                                                                           \
  };
MMA(Bf16, float, "f", "m16n8k16.row.col.f32.bf16.bf16.f32")
MMA(F16, float, "f", "m16n8k16.row.col.f32.f16.f16.f32")
MMA(E4m3, float, "f", "m16n8k32.row.col.f32.e4m3.e4m3.f32")
MMA(S8, int, "r", "m16n8k32.row.col.s32.s8.s8.s32")
#undef MMA

/// Two elements of 16 bits that lie together.
__device__ inline unsigned pair_at(const unsigned short* at) { return *reinterpret_cast<const unsigned*>(at); }

/// Two floats as bf16, the first in the low half.
__device__ inline unsigned bf16_pair(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// ---- cp.async ----

__device__ inline void copy_16_bytes(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Until at most so many groups of the thread are under way.
template <int kGroups>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

// ---- wgmma: a warpgroup's tile of 64 rows ----

/// Descriptor of rows of 128 bytes with 128-byte swizzle, eight rows after eight; tiles start at multiples of 1,024 bytes, and
/// within a tile at its row 0.
__device__ inline unsigned long long swizzled_rows(const void* tile) {
  constexpr unsigned long long kGroup = 1024 >> 4, kSwizzle128 = 1ull << 62;
  return (shared_address(tile) & 0x3ffff) >> 4 | 1ull << 16 | kGroup << 32 | kSwizzle128;
}
/// The descriptor so many bytes on.
__device__ inline unsigned long long advanced(unsigned long long descriptor, unsigned bytes) { return descriptor + (bytes >> 4); }

__device__ inline void begin_wgmma() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_wgmma() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kGroups>
__device__ void wait_for_wgmma() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
}

#define EIGHT(D, I) "+f"(D[I]), "+f"(D[I + 1]), "+f"(D[I + 2]), "+f"(D[I + 3]), "+f"(D[I + 4]), "+f"(D[I + 5]), "+f"(D[I + 6]), "+f"(D[I + 7])
#define REGISTERS_32                                                                                       \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31"

/// d (64 x 64) += a * b, of bf16: 64 rows and 64 columns of 16 elements. `accumulate` 0: d = a * b.
__device__ inline void wgmma(float (&d)[32], unsigned long long a, unsigned long long b, int accumulate) {
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %34, 0;\n\t"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " REGISTERS_32 "}, %32, %33, p, 1, 1, 0, 0;\n\t}"
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24)
      : "l"(a), "l"(b), "r"(accumulate));
}
/// The same with a in registers, and b's columns along its rows in memory (16 rows of 64 elements).
__device__ inline void wgmma_by_rows(float (&d)[32], const unsigned (&a)[4], unsigned long long b, int accumulate) {
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %37, 0;\n\t"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " REGISTERS_32 "}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n\t}"
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
}
/// d (64 x 128) += a * b.
__device__ inline void wgmma(float (&d)[64], unsigned long long a, unsigned long long b, int accumulate) {
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %66, 0;\n\t"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " REGISTERS_32
      ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "
      "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1, 0, 0;\n\t}"
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48), EIGHT(d, 56)
      : "l"(a), "l"(b), "r"(accumulate));
}
#undef EIGHT
#undef REGISTERS_32

/// Writes a warpgroup's 64 x (2 * kRegisters) results; `to` is its upper left corner.
template <int kRegisters>
__device__ void store_results(const float (&d)[kRegisters], float* to, int width) {
  const int thread = threadIdx.x % 128, row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
#pragma unroll
  for (int i = 0; i < kRegisters; i += 2)
    *reinterpret_cast<float2*>(&to[(row + i / 2 % 2 * 8) * width + i / 4 * 8 + column]) = {d[i], d[i + 1]};
}

// ---- a ring of stages between a producer and consumers ----

/// Which stage, and which parity its mbarriers have in this turn.
template <int kStages>
struct RingPlace {
  int stage = 0;
  unsigned parity = 0;
  __device__ void advance() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
};

__device__ inline void arrive(Mbarrier* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
/// At the same place of another block of the cluster.
__device__ inline void arrive_at(Mbarrier* barrier, unsigned rank) {
  asm volatile(
      "{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n\t}" ::"r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}

/// A warpgroup's two tiles of 64 rows of 64 bf16, as TMA brings them with 128-byte swizzle.
struct alignas(1024) TilePair {
  unsigned short a[64][64], b[64][64];
};
template <int kStages>
struct Pipeline {
  TilePair stages[kStages];
  Mbarrier filled[kStages];
};
template <int kStages>
__device__ void init(Pipeline<kStages>& pipeline) {
  if (threadIdx.x == 0)
    for (Mbarrier& filled : pipeline.filled) init(&filled, 1);
  __syncthreads();
}

/// d = the sum over passes of a * b^T, by a block of 128 threads. load(pair, mbarrier, pass) starts the copies of a pass; thread 0
/// calls it, a stage ahead.
template <int kStages, class Load>
__device__ void multiply(float (&d)[32], Pipeline<kStages>& pipeline, RingPlace<kStages>& place, int passes, const Load& load) {
  RingPlace<kStages> next = place;
  const auto fill = [&](int pass) {
    if (threadIdx.x == 0 && pass < passes) {
      arrive_expecting(&pipeline.filled[next.stage], sizeof(TilePair));
      load(pipeline.stages[next.stage], &pipeline.filled[next.stage], pass);
    }
    next.advance();
  };
  for (int pass = 0; pass < kStages - 1; ++pass) fill(pass);
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass, place.advance()) {
    fill(pass + kStages - 1);
    wait(&pipeline.filled[place.stage], place.parity);
    const unsigned long long a = swizzled_rows(pipeline.stages[place.stage].a), b = swizzled_rows(pipeline.stages[place.stage].b);
    begin_wgmma();
    for (int i = 0; i < 4; ++i) wgmma(d, advanced(a, i * 32), advanced(b, i * 32), pass + i);
    commit_wgmma();
    wait_for_wgmma<0>();
    __syncthreads();
  }
}

// ---- registers of warpgroups ----

template <int kRegisters>
__device__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
