// How many blocks of a kernel an SM of the model holds at once: what the distributor grants, asked before a
// launch.
#include <algorithm>

#include "driver/clusters.h"
#include "driver/entry.h"
#include "driver/function.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {

/// Most threads of a block of this kernel.
unsigned largest_block(const KernelInfo& info, const Gpu& gpu) {
  const unsigned device = gpu.shape.sm.threads_per_block;
  const Dim3 most = info.required_block.x != 0 ? info.required_block : info.largest_block;
  return most.x == 0 ? device : std::min(device, most.x * std::max(1u, most.y) * std::max(1u, most.z));
}

/// What an occupancy question is about.
struct ClusterQuestion {
  LaunchAttributes wanted;
  LaunchConfig launch;
};

Answer<ClusterQuestion> read_question(Function& function, const CUlaunchConfig& config) {
  ClusterQuestion asked;
  TRY(read_launch_attributes(config, asked.wanted));
  asked.launch = {.grid = {config.gridDimX, config.gridDimY, config.gridDimZ},
                  .block = {config.blockDimX, config.blockDimY, config.blockDimZ},
                  .shared_bytes = config.sharedMemBytes};
  if (asked.launch.shared_bytes > static_cast<std::uint64_t>(dynamic_shared_limit(function)))
    return CUDA_ERROR_INVALID_VALUE;
  return asked;
}

}  // namespace

// A preferred size is no part of the question: it is of the regular clusters. Without a size each block is a
// cluster.
Status cuOccupancyMaxActiveClusters(Here, int* clusters, In<Function> function,
                                    const CUlaunchConfig* config) {
  TRY_ASSIGN(ClusterQuestion asked, read_question(*function, *config));
  if (!asks_for_clusters(*function, asked.wanted)) asked.wanted.cluster = {1, 1, 1};
  asked.wanted.preferred_cluster = {0, 0, 0};
  TRY(choose_clusters(*function, asked.wanted, asked.launch));
  TRY_ASSIGN(const std::uint64_t active, function->kernel().active_clusters(asked.launch));
  *clusters = static_cast<int>(active);
  return CUDA_SUCCESS;
}

Status cuOccupancyMaxPotentialClusterSize(Here, int* blocks, In<Function> function,
                                          const CUlaunchConfig* config) {
  TRY_ASSIGN(ClusterQuestion asked, read_question(*function, *config));
  asked.wanted.cluster = asked.wanted.preferred_cluster = {0, 0, 0};
  TRY(choose_clusters(*function, asked.wanted, asked.launch));
  if (const Dim3 set = asked.launch.cluster; set.x != 0) {
    *blocks = static_cast<int>(set.x * set.y * set.z);
    return CUDA_SUCCESS;
  }
  TRY_ASSIGN(const std::uint32_t largest, function->kernel().largest_cluster(asked.launch));
  *blocks = static_cast<int>(largest);
  return CUDA_SUCCESS;
}

Status cuOccupancyMaxActiveBlocksPerMultiprocessor(Here context, int* blocks, In<Function> function,
                                                   int block_threads, std::size_t shared_bytes) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(context, blocks, function, block_threads,
                                                              shared_bytes, 0);
}

Status cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(Here, int* blocks, In<Function> function,
                                                            int block_threads, std::size_t shared_bytes,
                                                            unsigned flags) {
  if (block_threads <= 0 || (flags & ~OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *blocks =
      static_cast<int>(function->kernel().blocks_per_sm(static_cast<unsigned>(block_threads), shared_bytes));
  return CUDA_SUCCESS;
}

Status cuOccupancyMaxPotentialBlockSize(Here context, int* grid, int* block, In<Function> function,
                                        CUoccupancyB2DSize shared_of, std::size_t shared_bytes, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(context, grid, block, function, shared_of, shared_bytes,
                                                   limit, 0);
}

// The block size, a multiple of a warp, that puts most threads on an SM; the larger of equals.
Status cuOccupancyMaxPotentialBlockSizeWithFlags(Here context, int* grid, int* block, In<Function> function,
                                                 CUoccupancyB2DSize shared_of, std::size_t shared_bytes,
                                                 int limit, unsigned flags) {
  if (limit < 0 || (flags & ~OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0) return CUDA_ERROR_INVALID_VALUE;
  const unsigned most = largest_block(function->kernel().info(), context->gpu);
  const unsigned largest = limit == 0 ? most : std::min(most, static_cast<unsigned>(limit));
  unsigned best_threads = 0, best_blocks = 0;
  for (unsigned threads = largest; threads != 0;) {
    const std::size_t shared = shared_of != nullptr ? shared_of(static_cast<int>(threads)) : shared_bytes;
    // Only what a launch might have as the function is set: so on an H200.
    const bool may_have = shared <= static_cast<std::uint64_t>(dynamic_shared_limit(*function));
    const unsigned blocks = may_have ? function->kernel().blocks_per_sm(threads, shared) : 0;
    if (blocks * threads > best_blocks * best_threads) best_threads = threads, best_blocks = blocks;
    threads = (threads - 1) / kWarpSize * kWarpSize;
  }
  *block = static_cast<int>(best_threads);
  *grid = static_cast<int>(best_blocks * context->gpu.shape.sm_count());
  return best_threads != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Status cuOccupancyAvailableDynamicSMemPerBlock(Here context, std::size_t* shared_bytes, In<Function> function,
                                               int blocks, int block_threads) {
  if (blocks <= 0 || block_threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (function->kernel().blocks_per_sm(static_cast<unsigned>(block_threads)) < static_cast<unsigned>(blocks))
    return CUDA_ERROR_INVALID_VALUE;
  const SmLimits& sm = context->gpu.shape.sm;
  const std::uint64_t used = function->kernel().info().static_shared_bytes;
  const std::uint64_t share = sm.shared_bytes / static_cast<unsigned>(blocks) / kSharedUnit * kSharedUnit;
  *shared_bytes = std::min({share - kReservedShared - used, sm.shared_per_block - used,
                            static_cast<std::uint64_t>(dynamic_shared_limit(*function))});
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
