// Machines of equal parts: for worked examples and tests.
#pragma once

#include <cstdint>

#include "machine/shape/machine_shape.h"

namespace raddle::machine {

/// A set of one GPU of one uGPU.
inline MachineShape machine_of(std::uint32_t gpcs, std::uint32_t cpcs_per_gpc, std::uint32_t tpcs_per_cpc,
                               std::uint32_t sms_per_tpc) {
  MachineShape shape;
  for (const Level level : {Level::set, Level::gpu, Level::ugpu}) shape.open(level);
  for (std::uint32_t gpc = 0; gpc < gpcs; ++gpc) {
    shape.open(Level::gpc);
    for (std::uint32_t cpc = 0; cpc < cpcs_per_gpc; ++cpc) {
      shape.open(Level::cpc);
      for (std::uint32_t tpc = 0; tpc < tpcs_per_cpc; ++tpc)
        shape.open(Level::tpc), shape.add_sms(sms_per_tpc), shape.close(Level::tpc);
      shape.close(Level::cpc);
    }
    shape.close(Level::gpc);
  }
  for (const Level level : {Level::ugpu, Level::gpu, Level::set}) shape.close(level);
  return shape;
}

}  // namespace raddle::machine
