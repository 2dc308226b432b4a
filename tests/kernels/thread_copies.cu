// Asynchronous copies of threads (cp.async) as programs write them: CUDA's primitives, libcu++ and cooperative groups.
// tests/programs/pipelines.cu runs these kernels too, as sm_80 compiles them and as sm_90 does.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// out[i] = 2 * in[i] + 1, a tile of as many ints as there are threads at a time, the next one on its way meanwhile.
extern "C" __global__ void ring(const int* in, int* out, int tiles) {
  __shared__ int tile[2][256];
  const int t = threadIdx.x, size = blockDim.x, first = blockIdx.x * tiles * size;
  __pipeline_memcpy_async(&tile[0][t], &in[first + t], sizeof(int));
  __pipeline_commit();
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) __pipeline_memcpy_async(&tile[(i + 1) % 2][t], &in[first + (i + 1) * size + t], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    const int other = size - 1 - t;
    out[first + i * size + other] = 2 * tile[i % 2][other] + 1;
    __syncthreads();
  }
}

// Rows of 16 bytes a thread: of those beyond `count` values nothing is read, zeros are copied.
extern "C" __global__ void filled(const float4* in, float4* out, int count) {
  __shared__ float4 rows[128];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  const int values = min(max(count - 4 * i, 0), 4);
  rows[t] = make_float4(-1, -1, -1, -1);
  __syncthreads();
  __pipeline_memcpy_async(&rows[t], values > 0 ? &in[i] : nullptr, sizeof(float4), sizeof(float4) - values * sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[i] = rows[t];
}

// The same ring by a pipeline of each thread.
extern "C" __global__ void by_thread(const int2* in, int2* out, int tiles) {
  constexpr int kStages = 4;
  __shared__ int2 tile[kStages][128];
  const int t = threadIdx.x, size = blockDim.x, first = blockIdx.x * tiles * size;
  auto pipeline = cuda::make_pipeline();
  int asked = 0;
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    for (; asked < tiles && asked < i + kStages; ++asked) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&tile[asked % kStages][t], &in[first + asked * size + t], cuda::aligned_size_t<8>(sizeof(int2)), pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    const int2 v = tile[i % kStages][t];
    out[first + i * size + t] = make_int2(2 * v.x + 1, 2 * v.y + 1);
    pipeline.consumer_release();
  }
}

// By a pipeline of the block: `producers` of its threads copy and the others compute, or all do both.
template <int kProducers>
__device__ void by_block(const int* in, int* out, int tiles) {
  constexpr int kStages = 3, kTile = 256;
  __shared__ alignas(16) int tile[kStages][kTile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  const int t = threadIdx.x, first = blockIdx.x * tiles * kTile;
  auto compute = [&](int i, int from, int step) {
#pragma unroll 1
    for (int k = from; k < kTile; k += step) out[first + i * kTile + k] = 2 * tile[i % kStages][kTile - 1 - k] + 1;
  };
  if constexpr (kProducers == 0) {
    auto pipeline = cuda::make_pipeline(block, &state);
    int asked = 0;
  #pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
#pragma unroll 1
      for (; asked < tiles && asked < i + kStages; ++asked) {
        pipeline.producer_acquire();
        cuda::memcpy_async(block, tile[asked % kStages], in + first + asked * kTile, cuda::aligned_size_t<16>(sizeof(tile[0])),
                           pipeline);
        pipeline.producer_commit();
      }
      pipeline.consumer_wait();
      compute(i, t, blockDim.x);
      pipeline.consumer_release();
    }
  } else {
    const bool produces = t < kProducers;
    auto pipeline = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  #pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
      if (produces) {
        pipeline.producer_acquire();
#pragma unroll 1
        for (int k = t; k < kTile / 4; k += kProducers)
          cuda::memcpy_async(&tile[i % kStages][4 * k], in + first + i * kTile + 4 * k, cuda::aligned_size_t<16>(16), pipeline);
        pipeline.producer_commit();
      } else {
        pipeline.consumer_wait();
        compute(i, t - kProducers, blockDim.x - kProducers);
        pipeline.consumer_release();
      }
    }
  }
}
extern "C" __global__ void unified(const int* in, int* out, int tiles) { by_block<0>(in, out, tiles); }
extern "C" __global__ void partitioned(const int* in, int* out, int tiles) { by_block<32>(in, out, tiles); }
extern "C" __global__ void divided(const int* in, int* out, int tiles) { by_block<40>(in, out, tiles); }

// A barrier that the copies arrive at: each thread's own, and one of the whole block, of a size that is no multiple of 16 bytes.
extern "C" __global__ void at_barrier(const int* in, int* out, int count) {
  __shared__ alignas(16) int tile[512];
  __shared__ alignas(16) int own[128];
  __shared__ Barrier barrier;
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&own[threadIdx.x], &in[threadIdx.x], sizeof(int), barrier);
  cuda::memcpy_async(block, tile, in, sizeof(int) * count, barrier);
  barrier.arrive_and_wait();
#pragma unroll 1
  for (int k = threadIdx.x; k < count; k += blockDim.x) out[k] = tile[count - 1 - k] + own[(k + 1) % blockDim.x];
}

// A block's copy in pieces of 16 bytes, which sm_90 makes in bulk.
extern "C" __global__ void at_barrier_whole(const int* in, int* out, int count) {
  __shared__ alignas(16) int tile[512];
  __shared__ Barrier barrier;
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  for (int round = 0; round < 2; ++round) {
    cuda::memcpy_async(block, tile, in + round * count, cuda::aligned_size_t<16>(sizeof(int) * count), barrier);
    barrier.arrive_and_wait();
#pragma unroll 1
    for (int k = threadIdx.x; k < count; k += blockDim.x) out[round * count + k] = tile[count - 1 - k];
    __syncthreads();
  }
}

// cooperative_groups::memcpy_async, in order: the first tile is waited for while the second is on its way.
extern "C" __global__ void by_group(const int* in, int* out, int count) {
  __shared__ alignas(16) int tile[2][512];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile[0], in, cuda::aligned_size_t<16>(sizeof(int) * count));
  cg::memcpy_async(block, tile[1], in + count, sizeof(int) * (count - 1));
  cg::wait_prior<1>(block);
#pragma unroll 1
  for (int k = threadIdx.x; k < count; k += blockDim.x) out[k] = tile[0][count - 1 - k];
  cg::wait(block);
#pragma unroll 1
  for (int k = threadIdx.x; k + 1 < count; k += blockDim.x) out[count + k] = tile[1][count - 2 - k];
}
