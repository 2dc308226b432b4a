// A grid as the work distributor sees it: what a CTA needs of an SM, how the CTAs form clusters, what is left
// to launch. Nothing here knows tasks, kernels or time, so that a distributor can also be run alone (W-22).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "machine/distributor/placement_mode.h"
#include "machine/shape/machine_shape.h"

namespace raddle::machine {

/// The resources of its SM that one CTA takes (W-2).
struct CtaNeeds {
  std::uint32_t threads = 1;
  std::uint32_t warps = 1;
  std::uint32_t barriers = 0;
  std::uint64_t registers = 0;
  std::uint64_t shared_bytes = 0;
  bool operator==(const CtaNeeds&) const = default;
};

/// The CTAs that one resource of an empty SM allows.
struct SlotLimit {
  std::string_view resource;  ///< "threads", "registers", ...
  std::uint64_t slots = 0;    ///< CTAs whose needs it can meet
};
std::array<SlotLimit, 6> slot_limits(const SmLimits& sm, const CtaNeeds& needs);

/// CTAs that an empty SM holds; 0: not even one fits.
std::uint32_t slots_per_sm(const SmLimits& sm, const CtaNeeds& needs);
/// Whether one fits: asked at each launch, so without the divisions that tell how many.
bool fits_empty_sm(const SmLimits& sm, const CtaNeeds& needs);

/// SMs of CTAs: first, first + step, ... With step 0 all of them are on one SM.
struct SmRun {
  std::uint32_t first = 0, step = 0, count = 0;
};

using raddle::ClusterLevel;
using raddle::DistributionMode;

/// Plain grid (no levels), or a grid of clusters nested to any depth, outermost first.
struct GridKind {
  std::array<ClusterLevel, kLevels> levels{};
  unsigned depth = 0;
  DistributionMode mode = DistributionMode::load_balance;

  bool operator==(const GridKind&) const = default;
  bool is_plain() const { return depth == 0; }
  /// The level whose clusters kernels see: those that share memory and a barrier, the innermost ones if they
  /// are confined to a GPC or less. Null: every CTA is a cluster of its own.
  const ClusterLevel* shared_level() const {
    return depth != 0 && levels[depth - 1].domain >= Level::gpc ? &levels[depth - 1] : nullptr;
  }
  /// CTAs of one cluster of a level; 1 for a plain grid.
  std::uint64_t ctas_per_cluster(unsigned level = 0) const {
    std::uint64_t ctas = 1;
    for (unsigned i = level; i < depth; ++i) ctas *= levels[i].size();
    return ctas;
  }
  /// Whether the innermost clusters lie inside a GPC: these take local cluster ids (W-16), and cluster slots.
  bool has_local_ids() const { return shared_level() != nullptr; }
  /// Innermost clusters in an outermost one.
  std::uint64_t innermost_clusters() const { return ctas_per_cluster() / ctas_per_cluster(depth - 1); }
};

inline constexpr std::uint32_t kNothingKept = ~0u;
inline constexpr std::uint32_t kFitsNowhere = ~0u - 1;  ///< in Grid::kept: not even in an empty domain

inline constexpr std::uint32_t kNoCluster = ~0u;

/// A CTA that has left its SM before its end, with all that it has there, and goes on there later.
struct ParkedCta {
  std::uint64_t index = 0;  ///< launch index
  std::uint32_t sm = 0;
  std::uint32_t cluster = kNoCluster;  ///< slot in the table of resident outermost clusters
  bool began = false;                  ///< it stands in its middle; else it has yet to begin
};

/// A grid in the distributor. The first part is constant once it is added; the rest is the distributor's.
struct Grid {
  std::uint64_t id = 0;  ///< for logs
  CtaNeeds needs;
  GridKind kind;
  std::uint64_t ctas = 0;             ///< a multiple of kind.ctas_per_cluster(); so far, while it is open
  int priority = 0;                   ///< lower first
  std::uint32_t cap_per_sm = 0;       ///< headroom: the grid's most CTAs on one SM (W-23); 0: what fits
  bool cluster_memory = false;        ///< each outermost cluster takes a slot of cluster-wide memory (W-24)
  std::uint64_t space = 0;            ///< address space, by a number of its own
  std::uint32_t context = 0;          ///< device context, below 64
  std::uint32_t work_kind = 0;        ///< DistributorOptions::work_kinds
  std::optional<PlacementMode> mode;  ///< over how many SMs; none: as the machine's policy has it

