// Cooperative groups: blocks, grids, tiles of a warp, threads that are together now; sync, ranks, shuffles,
// votes. Reductions and scans are in cooperative_groups/{reduce,scan}.h, copies in
// cooperative_groups/memcpy_async.h. Tiles have at most 32 threads. Grids synchronise when they were launched
// as cooperative ones. Source: CUDA C++ Programming Guide, "Cooperative Groups".
#pragma once

#include "raddle/cuda/cuda_runtime.h"
#include "raddle/cuda/device/group_values.h"

namespace cooperative_groups {

/// All threads of the block.
class thread_block {
 public:
  static __device__ void sync() { __syncthreads(); }
  static __device__ unsigned int thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  static __device__ unsigned int num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static __device__ unsigned int size() { return num_threads(); }
  static __device__ dim3 group_index() { return blockIdx; }
  static __device__ dim3 thread_index() { return threadIdx; }
  static __device__ dim3 group_dim() { return blockDim; }
  static __device__ dim3 dim_threads() { return blockDim; }
};
RADDLE_DEVICE thread_block this_thread_block() { return {}; }

/// All threads of the grid.
class grid_group {
 public:
  /// Whether the launch was a cooperative one: then the driver gave it a place to meet.
  static __device__ bool is_valid() { return workspace() != 0; }
  static __device__ void sync() { barrier_wait(barrier_arrive()); }
  using arrival_token = unsigned int;
  static __device__ arrival_token barrier_arrive() {
    if (!is_valid()) __trap();
    __syncthreads();
    return thread_block::thread_rank() == 0 ? arrive() : 0;
  }
  static __device__ void barrier_wait(arrival_token before) {
    if (thread_block::thread_rank() == 0) wait(before);
    __syncthreads();
  }
  static __device__ unsigned long long num_blocks() {
    return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
  }
  static __device__ unsigned long long block_rank() {
    return blockIdx.x +
           (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
  }
  static __device__ unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
  static __device__ unsigned long long size() { return num_threads(); }
  static __device__ unsigned long long thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  static __device__ dim3 block_index() { return blockIdx; }
  static __device__ dim3 dim_blocks() { return gridDim; }
  static __device__ dim3 group_dim() { return gridDim; }

 private:
  static __device__ unsigned long long workspace() {
    unsigned int high, low;
    asm volatile("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm volatile("mov.u32 %0, %%envreg2;" : "=r"(low));
    return (unsigned long long)high << 32 | low;
  }
  static __device__ unsigned int* word() { return (unsigned int*)(workspace() + 4); }
  // Each round of arrivals adds 2^31 in all: the word's top bit turns when the last block is there.
  static __device__ unsigned int arrive() {
    const unsigned int others = (unsigned int)num_blocks() - 1;
    const unsigned int share = block_rank() == 0 ? 0x80000000u - others : 1u;
    unsigned int before;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(word()), "r"(share)
                 : "memory");
    return before;
  }
  static __device__ void wait(unsigned int before) {
    unsigned int now;
    do {
      asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(word()) : "memory");
    } while (((before ^ now) & 0x80000000u) == 0);
  }
};
RADDLE_DEVICE grid_group this_grid() { return {}; }

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/// All threads of the cluster.
class cluster_group {
 public:
  static __device__ void sync() { barrier_wait(barrier_arrive()); }
  struct arrival_token {};
  static __device__ arrival_token barrier_arrive() {
    __cluster_barrier_arrive();
    return {};
  }
  static __device__ void barrier_wait(arrival_token = {}) { __cluster_barrier_wait(); }
  static __device__ unsigned int block_rank() { return __clusterRelativeBlockRank(); }
  static __device__ unsigned int num_blocks() { return __clusterSizeInBlocks(); }
  static __device__ unsigned int num_threads() { return num_blocks() * thread_block::num_threads(); }
  static __device__ unsigned int size() { return num_threads(); }
  static __device__ unsigned int thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  static __device__ dim3 block_index() { return __clusterRelativeBlockIdx(); }
  static __device__ dim3 dim_blocks() { return __clusterDim(); }
  static __device__ dim3 dim_threads() {
    const dim3 blocks = dim_blocks();
    return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z);
  }
  static __device__ dim3 thread_index() {
    const dim3 block = block_index();
    return dim3(block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
                block.z * blockDim.z + threadIdx.z);
  }
  /// Where this block's `address` is in the shared memory of the block `rank`, and whose memory an address is
  /// in.
  template <typename T>
  static __device__ T* map_shared_rank(T* address, int rank) {
    return (T*)__cluster_map_shared_rank(address, rank);
  }
  static __device__ unsigned int query_shared_rank(const void* address) {
    return __cluster_query_shared_rank(address);
  }
};
RADDLE_DEVICE cluster_group this_cluster() { return {}; }
#endif

