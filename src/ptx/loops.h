// Natural loops.
#pragma once

#include "ptx/cfg.h"

namespace raddle::ptx {

/// The blocks of a loop, from a back edge: those that reach its source without passing its header.
struct Loop {
  BlockId header = kNone;
  std::vector<BlockId> body;  ///< header included, ascending
};
/// One per retreating edge of a depth-first walk. An entry into the middle makes the body larger, never
/// smaller.
std::vector<Loop> find_loops(const Cfg& cfg);

}  // namespace raddle::ptx
