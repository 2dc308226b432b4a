// Which kernels gain by it and may do it, and which values are equal for all warps that run together.
#include "jit/together.h"

#include <algorithm>
#include <bit>

#include "isa/special_registers/special_registers.h"
#include "jit/emitter.h"
#include "jit/holds.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {

using isa::Affine;
using isa::Effects;
using ptx::Exit;
using ptx::Instruction;
using ptx::Operand;
using ptx::RegisterId;

// ---- values ----

namespace {

/// A thread's coordinate, by its number.
bool is_same_in_all_warps(LaneLayout layout, unsigned component) {
  switch (layout) {
    case LaneLayout::one_row:
    case LaneLayout::short_rows:
      return component != 1;
    case LaneLayout::one_dimension:
      return component != 0;
    default:
      return false;
  }
}

}  // namespace

bool FunctionPlan::same_in_all_warps(const Operand& o) const {
  using isa::RegisterScope;
  switch (o.kind) {
    case Operand::Kind::reg:
      return same_in_all_warps(o.index);
    case Operand::Kind::address:
      return o.base != Operand::Base::reg || same_in_all_warps(o.index);
    case Operand::Kind::vector:
      return std::ranges::all_of(function.elements_of(o),
                                 [&](const Operand& element) { return same_in_all_warps(element); });
    case Operand::Kind::special:
      switch (isa::kSpecialRegisters[o.index].scope) {
        case RegisterScope::thread:
          return is_same_in_all_warps(layout.layout, o.component);
        case RegisterScope::warp:
        case RegisterScope::moment:
          return false;
        default:
          return true;
      }
    default:
      return true;
  }
}

bool FunctionPlan::is_for_all(const Instruction& i) const {
  if (warps == 1) return false;
  ptx::RegisterUses uses;
  ptx::register_uses(function, i, uses);
  return !uses.definitions.empty() &&
         std::ranges::all_of(uses.definitions, [&](RegisterId r) { return same_[r]; });
}

/// Nothing but low bits of which every lane's are known: a thread's place in its warp.
bool FunctionPlan::masks_known_bits(const Instruction& i) const {
  if (i.opcode->row->text->affine != Affine::mask || !result_shape(i).affine) return false;
  const auto operands = function.operands_of(i);
  for (unsigned k : {1u, 2u}) {
    const Operand* mask = constant(operands[k]);
    const Shape shape = operand_shape(operands[3 - k]);
    if (mask != nullptr && shape.affine && !shape.checked && mask->value >= 0 &&
        mask->value >> shape.low.count == 0)
      return true;
  }
  return false;
}

/// Of equal operands. What other threads write meanwhile a plain load need not see, so one may be for all.
/// What lanes of a warp tell each other is the same in all warps, as all lanes run.
bool FunctionPlan::gives_same_value(const Instruction& i) const {
  const isa::Opcode& opcode = *i.opcode;
  if (i.extra != ptx::kNone || (i.guard != ptx::kNone && !same_[i.guard])) return false;
  const isa::Scope scope = opcode.row->text->scope;
  const bool is_exchange = scope == isa::Scope::warp && opcode.is(Effects::sync) && opcode.form->members >= 0;
  if ((scope != isa::Scope::lane && !is_exchange) || opcode.is(Effects::state) ||
      opcode.is(Effects::writes) || opcode.is(Effects::stack))
    return false;
  if (masks_known_bits(i)) return true;
  if (opcode.is(Effects::reads)) {
    if (ptx::space_of(opcode.get(isa::ModKind::space)) == ptx::Space::local) return false;
  }
  const auto operands = function.operands_of(i);
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (!opcode.row->operands[k].is_destination && !same_in_all_warps(operands[k])) return false;
  return true;
}

void FunctionPlan::find_same_values() {
  same_.assign(function.registers.size(), true);
  ptx::RegisterUses uses;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& i : function.instructions) {
      if (gives_same_value(i)) continue;
      ptx::register_uses(function, i, uses);
      for (RegisterId r : uses.definitions)
        if (same_[r]) same_[r] = false, changed = true;
    }
  }
}

