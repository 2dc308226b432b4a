// A product of bf16 matrices as Hopper's kernels make it: one warp brings tiles into a ring by TMA, swizzled by 128 bytes, and two
// warpgroups multiply them by wgmma; one thread of each tells the producer that a stage is free.
// nvcc: -arch=compute_90a -code=sm_90a,compute_90a
#include <cuda.h>
#include <cuda_bf16.h>

#include <chrono>
#include <cmath>
#include <random>

#include "program.h"

constexpr int kRows = 64, kColumns = 128, kDepth = 64, kConsumers = 2, kStages = 3;
constexpr int kThreads = 128 * (kConsumers + 1);

struct alignas(1024) Stage {
  __nv_bfloat16 a[kConsumers][kRows][kDepth], b[kColumns][kDepth];
};
struct Ring {
  Stage stages[kStages];
  unsigned long long filled[kStages], emptied[kStages];
};

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ void wait_for_phase(unsigned long long* barrier, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

__device__ void bring(void* to, const CUtensorMap* map, int x, int y, unsigned long long* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
      : "memory");
}

/// Rows of 128 bytes in a swizzle of 128: eight of them are 1024 bytes.
__device__ unsigned long long descriptor(const void* tile, int byte) {
  return (1ull << 62) | (1024ull >> 4 << 32) | (shared_address(tile) + byte) >> 4;
}

__device__ void multiply(float (&d)[kColumns / 2], unsigned long long a, unsigned long long b) {
#define EIGHT(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "
      "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, 1, 1, 1, 0, 0;"
      : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)
      : "l"(a), "l"(b));
}

__global__ void __launch_bounds__(kThreads) gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c,
                                                 int columns, int passes) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Ring& ring = *reinterpret_cast<Ring*>(memory);
  const int group = threadIdx.x / 128, row = blockIdx.y * kRows * kConsumers, column = blockIdx.x * kColumns;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&ring.filled[i])));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&ring.emptied[i])), "r"(kConsumers));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (group == kConsumers) {
    if (threadIdx.x % 128 != 0) return;
    for (int pass = 0; pass < passes; ++pass) {
      const int stage = pass % kStages;
      wait_for_phase(&ring.emptied[stage], pass / kStages % 2 ^ 1);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&ring.filled[stage])), "r"(int(sizeof(Stage)))
                   : "memory");
      for (int i = 0; i < kConsumers; ++i)
        bring(ring.stages[stage].a[i], &a, pass * kDepth, row + i * kRows, &ring.filled[stage]);
      bring(ring.stages[stage].b, &b, pass * kDepth, column, &ring.filled[stage]);
    }
    return;
  }
  float d[kColumns / 2] = {};
  for (int pass = 0; pass < passes; ++pass) {
    const int stage = pass % kStages;
    wait_for_phase(&ring.filled[stage], pass / kStages % 2);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < kDepth; k += 16)
      multiply(d, descriptor(ring.stages[stage].a[group], k * 2), descriptor(ring.stages[stage].b, k * 2));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (threadIdx.x % 128 == 0)
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&ring.emptied[stage])) : "memory");
  }
  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  float* to = c + (row + group * kRows + warp * 16 + lane / 4) * columns + column + lane % 4 * 2;
  for (int i = 0; i < kColumns / 2; ++i) to[i / 2 % 2 * 8 * columns + i / 4 * 8 + i % 2] = d[i];
}

CUtensorMap map_of(const __nv_bfloat16* matrix, int rows, int columns, int box_rows) {
  void* encode = nullptr;
  cudaDriverEntryPointQueryResult status;
  CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &status));
  CUtensorMap map;
  const cuuint64_t sizes[] = {cuuint64_t(columns), cuuint64_t(rows)}, strides[] = {cuuint64_t(columns) * 2};
  const cuuint32_t box[] = {kDepth, cuuint32_t(box_rows)}, steps[] = {1, 1};
  CHECK(reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
            &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<__nv_bfloat16*>(matrix), sizes, strides, box, steps,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

/// With arguments: rows, columns and depth, and how often; prints the best time.
int main(int count, char** arguments) {
  const auto argument = [&](int i, int otherwise) { return count > i ? std::atoi(arguments[i]) : otherwise; };
  const int rows = argument(1, 256), columns = argument(2, 256), depth = argument(3, 320), times = argument(4, 1);
  __nv_bfloat16 *a = nullptr, *b = nullptr;
  float* c = nullptr;
  CUDA(cudaMallocManaged(&a, rows * depth * 2));
  CUDA(cudaMallocManaged(&b, columns * depth * 2));
  CUDA(cudaMallocManaged(&c, rows * columns * 4));
  std::mt19937 random(1);
  for (int i = 0; i < rows * depth; ++i) a[i] = float(random() % 2048) / 1024 - 1;
  for (int i = 0; i < columns * depth; ++i) b[i] = float(random() % 2048) / 1024 - 1;
  CUDA(cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Ring)));
  double best = 1e9;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    gemm<<<dim3(columns / kColumns, rows / kRows / kConsumers), kThreads, sizeof(Ring)>>>(
        map_of(a, rows, depth, kRows), map_of(b, columns, depth, kColumns), c, columns, depth / kDepth);
    CUDA(cudaDeviceSynchronize());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  if (times > 1) std::printf("%.1f Gflop/s\n", 2e-9 * rows * columns * depth / best);
  for (int i = 0; i < rows; i += times > 1 ? 31 : 1)
    for (int j = 0; j < columns; ++j) {
      float sum = 0;
      for (int k = 0; k < depth; ++k) sum = std::fma(float(a[i * depth + k]), float(b[j * depth + k]), sum);
      CHECK(c[i * columns + j] == sum);
    }
}
