// Over how many SMs a grid's blocks are placed, and which SMs an address space may use.
#pragma once

#include <cstdint>
#include <vector>

namespace raddle {

/// Chosen for a context (DeviceOptions::placement) or a launch (LaunchConfig::placement). Results are the
/// same; which tasks share an SM, and with it its TLB and caches, is not.
enum class PlacementMode : std::uint8_t {
  wide,       ///< over all SMs that have room, for one large grid
  deep,       ///< on as few SMs as the blocks of its address space fit on
  automatic,  ///< deep while tasks of several address spaces are scheduled, wide while they are of one
  automatic_per_task,  ///< as `automatic` has it when the task begins, until it ends
};

/// The SMs of one address space: a part of the machine, or a share of it.
struct SmLimit {
  std::vector<std::uint32_t> sms = {};  ///< that may have its blocks, by number; empty: all
  std::uint32_t most = 0;               ///< that have its blocks at one time; 0: no limit

  bool is_none() const { return sms.empty() && most == 0; }
  bool operator==(const SmLimit&) const = default;
};

}  // namespace raddle
