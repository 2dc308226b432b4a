// How values vary over the lanes of a warp: the address-shape half of the plan.
#include <algorithm>

#include "jit/plan.h"

namespace raddle::jit {
namespace {

using isa::Affine;
using isa::Effects;
using isa::Mod;
using isa::ModKind;
using isa::Type;
using ptx::Operand;
using ptx::SpecialRegister;

Shape meet(const Shape& a, const Shape& b) {
  if (!a.known) return b;
  if (!b.known) return a;
  if (!a.affine || !b.affine || a.stride != b.stride) return Shape::varying();
  return {true, true, a.per_part || b.per_part, a.checked || b.checked, a.stride};
}

bool is_address_width(Type t) { return isa::bit_size(t) == 32 || isa::bit_size(t) == 64; }

/// Strides are kept as wrapping signed 64-bit numbers; a 32-bit register only uses the low half.
std::int64_t wrap(std::int64_t stride, Type t) {
  return isa::bit_size(t) == 32 ? static_cast<std::int32_t>(stride) : stride;
}

bool is_ordinary_access(const isa::Opcode& opcode) {
  Mod semantics = opcode.get(ModKind::semantics);
  return semantics == Mod::none || semantics == Mod::weak;
}

}  // namespace

Shape Plan::special_shape(const Operand& o) const {
  switch (static_cast<SpecialRegister>(o.index)) {
    case SpecialRegister::tid:
      switch (layout.layout) {
        case LaneLayout::one_dimension: return o.component == 0 ? Shape::strided(1) : Shape::uniform_value();
        case LaneLayout::whole_warps: return o.component == 0 ? Shape::strided(1) : Shape::uniform_value();
        case LaneLayout::whole_parts: return o.component == 0 ? Shape::strided(1, true) : Shape::strided(0, true);
        case LaneLayout::general: return Shape::varying();
      }
      return Shape::varying();
    case SpecialRegister::laneid: return Shape::strided(1);
    case SpecialRegister::lanemask_eq:
    case SpecialRegister::lanemask_le:
    case SpecialRegister::lanemask_lt:
    case SpecialRegister::lanemask_ge:
    case SpecialRegister::lanemask_gt: return Shape::varying();
    default: return Shape::uniform_value();  // the same for every lane of a warp
  }
}

Shape Plan::operand_shape(const Operand& o) const {
  switch (o.kind) {
    case Operand::Kind::reg: return shapes_[o.index];
    case Operand::Kind::special: return special_shape(o);
    case Operand::Kind::vector: {
      Shape all = Shape::uniform_value();
      for (const Operand& element : function.elements_of(o)) {
        Shape s = operand_shape(element);
        if (!s.known) return s;
        if (!s.uniform()) all = Shape::varying();
      }
      return all;
    }
    case Operand::Kind::address: return address_shape(o);
    default: return Shape::uniform_value();
  }
}

Shape Plan::address_shape(const Operand& address) const {
  if (address.base != Operand::Base::reg) return Shape::uniform_value();
  return shapes_[address.index];
}

Shape Plan::affine_result(const ptx::Instruction& i) const {
  const isa::Opcode& opcode = *i.opcode;
  auto operands = function.operands_of(i);
  const Operand& d = operands[0];
  if (d.kind != Operand::Kind::reg || !is_address_width(d.type) || opcode.has(Mod::sat) || opcode.has(Mod::hi))
    return Shape::varying();
  auto shape = [&](unsigned k) { return operand_shape(operands[k]); };
  auto constant = [&](unsigned k, std::int64_t& value) {
    if (operands[k].kind != Operand::Kind::immediate) return false;
    value = operands[k].value;
    return true;
  };
  auto combine = [&](Shape a, Shape b, std::int64_t stride) {
    if (!a.known || !b.known) return Shape{};
    if (!a.affine || !b.affine) return Shape::varying();
    return Shape{true, true, a.per_part || b.per_part, a.checked || b.checked, wrap(stride, d.type)};
  };
  // Widening a strided 32-bit value is strided only if no lane wraps: a run-time check.
  auto widen = [&](Shape s, Type from) {
    if (s.known && s.affine && s.stride != 0 && isa::bit_size(from) < isa::bit_size(d.type)) s.checked = true;
    return s;
  };
  std::int64_t c = 0;
  auto product = [&](unsigned a, unsigned b) {
    Shape x = shape(a), y = shape(b);
    if (!x.known || !y.known) return Shape{};
    Type from = operands[a].type;
    if (x.affine && constant(b, c)) return combine(widen(x, from), Shape::uniform_value(), x.stride * c);
    if (y.affine && constant(a, c)) return combine(widen(y, from), Shape::uniform_value(), y.stride * c);
    if (x.affine && y.affine && x.stride == 0 && y.stride == 0) return combine(x, y, 0);
    return Shape::varying();
  };
  switch (opcode.row->text->affine) {
    case Affine::move: return shape(1);
    case Affine::add: return combine(shape(1), shape(2), shape(1).stride + shape(2).stride);
    case Affine::subtract: return combine(shape(1), shape(2), shape(1).stride - shape(2).stride);
    case Affine::multiply: return product(1, 2);
    case Affine::multiply_add: {
      Shape p = product(1, 2), s = shape(3);
      return combine(p, s, p.stride + s.stride);
    }
    case Affine::shift_left: {
      Shape a = shape(1);
      if (!a.known || (a.affine && a.stride == 0 && shape(2).uniform())) return a;
      if (!a.affine || !constant(2, c) || c < 0 || c >= isa::bit_size(d.type)) return Shape::varying();
      return combine(a, Shape::uniform_value(), static_cast<std::int64_t>(static_cast<std::uint64_t>(a.stride) << c));
    }
    case Affine::convert: {
      Shape a = shape(1);
      if (opcode.type_count < 2 || isa::is_float(opcode.type(0)) || isa::is_float(opcode.type(1)) ||
          !is_address_width(opcode.type(0)) || !is_address_width(opcode.type(1)) || !is_address_width(operands[1].type))
        return Shape::varying();
      a = widen(a, opcode.type(1));
      return combine(a, Shape::uniform_value(), a.stride);
    }
    case Affine::none: return Shape::varying();
  }
  return Shape::varying();
}

Shape Plan::result_shape(const ptx::Instruction& i) const {
  const isa::Opcode& opcode = *i.opcode;
  const isa::RowText& row = *opcode.row->text;
  auto operands = function.operands_of(i);
  bool all_uniform = true;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (opcode.row->operands[k].is_destination || operands[k].kind == Operand::Kind::none) continue;
    Shape s = operand_shape(operands[k]);
    if (!s.known) return Shape{};
    all_uniform = all_uniform && s.uniform();
  }
  if (opcode.is(Effects::reads) && !opcode.is(Effects::writes)) {  // loads
    const Shape& address = operand_shape(operands[1]);
    if (!is_ordinary_access(opcode) || opcode.get(ModKind::space) == Mod::local) return Shape::varying();
    if (opcode.get(ModKind::space) == Mod::param && !function.is_entry) return Shape::varying();
    if (address.uniform()) return Shape::uniform_value();
    return Shape::varying();
  }
  if (opcode.is(Effects::writes)) return Shape::varying();
  if (row.scope == isa::Scope::warp) {
    // The members' common answer differs between lanes only if their masks do; shuffles and matches differ anyway.
    bool common = row.uniform_result && operand_shape(operands.back()).uniform();
    return common ? Shape::uniform_value() : Shape::varying();
  }
  if (opcode.is(Effects::state) || row.scope != isa::Scope::lane)
    return operands.size() > 0 && all_uniform && row.scope == isa::Scope::cta ? Shape::uniform_value() : Shape::varying();
  if (row.affine == Affine::move && opcode.get(ModKind::space) == Mod::local) return Shape::varying();  // cvta.local
  if (row.affine != Affine::none) {
    Shape s = affine_result(i);
    if (!s.known || s.affine) return s;
  }
  return all_uniform ? Shape::uniform_value() : Shape::varying();
}