/// Threads of one warp: those of `mask`. Common to tiles and coalesced groups.
class raddle_warp_group {
 public:
  __device__ void sync() const { __syncwarp(mask_); }
  __device__ unsigned int num_threads() const { return __popc(mask_); }
  __device__ unsigned int size() const { return __popc(mask_); }
  __device__ unsigned int thread_rank() const { return __popc(mask_ & raddle_lanes_below()); }
  __device__ unsigned int meta_group_rank() const { return rank_; }
  __device__ unsigned int meta_group_size() const { return count_; }
  __device__ int any(int predicate) const { return __any_sync(mask_, predicate); }
  __device__ int all(int predicate) const { return __all_sync(mask_, predicate); }
  __device__ unsigned int ballot(int predicate) const {
    return raddle_packed(__ballot_sync(mask_, predicate), mask_);
  }
  template <typename T>
  __device__ unsigned int match_any(T value) const {
    return raddle_packed(__match_any_sync(mask_, value), mask_);
  }
  template <typename T>
  __device__ unsigned int match_all(T value, int& predicate) const {
    return raddle_packed(__match_all_sync(mask_, value, &predicate), mask_);
  }
  template <typename T>
  __device__ T shfl(T value, unsigned int rank) const {
    return raddle_from_lane(mask_, value, lane_of(rank % num_threads()));
  }
  template <typename T>
  __device__ T shfl_up(T value, unsigned int delta) const {
    const unsigned int rank = thread_rank();
    return raddle_from_lane(mask_, value, lane_of(rank < delta ? rank : rank - delta));
  }
  template <typename T>
  __device__ T shfl_down(T value, unsigned int delta) const {
    const unsigned int rank = thread_rank();
    return raddle_from_lane(mask_, value, lane_of(rank + delta >= num_threads() ? rank : rank + delta));
  }
  template <typename T>
  __device__ T shfl_xor(T value, unsigned int bits) const {
    const unsigned int rank = thread_rank(), other = rank ^ bits;
    return raddle_from_lane(mask_, value, lane_of(other < num_threads() ? other : rank));
  }
  __device__ unsigned int raddle_mask() const { return mask_; }

 protected:
  __device__ raddle_warp_group(unsigned int mask, unsigned int rank, unsigned int count)
      : mask_(mask), rank_(rank), count_(count) {}
  /// The lane of the thread with this rank.
  __device__ unsigned int lane_of(unsigned int rank) const {
    const unsigned int lowest = __ffs(mask_) - 1;
    const bool dense = (mask_ >> lowest & (mask_ >> lowest) + 1) == 0;
    return dense ? lowest + rank : __fns(mask_, 0, rank + 1);
  }
  unsigned int mask_, rank_, count_;
};

/// Threads of one warp that are at this point together, or a part of such a group.
class coalesced_group : public raddle_warp_group {
 public:
  __device__ coalesced_group(unsigned int mask, unsigned int rank = 0, unsigned int count = 1)
      : raddle_warp_group(mask, rank, count) {}
};
RADDLE_DEVICE coalesced_group coalesced_threads() { return {__activemask()}; }

/// `threads` consecutive threads of a block, a power of two up to 32.
template <unsigned int threads, typename Parent = void>
class thread_block_tile : public raddle_warp_group {
  static_assert(threads >= 1 && threads <= 32 && (threads & (threads - 1)) == 0,
                "a tile has 1, 2, 4, 8, 16 or 32 threads: Raddle has none of several warps");

 public:
  __device__ thread_block_tile(unsigned int rank, unsigned int count)
      : raddle_warp_group(mask_here(), rank, count) {}
  /// A tile of another parent, or of one that is forgotten.
  template <typename Other>
  __device__ thread_block_tile(const thread_block_tile<threads, Other>& tile)
      : thread_block_tile(tile.meta_group_rank(), tile.meta_group_size()) {}
  // Known when compiling, unlike a coalesced group's.
  static __device__ constexpr unsigned int num_threads() { return threads; }
  static __device__ constexpr unsigned int size() { return threads; }
  static __device__ unsigned int thread_rank() { return __nvvm_read_ptx_sreg_laneid() & (threads - 1); }
  template <typename T>
  __device__ T shfl(T value, int rank) const {
    return raddle_by_words(value, [&](int word) { return __shfl_sync(mask_, word, rank, threads); });
  }
  template <typename T>
  __device__ T shfl_up(T value, unsigned int delta) const {
    return raddle_by_words(value, [&](int word) { return __shfl_up_sync(mask_, word, delta, threads); });
  }
  template <typename T>
  __device__ T shfl_down(T value, unsigned int delta) const {
    return raddle_by_words(value, [&](int word) { return __shfl_down_sync(mask_, word, delta, threads); });
  }
  template <typename T>
  __device__ T shfl_xor(T value, int bits) const {
    return raddle_by_words(value, [&](int word) { return __shfl_xor_sync(mask_, word, bits, threads); });
  }

