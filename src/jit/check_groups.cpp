#include "jit/check_groups.h"

#include <algorithm>

#include "jit/emitter.h"
#include "jit/together.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {

using isa::Effects;
using isa::Mod;
using ptx::Instruction;
using ptx::Operand;
using ptx::RegisterId;

namespace {

/// The most instructions without a check between two of a group: they are written twice.
constexpr std::uint32_t kMostBetween = 8;

const Operand* address_of(const FunctionPlan& plan, const Instruction& i) {
  if (!i.opcode->is(Effects::reads) && !i.opcode->is(Effects::writes)) return nullptr;
  for (const Operand& o : plan.function.operands_of(i))
    if (o.kind == Operand::Kind::address) return &o;
  return nullptr;
}

}  // namespace

CheckGroups::CheckGroups(const FunctionPlan& plan) : plan_(plan) { find_lasting(); }

/// Flags fall also where lanes that wait elsewhere keep old values: such code runs often, and its other
/// accesses are to stay vectors.
void CheckGroups::find_lasting() {
  const ptx::Function& f = plan_.function;
  lasting_.assign(f.registers.size(), true);
  ptx::RegisterUses uses;
  for (bool changed = true; changed;) {
    changed = false;
    for (BlockId b : plan_.order.blocks)
      for (std::uint32_t n = f.blocks[b].begin; n < f.blocks[b].end; ++n) {
        ptx::register_uses(f, f.instructions[n], uses);
        for (RegisterId r : uses.definitions)
          if (lasting_[r] && plan_.shape(r).checked && !keeps_flag(b, f.instructions[n], r))
            lasting_[r] = false, changed = true;
      }
  }
}

bool CheckGroups::keeps_flag(BlockId b, const Instruction& i, RegisterId destination) const {
  if (plan_.must_blend(b, destination) || !plan_.computed_shape(i).affine) return false;
  if (i.guard != ptx::kNone && !plan_.shape(i.guard).uniform()) return false;
  ptx::RegisterUses uses;
  ptx::register_uses(plan_.function, i, uses);
  return std::ranges::all_of(uses.uses, [&](RegisterId r) { return !plan_.shape(r).checked || lasting_[r]; });
}

/// Computes and moves lanes' values, and nothing else.
bool CheckGroups::can_be_twice(const Instruction& i) const {
  const isa::Opcode& opcode = *i.opcode;
  if (i.extra != ptx::kNone || opcode.row->text->scope != isa::Scope::lane) return false;
  for (const Effects effect :
       {Effects::state, Effects::stack, Effects::control, Effects::sync, Effects::orders})
    if (opcode.is(effect)) return false;
  ptx::RegisterUses uses;
  ptx::register_uses(plan_.function, i, uses);
  for (const auto* registers : {&uses.definitions, &uses.uses})
    for (RegisterId r : *registers)
      if (plan_.shape(r).checked && !lasting_[r]) return false;
  if (opcode.is(Effects::reads) || opcode.is(Effects::writes)) return is_plain_access(i);
  return emission_of(i.op()) == nullptr || opcode.is(Effects::layout);
}

bool CheckGroups::checks(const Instruction& i) const {
  if (const Operand* address = address_of(plan_, i)) {
    const Shape shape = plan_.address_shape(*address);
    return shape.affine && shape.checked;
  }
  ptx::RegisterUses uses;
  ptx::register_uses(plan_.function, i, uses);
  return std::ranges::any_of(uses.definitions, [&](RegisterId r) { return plan_.shape(r).checked; });
}

std::vector<CheckGroup> CheckGroups::of(BlockId b) const {
  std::vector<CheckGroup> groups;
  const auto& block = plan_.function.blocks[b];
  unsigned checks_of_last = 0;
  bool may_go_on = false;
  for (std::uint32_t n = block.begin; n < block.end; ++n) {
    const Instruction& i = plan_.function.instructions[n];
    if (!can_be_twice(i)) {
      may_go_on = false;
      continue;
    }
    if (!checks(i)) continue;
    may_go_on = may_go_on && n - groups.back().end <= kMostBetween;
    if (!may_go_on) {
      if (checks_of_last == 1) groups.pop_back();
      groups.push_back({n, n});
      checks_of_last = 0;
    }
    groups.back().end = n + 1;
    ++checks_of_last;
    may_go_on = true;
  }
  if (checks_of_last == 1) groups.pop_back();
  return groups;
}

}  // namespace raddle::jit
