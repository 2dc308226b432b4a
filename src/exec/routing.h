// How an access finds the shared memory of another CTA of its cluster (W-17): three tables in each SM, filled
// when a launch is broadcast. A warp's slot leads to a cluster slot; this to the cluster's local id and each
// rank's SM; that SM's table of contents, from id and rank, to the memory. The machine's launch controllers
// fill the tables; the interpreter, the tensor memory units and copies that land late walk them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "exec/abi.h"

namespace raddle::exec {

/// What the tables of an SM have room for.
struct RoutingSpec {
  std::uint32_t warp_slots = 64, cluster_slots = 32, cta_slots = 32;
};

/// An SM: the number of its TPC, and its own in the TPC.
struct SmPlace {
  std::uint16_t tpc = 0, sm = 0;
};

/// What a cluster slot says.
struct ClusterPlaces {
  std::uint32_t local_id = 0, ctas = 0;
  std::array<SmPlace, kMaxClusterSize> sm{};  ///< by rank
};

/// Where a CTA's shared memory is.
struct MemoryPlace {
  std::uint32_t base = 0;  ///< in the cluster's window
  std::uint32_t size = 0;  ///< bytes
};

/// What the SM of a CTA knows of its memory.
enum class MemoryState : std::uint8_t {
  absent,    ///< no such CTA here: it has exited
  there,     ///< may be accessed
  released,  ///< all its warps have exited, but it waits for its own accesses to land: the memory is given back
};

/// The tables of one SM. Launches and completions change them under the launch lock: what is a CTA's is there
/// before it starts and stays while it runs. Only the state of its memory is looked at by others meanwhile,
/// so that is an atomic word, together with what it is found by.
class RoutingTables {
 public:
  static constexpr std::uint16_t kNoCluster = 0xffff;

  explicit RoutingTables(RoutingSpec spec = {});

  /// The SM gets CTAs of a cluster. @returns the cluster slot taken
  std::uint16_t add_cluster(const ClusterPlaces& places);
  /// One of these CTAs. It takes warp slots. @returns its entry in the table of memories
  std::uint16_t add_cta(std::uint16_t cluster_slot, std::uint32_t rank, std::uint32_t warps,
                        MemoryPlace memory);
  /// The CTA is complete: its warp slots and its entry are free, its flush is pending (W-20).
  void complete_cta(std::uint16_t entry);
  /// It is flushed; with the last one of the cluster here the cluster slot is free.
  void flush_done(std::uint16_t cluster_slot, std::uint32_t rank);

  /// The CTA's own change, at any time. @param state  never `there` again
  void set_state(std::uint16_t entry, MemoryState state);
  /// Its memory lies elsewhere from now on. Nobody may be accessing it.
  void move(std::uint16_t entry, std::uint32_t base) { memories_[entry].place.base = base; }

  std::uint16_t cluster_slot_of(std::uint16_t warp_slot) const { return cluster_of_warp_[warp_slot]; }
  const ClusterPlaces& cluster(std::uint16_t slot) const { return clusters_[slot].places; }
  /// @param place  receives where the memory is, unless it is absent
  MemoryState memory(std::uint32_t local_id, std::uint32_t rank, MemoryPlace& place) const {
    for (const Memory& entry : memories_) {
      const std::uint32_t word = entry.word.load(std::memory_order_acquire);
      if (word >> kStateBits != key_of(local_id, rank) || (word & kStateMask) == 0) continue;
      place = entry.place;
      return static_cast<MemoryState>(word & kStateMask);
    }
    return MemoryState::absent;
  }

  /// By warp of the CTA.
  const std::uint16_t* warp_slots(std::uint16_t entry) const { return memories_[entry].warp_slots.data(); }
  bool is_empty() const {
    return free_warps_.size() == cluster_of_warp_.size() && free_clusters_.size() == clusters_.size() &&
           free_memories_.size() == memories_.size();
  }

 private:
  static constexpr unsigned kStateBits = 2, kRankBits = 4;
  static constexpr std::uint32_t kStateMask = (1u << kStateBits) - 1;
  static constexpr std::uint32_t key_of(std::uint32_t local_id, std::uint32_t rank) {
    return local_id << kRankBits | rank;
  }

  struct ClusterSlot {
    ClusterPlaces places;
    std::uint32_t here = 0;           ///< ranks on this SM that are not flushed
    std::uint32_t flush_pending = 0;  ///< of these: complete
  };
  struct Memory {
    std::atomic<std::uint32_t> word{0};  ///< key and state; 0: absent
    MemoryPlace place;
    std::uint16_t cluster_slot = kNoCluster;
    std::uint8_t rank = 0;
    std::uint8_t warps = 0;
    std::array<std::uint16_t, kMaxWarps> warp_slots{};
  };

  std::vector<std::uint16_t> cluster_of_warp_;
  std::vector<ClusterSlot> clusters_;
  std::vector<Memory> memories_;
  std::vector<std::uint16_t> free_warps_, free_clusters_, free_memories_;  // lowest last
};

/// The mistake in an access to another CTA's shared memory (W-19). The accessing CTA's SM finds the first
/// two, that of the accessed one the others.
enum class ClusterProblem : std::uint8_t {
  none,
  no_such_rank,
  above_largest,
  beyond_allocation,
  released,
  exited,
};

/// Where an access goes.
struct Route {
  ClusterProblem problem = ClusterProblem::none;
  std::byte* memory = nullptr;  ///< host address of its first byte, if there is no problem
};

/// The SMs' tables as accesses pass through them.
class ClusterNetwork {
 public:
  ClusterNetwork() = default;
  /// @param first_of_tpc  by TPC: the number of its first SM
  ClusterNetwork(std::vector<RoutingTables*> sms, std::vector<std::uint32_t> first_of_tpc)
      : sms_(std::move(sms)), first_of_tpc_(std::move(first_of_tpc)) {}

  RoutingTables& of(std::uint32_t sm) const { return *sms_[sm]; }

  /// An access of `bytes` bytes by a warp to a shared address of its cluster, through all three tables.
  Route route(const CtaContext& cta, std::uint32_t warp, std::uint32_t address, std::uint32_t bytes) const;

 private:
  RoutingTables& of(SmPlace place) const { return *sms_[first_of_tpc_[place.tpc] + place.sm]; }

  std::vector<RoutingTables*> sms_;
  std::vector<std::uint32_t> first_of_tpc_;
};

/// Where an access leads to. The CTA's own memory is not judged; a CTA without cluster has no other.
Route route(const CtaContext& cta, std::uint32_t warp, std::uint32_t address, std::uint32_t bytes);

}  // namespace raddle::exec
