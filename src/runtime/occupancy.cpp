// How much of a kernel the machine holds at once, asked before a launch: by the rule that places blocks and
// clusters.
#include <algorithm>

#include "runtime/device_impl.h"

namespace raddle {

using machine::CtaNeeds;

std::uint32_t Kernel::Impl::blocks_per_sm(std::uint32_t threads, std::uint64_t shared_bytes) const {
  const machine::SmLimits& sm = module->device->machine().shape().sm;
  if (threads == 0 || threads > sm.threads_per_block || info.static_shared_bytes > sm.shared_per_block ||
      shared_bytes > sm.shared_per_block - info.static_shared_bytes)
    return 0;
  return module->device->machine().launches().most_per_sm(needs_of(threads, shared_bytes));
}

CtaNeeds Kernel::Impl::needs_of(std::uint64_t threads, std::uint64_t shared_bytes) const {
  machine::GridWork block;
  fill_occupancy(block, static_cast<std::uint32_t>(threads), shared_bytes);
  return machine::needs_of(block, module->device->machine().shape().sm);
}

std::uint32_t Kernel::blocks_per_sm(std::uint32_t threads, std::uint64_t shared_bytes) const {
  return impl_->blocks_per_sm(threads, shared_bytes);
}

Result<std::uint64_t> Kernel::active_clusters(const LaunchConfig& given) const {
  const LaunchConfig config = impl_->info.blocks_are_clusters ? impl_->in_blocks(given) : given;
  TRY(impl_->check_block(config));
  TRY(impl_->check_cluster(config));
  return impl_->module->device->machine().launches().most_active(
      impl_->kind_of(config),
      impl_->needs_of(std::uint64_t{config.block.x} * config.block.y * config.block.z, config.shared_bytes),
      impl_->module->device->space->id());
}

Result<std::uint32_t> Kernel::largest_cluster(const LaunchConfig& config) const {
  const KernelInfo& info = impl_->info;
  if (const Dim3 required = info.required_cluster; required.x != 0)
    return required.x * std::max(required.y, 1u) * std::max(required.z, 1u);
  std::uint32_t blocks = config.allow_non_portable_cluster ? kLargestClusterSize : kPortableClusterSize;
  if (info.largest_cluster != 0) blocks = std::min(blocks, info.largest_cluster);
  LaunchConfig trial = config;
  trial.clusters.clear();
  for (; blocks > 0; --blocks) {
    trial.cluster = {blocks, 1, 1};
    TRY_ASSIGN(const std::uint64_t active, active_clusters(trial));
    if (active != 0) break;
  }
  return blocks;
}

}  // namespace raddle
