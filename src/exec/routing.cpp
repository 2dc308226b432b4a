#include "exec/routing.h"

#include <numeric>

#include "base/assert.h"
#include "exec/cluster.h"

namespace raddle::exec {
namespace {
std::vector<std::uint16_t> all_free(std::uint32_t count) {
  std::vector<std::uint16_t> numbers(count);
  std::iota(numbers.rbegin(), numbers.rend(), std::uint16_t{0});
  return numbers;
}

std::uint16_t take(std::vector<std::uint16_t>& free) {
  RADDLE_ASSERT(!free.empty(), "an SM got more of a cluster than it has slots");
  const std::uint16_t number = free.back();
  free.pop_back();
  return number;
}
}  // namespace

RoutingTables::RoutingTables(RoutingSpec spec)
    : cluster_of_warp_(spec.warp_slots, kNoCluster),
      clusters_(spec.cluster_slots),
      memories_(spec.cta_slots),
      free_warps_(all_free(spec.warp_slots)),
      free_clusters_(all_free(spec.cluster_slots)),
      free_memories_(all_free(spec.cta_slots)) {}

std::uint16_t RoutingTables::add_cluster(const ClusterPlaces& places) {
  const std::uint16_t slot = take(free_clusters_);
  clusters_[slot] = {.places = places};
  return slot;
}

std::uint16_t RoutingTables::add_cta(std::uint16_t cluster_slot, std::uint32_t rank, std::uint32_t warps,
                                     MemoryPlace memory) {
  const std::uint16_t number = take(free_memories_);
  Memory& entry = memories_[number];
  entry.place = memory;
  entry.cluster_slot = cluster_slot;
  entry.rank = static_cast<std::uint8_t>(rank);
  entry.warps = static_cast<std::uint8_t>(warps);
  for (std::uint32_t warp = 0; warp < warps; ++warp) {
    entry.warp_slots[warp] = take(free_warps_);
    cluster_of_warp_[entry.warp_slots[warp]] = cluster_slot;
  }
  clusters_[cluster_slot].here |= 1u << rank;
  const std::uint32_t key = key_of(clusters_[cluster_slot].places.local_id, rank);
  entry.word.store(key << kStateBits | static_cast<std::uint32_t>(MemoryState::there),
                   std::memory_order_release);
  return number;
}

void RoutingTables::complete_cta(std::uint16_t number) {
  Memory& entry = memories_[number];
  entry.word.store(0, std::memory_order_release);
  for (std::uint32_t warp = entry.warps; warp-- != 0;) {
    cluster_of_warp_[entry.warp_slots[warp]] = kNoCluster;
    free_warps_.push_back(entry.warp_slots[warp]);
  }
  clusters_[entry.cluster_slot].flush_pending |= 1u << entry.rank;
  free_memories_.push_back(number);
}

void RoutingTables::flush_done(std::uint16_t cluster_slot, std::uint32_t rank) {
  ClusterSlot& slot = clusters_[cluster_slot];
  RADDLE_ASSERT((slot.flush_pending >> rank & 1) != 0, "a CTA was flushed that is not complete");
  slot.flush_pending &= ~(1u << rank);
  slot.here &= ~(1u << rank);
  if (slot.here == 0) free_clusters_.push_back(cluster_slot);
}

void RoutingTables::set_state(std::uint16_t number, MemoryState state) {
  std::atomic<std::uint32_t>& word = memories_[number].word;
  const std::uint32_t key = word.load(std::memory_order_relaxed) & ~kStateMask;
  word.store(state == MemoryState::absent ? 0 : key | static_cast<std::uint32_t>(state),
             std::memory_order_release);
}

Route ClusterNetwork::route(const CtaContext& cta, std::uint32_t warp, std::uint32_t address,
                            std::uint32_t bytes) const {
  const RoutingTables& source = of(cta.smid);
  const ClusterPlaces& cluster = source.cluster(source.cluster_slot_of(cta.warp_slots[warp]));
  const std::uint32_t rank = rank_of(address), offset = offset_of(address), end = offset + bytes;
  if (rank >= cluster.ctas) return {ClusterProblem::no_such_rank};
  if (end > cta.launch->largest_shared) return {ClusterProblem::above_largest};
  MemoryPlace place;
  switch (of(cluster.sm[rank]).memory(cluster.local_id, rank, place)) {
    case MemoryState::absent:
      return {ClusterProblem::exited};
    case MemoryState::released:
      return {ClusterProblem::released};
    case MemoryState::there:
      break;
  }
  if (end > place.size) return {ClusterProblem::beyond_allocation};
  return {ClusterProblem::none, cta.cluster->window + place.base + offset};
}

Route route(const CtaContext& cta, std::uint32_t warp, std::uint32_t address, std::uint32_t bytes) {
  if (rank_of(address) == cta.cluster_rank) return {ClusterProblem::none, cta.shared + address};
  if (cta.cluster->cta_count == 1) return {ClusterProblem::no_such_rank};
  return cta.network->route(cta, warp, address, bytes);
}

}  // namespace raddle::exec
