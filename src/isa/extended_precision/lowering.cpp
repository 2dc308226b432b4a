// Lowerings of extended-precision arithmetic: carries through the flag CC.CF, a pred of the lane. The
// carry of a sum is that of its unsigned reading, whatever the type's sign. Source: PTX ISA
// "Extended-Precision Integer Arithmetic".
#include "isa/op.h"
#include "jit/emitter.h"

namespace raddle::jit {
namespace {

Val as_unsigned(Val a) { return a.as(a.bits() == 64 ? Type::u64 : Type::u32); }

/// out = a + b (+ carry), carry flag when the opcode writes it.
void add_with_carry(Emitter& e, Val a, Val b, bool reads_carry) {
  a = as_unsigned(a);
  b = as_unsigned(b);
  Val sum = a + b, carry = lt(sum, a);
  if (reads_carry) {
    Val total = sum + e.carry_in().to(sum.type);
    carry = carry | lt(total, sum);
    sum = total;
  }
  if (e.has(Mod::cc)) e.carry_out(carry);
  e.out(sum);
}

/// out = a - b (- borrow); the flag holds the carry of a + ~b + 1, the borrow's inverse.
void subtract_with_borrow(Emitter& e, bool reads_borrow) {
  Val a = as_unsigned(e.in(1)), b = as_unsigned(e.in(2));
  Val difference = a - b, borrow = lt(a, b);
  if (reads_borrow) {
    Val in = (~e.carry_in()).to(a.type);
    borrow = borrow | lt(difference, in);
    difference = difference - in;
  }
  if (e.has(Mod::cc)) e.carry_out(~borrow);
  e.out(difference);
}

Val half_product(Emitter& e) { return e.has(Mod::hi) ? multiply_high(e.in(1), e.in(2)) : e.in(1) * e.in(2); }

}  // namespace

template <>
void lower<Op::add_cc>(Emitter& e) {
  add_with_carry(e, e.in(1), e.in(2), false);
}

template <>
void lower<Op::addc>(Emitter& e) {
  add_with_carry(e, e.in(1), e.in(2), true);
}

template <>
void lower<Op::sub_cc>(Emitter& e) {
  subtract_with_borrow(e, false);
}

template <>
void lower<Op::subc>(Emitter& e) {
  subtract_with_borrow(e, true);
}

template <>
void lower<Op::mad_cc>(Emitter& e) {
  add_with_carry(e, half_product(e), e.in(3), false);
}

template <>
void lower<Op::madc>(Emitter& e) {
  add_with_carry(e, half_product(e), e.in(3), true);
}

}  // namespace raddle::jit
