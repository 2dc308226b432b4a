// Reads what the rasteriser worked out when the block started.
#include "machine/services/cluster_info.h"

#include "machine/machine.h"
#include "raddle/device.h"

namespace raddle::machine {
namespace {
constexpr std::uint32_t kNone = ~0u;

/// Where the block's grid, if that is a part, begins: in clusters of a level.
std::uint32_t first_cluster(const Block& block, const GridKind& kind, std::uint32_t level, unsigned axis) {
  std::uint32_t blocks = 1;
  for (std::uint32_t i = level; i < kind.depth; ++i) blocks *= kind.levels[i].extent[axis];
  return block.task->grid().first[axis] / blocks;
}

std::uint32_t of_level(const Block& block, const GridKind& kind, std::uint32_t level, ClusterValue value) {
  if (level >= kind.depth) return kNone;
  const CtaPosition::Cluster& cluster = block.position->clusters[level];
  const std::uint32_t* extent = kind.levels[level].extent;
  switch (value) {
    case ClusterValue::domain:
      return static_cast<std::uint32_t>(kind.levels[level].domain);
    case ClusterValue::id_x:
    case ClusterValue::id_y:
    case ClusterValue::id_z: {
      const unsigned axis = static_cast<unsigned>(value) - static_cast<unsigned>(ClusterValue::id_x);
      return first_cluster(block, kind, level, axis) + cluster.id[axis];
    }
    case ClusterValue::extent_x:
    case ClusterValue::extent_y:
    case ClusterValue::extent_z:
      return extent[static_cast<unsigned>(value) - static_cast<unsigned>(ClusterValue::extent_x)];
    case ClusterValue::rank:
      return cluster.rank;
    case ClusterValue::size:
      return static_cast<std::uint32_t>(kind.ctas_per_cluster(level));
    default:
      return kNone;
  }
}
}  // namespace

std::uint32_t cluster_info(const Block& block, std::uint32_t level, std::uint32_t value) {
  const GridKind& kind = block.task->distribution.kind;
  switch (static_cast<ClusterValue>(value)) {
    case ClusterValue::depth:
      return kind.depth;
    case ClusterValue::sm:
      return block.cta.smid;
    case ClusterValue::gpc:
      return block.worker->machine().launches().sm(block.cta.smid).gpc;
    case ClusterValue::local_id:
      return block.cluster != nullptr ? block.cta.cluster->local_id : kNone;
    default:
      return of_level(block, kind, level, static_cast<ClusterValue>(value));
  }
}

}  // namespace raddle::machine
