// How values vary over the lanes of a warp: the address-shape half of the plan.
#include <algorithm>
#include <bit>
#include <mutex>
#include <set>

#include "jit/function_plan.h"
#include "jit/shape_operations.h"

namespace raddle::jit {
namespace {

using isa::Affine;
using isa::Effects;
using isa::Mod;
using isa::ModKind;
using isa::Type;
using ptx::Operand;

constexpr LowBits kWarpAligned{.count = 5};  // a warp's first thread is a multiple of 32

std::uint8_t trailing_zeros(std::int64_t value) { return LowBits::of(value).aligned(); }

/// The alignment of every lane's value, not of the base alone.
std::uint8_t lane_alignment(const Shape& s) {
  std::uint8_t aligned = s.low.aligned();
  if (s.affine)
    for (unsigned l = 0; l < exec::kWarpSize; ++l)
      aligned = std::min(aligned, LowBits::of(s.low.value + s.offset(l), s.low.count).aligned());
  return aligned;
}

Shape meet(Shape a, Shape b, unsigned part_lanes) {
  if (!a.known) return b;
  if (!b.known) return a;
  if (a.per_part != b.per_part) a = by_parts(a, part_lanes), b = by_parts(b, part_lanes);
  bool alike = a.affine && b.affine && a.stride == b.stride && a.pattern == b.pattern;
  Shape s = a;
  if (!alike || (a.pattern && (a.per_part || b.per_part))) {
    s = Shape::varying(std::min(lane_alignment(a), lane_alignment(b)));
  } else {
    s.per_part |= b.per_part;
    s.checked |= b.checked;
    s.low = a.low.common(b.low);
  }
  s.in_fours.reset();
  if (!s.scalar() && a.step_in_fours() == b.step_in_fours()) s.in_fours = a.step_in_fours();
  return s;
}

/// Strides are kept as wrapping signed 64-bit numbers; a 32-bit register only uses the low half.
std::int64_t wrap(std::int64_t stride, Type t) {
  return isa::bit_size(t) == 32 ? static_cast<std::int32_t>(stride) : stride;
}

}  // namespace

Shape FunctionPlan::special_shape(const Operand& o) const {
  using isa::RegisterScope;
  switch (isa::kSpecialRegisters[o.index].scope) {
    case RegisterScope::thread:
      switch (layout.layout) {
        case LaneLayout::one_dimension:
        case LaneLayout::one_row:
        case LaneLayout::whole_warps:
          return o.component == 0 ? Shape::strided(1, false, kWarpAligned) : Shape::uniform_value();
        case LaneLayout::short_rows:
          return shape_in_short_rows(layout.row, o.component);
        case LaneLayout::whole_parts:
          return o.component == 0 ? Shape::strided(1, true) : Shape::strided(0, true);
        case LaneLayout::general:
          return Shape::varying();
      }
      return Shape::varying();
    case RegisterScope::extent: {
      // Blocks of whole warps, so that a thread's number in the grid keeps its lane in the low bits.
      const bool whole = layout.layout == LaneLayout::whole_warps || layout.layout == LaneLayout::one_row ||
                         (layout.layout == LaneLayout::one_dimension && layout.full_warps);
      return Shape::strided(0, false, whole && o.component == 0 ? kWarpAligned : LowBits());
    }
    case RegisterScope::number:
      return Shape::strided(1, false, kWarpAligned);
    case RegisterScope::lane:
      return Shape::varying();
    default:
      return Shape::uniform_value();  // the same for every lane of a warp
  }
}

/// One thread's value is one for all lanes that run.
Shape FunctionPlan::as_run(const Shape& shape) const {
  return one_by_one && shape.known ? Shape::strided(0, false, LowBits::zeros(lane_alignment(shape))) : shape;
}

Shape FunctionPlan::operand_shape(const Operand& o) const {
  switch (o.kind) {
    case Operand::Kind::reg:
      return shapes_[o.index];
    case Operand::Kind::special:
      return as_run(special_shape(o));
    case Operand::Kind::vector: {
      Shape all = Shape::uniform_value();
      for (const Operand& element : function.elements_of(o)) {
        Shape s = operand_shape(element);
        if (!s.known) return s;
        if (!s.uniform()) all = Shape::varying();
      }
      return all;
    }
    case Operand::Kind::address:
      return address_shape(o);
    default:
      return Shape::uniform_value();
  }
}

std::uint8_t FunctionPlan::value_alignment(const Operand& o) const {
  if (const Operand* immediate = constant(o)) return trailing_zeros(immediate->value);
  if (o.kind == Operand::Kind::reg && !o.negated)
    return shapes_[o.index].known ? lane_alignment(shapes_[o.index]) : 31;
  if (o.kind == Operand::Kind::variable) {
    auto align = static_cast<std::int64_t>(std::max(module.variables[o.index].align, 1u));
    return std::min(trailing_zeros(align), trailing_zeros(o.value));
  }
  return 0;
}

unsigned FunctionPlan::address_alignment(const Operand& address, Mod space) const {
  constexpr std::uint8_t kBases = 4;  // local memory and frames: 16 bytes; the other spaces' bases have more
  Operand base = address;
  base.negated = false;
  std::uint8_t aligned = trailing_zeros(address.value);
  if (address.base != Operand::Base::reg && address.base != Operand::Base::variable)
    return std::min(aligned, kBases);
  base.value = 0;
  base.kind = address.base == Operand::Base::reg ? Operand::Kind::reg : Operand::Kind::variable;
  if (space == Mod::none || space == Mod::global || space == Mod::const_)
    return std::min(aligned, value_alignment(base));
  return std::min({aligned, value_alignment(base), kBases});
}

Shape FunctionPlan::address_shape(const Operand& address) const {
  if (address.base != Operand::Base::reg) return Shape::uniform_value();
  return shapes_[address.index];
}

const Offsets* intern_offsets(Offsets offsets) {
  static std::mutex lock;
  static std::set<Offsets> all;
  std::lock_guard guard(lock);
  return &*all.insert(std::move(offsets)).first;
}

Shape Shape::with_offsets(const Offsets& offsets, bool checked, LowBits low) {
  constexpr std::int64_t kFar = 1 << 20;
  bool regular = true;
  for (unsigned l = 0; l < offsets.size(); ++l) {
    if (offsets[l] > kFar || offsets[l] < -kFar) return varying();
    regular = regular && offsets[l] == offsets[1] * l;
  }
  Shape s = strided(regular ? offsets[1] : 0, false, low);
  s.checked = checked;
  if (!regular) s.pattern = intern_offsets(offsets);
  return s;
}

Shape FunctionPlan::affine_result(const ptx::Instruction& i) const {
  const isa::Opcode& opcode = *i.opcode;
  auto operands = function.operands_of(i);
  const Operand& d = operands[0];
  if (d.kind != Operand::Kind::reg || !is_address_width(d.type) || opcode.has(Mod::sat) ||
      opcode.has(Mod::hi))
    return Shape::varying();
  auto constant = [&](unsigned k, std::int64_t& value) {
    const Operand* immediate = this->constant(operands[k]);
    if (immediate) value = immediate->value;
    return immediate != nullptr;
  };
  auto shape = [&](unsigned k) {
    Shape s = operand_shape(operands[k]);
    if (std::int64_t value; constant(k, value)) s.low = LowBits::of(value);
    return s;
  };
  auto wrapped = [&](std::int64_t x) { return wrap(x, d.type); };
  auto sum = [&](const Shape& a, const Shape& b) {
    return combined(a, b, part_lanes, [&](auto x, auto y) { return wrapped(x + y); });
  };
  const unsigned lanes_of_base[] = {exec::kWarpSize, part_lanes};
  // Widening a strided 32-bit value is strided only if no lane wraps: a run-time check.
  auto widen = [&](Shape s, Type from) {
    if (s.known && s.affine && !s.equal_lanes() && isa::bit_size(from) < isa::bit_size(d.type))
      s.checked = true;
    return s;
  };
  auto scaled = [&](const Shape& s, std::int64_t factor) {
    Shape all =
        combined(s, Shape::uniform_value(), part_lanes, [&](auto x, auto) { return wrapped(x * factor); });
    const int count = std::min<int>(LowBits::kMost, s.low.count + trailing_zeros(factor));
    if (all.affine) all.low = LowBits::of(s.low.value * factor, static_cast<unsigned>(count));
    return all;
  };
  std::int64_t c = 0;
  auto product = [&](unsigned a, unsigned b) {
    Shape x = shape(a), y = shape(b);
    if (!x.known || !y.known) return Shape{};
    if (x.affine && constant(b, c)) return scaled(widen(x, operands[a].type), c);
    if (y.affine && constant(a, c)) return scaled(widen(y, operands[b].type), c);
    if (!x.equal_lanes() || !y.equal_lanes()) return Shape::varying();
    Shape s = Shape::strided(0, x.per_part || y.per_part,
                             LowBits::zeros(std::max(x.low.aligned(), y.low.aligned())));
    s.checked = x.checked || y.checked;
    return s;
  };
  auto bits_of = [&](const Shape& a, auto bits, unsigned count) {
    return bitwise(a, lanes_of_base[a.per_part], bits, count);
  };
  auto equal = [&](unsigned a, unsigned b) {  // lanes of each part alike: the operation on scalars
    Shape x = shape(a), y = shape(b);
    return x.known && y.known && x.equal_lanes() && y.equal_lanes();
  };
  auto per_part = [&](unsigned a, unsigned b) {
    Shape s = Shape::strided(0, shape(a).per_part || shape(b).per_part);
    s.checked = shape(a).checked || shape(b).checked;
    return s;
  };
  // Masking with a number of these low bits leaves no others.
  auto of_bits = [&](auto operation, bool is_mask) {
    if (equal(1, 2)) return per_part(1, 2);
    for (unsigned k : {2u, 1u})
      if (constant(k, c)) {
        const unsigned count = shape(3 - k).low.count;
        const bool leaves_these = is_mask && c >= 0 && c >> count == 0;
        return bits_of(
            shape(3 - k), [&](std::int64_t x) { return operation(x, c); },
            leaves_these ? LowBits::kMost : count);
      }
    if (!shape(1).known || !shape(2).known) return Shape{};
    return bitwise(shape(1), shape(2), operation);
  };
  switch (opcode.row->text->affine) {
    case Affine::move:
      return shape(1);
    case Affine::add:
      return sum(shape(1), shape(2));
    case Affine::subtract:
      return combined(shape(1), shape(2), part_lanes, [&](auto x, auto y) { return wrapped(x - y); });
    case Affine::multiply:
      return product(1, 2);
    case Affine::multiply_add:
      return sum(product(1, 2), shape(3));
    case Affine::shift_left:
      if (equal(1, 2)) return per_part(1, 2);
      if (!shape(1).known) return Shape{};
      if (!shape(1).affine || !constant(2, c) || c < 0 || c >= isa::bit_size(d.type)) return Shape::varying();
      return scaled(shape(1), std::int64_t{1} << std::min<std::int64_t>(c, 62));
    case Affine::shift_right:
      if (equal(1, 2)) return per_part(1, 2);
      if (!shape(1).known) return Shape{};
      if (!constant(2, c) || c < 0 || c >= isa::bit_size(d.type)) return Shape::varying();
      return bits_of(
          shape(1), [&](std::int64_t x) { return x >> c; },
          static_cast<unsigned>(std::max<std::int64_t>(0, shape(1).low.count - c)));
    case Affine::mask:
      return of_bits([](auto x, auto y) { return x & y; }, true);
    case Affine::flip:
      return of_bits([](auto x, auto y) { return x ^ y; }, false);
    case Affine::join:
      return of_bits([](auto x, auto y) { return x | y; }, false);
    case Affine::convert: {
      if (opcode.type_count < 2 || isa::is_float(opcode.type(0)) || isa::is_float(opcode.type(1)) ||
          !is_address_width(opcode.type(0)) || !is_address_width(opcode.type(1)) ||
          !is_address_width(operands[1].type))
        return Shape::varying();
      return scaled(widen(shape(1), opcode.type(1)), 1);
    }
    case Affine::choose:
      if (isa::is_float(d.type) || (operands.size() > 3 && !operand_shape(operands[3]).uniform()))
        return Shape::varying();
      return equal(1, 2) ? per_part(1, 2) : Shape::varying();
    case Affine::compare:
    case Affine::none:
      return Shape::varying();
  }
  return Shape::varying();
}

/// All lanes' values lie on one side of what they are compared with: those of a warp's threads and a multiple
/// of 32.
bool FunctionPlan::compares_alike(const ptx::Instruction& i) const {
  const isa::Opcode& opcode = *i.opcode;
  const auto operands = function.operands_of(i);
  const auto a = opcode.form->operand("a"), b = opcode.form->operand("b"), c = opcode.form->operand("c");
  if (!a || !b || isa::is_float(operands[*a].type) || !is_address_width(operands[*a].type)) return false;
  if (c && !operand_shape(operands[*c]).uniform()) return false;
  Mod relation = opcode.get(ModKind::compare);
  const bool is_swapped = constant(operands[*a]) != nullptr;
  if (is_swapped) {
    constexpr std::pair<Mod, Mod> kSwapped[] = {
        {Mod::lt, Mod::gt}, {Mod::gt, Mod::lt}, {Mod::le, Mod::ge}, {Mod::ge, Mod::le}};
    const auto* known = std::ranges::find(kSwapped, relation, &std::pair<Mod, Mod>::first);
    if (known == std::end(kSwapped)) return false;
    relation = known->second;
  }
  const Operand* limit = constant(operands[is_swapped ? *a : *b]);
  const Shape lanes = operand_shape(operands[is_swapped ? *b : *a]);
  if (!limit || lanes.checked || lanes.per_part) return false;
  const bool excludes = relation == Mod::lt || relation == Mod::ge;
  if (!excludes && relation != Mod::le && relation != Mod::gt) return false;
  const std::int64_t end = limit->value + (excludes ? 0 : 1);
  unsigned count = 0;
  while (count < lanes.low.count && !is_block(lanes, count)) ++count;
  if (is_block(lanes, count)) return trailing_zeros(end) >= count;
  // The same of blocks that begin elsewhere, if no number in them wraps.
  Shape from_zero = lanes;
  from_zero.low.value = 0;
  for (count = 0; count < lanes.low.count && !is_block(from_zero, count);) ++count;
  return is_block(from_zero, count) && do_not_wrap(operands[is_swapped ? *b : *a], lanes) &&
         trailing_zeros(end - lanes.low.value) >= count;
}

/// Nor does any lane's value that does not run, at its distance from those that do: none is below 0.
bool FunctionPlan::do_not_wrap(const Operand& o, const Shape& shape) const {
  if (o.kind != Operand::Kind::reg || !shape.affine || isa::bit_size(o.type) != 32) return false;
  std::int64_t most = 0;
  for (unsigned l = 0; l < exec::kWarpSize; ++l) most = std::max(most, std::abs(shape.offset(l)));
  const Range range = ranges_.of(o.index);
  return range.least >= most && range.most <= Range().most - most;
}

/// Low bits that are zero in all lanes of what an address computation gives.
std::uint8_t FunctionPlan::result_alignment(const ptx::Instruction& i) const {
  const isa::Opcode& opcode = *i.opcode;
  auto operands = function.operands_of(i);
  if (operands[0].kind != Operand::Kind::reg || !is_address_width(operands[0].type) || opcode.has(Mod::sat) ||
      opcode.has(Mod::hi))
    return 0;
  auto of = [&](unsigned k) { return int{value_alignment(operands[k])}; };
  auto limited = [](int bits) { return static_cast<std::uint8_t>(std::clamp(bits, 0, 31)); };
  const Operand* amount = operands.size() > 2 ? constant(operands[2]) : nullptr;
  switch (opcode.row->text->affine) {
    case Affine::move:
      return limited(of(1));
    case Affine::convert:
      return opcode.type_count > 1 && !isa::is_float(opcode.type(0)) && !isa::is_float(opcode.type(1))
                 ? limited(of(1))
                 : 0;
    case Affine::add:
    case Affine::subtract:
    case Affine::flip:
    case Affine::join:
    case Affine::choose:
      return limited(std::min(of(1), of(2)));
    case Affine::multiply:
      return limited(of(1) + of(2));
    case Affine::multiply_add:
      return limited(std::min(of(1) + of(2), of(3)));
    case Affine::shift_left:
      return limited(of(1) + (amount ? static_cast<int>(std::clamp<std::int64_t>(amount->value, 0, 31)) : 0));
    case Affine::shift_right:
      return amount ? limited(of(1) - static_cast<int>(std::clamp<std::int64_t>(amount->value, 0, 31))) : 0;
    case Affine::mask:
      return limited(std::max(of(1), of(2)));
    case Affine::compare:
    case Affine::none:
      return 0;
  }
  return 0;
}

Shape FunctionPlan::result_shape(const ptx::Instruction& i) const {
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
  if (opcode.is(Effects::reads) && !opcode.is(Effects::writes)) {                            // loads
    if (opcode.row->operands[1].kind != isa::OperandKind::address) return Shape::varying();  // of textures
    if (row.scope == isa::Scope::warp) return Shape::varying();  // of matrices: each lane has its own part
    if (!opcode.is_weak() || opcode.get(ModKind::space) == Mod::local) return Shape::varying();
    if (opcode.get(ModKind::space) == Mod::param && !function.is_entry) return Shape::varying();
    // What a call returned to a kernel is each lane's own; only the kernel's parameters are shared.
    if (const Operand& o = operands[1];
        o.kind == Operand::Kind::address && o.base == Operand::Base::variable) {
      const auto& variable = module.variables[o.index];
      if (variable.space == ptx::Space::param && !variable.is_parameter) return Shape::varying();
    }
    const bool scalar = isa::byte_size(opcode.type(opcode.type_count - 1)) <= 8;  // 16 bytes: lane by lane
    return all_uniform && scalar ? Shape::uniform_value() : Shape::varying();
  }
  if (opcode.is(Effects::writes)) return Shape::varying();
  if (row.scope == isa::Scope::warp) {
    // The members' common answer differs between lanes only if their masks do; shuffles and matches differ
    // anyway.
    const int members = opcode.form->members;
    const bool common = row.uniform_result && members >= 0 &&
                        operand_shape(operands[static_cast<std::size_t>(members)]).uniform();
    return common ? Shape::uniform_value() : Shape::varying();
  }
  if (opcode.is(Effects::state) || opcode.is(Effects::stack) || row.scope != isa::Scope::lane)
    return operands.size() > 0 && all_uniform && row.scope == isa::Scope::cta ? Shape::uniform_value()
                                                                              : Shape::varying();
  if (row.affine == Affine::move && opcode.get(ModKind::space) == Mod::local)
    return Shape::varying();  // cvta.local
  if (opcode.is(Effects::layout) && opcode.row->operands[0].fixed == Type::pred)
    return Shape::varying();  // isspacep: local memory is each lane's own, so one address may be in one
                              // lane's
  if (row.affine == Affine::compare)
    return all_uniform || compares_alike(i) ? Shape::uniform_value() : Shape::varying();
  if (row.affine != Affine::none) {
    Shape s = affine_result(i);
    if (!s.known) return s;
    if (!s.affine) s = all_uniform ? Shape::uniform_value() : Shape::varying();
    if (const LowBits zeros = LowBits::zeros(result_alignment(i)); zeros.count > s.low.count)
      s.low = zeros;  // of every lane, so of the base
    return with_facts(i, s);
  }
  return with_facts(i, all_uniform ? Shape::uniform_value() : Shape::varying());
}

/// What else is known of a lane's result.
Shape FunctionPlan::with_facts(const ptx::Instruction& i, Shape s) const {
  const Operand& d = function.operands_of(i)[0];
  if (d.kind != Operand::Kind::reg || !is_address_width(d.type)) return s;
  const Range range = ranges_.of(d.index);
  if (s.uniform() && range.is_one()) s.low = LowBits::of(range.least);
  s.in_fours.reset();
  if (!s.scalar()) s.in_fours = step_in_fours(i);
  return s;
}

Shape FunctionPlan::computed_shape(const ptx::Instruction& i) const {
  const Shape result = result_shape(i);
  const Operand& d = function.operands_of(i)[0];
  const bool is_kept = d.kind != Operand::Kind::reg || shapes_[d.index].affine;
  return result.checked && !is_kept ? Shape::varying() : result;
}

bool FunctionPlan::update_shapes() {
  bool changed = false;
  auto set = [&](ptx::RegisterId r, Shape s) {
    Shape met = meet(shapes_[r], s, part_lanes);
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
      // Lanes that keep their old value keep one that another definition has accounted for.
      auto give_up = [](const Shape& s) { return s.known ? Shape::varying(lane_alignment(s)) : s; };
      if (i.guard != ptx::kNone && shapes_[i.guard].known && !shapes_[i.guard].uniform())
        shape = give_up(shape);
      bool single =
          function.operands_of(i).size() > 0 && function.operands_of(i)[0].kind == Operand::Kind::reg;
      for (auto r : uses.definitions) {
        bool strided = shape.known && shape.affine && !shape.uniform();
        bool plain = single && uses.definitions.size() == 1;
        Shape written = shape;
        // Only a plain destination can be strided; vectors and second destinations are uniform or varying.
        if (!plain && shape.known) written.low = {};
        if (!plain || i.guard != ptx::kNone) written.in_fours.reset();
        if (i.guard != ptx::kNone)
          written.low = LowBits::zeros(written.low.aligned());  // the old value may be 0
        if (strided && !plain) written = Shape::varying();
        if (shape.known && must_blend(b, r)) {
          // Lanes elsewhere keep their old values: an address stays affine while a run-time flag says there
          // are none.
          written.in_fours.reset();
          if (written.affine && plain && is_address_width(function.registers[r].type))
            written.checked = true;
          else
            written = give_up(written);
        }
        set(r, as_run(written));
      }
    }
  return changed;
}

}  // namespace raddle::jit
