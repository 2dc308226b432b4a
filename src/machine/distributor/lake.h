// Load-balance selection, "filling the lake" (W-5): every next CTA goes to the SM with most free slots,
// chosen a level at a time. Free slots are a lake's depth; water is poured in, and where it stands when the
// CTAs are used up tells how many each SM gets. Pure functions over free slots in priority order.
#pragma once

#include <cstdint>
#include <span>

#include "machine/distributor/policy.h"

namespace raddle::machine {

/// Where the water stands once as many CTAs as asked for, or as many as fit, are poured in.
struct WaterLevel {
  std::uint32_t depth = 0;   ///< most free slots of any SM
  std::uint32_t bottom = 0;  ///< every SM with more free slots than this is left with this many ...
  std::uint64_t rest = 0;    ///< ... and the first `rest` of those that reach it, with one less
  std::uint64_t ctas = 0;    ///< poured in
  std::uint64_t steps = 0;   ///< levels scanned or heights tried

  /// Least free slots left on an SM that got a CTA: the speed of a domain (W-7). Not for zero CTAs.
  std::uint32_t least_left() const { return rest == 0 ? bottom : bottom - 1; }
};

/// Searches for the water level: downward level by level, or by halving the height of the water. Both find
/// the same; their steps differ.
WaterLevel scan_levels(std::span<const std::uint32_t> free, std::uint64_t ctas);
WaterLevel bisect_height(std::span<const std::uint32_t> free, std::uint64_t ctas);
/// The search that takes fewer steps: scans shallow lakes, and lakes whose top level is enough.
WaterLevel find_water_level(std::span<const std::uint32_t> free, std::uint64_t ctas);

/// Appends one mask per level, highest first, each in priority order: the order in which one CTA at a time
/// would choose.
/// @param free     in priority order, before any of these CTAs
/// @param offset   added to every index in `free`
void append_levels(std::span<const std::uint32_t> free, const WaterLevel& water, std::uint32_t offset,
                   Placement& placement);

/// Appends masks from launch registers, SMs with most CTAs first; for policies that decide by SM.
inline void append_registers(std::span<const std::uint32_t> registers, std::uint32_t offset,
                             Placement& placement) {
  append_levels(registers, find_water_level(registers, ~std::uint64_t{0}), offset, placement);
}

}  // namespace raddle::machine
