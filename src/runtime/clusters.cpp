// The clusters of a launch: from what it asks for and what its kernel was compiled for to the distributor's
// kind of grid, and every reason to refuse it before anything starts. Source: PTX ISA, "Cluster Dimension
// Directives"; CUDA C++ Programming Guide, "Thread Block Clusters".
#include <algorithm>
#include <limits>
#include <string>

#include "runtime/device_impl.h"

namespace raddle {

using machine::GridKind;

namespace {

using Extent = std::uint32_t[3];

std::string text_of(const Extent& e) { return fmt::format("{} x {} x {}", e[0], e[1], e[2]); }

template <class... Args>
Error refusal(const KernelInfo& info, fmt::format_string<Args...> text, Args&&... args) {
  return Error::make(ErrorCode::invalid_cluster, "{}: {}", info.name,
                     fmt::format(text, std::forward<Args>(args)...));
}

/// Blocks along one axis of an outermost cluster.
std::uint64_t blocks_along(const GridKind& kind, unsigned axis) {
  std::uint64_t blocks = 1;
  for (unsigned i = 0; i < kind.depth; ++i) blocks *= kind.levels[i].extent[axis];
  return blocks;
}

/// The levels that a launch lists: whether they can be levels of one nest, on this machine.
Result<void> check_levels(const KernelInfo& info, const LaunchConfig& config,
                          const machine::MachineShape& shape) {
  if (config.cluster.x != 0)
    return refusal(info, "a launch has either a cluster or a list of cluster levels, not both");
  const ClusterLevel* outer = nullptr;
  for (const ClusterLevel& level : config.clusters) {
    const auto name = machine::level_name(level.domain);
    if (level.domain > Level::sm || shape.domains(level.domain).empty())
      return refusal(info, "the machine '{}' has no level '{}'", shape.name, name);
    if (outer != nullptr && outer->domain >= level.domain)
      return refusal(info, "clusters of level '{}' cannot lie in clusters of level '{}'", name,
                     machine::level_name(outer->domain));
    if (std::ranges::count(level.extent, 0u) != 0)
      return refusal(info, "the clusters of level '{}' are empty: {}", name, text_of(level.extent));
    outer = &level;
  }
  return {};
}

/// What the kernel's directives say of its cluster.
Result<void> check_directives(const KernelInfo& info, const Extent& cluster, bool is_given) {
  const Dim3 required = info.required_cluster;
  if (required.x != 0) {
    const Extent wanted{required.x, std::max(required.y, 1u), std::max(required.z, 1u)};
    if (!std::ranges::equal(wanted, cluster))
      return refusal(info, "the kernel was compiled for clusters of {} (.reqnctapercluster), not {}",
                     text_of(wanted), text_of(cluster));
  } else if (info.needs_cluster && !is_given) {
    return refusal(info, "the kernel has to be launched with the size of a cluster (.explicitcluster)");
  }
  const std::uint64_t blocks = std::uint64_t{cluster[0]} * cluster[1] * cluster[2];
  if (info.largest_cluster != 0 && blocks > info.largest_cluster)
    return refusal(info, "a cluster of {} blocks exceeds the kernel's .maxclusterrank {}", blocks,
                   info.largest_cluster);
  return {};
}

Result<void> check_size(const KernelInfo& info, std::uint64_t blocks, bool allow_non_portable) {
  if (blocks > kLargestClusterSize)
    return refusal(info, "a cluster of {} blocks exceeds the {} that can share memory", blocks,
                   kLargestClusterSize);
  if (blocks > kPortableClusterSize && !allow_non_portable)
    return refusal(info, "a cluster of {} blocks exceeds the portable {}; larger ones have to be allowed",
                   blocks, kPortableClusterSize);
  return {};
}

Result<void> check_division(const KernelInfo& info, const LaunchConfig& config, const GridKind& kind) {
  const GridPart part = config.part.value_or(GridPart{});
  const Extent grid{config.grid.x, config.grid.y, config.grid.z},
      first{part.first.x, part.first.y, part.first.z}, extent{part.extent.x, part.extent.y, part.extent.z};
  for (unsigned axis = 0; axis < 3; ++axis) {
    const std::uint64_t blocks = blocks_along(kind, axis);
    if (grid[axis] % blocks != 0)
      return refusal(info, "the grid {} is not divided by its clusters: {} blocks along {}", text_of(grid),
                     blocks, "xyz"[axis]);
    if (config.part && (first[axis] % blocks != 0 || extent[axis] % blocks != 0))
      return refusal(
          info, "the part of {} blocks from block {} on is not made of whole clusters: {} blocks along {}",
          text_of(extent), text_of(first), blocks, "xyz"[axis]);
  }
  return {};
}

}  // namespace

bool Kernel::Impl::asks_for_clusters(const LaunchConfig& config) const {
  const Dim3 cluster = config.cluster;
  return (cluster.x | cluster.y | cluster.z) != 0 || !config.clusters.empty() || info.required_cluster.x != 0;
}

bool Kernel::Impl::has_clusters(const LaunchConfig& config) const {
  return info.needs_cluster || asks_for_clusters(config);
}

ClusterLevel Kernel::Impl::seen_cluster(const LaunchConfig& config) const {
  if (!asks_for_clusters(config)) return {};
  const GridKind kind = kind_of(config);
  return kind.shared_level() != nullptr ? *kind.shared_level() : ClusterLevel{};
}

GridKind Kernel::Impl::kind_of(const LaunchConfig& config) const {
  GridKind kind;
  if (!has_clusters(config)) return kind;
  kind.mode = config.distribution;
  const Dim3 cluster = config.cluster.x != 0 ? config.cluster : info.required_cluster;
  const ClusterLevel one{Level::gpc, {cluster.x, std::max(cluster.y, 1u), std::max(cluster.z, 1u)}};
  if (!config.clusters.empty()) {
    kind.depth = static_cast<unsigned>(std::min(config.clusters.size(), kind.levels.size()));
    std::copy_n(config.clusters.begin(), kind.depth, kind.levels.begin());
  } else if (one.size() > 1) {
    kind.depth = 1;
    kind.levels[0] = one;
  }
  return kind;
}

Result<void> Kernel::Impl::check_cluster(const LaunchConfig& config) const {
  const Dim3 cluster = config.cluster;
  if (cluster.x != 0 ? cluster.y == 0 || cluster.z == 0 : cluster.y != 0 || cluster.z != 0)
    return refusal(info, "the cluster {} x {} x {} is empty", cluster.x, cluster.y, cluster.z);
  if (!config.clusters.empty()) TRY(check_levels(info, config, module->device->machine().shape()));
  const ClusterLevel seen = seen_cluster(config);
  TRY(check_directives(info, seen.extent, cluster.x != 0 || !config.clusters.empty()));
  return check_size(info, seen.size(), config.allow_non_portable_cluster);
}

Result<void> Kernel::Impl::check_clusters(const LaunchConfig& config) const {
  if (!has_clusters(config)) return {};
  TRY(check_cluster(config));
  return check_division(info, config, kind_of(config));
}

LaunchConfig Kernel::Impl::in_blocks(const LaunchConfig& config) const {
  const auto times = [](std::uint32_t clusters, std::uint32_t blocks) {
    const std::uint64_t all = std::uint64_t{clusters} * std::max(blocks, 1u);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(
        all, std::numeric_limits<std::uint32_t>::max()));  // too many: check() says so
  };
  LaunchConfig result = config;
  const Dim3 cluster = info.required_cluster, block = info.required_block;
  const auto in_blocks = [&](const Dim3& extent) {
    return Dim3{times(extent.x, cluster.x), times(extent.y, cluster.y), times(extent.z, cluster.z)};
  };
  result.grid = in_blocks(config.grid);
  if (config.part) result.part = {in_blocks(config.part->first), in_blocks(config.part->extent)};
  result.block = {block.x, std::max(block.y, 1u), std::max(block.z, 1u)};
  return result;
}

}  // namespace raddle
