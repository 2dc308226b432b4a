// How many blocks of a kernel an SM of the model holds at once: what the distributor grants, asked before a
// launch.
#include <algorithm>

#include "driver/clusters.h"
#include "driver/entry.h"
#include "driver/function.h"
#include "driver/process.h"
#include "driver/results.h"
#include "exec/abi.h"

namespace raddle::driver::entry {
namespace {

/// Most threads of a block of this kernel.
unsigned largest_block(const KernelInfo& info) {
  const unsigned device = Process::instance().shape().sm.threads_per_block;
  const Dim3 most = info.required_block.x != 0 ? info.required_block : info.largest_block;
  return most.x == 0 ? device : std::min(device, most.x * std::max(1u, most.y) * std::max(1u, most.z));
}

/// What an occupancy question is about.
struct ClusterQuestion {
  std::shared_ptr<Context> context;
  std::shared_ptr<Function> function;
  LaunchAttributes wanted;
  LaunchConfig launch;
};

CUresult read_question(CUfunction handle, const CUlaunchConfig* config, ClusterQuestion& asked) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find_function(handle, asked.context, asked.function); result != CUDA_SUCCESS)
    return result;
  if (const CUresult result = read_launch_attributes(*config, asked.wanted); result != CUDA_SUCCESS)
    return result;
  asked.launch = {.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                  .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                  .shared_bytes = config->sharedMemBytes};
  return asked.launch.shared_bytes <= static_cast<std::uint64_t>(dynamic_shared_limit(*asked.function))
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

// A preferred size is no part of the question: it is of the regular clusters.
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
  if (clusters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ClusterQuestion asked;
  if (const CUresult result = read_question(handle, config, asked); result != CUDA_SUCCESS) return result;
  if (!asks_for_clusters(*asked.function, asked.wanted)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  asked.wanted.preferred_cluster = {0, 0, 0};
  if (const CUresult result = choose_clusters(*asked.function, asked.wanted, asked.launch);
      result != CUDA_SUCCESS)
    return result;
  const Result<std::uint64_t> active = asked.function->kernel().active_clusters(asked.launch);
  if (!active) return result_of(active.error());
  *clusters = static_cast<int>(*active);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction handle, const CUlaunchConfig* config) {
  if (blocks == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ClusterQuestion asked;
  if (const CUresult result = read_question(handle, config, asked); result != CUDA_SUCCESS) return result;
  asked.wanted.cluster = asked.wanted.preferred_cluster = {0, 0, 0};
  if (const CUresult result = choose_clusters(*asked.function, asked.wanted, asked.launch);
      result != CUDA_SUCCESS)
    return result;
  if (const Dim3 set = asked.launch.cluster; set.x != 0) {
    *blocks = static_cast<int>(set.x * set.y * set.z);
    return CUDA_SUCCESS;
  }
  const Result<std::uint32_t> largest = asked.function->kernel().largest_cluster(asked.launch);
  if (!largest) return result_of(largest.error());
  *blocks = static_cast<int>(*largest);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int block_threads,
                                                     std::size_t shared_bytes) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, block_threads, shared_bytes, 0);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle,
                                                              int block_threads, std::size_t shared_bytes,
                                                              unsigned flags) {
  if (blocks == nullptr || block_threads <= 0 || (flags & ~OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::shared_ptr<Function> function;
  if (const CUresult result = find_function(handle, context, function); result != CUDA_SUCCESS) return result;
  *blocks =
      static_cast<int>(function->kernel().blocks_per_sm(static_cast<unsigned>(block_threads), shared_bytes));
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle,
                                          CUoccupancyB2DSize shared_of, std::size_t shared_bytes, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, handle, shared_of, shared_bytes, limit, 0);
}

// The block size, a multiple of a warp, that puts most threads on an SM; the larger of equals.
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction handle,
                                                   CUoccupancyB2DSize shared_of, std::size_t shared_bytes,
                                                   int limit, unsigned flags) {
  if (grid == nullptr || block == nullptr || limit < 0 || (flags & ~OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::shared_ptr<Function> function;
  if (const CUresult result = find_function(handle, context, function); result != CUDA_SUCCESS) return result;
  const unsigned most = largest_block(function->kernel().info());
  const unsigned largest = limit == 0 ? most : std::min(most, static_cast<unsigned>(limit));
  unsigned best_threads = 0, best_blocks = 0;
  for (unsigned threads = largest; threads != 0;) {
    const std::size_t shared = shared_of != nullptr ? shared_of(static_cast<int>(threads)) : shared_bytes;
    const unsigned blocks = function->kernel().blocks_per_sm(threads, shared);
    if (blocks * threads > best_blocks * best_threads) best_threads = threads, best_blocks = blocks;
    threads = (threads - 1) / exec::kWarpSize * exec::kWarpSize;
  }
  *block = static_cast<int>(best_threads);
  *grid = static_cast<int>(best_blocks * Process::instance().shape().sm_count());
  return best_threads != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* shared_bytes, CUfunction handle, int blocks,
                                                 int block_threads) {
  if (shared_bytes == nullptr || blocks <= 0 || block_threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::shared_ptr<Function> function;
  if (const CUresult result = find_function(handle, context, function); result != CUDA_SUCCESS) return result;
  if (function->kernel().blocks_per_sm(static_cast<unsigned>(block_threads)) < static_cast<unsigned>(blocks))
    return CUDA_ERROR_INVALID_VALUE;
  const machine::SmLimits& sm = Process::instance().shape().sm;
  const std::uint64_t used = function->kernel().info().static_shared_bytes;
  const std::uint64_t share = sm.shared_bytes / static_cast<unsigned>(blocks) - exec::kReservedShared - used;
  *shared_bytes = std::min<std::uint64_t>(share, sm.shared_per_block - used);
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