bool FunctionPlan::may_part(BlockId b) const {
  if (!together || function.blocks[b].begin == function.blocks[b].end) return false;
  const Exit exit = cfg.nodes[b].exit;
  if (exit != Exit::conditional && exit != Exit::conditional_end) return false;
  const RegisterId guard = function.instructions[function.blocks[b].end - 1].guard;
  return guard != ptx::kNone && !(shapes_[guard].uniform() && same_in_all_warps(guard));
}

// ---- whether warps may ----

/// Plain loads and stores; an operation says that it is an atomic one.
bool is_plain_access(const Instruction& i) {
  const isa::Opcode& opcode = *i.opcode;
  if (opcode.is(Effects::reads) == opcode.is(Effects::writes) || opcode.is(Effects::orders)) return false;
  const auto& operands = opcode.row->operands;
  const std::size_t address = opcode.is(Effects::reads) ? 1 : 0;
  return opcode.is_weak() && opcode.get(isa::ModKind::operation) == isa::Mod::none &&
         operands.size() > address && operands[address].kind == isa::OperandKind::address;
}

namespace {

bool reads_time(const ptx::Function& f, const Instruction& i) {
  return std::ranges::any_of(f.operands_of(i), [](const Operand& o) {
    return o.kind == Operand::Kind::special &&
           isa::kSpecialRegisters[o.index].scope == isa::RegisterScope::moment;
  });
}

bool names_fragment(const Instruction& i) {
  return std::ranges::any_of(i.opcode->row->operands, [](const isa::OperandSpec& o) {
    return o.geometric == isa::GeometricKind::fragment;
  });
}

bool may_be_together(const ptx::Function& f, const Instruction& i) {
  const isa::Opcode& opcode = *i.opcode;
  if (i.extra != ptx::kNone || reads_time(f, i) || names_fragment(i)) return false;
  switch (opcode.row->text->scope) {
    case isa::Scope::lane:
      break;
    case isa::Scope::warp:  // each warp by itself
      return opcode.is(Effects::sync) && opcode.form->members >= 0;
    case isa::Scope::cta:  // regions: all leave the function there
      return true;
    default:
      return false;
  }
  if (opcode.is(Effects::state) || opcode.is(Effects::stack)) return false;
  if (opcode.is(Effects::reads) || opcode.is(Effects::writes)) return is_plain_access(i);
  if (emission_of(i.op()) == nullptr) return true;  // of plain lanes, or control
  return opcode.is(Effects::layout);
}

/// What the function alone keeps as scalars, it finds as such: together, less is known to vary.
bool can_part(const FunctionPlan& alone, const FunctionPlan& together) {
  for (RegisterId r = 0; r < alone.function.registers.size(); ++r) {
    const Shape &to = alone.shape(r), &from = together.shape(r);
    if (to.known && to.affine &&
        !(from.affine && from.stride == to.stride && from.pattern == to.pattern &&
          (to.per_part || !from.per_part) && (to.checked || !from.checked)))
      return false;
  }
  return true;
}

}  // namespace

bool may_run_together(const FunctionPlan& alone, const FunctionPlan& together) {
  if (alone.is_holding()) return false;
  const ptx::Function& f = together.function;
  for (BlockId b : together.order.blocks) {
    if (together.cfg.nodes[b].exit == Exit::indexed) return false;
    for (std::uint32_t n = f.blocks[b].begin; n < f.blocks[b].end; ++n)
      if (!may_be_together(f, f.instructions[n])) return false;
  }
  return can_part(alone, together);
}

// ---- whether they should ----

