// The options of the work distributor beside its policy: how full it makes SMs, how much it launches at a
// time, and what it prefers among equals. Source: requirements W-2, W-5, W-7, W-23, A-4.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace raddle {

/// Which domains get clusters if more domains answer alike than clusters are left (W-7). Among domains that
/// are equal in this too, the first by priority.
enum class TieBreak : std::uint8_t {
  load,      ///< those with the fewest blocks resident
  waiting,   ///< those in which the fewest clusters wait for their blocks to be started
  priority,  ///< the first by priority: by number, or in the order of `sm_order`
};

struct DistributorOptions {
  /// Most blocks of all grids on any SM, to keep headroom (W-23); 0: what the SM holds.
  std::uint32_t cap_per_sm = 0;
  /// The same by name of the policy: applies only to that policy.
  std::map<std::string, std::uint32_t> policy_cap_per_sm = {};
  /// Most blocks of one grid on any SM, for grids that name no cap (LaunchConfig::cap_per_sm); 0: none.
  std::uint32_t grid_cap_per_sm = 0;
  /// Blocks of later grids of the same or lower priority that may be launched past a grid that waits for
  /// room.
  std::uint64_t patience = 1024;
  /// Grids that run at once. Others wait for their turn; one of higher priority makes one of lower
  /// priority wait, once the blocks that it has started have ended. 0: no limit.
  std::uint32_t task_slots = 128;
  /// Blocks that a grid with a place launches before one of the same priority that waits for a place may have
  /// it. 0: as many as it has.
  std::uint64_t turn = 1024;
  /// A grid of higher priority that waits for a place stops blocks in the middle, at a loop or where they
  /// wait, instead of waiting for their end; they go on when their grid has a place again. Blocks of
  /// clusters, except for cooperative launches, run to their end.
  bool preemptive = false;
  /// Grids that launch blocks in a GPC at the same time: another one does when one of them has nothing
  /// left to launch or can only wait. 0: no limit.
  std::uint32_t active_pool = 0;
  /// Grids that wait for a place among those, by GPC; more than are active. Others are not looked at. 0: no
  /// limit.
  std::uint32_t pending_pool = 0;
  /// Most blocks launched by one session; a larger cluster goes alone. 0: no limit.
  std::uint64_t credits = 0;
  /// All SMs; of those with equally many free slots the first is chosen (W-5). Empty: by number.
  std::vector<std::uint32_t> sm_order = {};
  TieBreak ties = TieBreak::load;
  /// Kinds of work that GPCs are set aside for (LaunchConfig::work_kind counts them from 0): each that has
  /// work has at least one, the others follow the blocks that wait and run. 0, 1: all GPCs are everyone's.
  std::uint32_t work_kinds = 0;
  /// Blocks launched until such shares are decided anew.
  std::uint64_t share_every = 1024;

  bool operator==(const DistributorOptions&) const = default;
};

}  // namespace raddle
