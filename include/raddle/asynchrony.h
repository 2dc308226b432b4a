// When asynchronous copies of kernels land. Source: requirement T-16.
#pragma once

#include <cstdint>

namespace raddle {

/// Copies that land late show that a wait, a fence or an expected count was forgotten: the kernel then
/// computes something else. Modes but `eager` run on one worker, in an order of the seed, so that a wrong
/// result comes again.
struct Asynchrony {
  enum class Mode : std::uint8_t {
    eager,   ///< before their instruction ends
    lazy,    ///< as late as waits allow
    random,  ///< in pieces and in an order drawn from the seed, at any time that waits allow
  };
  Mode mode = Mode::eager;
  std::uint64_t seed = 1;
};

}  // namespace raddle
