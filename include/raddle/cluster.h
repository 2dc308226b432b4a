// How the blocks of a grid form clusters: nested to any depth, each confined to a domain of the machine.
// CUDA's cluster attribute is one level. Source: requirements W-3, W-5, W-6.
#pragma once

#include <cstdint>

namespace raddle {

/// The levels of a machine, outermost first. `set` is a set of GPUs that work as one machine.
enum class Level : std::uint8_t { set, gpu, ugpu, gpc, cpc, tpc, sm };

/// One level of nesting: clusters confined to one domain of a level of the machine's shape.
struct ClusterLevel {
  Level domain = Level::gpc;
  std::uint32_t extent[3] = {1, 1, 1};  ///< in clusters of the next level; of the last level, in blocks
  std::uint64_t size() const { return std::uint64_t{extent[0]} * extent[1] * extent[2]; }
  bool operator==(const ClusterLevel&) const = default;
};

/// How the blocks of a cluster spread over its domain.
enum class DistributionMode : std::uint8_t {
  load_balance,  ///< each to the SM with most free slots (W-5)
  multicast,     ///< at most one per SM (W-6)
};

/// Most blocks of a cluster that share memory: on every device of CUDA, and with the permission for more.
inline constexpr std::uint32_t kPortableClusterSize = 8, kLargestClusterSize = 16;

}  // namespace raddle
