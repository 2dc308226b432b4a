// Reference semantics of extended-precision integer arithmetic: the carry flag CC.CF belongs to the lane.
#include "interp/reference.h"

#include "interp/lane.h"
#include "interp/types.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using ptx::Instruction;

namespace {

using Unsigned128 = unsigned __int128;

/// d = a + b + carry in; the flag becomes the carry out where `.cc` asks for it.
void add_with_carry(Lane& lane, const Instruction& i, Unsigned128 a, Unsigned128 b, Unsigned128 carry) {
  unsigned bits = isa::bit_size(i.opcode->type());
  Unsigned128 sum = a + b + carry;
  lane.out<std::uint64_t>(0, static_cast<std::uint64_t>(sum));
  if (i.opcode->has(Mod::cc)) lane.carry = (sum >> bits) != 0;
}

/// d = a - b - borrow in. The flag is the carry of a + ~b + 1, so that a clear one is a borrow: the
/// manual leaves it open, and an H200 shows it to addc.
void subtract_with_borrow(Lane& lane, const Instruction& i, Unsigned128 borrow) {
  with_bits(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    Unsigned128 a = lane.in<T>(1), b = Unsigned128{lane.in<T>(2)} + borrow;
    lane.out<T>(0, static_cast<T>(a - b));
    if (i.opcode->has(Mod::cc)) lane.carry = b <= a;
  });
}

void multiply_with_carry(Lane& lane, const Instruction& i, Unsigned128 carry) {
  with_integer(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    using U = std::make_unsigned_t<T>;
    using Product = std::conditional_t<std::is_signed_v<T>, __int128, Unsigned128>;
    Product product = static_cast<Product>(lane.in<T>(1)) * static_cast<Product>(lane.in<T>(2));
    U part = static_cast<U>(i.opcode->has(Mod::hi) ? product >> (sizeof(T) * 8) : product);
    add_with_carry(lane, i, part, lane.in<U>(3), carry);
  });
}

void add_pair(Lane& lane, const Instruction& i, Unsigned128 carry) {
  with_bits(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    add_with_carry(lane, i, lane.in<T>(1), lane.in<T>(2), carry);
  });
}

}  // namespace

template <>
void reference<Op::add_cc>(Lane& lane, const Instruction& i) {
  add_pair(lane, i, 0);
}
template <>
void reference<Op::addc>(Lane& lane, const Instruction& i) {
  add_pair(lane, i, lane.carry);
}
template <>
void reference<Op::sub_cc>(Lane& lane, const Instruction& i) {
  subtract_with_borrow(lane, i, 0);
}
template <>
void reference<Op::subc>(Lane& lane, const Instruction& i) {
  subtract_with_borrow(lane, i, lane.carry ? 0 : 1);
}
template <>
void reference<Op::mad_cc>(Lane& lane, const Instruction& i) {
  multiply_with_carry(lane, i, 0);
}
template <>
void reference<Op::madc>(Lane& lane, const Instruction& i) {
  multiply_with_carry(lane, i, lane.carry);
}

}  // namespace raddle::interp