namespace {

/// A loop that nothing loops within.
bool is_innermost(const Order& order, std::uint32_t loop) {
  return std::ranges::none_of(order.loops, [&](const Loop& other) { return other.parent == loop; });
}

/// Reads neighbouring places by neighbouring lanes.
bool loads_by_lane(const FunctionPlan& plan, const Instruction& i) {
  if (!i.opcode->is(Effects::reads) || i.guard != ptx::kNone) return false;
  const Shape address = plan.address_shape(plan.function.operands_of(i)[1]);
  return address.affine && !address.equal_lanes();
}

/// What the loads of a loop say about it.
struct LoadsOfLoop {
  bool share = false;   ///< warps load what one of them has loaded already
  bool stores = false;  ///< it also stores
  bool walk = false;    ///< memory that lies side by side, in steps that only the launch knows
};

/// An address, or the index that it follows from, goes on by what is no constant.
bool steps_by_launch(const FunctionPlan& plan, const Instruction& i) {
  if (i.opcode->row->text->affine != isa::Affine::add) return false;
  ptx::RegisterUses uses;
  ptx::register_uses(plan.function, i, uses);
  return uses.definitions.size() == 1 && uses.uses.size() == 2 &&
         std::ranges::any_of(uses.uses, [&](RegisterId r) { return plan.shape(r).uniform(); }) &&
         plan.shape(uses.definitions[0]).affine && plan.constant(plan.function.operands_of(i)[2]) == nullptr;
}

LoadsOfLoop loads_of(const FunctionPlan& plan, const Loop& loop) {
  LoadsOfLoop found;
  bool by_register = false, steps = false;
  for_instructions(plan.function, loop, [&](const Instruction& i) {
    found.stores = found.stores || i.opcode->is(Effects::writes);
    steps = steps || steps_by_launch(plan, i);
    if (!loads_by_lane(plan, i)) return;
    const Operand& address = plan.function.operands_of(i)[1];
    found.share = found.share || plan.same_in_all_warps(address);
    const auto space = ptx::space_of(i.opcode->get(isa::ModKind::space));
    by_register = by_register || (space != ptx::Space::shared && address.base == Operand::Base::reg);
  });
  found.walk = by_register && steps && !found.stores;
  return found;
}

/// Warps that run together gain: they load what one of them has loaded already, or memory that each by itself
/// would walk in far steps.
bool gains(const FunctionPlan& plan, const Loop& loop) {
  const LoadsOfLoop loads = loads_of(plan, loop);
  return loads.share || loads.walk;
}

/// Vectors of the host that a warp holds when the loop begins a turn, beside what is equal for all warps.
unsigned vectors_held(const FunctionPlan& plan, const Loop& loop) {
  unsigned bits = 0;
  for (RegisterId r = 0; r < plan.function.registers.size(); ++r) {
    const isa::Type type = plan.function.registers[r].type;
    const Shape& shape = plan.shape(r);
    if (plan.live.live(loop.header, r) && shape.known && !shape.affine && type != isa::Type::pred &&
        !plan.same_in_all_warps(r))
      bits += std::max(32u, isa::bit_size(type));
  }
  return bits / 32 * (exec::kWarpSize / plan.part_lanes);
}

}  // namespace

bool walks_by_launch(const FunctionPlan& together, std::uint32_t loop) {
  return is_innermost(together.order, loop) && loads_of(together, together.order.loops[loop]).walk;
}

unsigned worth_running_together(const FunctionPlan& together, unsigned vector_registers) {
  const unsigned room = vector_registers - 8;  // beside those for what is loaded and shared
  unsigned warps = 0;
  for (std::uint32_t n = 0; n < together.order.loops.size(); ++n) {
    const Loop& loop = together.order.loops[n];
    if (!is_innermost(together.order, n) || !gains(together, loop)) continue;
    const unsigned fitting = std::bit_floor(room / std::max(1u, vectors_held(together, loop)));
    warps = std::min(warps == 0 ? together.warps : warps, fitting);
  }
  return warps > 1 ? warps : 0;
}

}  // namespace raddle::jit
