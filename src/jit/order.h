// The linear order in which a warp visits a function's blocks (docs/adr/0011):
// a topological order in which every loop is contiguous. The forest leaves out loops that may wait for
// another lane, so cyclic sweeps over the order run their lanes, which is fair.
#pragma once

#include <vector>

#include "ptx/cfg.h"
#include "ptx/module.h"

namespace raddle::jit {

using ptx::BlockId;

struct Loop {
  BlockId header;
  std::uint32_t parent = ptx::kNone;  ///< index of the enclosing loop
  std::vector<BlockId> blocks;        ///< nested ones included
  std::uint32_t begin = 0, end = 0;   ///< positions in the order
};

struct Order {
  std::vector<BlockId> blocks;          ///< reachable blocks in visiting order
  std::vector<std::uint32_t> position;  ///< by block; kNone if unreachable
  std::vector<Loop> loops;
  std::vector<std::uint32_t> loop_of;  ///< innermost loop by block, kNone
  std::vector<bool> waiting_header;    ///< by block: header of a loop that may wait (ptx/waits.h)
  std::uint32_t dispatched_loops = 0;  ///< loops left out: waiting, around a waiting one, or irreducible
  bool has_waiting_loop = false;
};

Order linear_order(const ptx::Module& module, const ptx::Function& function, const ptx::Cfg& cfg);

/// @param body  (const ptx::Instruction&), for each of a loop
template <class Body>
void for_instructions(const ptx::Function& function, const Loop& loop, const Body& body) {
  for (BlockId b : loop.blocks)
    for (std::uint32_t n = function.blocks[b].begin; n < function.blocks[b].end; ++n)
      body(function.instructions[n]);
}

}  // namespace raddle::jit
