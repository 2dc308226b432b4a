// Lowerings of logic and shifts. lop3 with its constant table becomes the shortest of the and/or/xor trees
// that split on one of its inputs. Source: PTX ISA "Logic and Shift Instructions".

#include "isa/op.h"
#include "jit/emitter.h"

namespace raddle::jit {
namespace {

/// A function of two inputs by its truth table: bit 2 * x + y.
struct Pair {
  unsigned table;
  bool constant() const { return table == 0 || table == 15; }
  unsigned cost() const {
    static constexpr unsigned kCosts[16] = {0, 2, 2, 1, 2, 1, 1, 2, 1, 2, 0, 2, 0, 2, 1, 0};
    return kCosts[table];
  }
  Val build(Val x, Val y) const {
    switch (table) {
      case 0:
        return x.like(0);
      case 1:
        return ~(x | y);
      case 2:
        return y & ~x;
      case 3:
        return ~x;
      case 4:
        return x & ~y;
      case 5:
        return ~y;
      case 6:
        return x ^ y;
      case 7:
        return ~(x & y);
      case 8:
        return x & y;
      case 9:
        return ~(x ^ y);
      case 10:
        return y;
      case 11:
        return y | ~x;
      case 12:
        return x;
      case 13:
        return x | ~y;
      case 14:
        return x | y;
      default:
        return x.like(-1);
    }
  }
};

/// The table seen as: if input `split` then `on` else `off`, functions of the other two inputs in order.
struct Split {
  unsigned split;
  Pair off, on;
  unsigned cost() const {
    if (on.table == off.table) return on.cost();
    if (on.table == (off.table ^ 15u)) return off.cost() + 1;
    if (on.constant() || off.constant()) return on.cost() + off.cost() + 1;
    return on.cost() + off.cost() + 3;
  }
};

/// Input 0 (a) is the highest bit of the table's index.
Split split_table(unsigned table, unsigned input) {
  unsigned halves[2] = {0, 0};
  for (unsigned index = 0; index < 8; ++index) {
    unsigned bits[3] = {index >> 2 & 1, index >> 1 & 1, index & 1};
    unsigned x = bits[input == 0 ? 1 : 0], y = bits[input == 2 ? 1 : 2];
    halves[bits[input]] |= (table >> index & 1) << (2 * x + y);
  }
  return {input, {halves[0]}, {halves[1]}};
}

Val build(const Split& s, Val c, Val x, Val y) {
  if (s.on.table == s.off.table) return s.on.build(x, y);
  if (s.on.table == (s.off.table ^ 15u)) return s.off.build(x, y) ^ c;
  if (s.off.table == 0) return s.on.build(x, y) & c;
  if (s.on.table == 0) return s.off.build(x, y) & ~c;
  if (s.on.table == 15) return s.off.build(x, y) | c;
  if (s.off.table == 15) return s.on.build(x, y) | ~c;
  Val off = s.off.build(x, y);
  return off ^ ((off ^ s.on.build(x, y)) & c);
}

Val lookup_constant(unsigned table, Val a, Val b, Val c) {
  Split best = split_table(table, 0);
  for (unsigned input = 1; input < 3; ++input)
    if (Split other = split_table(table, input); other.cost() < best.cost()) best = other;
  Val inputs[3] = {a, b, c};
  return build(best, inputs[best.split], inputs[best.split == 0 ? 1 : 0], inputs[best.split == 2 ? 1 : 2]);
}

/// Any table, as the sum of its minterms.
Val lookup_variable(Val table, Val a, Val b, Val c) {
  Val result = a.like(0);
  for (unsigned index = 0; index < 8; ++index) {
    Val chosen = -(shr(table, index) & table.like(1));
    Val term = (index & 4 ? a : ~a) & (index & 2 ? b : ~b) & (index & 1 ? c : ~c);
    result = result | (chosen.as(Type::b32) & term);
  }
  return result;
}

/// lop3's result; a, b, c, lut stand at operands first .. first + 3.
Val lookup(Emitter& e, unsigned first) {
  Val a = e.in(first), b = e.in(first + 1), c = e.in(first + 2), table = e.in(first + 3, Type::u32);
  std::uint64_t constant;
  return is_constant(table, constant) ? lookup_constant(constant & 255, a, b, c)
                                      : lookup_variable(table, a, b, c);
}

}  // namespace

template <>
void lower<Op::and_>(Emitter& e) {
  e.out(e.in(1) & e.in(2));
}

template <>
void lower<Op::or_>(Emitter& e) {
  e.out(e.in(1) | e.in(2));
}

template <>
void lower<Op::xor_>(Emitter& e) {
  e.out(e.in(1) ^ e.in(2));
}

template <>
void lower<Op::not_>(Emitter& e) {
  e.out(~e.in(1));
}

template <>
void lower<Op::cnot>(Emitter& e) {
  Val a = e.in(1);
  e.out(eq(a, a.like(0)).to(a.type));
}

template <>
void lower<Op::lop3>(Emitter& e) {
  e.out(lookup(e, 1));
}

template <>
void lower<Op::lop3_bool>(Emitter& e) {
  Val d = lookup(e, 2), q = e.in(6);
  Val set = ne(d, d.like(0));
  e.out(0, d);
  e.out(1, e.has(Mod::or_) ? set | q : set & q);
}

template <>
void lower<Op::shf>(Emitter& e) {
  Val low = e.in(1, Type::u32), high = e.in(2, Type::u32), amount = e.in(3, Type::u32);
  bool left = e.has(Mod::l);
  Val shifted =
      intrinsic(left ? llvm::Intrinsic::fshl : llvm::Intrinsic::fshr, high, low, amount);  // modulo 32
  if (e.has(Mod::clamp)) shifted = select(ge(amount, amount.like(32)), left ? low : high, shifted);
  e.out(shifted.as(Type::b32));
}

template <>
void lower<Op::shl>(Emitter& e) {
  e.out(shl_clamped(e.in(1), e.in(2, Type::u32)));
}

template <>
void lower<Op::shr>(Emitter& e) {
  e.out(shr_clamped(e.in(1), e.in(2, Type::u32)));
}

}  // namespace raddle::jit