 private:
  static __device__ unsigned int mask_here() {
    if constexpr (threads == 32) return 0xffffffffu;
    return ((1u << (threads & 31)) - 1) << (__nvvm_read_ptx_sreg_laneid() & ~(threads - 1));
  }
};

/// One thread.
class raddle_single_thread : public thread_block_tile<1> {
 public:
  __device__ raddle_single_thread() : thread_block_tile<1>(0, 1) {}
};
RADDLE_DEVICE raddle_single_thread this_thread() { return {}; }

/// Any of the groups of at most a block, where a function takes them all.
class thread_group {
 public:
  __device__ thread_group(thread_block) : mask_(0) {}
  __device__ thread_group(const raddle_warp_group& group)
      : mask_(group.raddle_mask()), rank_(group.meta_group_rank()), count_(group.meta_group_size()) {}
  __device__ void sync() const {
    if (mask_ == 0) {
      __syncthreads();
    } else {
      __syncwarp(mask_);
    }
  }
  __device__ unsigned int size() const { return mask_ == 0 ? thread_block::size() : __popc(mask_); }
  __device__ unsigned int num_threads() const { return size(); }
  __device__ unsigned int thread_rank() const {
    return mask_ == 0 ? thread_block::thread_rank() : __popc(mask_ & raddle_lanes_below());
  }
  __device__ bool raddle_is_block() const { return mask_ == 0; }
  __device__ coalesced_group raddle_coalesced() const { return {mask_, rank_, count_}; }

 private:
  unsigned int mask_, rank_ = 0, count_ = 1;  // mask 0: the block
};

// Parts of groups.
template <unsigned int threads, typename Parent>
RADDLE_DEVICE thread_block_tile<threads, Parent> tiled_partition(const Parent& parent) {
  return {parent.thread_rank() / threads, (parent.size() + threads - 1) / threads};
}
/// A part of `threads` consecutive threads of a block or a group of a warp: a power of two up to 32.
RADDLE_DEVICE thread_group tiled_partition(const thread_group& parent, unsigned int threads) {
  const unsigned int rank = parent.thread_rank(), part = rank / threads,
                     count = (parent.size() + threads - 1) / threads;
  const unsigned int all =
      parent.raddle_is_block() ? __activemask() : parent.raddle_coalesced().raddle_mask();
  unsigned int mask = 0;
  for (unsigned int other = part * threads; other < (part + 1) * threads && other < parent.size(); ++other)
    mask |= parent.raddle_is_block() ? 1u << (other & 31) : 1u << __fns(all, 0, other + 1);
  return coalesced_group(mask, part, count);
}
RADDLE_DEVICE coalesced_group tiled_partition(const coalesced_group& parent, unsigned int threads) {
  return tiled_partition(thread_group(parent), threads).raddle_coalesced();
}
/// The threads of the group whose labels are the same.
template <typename Label>
RADDLE_DEVICE coalesced_group labeled_partition(const raddle_warp_group& parent, Label label) {
  const unsigned int mask = __match_any_sync(parent.raddle_mask(), label);
  const unsigned int first = __ballot_sync(parent.raddle_mask(), (mask & raddle_lanes_below()) == 0);
  const unsigned int lowest = __ffs(mask) - 1;
  return {mask, (unsigned int)__popc(first & ((1u << lowest) - 1)), (unsigned int)__popc(first)};
}
RADDLE_DEVICE coalesced_group binary_partition(const raddle_warp_group& parent, bool label) {
  return labeled_partition(parent, (int)label);
}

// As functions.
template <typename Group>
RADDLE_DEVICE void sync(const Group& group) {
  group.sync();
}
template <typename Group>
RADDLE_DEVICE unsigned int thread_rank(const Group& group) {
  return group.thread_rank();
}
template <typename Group>
RADDLE_DEVICE unsigned int group_size(const Group& group) {
  return group.size();
}
/// Calls `function` in one thread of the group.
template <typename Group, typename Function, typename... Arguments>
RADDLE_DEVICE void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) function(static_cast<Arguments&&>(arguments)...);
}

}  // namespace cooperative_groups
