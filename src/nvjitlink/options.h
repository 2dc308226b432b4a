// The options of a link: -arch=sm_90, -lto, ...
#pragma once

#include <cstdint>

#include "nvjitlink/abi.h"

namespace raddle::nvjitlink {

struct Options {
  std::uint32_t capability = 0;     ///< 90 for sm_90
  std::uint32_t max_registers = 0;  ///< -maxrregcount; 0: no limit
  bool wants_ptx = false;           ///< -lto -ptx: the linked PTX instead of a cubin
};

/// NVIDIA's linker answers the same: UNRECOGNIZED_OPTION, MISSING_ARCH, UNRECOGNIZED_ARCH, UNSUPPORTED_ARCH,
/// INCOMPATIBLE_OPTIONS.
nvJitLinkResult read_options(std::uint32_t count, const char* const* words, Options& options);

}  // namespace raddle::nvjitlink
