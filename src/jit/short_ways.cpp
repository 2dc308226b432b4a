#include "jit/short_ways.h"

#include <algorithm>

#include "isa/op.h"
#include "jit/together.h"

namespace raddle::jit {
namespace {

using isa::Effects;
using ptx::Exit;
using ptx::Instruction;

/// More would take longer than the way around them, where no lane goes there.
constexpr unsigned kMostInstructions = 4;

/// In shared memory: elsewhere a host may take long to find out that no lane reaches what is not there.
bool is_access_of_block(const Instruction& i) {
  return is_plain_access(i) && ptx::space_of(i.opcode->get(isa::ModKind::space)) == ptx::Space::shared;
}

bool may_have_guard(const ptx::Function& f, const Instruction& i, ptx::RegisterId guard) {
  const isa::Opcode& opcode = *i.opcode;
  if (i.guard != ptx::kNone || i.extra != ptx::kNone || opcode.row->text->scope != isa::Scope::lane)
    return false;
  if (opcode.row->text->effects != Effects::pure && !is_access_of_block(i)) return false;
  ptx::RegisterUses uses;
  ptx::register_uses(f, i, uses);
  return std::ranges::find(uses.definitions, guard) == uses.definitions.end();
}

/// Instructions of a block before the branch that it may end with.
std::uint32_t end_of_body(const FunctionPlan& plan, BlockId b) {
  const std::uint32_t end = plan.function.blocks[b].end;
  return plan.cfg.nodes[b].exit == Exit::branch ? end - 1 : end;
}

/// What lanes branch around at the end of b, if it is short: the block behind it, to which nobody else comes.
std::optional<BlockId> short_way(const FunctionPlan& plan, BlockId b) {
  const auto& node = plan.cfg.nodes[b];
  if (node.exit != Exit::conditional || !plan.may_part(b)) return {};
  const BlockId around = node.successors[0], way = node.successors[1];
  const auto& next = plan.cfg.nodes[way];
  if (way == around || next.predecessors.size() != 1 || next.successors != std::vector{around} ||
      (next.exit != Exit::fallthrough && next.exit != Exit::branch))
    return {};
  const std::uint32_t begin = plan.function.blocks[way].begin, end = end_of_body(plan, way);
  if (end - begin > kMostInstructions) return {};
  const ptx::RegisterId guard = plan.function.instructions[plan.function.blocks[b].end - 1].guard;
  for (std::uint32_t n = begin; n < end; ++n)
    if (!may_have_guard(plan.function, plan.function.instructions[n], guard)) return {};
  return way;
}

/// Whether nobody who has gone around the way could tell that the instruction was executed for him, too.
/// With a guard its result would have a value before the way, to be kept from the kernel's begin on.
bool needs_no_guard(const FunctionPlan& plan, const Instruction& i, BlockId around) {
  if (i.opcode->row->text->effects != Effects::pure) return false;
  ptx::RegisterUses uses;
  ptx::register_uses(plan.function, i, uses);
  return std::ranges::none_of(uses.definitions, [&](ptx::RegisterId r) { return plan.live.live(around, r); });
}

}  // namespace

std::optional<ptx::Function> guard_short_ways(const FunctionPlan& together) {
  std::optional<ptx::Function> changed;
  for (BlockId b : together.order.blocks) {
    const auto way = short_way(together, b);
    if (!way) continue;
    if (!changed) changed = together.function;
    const Instruction branch = changed->instructions[--changed->blocks[b].end];
    for (std::uint32_t n = changed->blocks[*way].begin; n < end_of_body(together, *way); ++n) {
      if (needs_no_guard(together, changed->instructions[n], together.cfg.nodes[b].successors[0])) continue;
      changed->instructions[n].guard = branch.guard;
      changed->instructions[n].guard_negated = !branch.guard_negated;
    }
  }
  return changed;
}

}  // namespace raddle::jit