  bool at_head = false;    ///< is listed, the first time, before those of its priority that wait
  bool open = false;       ///< more CTAs may come (Distributor::grow), until it is closed
  std::uint64_t next = 0;  ///< launch index of the first CTA not launched; clusters one after the other
  std::uint64_t outstanding = 0;    ///< CTAs launched and not complete
  std::uint64_t most_resident = 0;  ///< so many of these at once, at most, have been on SMs
  std::uint64_t suspended = 0;      ///< of these: wait for children, and hold nothing of their SM meanwhile
  std::uint64_t returning = 0;      ///< of these: wait no more, but for room on their SM
  std::uint64_t clusters = 0;       ///< launched and not complete, flush included
  std::uint64_t sequence = 0;       ///< of its admission to a slot
  std::uint64_t overtaken =
      0;                    ///< CTAs of later grids launched since one of this was, while it waited for room
  std::uint64_t tried = 0;  ///< value of `freed` when it last found no room; 0: not tried yet
  std::uint32_t row = 0;    ///< of the task table
  std::uint32_t space_row = 0;  ///< of Spaces
  std::uint32_t spaces = 0;     ///< that were scheduled when it got its slot
  std::uint32_t kept =
      kNothingKept;               ///< domain kept for it, of the level of its outermost clusters (plain: SM)
  std::vector<ParkedCta> parked;  ///< by launch index; nothing new is launched before they are back
  bool preempted = false;         ///< it leaves in the middle of its CTAs (A-4)
  bool withdrawn = false;
  std::uint64_t load = 0;        ///< that it is counted as, of its kind of work
  std::uint64_t share_seen = 0;  ///< Shares::version() for which it is known
  bool leaves_share = false;     ///< that no cluster of it fits the GPCs of its kind: it may go to all
  /// Where it stands in TaskSlots.
  enum class Turn : std::uint8_t {
    listed,  ///< waits for a slot
    runs,
    leaves,  ///< launches nothing more, until it has another slot
    aside,   ///< wants none: its context is held, or not even an empty machine could take a cluster of it
    rests,   ///< wants none: it is open and has launched all that it has, or its CTAs wait for children
  };
  Turn turn = Turn::listed;
  std::uint64_t turn_began = 0;      ///< `next` when it got its slot
  bool has_extra_slot = false;       ///< which nobody else gets: it is one beyond their number
  Grid* behind = nullptr;            ///< the next one in its list
  bool fits = false;                 ///< known to fit the empty machine
  std::vector<std::uint8_t> usable;  ///< where GPCs have pools, by GPC: whether it could launch there
  std::int64_t rank = 0;             ///< among those of its priority, the lowest first; of its begin to wait

  /// CTAs have come to SMs.
  void came(std::uint64_t count) {
    outstanding += count;
    most_resident = std::max(most_resident, outstanding - suspended);
  }
  /// Something of it is; a cluster of which CTAs are parked is not.
  bool is_resident() const {
    return outstanding != suspended || (outstanding == 0 && clusters != 0 && parked.empty());
  }
  bool has_slot() const { return turn == Turn::runs || turn == Turn::leaves; }
  bool none_left() const { return withdrawn || (next == ctas && parked.empty()); }  ///< to launch, now
  bool all_launched() const { return none_left() && (withdrawn || !open); }
  bool finished() const { return all_launched() && outstanding == 0 && clusters == 0 && parked.empty(); }
  /// Nothing of it can run before something else has: it needs no slot.
  bool only_waits() const { return !is_resident() && returning == 0 && (none_left() || suspended != 0); }
  /// Ids, windows and memory of a cluster cannot leave their GPC, and whoever needed them would wait for it.
  bool can_be_preempted() const { return !kind.has_local_ids() && !cluster_memory; }
};

}  // namespace raddle::machine
