// device/synchronization.h and device/atomics.h, memory.h: what threads of a warp, a block and a grid do together.
#include "check.h"

constexpr int kThreads = 128;

// Each thread writes what it saw under a number of its own.
__global__ void warp_functions(int* out) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int* mine = out + threadIdx.x;
  const unsigned all = 0xffffffffu;
  int row = 0;
  const auto write = [&](int value) { mine[kThreads * row++] = value; };
  write(__shfl_sync(all, lane * 3, 5));
  write(__shfl_sync(all, lane * 3, 5, 8));
  write(__shfl_up_sync(all, lane, 3u));
  write(__shfl_down_sync(all, lane, 3u, 16));
  write(__shfl_xor_sync(all, lane, 9));
  write((int)(__shfl_xor_sync(all, (long long)lane << 40, 1) >> 40));
  write((int)__shfl_down_sync(all, (double)lane / 4, 4u) * 4);
  write((int)__ballot_sync(all, lane % 3 == 0));
  write(__all_sync(all, lane < 32) * 2 + __any_sync(all, lane == 40));
  write((int)__match_any_sync(all, lane % 5));
  int same = 0;
  write(__match_all_sync(all, warp, &same) == all && same ? 0 : 1);
  write(__reduce_add_sync(all, lane - 3));
  write((int)__reduce_max_sync(all, (unsigned)lane * 7 % 32));
  write((int)__reduce_xor_sync(all, 1u << lane));
  if (lane >= 8) {
    write((int)__activemask());
    __syncwarp(0xffffff00u);
  } else {
    write(-1);
  }
  write(__syncthreads_count(threadIdx.x % 3 == 0));
  write(__syncthreads_and(threadIdx.x < 1000) != 0);
  write(__syncthreads_or(threadIdx.x == 1000) != 0);
}
constexpr int kRows = 18;

int expected(int row, int thread) {
  const int lane = thread & 31;
  unsigned mask = 0;
  switch (row) {
    case 0: return 15;
    case 1: return ((lane & ~7) + 5) * 3;
    case 2: return lane >= 3 ? lane - 3 : lane;
    case 3: return lane % 16 + 3 < 16 ? lane + 3 : lane;
    case 4: return lane ^ 9;
    case 5: return lane ^ 1;
    case 6: return (lane + 4 < 32 ? lane + 4 : lane) / 4 * 4;
    case 7:
      for (int i = 0; i < 32; ++i) mask |= i % 3 == 0 ? 1u << i : 0;
      return (int)mask;
    case 8: return 2;
    case 9:
      for (int i = 0; i < 32; ++i) mask |= i % 5 == lane % 5 ? 1u << i : 0;
      return (int)mask;
    case 10: return 0;
    case 11: return 31 * 16 - 3 * 32;
    case 12: return 31;
    case 13: return -1;
    case 14: return lane >= 8 ? (int)0xffffff00u : -1;
    case 15: return (kThreads + 2) / 3;
    case 16: return 1;
    default: return 0;
  }
}

struct Totals {
  int added, exchanged, least, most, ands, ors, xors, subtracted;
  unsigned int wrapped, counted_down, swapped;
  unsigned long long wide;
  float sum;
  double precise;
  unsigned short narrow[2];
};

template <int scope>
__global__ void atomics(Totals* t) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#define DO(name, ...) (scope == 0 ? name(__VA_ARGS__) : scope == 1 ? name##_system(__VA_ARGS__) : name##_block(__VA_ARGS__))
  DO(atomicAdd, &t->added, i);
  DO(atomicSub, &t->subtracted, 2);
  DO(atomicExch, &t->exchanged, 77);
  DO(atomicMin, &t->least, -i);
  DO(atomicMax, &t->most, i);
  DO(atomicAnd, &t->ands, ~(1 << i % 30));
  DO(atomicOr, &t->ors, 1 << i % 30);
  DO(atomicXor, &t->xors, 1 << i % 3);
  DO(atomicInc, &t->wrapped, 9u);
  DO(atomicDec, &t->counted_down, 9u);
  DO(atomicAdd, &t->wide, 1ull << 33);
  DO(atomicAdd, &t->sum, 0.5f);
  DO(atomicAdd, &t->precise, 0.25);
  unsigned int seen = t->swapped, assumed;
  do {
    assumed = seen;
    seen = DO(atomicCAS, &t->swapped, assumed, assumed + 3);
  } while (seen != assumed);
  DO(atomicCAS, &t->narrow[1], (unsigned short)i, (unsigned short)(i + 1));
}