bool Plan::update_shapes() {
  bool changed = false;
  auto set = [&](ptx::RegisterId r, Shape s) {
    Shape met = meet(shapes_[r], s);
    if (function.registers[r].type == Type::pred && met.known && !met.uniform()) met = Shape::varying();
    if (met == shapes_[r]) return;
    shapes_[r] = met;
    changed = true;
  };
  ptx::RegisterUses uses;
  for (BlockId b : order.blocks)
    for (std::uint32_t n = function.blocks[b].begin; n < function.blocks[b].end; ++n) {
      const auto& i = function.instructions[n];
      ptx::register_uses(function, i, uses);
      if (uses.definitions.empty()) continue;
      Shape shape = i.extra != ptx::kNone ? Shape::varying() : result_shape(i);
      if (i.guard != ptx::kNone && shapes_[i.guard].known && !shapes_[i.guard].uniform()) shape = Shape::varying();
      bool single = function.operands_of(i).size() > 0 && function.operands_of(i)[0].kind == Operand::Kind::reg;
      for (auto r : uses.definitions) {
        bool kept = must_blend(b, r);
        // Only a plain destination can be strided; vectors and second destinations are uniform or varying.
        bool strided = shape.known && shape.affine && !shape.uniform();
        set(r, kept || (strided && (!single || uses.definitions.size() > 1)) ? (shape.known ? Shape::varying() : shape) : shape);
      }
    }
  return changed;
}

}  // namespace raddle::jit
