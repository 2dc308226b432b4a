#include "jit/holds.h"

#include <algorithm>

namespace raddle::jit {

bool holds_lanes(const isa::Opcode& opcode) {
  isa::Scope scope = opcode.row->text->scope;
  return opcode.is(isa::Effects::sync) && (scope == isa::Scope::warp || scope == isa::Scope::cta);
}

bool needs_holds(const Plan& plan) {
  if (plan.order.has_waiting_loop || plan.order.dispatched_loops > 0) return true;
  const auto& f = plan.function;
  for (BlockId b : plan.order.blocks) {
    if (plan.pending(b).empty()) continue;
    for (std::uint32_t n = f.blocks[b].begin; n < f.blocks[b].end; ++n) {
      const isa::Opcode& opcode = *f.instructions[n].opcode;
      // Block barriers too: lanes on their way out must have left before the rest of the warp arrives (K-6).
      bool block_barrier = holds_lanes(opcode) && opcode.row->text->scope == isa::Scope::cta;
      if (block_barrier || opcode.op == isa::Op::bar_warp_sync) return true;
    }
  }
  return false;
}

ptx::Function split_at_holds(const ptx::Function& function) {
  ptx::Function split = function;
  split.blocks.clear();
  std::vector<BlockId> moved;  // old block -> new block
  for (const auto& block : function.blocks) {
    moved.push_back(static_cast<BlockId>(split.blocks.size()));
    split.blocks.push_back(block);
    for (std::uint32_t n = block.begin + 1; n < block.end; ++n) {
      if (!holds_lanes(*function.instructions[n].opcode)) continue;
      split.blocks.back().end = n;
      split.blocks.push_back({n, block.end, "", block.no_unroll});
    }
  }
  auto move = [&](ptx::Operand& o) {
    if (o.kind == ptx::Operand::Kind::label && o.index != ptx::kNone)
      o.index = moved[o.index];  // brx.idx: none
  };
  std::for_each(split.operands.begin(), split.operands.end(), move);
  std::for_each(split.elements.begin(), split.elements.end(), move);
  for (auto& targets : split.branch_targets)
    for (auto& target : targets) target = moved[target];
  return split;
}

}  // namespace raddle::jit
