// Control-flow graph over Function::blocks.
#pragma once

#include <vector>

#include "ptx/module.h"

namespace raddle::ptx {

/// How a block ends.
enum class Exit : std::uint8_t {
  fallthrough,      ///< to the next block
  branch,           ///< unconditional bra
  conditional,      ///< guarded bra: successors[0] taken, successors[1] fallthrough
  indexed,          ///< brx.idx
  end,              ///< ret, exit, trap: unconditional
  conditional_end,  ///< guarded ret/exit: successors[0] is the fallthrough
};

struct Cfg {
  struct Node {
    Exit exit = Exit::fallthrough;
    std::vector<BlockId> successors, predecessors;
  };
  std::vector<Node> nodes;
};
Cfg build_cfg(const Function& function);

/// The blocks that block 0 reaches, each before its successors, except along retreating edges.
std::vector<BlockId> reverse_postorder(const Cfg& cfg);

/// Registers live at block entry, as bit rows (one bit per register).
struct Liveness {
  std::size_t words = 0;  ///< 64-bit words per row
  std::vector<std::uint64_t> live_in;
  bool live(BlockId block, RegisterId reg) const {
    return live_in[block * words + reg / 64] >> (reg % 64) & 1;
  }
};
Liveness liveness(const Function& function, const Cfg& cfg);

/// Calls use(operand) / def(register) for each register operand of an instruction, guard and vector elements
/// included. Addresses count as uses. Defined in cfg.cpp from the rows' destinations alone.
struct RegisterUses {
  std::vector<RegisterId> uses, definitions;
};
void register_uses(const Function& function, const Instruction& instruction, RegisterUses& out);

/// Where an instruction names a register. One that it only reads comes before those that it writes.
struct RegisterPlace {
  RegisterId* name;
  bool is_read, is_written;
};
void register_places(Function& function, Instruction& instruction, std::vector<RegisterPlace>& out);

}  // namespace raddle::ptx
