// Reference semantics of logic and shifts. Bits above the type are cut by the destination register.
#include "interp/reference.h"

#include <algorithm>

#include "interp/lane.h"
#include "interp/types.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using ptx::Instruction;

namespace {

template <class F>
void bitwise(Lane& lane, F f) {
  lane.out<std::uint64_t>(0, f(lane.in<std::uint64_t>(1), lane.in<std::uint64_t>(2)));
}

/// Bit (a b c) of the truth table for every bit position.
std::uint32_t by_table(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
  std::uint32_t result = 0;
  for (unsigned k = 0; k < 32; ++k) {
    unsigned row = (a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1);
    result |= (table >> row & 1) << k;
  }
  return result;
}

}  // namespace

template <>
void reference<Op::and_>(Lane& lane, const Instruction&) {
  bitwise(lane, [](std::uint64_t a, std::uint64_t b) { return a & b; });
}
template <>
void reference<Op::or_>(Lane& lane, const Instruction&) {
  bitwise(lane, [](std::uint64_t a, std::uint64_t b) { return a | b; });
}
template <>
void reference<Op::xor_>(Lane& lane, const Instruction&) {
  bitwise(lane, [](std::uint64_t a, std::uint64_t b) { return a ^ b; });
}
template <>
void reference<Op::not_>(Lane& lane, const Instruction&) {
  lane.out<std::uint64_t>(0, ~lane.in<std::uint64_t>(1));
}
template <>
void reference<Op::cnot>(Lane& lane, const Instruction& i) {
  with_bits(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    lane.out<std::uint64_t>(0, lane.in<T>(1) == T{0} ? 1 : 0);
  });
}

template <>
void reference<Op::lop3>(Lane& lane, const Instruction&) {
  lane.out<std::uint32_t>(0, by_table(lane.in<std::uint32_t>(1), lane.in<std::uint32_t>(2),
                                      lane.in<std::uint32_t>(3), lane.in<std::uint32_t>(4)));
}
template <>
void reference<Op::lop3_bool>(Lane& lane, const Instruction& i) {
  std::uint32_t d = by_table(lane.in<std::uint32_t>(2), lane.in<std::uint32_t>(3), lane.in<std::uint32_t>(4),
                             lane.in<std::uint32_t>(5));
  bool q = lane.in<bool>(6), some = d != 0;
  lane.out<std::uint32_t>(0, d);
  lane.out<bool>(1, i.opcode->has(Mod::or_) ? some || q : some && q);
}

/// Shifts the 64 bits b:a; .l gives the upper word, .r the lower.
template <>
void reference<Op::shf>(Lane& lane, const Instruction& i) {
  std::uint64_t both =
      static_cast<std::uint64_t>(lane.in<std::uint32_t>(2)) << 32 | lane.in<std::uint32_t>(1);
  std::uint32_t c = lane.in<std::uint32_t>(3);
  unsigned n = i.opcode->has(Mod::wrap) ? c & 31 : std::min(c, 32u);
  std::uint64_t shifted = i.opcode->has(Mod::l) ? both << n >> 32 : both >> n;
  lane.out<std::uint32_t>(0, static_cast<std::uint32_t>(shifted));
}

// Shift amounts above the width act as the width.
template <>
void reference<Op::shl>(Lane& lane, const Instruction& i) {
  with_bits(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    std::uint32_t n = lane.in<std::uint32_t>(2);
    std::uint64_t a = lane.in<std::uint64_t>(1);
    lane.out<std::uint64_t>(0, n < sizeof(T) * 8 ? a << n : 0);
  });
}
template <>
void reference<Op::shr>(Lane& lane, const Instruction& i) {
  with_integer(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    std::uint32_t n = lane.in<std::uint32_t>(2);
    T a = lane.in<T>(1);
    if (n >= sizeof(T) * 8) {
      lane.out<T>(0, static_cast<T>(a < 0 ? -1 : 0));
    } else {
      lane.out<T>(0, static_cast<T>(a >> n));
    }
  });
}

}  // namespace raddle::interp
