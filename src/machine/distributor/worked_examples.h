// The states that the three worked examples of the lake begin with, as data: for their tests, and for those
// that draw them (distribute/example.h).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "machine/distributor/grid.h"
#include "machine/shape/even_shape.h"
#include "machine/shape/machine_shape.h"

namespace raddle::machine::worked {

/// A machine, its free slots for the grid, its residents.
struct State {
  MachineShape shape;
  GridKind kind;
  std::vector<std::uint32_t> free, load;  // by SM
};

/// All other slots are taken.
/// @param slots  of an idle SM
inline State state_of(MachineShape shape, std::uint32_t slots, const GridKind& kind,
                      std::vector<std::uint32_t> free) {
  shape.sm.cta_slots = slots;
  std::vector<std::uint32_t> load;
  for (const std::uint32_t left : free) load.push_back(slots - left);
  return {std::move(shape), kind, std::move(free), std::move(load)};
}

/// 32 SMs: 3, 4, 6, 8, 18, 31 are full, 10, 11, 12, 17 partly used, the others idle.
inline State thirty_two_sms(std::uint32_t slots, const std::array<std::uint32_t, 4>& partly) {
  std::vector<std::uint32_t> free(32, slots);
  for (const std::uint32_t sm : {3, 4, 6, 8, 18, 31}) free[sm] = 0;
  free[10] = partly[0], free[11] = partly[1], free[12] = partly[2], free[17] = partly[3];
  return state_of(machine_of(4, 1, 4, 2), slots, {}, std::move(free));
}
/// 192 free slots for a grid of 137 CTAs ...
inline State room_for_137() { return thirty_two_sms(8, {5, 3, 6, 2}); }
/// ... and 117, which are too few.
inline State too_full_for_137() { return thirty_two_sms(5, {2, 1, 3, 1}); }

/// Four GPCs of eight SMs, two of them to a CPC, four slots each; GPC clusters of two CPC clusters of three
/// CTAs. GPC 0 has 7 slots free, but no two CPCs with three; GPC 1 has just enough; GPC 2 and GPC 3 have
/// more, and GPC 2 holds less.
inline State four_gpcs() {
  GridKind kind;
  kind.levels[0] = {Level::gpc, {2, 1, 1}};
  kind.levels[1] = {Level::cpc, {3, 1, 1}};
  kind.depth = 2;
  return state_of(machine_of(4, 4, 1, 2), 4, kind, {4, 1, 2, 0, 0, 0, 0, 0,    // GPC 0
                                                    0, 0, 0, 0, 2, 1, 1, 2,    // GPC 1
                                                    4, 4, 4, 4, 4, 4, 2, 2,    // GPC 2
                                                    4, 4, 4, 4, 1, 1, 0, 0});  // GPC 3
}

}  // namespace raddle::machine::worked
