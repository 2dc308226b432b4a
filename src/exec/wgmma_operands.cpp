#include "exec/wgmma_operands.h"

namespace raddle::exec {

void WgmmaOperands::clear() {
  if (!is_used_) return;
  for (Warpgroup& group : groups_) group.latest = {}, group.known = {};
  is_used_ = false;
}

void WgmmaOperands::provide(Warpgroup& group, std::uint32_t bytes) {
  if (bytes <= group.bytes) return;
  group.memory = std::make_unique_for_overwrite<Line[]>(std::size_t{bytes} / sizeof(Line) * kKept);
  group.bytes = bytes;
  group.known = {};
}

/// Warps that execute other wgmmas than their neighbours, which no program may, find each other's only if all
/// of a wgmma is the same; a meeting makes them count alike again.
std::uint64_t WgmmaOperands::next(const WarpContext& warp, std::uint64_t descriptor, std::uint64_t code,
                                  std::uint32_t bytes) {
  const std::uint32_t number = warp.warp_id / kWarpgroupWarps;
  Warpgroup& group = groups_[number];
  provide(group, bytes);
  is_used_ = true;
  const std::uint32_t meetings = warp.cta->barriers[kMaxBarriers + number].generation;
  Wgmma& latest = group.latest[warp.warp_id % kWarpgroupWarps];
  latest = {meetings, latest.meetings == meetings ? latest.number + 1 : 0, 0, 0};
  const Wgmma wanted{meetings, latest.number, descriptor, code};
  const std::uint32_t place = latest.number % kKept;
  const bool is_known = group.known[place] == wanted;
  group.known[place] = wanted;
  const Line* lines = group.memory.get() + std::size_t{place} * (group.bytes / sizeof(Line));
  return reinterpret_cast<std::uint64_t>(lines) | (is_known ? 1 : 0);
}

}  // namespace raddle::exec
