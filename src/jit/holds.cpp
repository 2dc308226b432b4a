#include "jit/holds.h"

#include <algorithm>

#include "isa/op.h"
#include "jit/wgmma_run.h"
#include "ptx/fences.h"

namespace raddle::jit {

bool holds_lanes(const isa::Opcode& opcode) {
  isa::Scope scope = opcode.row->text->scope;
  return opcode.is(isa::Effects::sync) && (isa::is_of_warps(scope) || scope == isa::Scope::cta ||
                                           scope == isa::Scope::cluster || scope == isa::Scope::grid);
}

bool waits_alone(const ptx::Instruction& instruction) {
  const isa::Scope scope = instruction.opcode->row->text->scope;
  return holds_lanes(*instruction.opcode) && (scope == isa::Scope::cluster || scope == isa::Scope::grid);
}

namespace {

bool is_block_barrier(const ptx::Instruction& i) {
  return holds_lanes(*i.opcode) && i.opcode->row->text->scope == isa::Scope::cta;
}

bool is_warp_operation(const ptx::Instruction& i) {
  return holds_lanes(*i.opcode) && isa::is_of_warps(i.opcode->row->text->scope);
}

/// Lanes at the two may be members of one group: one spelling or another of the same operation, and no two
/// different constant member masks.
bool same_meeting(const FunctionPlan& plan, const ptx::Instruction& a, const ptx::Instruction& b) {
  if (a.op() != b.op() || a.opcode->mods != b.opcode->mods || a.opcode->types != b.opcode->types)
    return false;
  if (a.opcode->form->members < 0) return true;
  const auto members = static_cast<std::size_t>(a.opcode->form->members);
  const ptx::Operand* x = plan.constant(plan.function.operands_of(a)[members]);
  const ptx::Operand* y = plan.constant(plan.function.operands_of(b)[members]);
  return !x || !y || static_cast<std::uint32_t>(x->value) == static_cast<std::uint32_t>(y->value);
}

/// It names every lane of the warp, and no lane passes it without executing it.
bool is_full(const FunctionPlan& plan, const ptx::Instruction& i) {
  if (i.guard != ptx::kNone) return false;
  if (i.opcode->form->members < 0) return true;
  const auto members = static_cast<std::size_t>(i.opcode->form->members);
  const ptx::Operand* mask = plan.constant(plan.function.operands_of(i)[members]);
  return mask && static_cast<std::uint32_t>(mask->value) == ~std::uint32_t{0};
}

/// Blocks that lanes waiting at pending(b) may come to without passing b.
std::vector<bool> reachable_elsewhere(const FunctionPlan& plan, BlockId b) {
  std::vector<bool> reached(plan.cfg.nodes.size());
  std::vector<BlockId> work;
  auto add = [&](BlockId x) {
    if (x == b || reached[x]) return;
    reached[x] = true;
    work.push_back(x);
  };
  for (BlockId x : plan.pending(b)) add(x);
  while (!work.empty()) {
    BlockId x = work.back();
    work.pop_back();
    for (BlockId s : plan.cfg.nodes[x].successors) add(s);
  }
  return reached;
}

/// Lanes that are elsewhere while b runs may come to an operation at which they and lanes in b should meet.
bool may_meet_elsewhere(const FunctionPlan& plan, BlockId b) {
  const auto& f = plan.function;
  std::vector<bool> reached;
  for (std::uint32_t n = f.blocks[b].begin; n < f.blocks[b].end; ++n) {
    if (!is_warp_operation(f.instructions[n])) continue;
    if (reached.empty()) reached = reachable_elsewhere(plan, b);
    for (BlockId x : plan.order.blocks) {
      if (!reached[x] || plan.in_turn(x, b)) continue;
      for (std::uint32_t k = f.blocks[x].begin; k < f.blocks[x].end; ++k)
        if (is_warp_operation(f.instructions[k]) && same_meeting(plan, f.instructions[n], f.instructions[k]))
          return true;
    }
  }
  return false;
}

}  // namespace

bool may_leave_some(const FunctionPlan& plan, BlockId b) {
  if (!meeting_places(plan, b).empty()) return true;
  return plan.holds(b) && waits_alone(plan.function.instructions[plan.function.blocks[b].begin]);
}

bool may_meet_callee(const FunctionPlan& plan, BlockId b) {
  if (plan.pending(b).empty()) return false;
  const auto& f = plan.function;
  const auto reached = reachable_elsewhere(plan, b);
  return std::any_of(plan.order.blocks.begin(), plan.order.blocks.end(), [&](BlockId x) {
    return reached[x] && !plan.in_turn(x, b) &&
           std::any_of(
               f.instructions.begin() + f.blocks[x].begin, f.instructions.begin() + f.blocks[x].end,
               [](const ptx::Instruction& i) { return i.op() == isa::Op::call || is_warp_operation(i); });
  });
}

bool needs_holds(const FunctionPlan& plan) {
  if (plan.order.has_waiting_loop || plan.order.dispatched_loops > 0) return true;
  const auto& f = plan.function;
  for (BlockId b : plan.order.blocks) {
    if (plan.pending(b).empty()) continue;
    for (std::uint32_t n = f.blocks[b].begin; n < f.blocks[b].end; ++n) {
      const isa::Opcode& opcode = *f.instructions[n].opcode;
      // Barriers of the block and the cluster too, and waits for grids: lanes on their way out must have left
      // before the rest of the warp arrives (K-6).
      bool block_barrier = holds_lanes(opcode) && !isa::is_of_warps(opcode.row->text->scope);
      if (block_barrier || opcode.op == isa::Op::bar_warp_sync) return true;
    }
    if (may_meet_elsewhere(plan, b)) return true;
  }
  return false;
}

InStep lanes_in_step(const FunctionPlan& plan) {
  const auto& f = plan.function;
  const auto first_of = [&](BlockId b) -> const ptx::Instruction& {
    return f.instructions[f.blocks[b].begin];
  };
  std::vector<WarpOperation> operations;
  for (BlockId b : plan.order.blocks)
    if (f.blocks[b].begin != f.blocks[b].end && is_warp_operation(first_of(b)))
      operations.push_back({b, is_full(plan, first_of(b))});
  std::vector<std::vector<BlockId>> successors;
  for (const auto& node : plan.cfg.nodes) successors.push_back(node.successors);
  return {operations, successors,
          [&](BlockId a, BlockId b) { return same_meeting(plan, first_of(a), first_of(b)); }};
}

std::vector<BlockId> meeting_places(const FunctionPlan& plan, BlockId b) {
  std::vector<BlockId> places;
  if (!plan.holds(b)) return places;
  const auto& f = plan.function;
  const ptx::Instruction& here = f.instructions[f.blocks[b].begin];
  if (waits_alone(here)) return places;
  for (BlockId x : plan.pending(b)) {
    if (x == b || f.blocks[x].begin == f.blocks[x].end) continue;
    const ptx::Instruction& there = f.instructions[f.blocks[x].begin];
    if (!holds_lanes(*there.opcode) || waits_alone(there)) continue;
    if (is_warp_operation(here) != is_warp_operation(there)) continue;
    if (is_warp_operation(here) &&
        (plan.in_turn(x, b) || !plan.may_meet(x, b) || !same_meeting(plan, here, there)))
      continue;
    places.push_back(x);
  }
  return places;
}

bool barriers_apart(const FunctionPlan& plan) {
  const auto& f = plan.function;
  return plan.is_holding() && std::ranges::any_of(plan.order.blocks, [&](BlockId b) {
           return !meeting_places(plan, b).empty() && !is_warp_operation(f.instructions[f.blocks[b].begin]);
         });
}

bool gathers_all(const FunctionPlan& plan, BlockId b) {
  return plan.holds(b) && is_block_barrier(plan.function.instructions[plan.function.blocks[b].begin]) &&
         meeting_places(plan, b).empty();
}

ptx::Function split_at_holds(const ptx::Function& function) {
  ptx::Function split = function;
  split.blocks.clear();
  std::vector<BlockId> moved;  // old block -> new block
  for (const auto& block : function.blocks) {
    moved.push_back(static_cast<BlockId>(split.blocks.size()));
    split.blocks.push_back(block);
    for (std::uint32_t n = block.begin + 1; n < block.end; ++n) {
      const ptx::Instruction& i = function.instructions[n];
      const bool is_behind_barrier = is_block_barrier(function.instructions[n - 1]);
      if (!is_behind_barrier && !holds_lanes(*i.opcode)) continue;
      if (ptx::is_wgmma(i) && wgmma_run(function, block, i).step != 0) continue;
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