template <int scope>
void check_atomics(const char* name) {
  Totals start = {};
  start.ands = -1;
  const Buffer<Totals> totals(std::vector<Totals>{start});
  const int blocks = scope == 2 ? 1 : 3, n = blocks * 96;
  atomics<scope><<<blocks, 96>>>(totals.get());
  must(cudaGetLastError());
  const Totals t = totals.contents()[0];
  check(t.added == n * (n - 1) / 2 && t.subtracted == -2 * n && t.exchanged == 77 && t.least == 1 - n && t.most == n - 1, name, "add, sub, exch, min, max");
  check(t.ands == (int)0xc0000000 && t.ors == 0x3fffffff && t.xors == 0, name, "and, or, xor");
  unsigned down = 0;
  for (int i = 0; i < n; ++i) down = down == 0 || down > 9 ? 9 : down - 1;
  check(t.wrapped == n % 10u && t.counted_down == down && t.swapped == 3u * n, name, "inc, dec, cas");
  check(t.wide == (unsigned long long)n << 33 && t.sum == 0.5f * n && t.precise == 0.25 * n, name, "64 bits, float, double");
  check(t.narrow[0] == 0 && t.narrow[1] >= 1, name, "cas of 16 bits");
}

__constant__ int table[4] = {2, 3, 5, 7};
__global__ void memory(const int4* in, int4* out, int* kinds, int* local_sum) {
  __shared__ int shared[4];
  int local[4];
  local[threadIdx.x] = shared[threadIdx.x] = threadIdx.x;
  int4 value = __ldg(in);
  value.y = __ldcg(&in->y) + __ldcs(&in->z);
  value.w = __ldcv(in).w;
  __stcs(out, value);
  __threadfence();
  if (threadIdx.x == 0)
    *kinds = __isGlobal(in) | __isShared(shared) << 1 | __isLocal(local) << 2 | __isConstant(table) << 3 | __isGlobal(shared) << 4 | __isShared(in) << 5;
  atomicAdd(local_sum, local[(threadIdx.x + 1) & 3] * 0 + shared[3] + table[threadIdx.x]);
}

int main() {
  const Buffer<int> out(kRows * kThreads);
  warp_functions<<<1, kThreads>>>(out.get());
  must(cudaGetLastError());
  const std::vector<int> got = out.contents();
  for (int row = 0; row < kRows; ++row) {
    int wrong = 0;
    for (int i = 0; i < kThreads; ++i) wrong += got[row * kThreads + i] != expected(row, i);
    char detail[60];
    std::snprintf(detail, sizeof detail, "row %d, %d wrong, thread 9 has %d", row, wrong, got[row * kThreads + 9]);
    check(wrong == 0, "warp function", detail);
  }
  check_atomics<0>("atomics of the device");
  check_atomics<1>("atomics of the system");
  check_atomics<2>("atomics of the block");
  const Buffer<int4> from(std::vector<int4>{{1, 2, 3, 4}}), to(1);
  const Buffer<int> kinds(1), sum(1);
  memory<<<1, 4>>>(from.get(), to.get(), kinds.get(), sum.get());
  must(cudaGetLastError());
  const int4 copied = to.contents()[0];
  check(copied.x == 1 && copied.y == 5 && copied.z == 3 && copied.w == 4, "loads and stores with hints");
  check(kinds.contents()[0] == 15, "kinds of addresses");
  check(sum.contents()[0] == 12 + 17, "shared and constant memory");
  return finish();
}
