// What a placement policy is: a function from the machine's free slots to SM masks. The lake-filling
// distributor is one, round-robin and others stand beside it for comparison. A policy keeps no account of the
// machine: the Distributor (distributor.h) does, and commits what a policy places.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/distributor/decision_log.h"
#include "machine/distributor/grid.h"
#include "machine/distributor/options.h"
#include "machine/distributor/spaces.h"

namespace raddle::machine {

/// What a policy may look at: a snapshot of the live model (W-9), for one grid.
struct Snapshot {
  const MachineShape& shape;
  const GridKind& kind;
  std::span<const std::uint32_t> free;  ///< by SM: CTAs of this grid that still fit; caps and credits applied
  std::span<const std::uint32_t> load;  ///< by SM: CTAs resident, of all grids
  /// By GPC: local cluster ids that it has left (W-12, W-16). Every innermost cluster whose domain is a GPC
  /// or lies in one takes one. Empty: no limit.
  std::span<const std::uint32_t> clusters;
  std::span<const std::uint32_t> order;  ///< SMs in priority order; empty: by number (W-5)
  std::uint64_t left = 0;                ///< outermost clusters, or CTAs of a plain grid, to launch at most
  std::uint64_t grid = 0;                ///< Grid::id, for policies that treat grids differently
  std::uint64_t launched = 0;            ///< outermost clusters, or CTAs, of the grid before these
  TieBreak ties = TieBreak::load;        ///< for policies with domains that tie (W-7)
  /// By SM: outermost clusters of all grids whose first CTA is there and whose CTAs have not all started.
  /// Empty: none.
  std::span<const std::uint32_t> waiting = {};
  /// Over how many SMs; none: as the policy has it. PlacementChoice follows it.
  std::optional<PlacementMode> mode = {};
  std::uint32_t spaces = 1;                  ///< address spaces whose grids are being scheduled
  std::uint64_t space = 0;                   ///< of the grid
  std::span<const std::uint32_t> own = {};   ///< by SM: CTAs resident of its space. Empty: none
  std::span<const std::uint64_t> last = {};  ///< by SM: the space whose CTA it got last. Empty: unknown
};

/// CTAs that start together: an SM appears at most once in a mask (W-11).
struct SmMask {
  std::uint32_t first = 0, count = 0;  ///< its SMs in Placement::sms, in the order of launch indices
  std::uint64_t cluster = 0;  ///< number of the outermost cluster within this placement, the sequence number
  bool end = false;           ///< last of that cluster; masks of plain grids all have it
};

/// What a policy decided. Kept and reused by the caller, so that a decision allocates nothing once it is
/// warm.
struct Placement {
  std::vector<std::uint32_t> sms;
  std::vector<SmMask> masks;   ///< in launch order: launch indices go on from mask to mask
  std::uint64_t launched = 0;  ///< outermost clusters, or CTAs of a plain grid
  std::uint64_t steps = 0;     ///< selection steps: levels scanned, heights tried, domains queried (W-22)
  bool failed = false;         ///< a cluster did not fit although there were some left
  void clear();
};

/// Has no state that matters: the same snapshot gives the same placement, whatever it was asked in between.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  /// Whether single free slots of an otherwise full machine are always taken by SM number
  /// (Distributor::succeed).
  virtual bool refills_by_number() const { return false; }
  /// Whether the placement of a plain grid without a mode follows from `free`, `order` and `left` alone.
  virtual bool goes_by_free_slots() const { return false; }
  /// Places as many clusters (or CTAs) as it wants to launch now, all of which fit `snapshot` together. A
  /// cluster is placed whole or not at all (W-4).
  /// @param placement  is replaced
  /// @param log  null: nobody looks. Gets one decision per mask of a plain grid and one per round of domain
  ///             choice at every level of nesting, its `sms` in those of the innermost; a `fail` ends them
  ///             where a cluster did not fit. `first` and `cluster` count from this placement's start; time,
  ///             sequence and grid are the caller's to fill in.
  virtual void place(const Snapshot& snapshot, Placement& placement, DecisionLog* log) = 0;
};

/// @param name  one of policy_names()
/// @errors not_found: names the policies
Result<std::unique_ptr<Policy>> make_policy(std::string_view name);
std::vector<std::string> policy_names();  ///< "lake" first: the default

}  // namespace raddle::machine
