#include "jit/prelude.h"

#include <algorithm>

#include "isa/special_registers/special_registers.h"
#include "jit/together.h"

namespace raddle::jit {
namespace {

using isa::Effects;
using ptx::Exit;
using ptx::Instruction;
using ptx::Operand;

/// What an operand stands for follows from the launch, the thread and %ctaid alone.
bool is_known_ahead(const Operand& o) {
  if (o.kind != Operand::Kind::special) return true;
  if (static_cast<isa::SpecialRegister>(o.index) == isa::SpecialRegister::ctaid) return true;
  switch (isa::kSpecialRegisters[o.index].scope) {
    case isa::RegisterScope::thread:
    case isa::RegisterScope::number:
    case isa::RegisterScope::extent:
    case isa::RegisterScope::grid:
      return true;
    default:
      return false;
  }
}

/// Nobody can tell when it was executed, or whether. Of kernels that may run together.
bool only_reads(const ptx::Function& f, const Instruction& i) {
  const isa::Opcode& opcode = *i.opcode;
  if (opcode.row->text->scope != isa::Scope::lane || opcode.is(Effects::writes)) return false;
  if (opcode.is(Effects::reads)) {
    const ptx::Space space = ptx::space_of(opcode.get(isa::ModKind::space));
    if (!is_plain_access(i) || space == ptx::Space::shared || space == ptx::Space::local) return false;
  }
  return std::ranges::all_of(f.operands_of(i), is_known_ahead);
}

bool only_reads(const FunctionPlan& plan, BlockId b) {
  const Exit exit = plan.cfg.nodes[b].exit;
  if (exit == Exit::end || exit == Exit::conditional_end) return false;
  const ptx::Block& block = plan.function.blocks[b];
  for (std::uint32_t n = block.begin; n < block.end; ++n)
    if (!only_reads(plan.function, plan.function.instructions[n])) return false;
  return true;
}

bool names_extent_of_grid(const Operand& o) {
  return o.kind == Operand::Kind::special &&
         static_cast<isa::SpecialRegister>(o.index) == isa::SpecialRegister::nctaid;
}

/// By register: whether its value follows from how many CTAs there are.
std::vector<bool> of_extent_of_grid(const FunctionPlan& plan) {
  std::vector<bool> follows(plan.function.registers.size());
  ptx::RegisterUses uses;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& i : plan.function.instructions) {
      ptx::register_uses(plan.function, i, uses);
      if (!std::ranges::any_of(plan.function.operands_of(i), names_extent_of_grid) &&
          !std::ranges::any_of(uses.uses, [&](ptx::RegisterId r) { return follows[r]; }))
        continue;
      for (ptx::RegisterId r : uses.definitions)
        if (!follows[r]) follows[r] = changed = true;
    }
  }
  return follows;
}

/// Something in a loop goes on by as much as the grid is wide.
bool steps_by_grid(const FunctionPlan& plan, const Loop& loop, const std::vector<bool>& of_grid) {
  ptx::RegisterUses uses;
  bool steps = false;
  for_instructions(plan.function, loop, [&](const Instruction& i) {
    if (i.opcode->row->text->affine != isa::Affine::add) return;
    ptx::register_uses(plan.function, i, uses);
    steps = steps || std::ranges::any_of(
                         uses.uses, [&](ptx::RegisterId r) { return of_grid[r] && plan.shape(r).uniform(); });
  });
  return steps;
}

}  // namespace

std::optional<Prelude> find_prelude(const FunctionPlan& together) {
  if (together.order.dispatched_loops != 0) return {};
  const std::size_t blocks = together.function.blocks.size();
  Prelude prelude{.is_in = std::vector<bool>(blocks),
                  .is_turn = std::vector<bool>(blocks),
                  .is_end = std::vector<bool>(blocks)};
  std::vector<BlockId> found = {together.order.blocks.front()};
  std::vector<bool> seen(blocks);
  seen[found.front()] = true;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const BlockId b = found[k];
    prelude.is_in[b] = only_reads(together, b);
    prelude.is_end[b] = !prelude.is_in[b];
    if (prelude.is_end[b]) continue;
    for (BlockId s : together.cfg.nodes[b].successors)
      if (!seen[s]) seen[s] = true, found.push_back(s);
  }
  const std::vector<bool> of_grid = of_extent_of_grid(together);
  bool gains = false;
  for (std::uint32_t n = 0; n < together.order.loops.size(); ++n) {
    const Loop& loop = together.order.loops[n];
    if (!prelude.is_in[loop.header]) continue;
    const bool is_whole = std::ranges::all_of(loop.blocks, [&](BlockId b) { return prelude.is_in[b]; });
    if (!is_whole || !walks_by_launch(together, n) || !steps_by_grid(together, loop, of_grid)) return {};
    gains = prelude.is_turn[loop.header] = true;
  }
  for (BlockId b : found)
    if ((prelude.is_turn[b] || prelude.is_end[b]) && !together.runs_all(b)) return {};
  // A kernel that begins behind it, or again, has none.
  return gains && !prelude.is_turn[found.front()] ? std::optional(std::move(prelude)) : std::nullopt;
}

}  // namespace raddle::jit
