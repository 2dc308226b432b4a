// How values vary over the lanes of a warp: the address-shape half of the plan.
#include <algorithm>
#include <bit>

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

constexpr std::uint8_t kWarpAligned = 5;  // a warp's first thread is a multiple of 32

Shape meet(const Shape& a, const Shape& b) {
  if (!a.known) return b;
  if (!b.known) return a;
  if (!a.affine || !b.affine || a.stride != b.stride) return Shape::varying();
  return {true, true, a.per_part || b.per_part, a.checked || b.checked, std::min(a.aligned, b.aligned), a.stride};
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
        case LaneLayout::one_dimension: return o.component == 0 ? Shape::strided(1, false, kWarpAligned) : Shape::uniform_value();
        case LaneLayout::whole_warps: return o.component == 0 ? Shape::strided(1, false, kWarpAligned) : Shape::uniform_value();
        case LaneLayout::whole_parts: return o.component == 0 ? Shape::strided(1, true) : Shape::strided(0, true);
        case LaneLayout::general: return Shape::varying();
      }
      return Shape::varying();
    case SpecialRegister::laneid: return Shape::strided(1, false, kWarpAligned);
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
    return Shape{true, true, a.per_part || b.per_part, a.checked || b.checked, std::min(a.aligned, b.aligned), wrap(stride, d.type)};
  };
  auto zeros = [](std::int64_t value) { return static_cast<std::uint8_t>(value == 0 ? 31 : std::min(31, std::countr_zero(static_cast<std::uint64_t>(value)))); };
  auto shape_with_alignment = [&](unsigned k) {
    Shape s = shape(k);
    if (std::int64_t value; constant(k, value)) s.aligned = zeros(value);
    return s;
  };
  // Lanes 0..n-1 of an aligned strided value differ only in their lowest bits: how many, or 64 if that is not known.
  auto lane_bits = [&](const Shape& s, unsigned lanes) -> unsigned {
    if (s.stride <= 0 || s.checked) return 64;
    auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(s.stride) * lanes - 1));
    return bits <= s.aligned ? bits : 64;
  };
  /// Keeps the lanes' bits whole, drops them all, or neither; first for the warp, then for each part.
  auto select_bits = [&](Shape a, std::uint64_t kept, int shift) {
    for (bool per_part : {a.per_part, true}) {
      unsigned bits = lane_bits(a, per_part ? part_lanes : exec::kWarpSize);
      if (bits == 64) continue;
      std::uint64_t low = (std::uint64_t{1} << bits) - 1;
      if ((kept & low) == low && shift == 0) return Shape{true, true, per_part, false, static_cast<std::uint8_t>(bits), a.stride};
      if ((kept & low) == 0) return Shape{true, true, per_part, false, 0, 0};
    }
    return Shape::varying();
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
    auto scaled = [&](Shape s) {
      std::int64_t stride = s.stride * c;
      s.aligned = static_cast<std::uint8_t>(std::min(31, s.aligned + zeros(c)));
      return combine(widen(s, from), Shape::strided(0, false, 31), stride);
    };
    if (x.affine && constant(b, c)) return scaled(x);
    if (y.affine && constant(a, c)) return scaled(y);
    if (x.affine && y.affine && x.stride == 0 && y.stride == 0) return combine(x, y, 0);
    return Shape::varying();
  };
  switch (opcode.row->text->affine) {
    case Affine::move: return shape(1);
    case Affine::add: return combine(shape_with_alignment(1), shape_with_alignment(2), shape(1).stride + shape(2).stride);
    case Affine::subtract: return combine(shape_with_alignment(1), shape_with_alignment(2), shape(1).stride - shape(2).stride);
    case Affine::multiply: return product(1, 2);
    case Affine::multiply_add: {
      Shape p = product(1, 2), s = shape(3);
      return combine(p, s, p.stride + s.stride);
    }
    case Affine::shift_left: {
      Shape a = shape(1);
      if (!a.known || (a.affine && a.stride == 0 && shape(2).uniform())) return a;
      if (!a.affine || !constant(2, c) || c < 0 || c >= isa::bit_size(d.type)) return Shape::varying();
      a.aligned = static_cast<std::uint8_t>(std::min<std::int64_t>(31, a.aligned + c));
      return combine(a, Shape::strided(0, false, 31), static_cast<std::int64_t>(static_cast<std::uint64_t>(a.stride) << c));
    }
    case Affine::shift_right: {
      Shape a = shape(1);
      if (!a.known || (a.affine && a.stride == 0 && shape(2).uniform())) return a;
      if (!a.affine || !constant(2, c) || c < 0 || c >= isa::bit_size(d.type)) return Shape::varying();
      return select_bits(a, ~std::uint64_t{0} << c, static_cast<int>(c));
    }
    case Affine::mask: {
      Shape a = shape(1), b = shape(2);
      if (!a.known || !b.known) return Shape{};
      if (a.affine && b.affine && a.stride == 0 && b.stride == 0 && !a.checked && !b.checked) return combine(a, b, 0);
      if (a.affine && constant(2, c)) return select_bits(a, static_cast<std::uint64_t>(c), 0);
      if (b.affine && constant(1, c)) return select_bits(b, static_cast<std::uint64_t>(c), 0);
      return Shape::varying();
    }
    case Affine::convert: {
      Shape a = shape(1);
      if (opcode.type_count < 2 || isa::is_float(opcode.type(0)) || isa::is_float(opcode.type(1)) ||
          !is_address_width(opcode.type(0)) || !is_address_width(opcode.type(1)) || !is_address_width(operands[1].type))
        return Shape::varying();
      a = widen(a, opcode.type(1));
      return combine(a, Shape::strided(0, false, 31), a.stride);
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
