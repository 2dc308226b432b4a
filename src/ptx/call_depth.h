// How deep the calls of a kernel nest, which decides the memory for their frames.
#pragma once

#include <cstdint>
#include <functional>

#include "ptx/module.h"

namespace raddle::ptx {

struct CallDepth {
  std::uint64_t bytes = 0;    ///< of the longest chain of frames, cycles left out
  bool is_recursive = false;  ///< some chain leads back to itself: the depth is unknown
};

/// The longest chain of frames from a function down. A frame that another follows is rounded up to 16 bytes.
/// Chains may be as long as the text: no recursion on the host's stack.
/// @param frame_bytes  of a function that has a body or is declared only, aliases resolved
CallDepth call_depth(const Module& module, FunctionId start,
                     const std::function<std::uint64_t(FunctionId)>& frame_bytes);

}  // namespace raddle::ptx
