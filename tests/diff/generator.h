// Random programs: straight-line, divergent, and with memory and barriers; all with up to three device
// functions. Start at Profile.
#pragma once

#include "diff/program.h"

namespace raddle::diff {

/// What a program may contain.
enum class Profile : std::uint8_t {
  straight,   ///< 30 to 60 instructions and calls, no branches
  divergent,  ///< nested if/else, loops, selections, early exits of lanes and of warps; warp operations where
              ///< the warp is together
  memory,     ///< as divergent, with private memory in all spaces, atomics, barriers, exchange through shared
              ///< memory and sums of floats in it
};

/// The same program for the same seed and profile, always.
Program generate(Profile profile, std::uint64_t seed);

}  // namespace raddle::diff
