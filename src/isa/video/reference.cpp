// Reference semantics of video instructions: exact integers of 128 bits, cut to 32 at the end.
#include "interp/reference.h"

#include <algorithm>
#include <array>

#include "interp/lane.h"
#include "interp/types.h"
#include "isa/selector.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Instruction;

namespace {

using Wide = __int128;
using Binary = Wide (*)(Wide, Wide);

/// `bits` bits of x from bit `at` on, as a number.
Wide field(std::uint64_t x, unsigned at, unsigned bits, bool is_signed) {
  Wide value = static_cast<Wide>(x >> at & ((std::uint64_t{1} << bits) - 1));
  bool negative = is_signed && (value >> (bits - 1) & 1) != 0;
  return negative ? value - (Wide{1} << bits) : value;
}

/// The part of operand k that its selector names, at a type's sign.
Wide part(Lane& lane, unsigned k, Type type) {
  std::uint16_t selector = lane.operand(k).selector;
  unsigned bits = isa::selector_bits(selector);
  unsigned at = selector == 0 ? 0 : isa::selector_digit(selector, 0) * bits;
  return field(lane.in<std::uint32_t>(k), at, bits, isa::is_signed(type));
}

Wide clamp(Wide value, unsigned bits, bool is_signed) {
  Wide low = is_signed ? -(Wide{1} << (bits - 1)) : Wide{0};
  Wide high = (Wide{1} << (is_signed ? bits - 1 : bits)) - 1;
  return std::min(std::max(value, low), high);
}

/// .sat, the second operation, and the merge of a part into c.
void finish(Lane& lane, const Instruction& i, Wide value, Type type) {
  std::uint16_t selector = lane.operand(0).selector;
  unsigned bits = isa::selector_bits(selector);
  bool is_signed = isa::is_signed(type);
  if (i.opcode->has(Mod::sat)) value = clamp(value, bits, is_signed);
  auto raw = lane.has(3) ? lane.in<std::uint32_t>(3) : 0u;
  Wide c = field(raw, 0, 32, is_signed);
  if (i.opcode->has(Mod::add)) value += c;
  if (i.opcode->has(Mod::min)) value = std::min(value, c);
  if (i.opcode->has(Mod::max)) value = std::max(value, c);
  auto result = static_cast<std::uint32_t>(value);
  if (selector != 0) {
    unsigned at = isa::selector_digit(selector, 0) * bits;
    std::uint32_t mask = ((1u << bits) - 1) << at;
    result = (raw & ~mask) | (result << at & mask);
  }
  lane.out<std::uint32_t>(0, result);
}

void scalar(Lane& lane, const Instruction& i, Binary operation) {
  const isa::Opcode& opcode = *i.opcode;
  finish(lane, i, operation(part(lane, 1, opcode.type(1)), part(lane, 2, opcode.type(2))), opcode.type(0));
}

Wide shift_amount(Lane& lane, const Instruction& i) {
  Wide amount = part(lane, 2, Type::u32);
  return i.opcode->has(Mod::wrap) ? amount & 31 : std::min<Wide>(amount, 32);
}

Wide add(Wide a, Wide b) { return a + b; }
Wide subtract(Wide a, Wide b) { return a - b; }
Wide difference(Wide a, Wide b) { return a < b ? b - a : a - b; }
Wide minimum(Wide a, Wide b) { return std::min(a, b); }
Wide maximum(Wide a, Wide b) { return std::max(a, b); }
/// Halves round up from zero on, down below it.
Wide average(Wide a, Wide b) { return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1; }

/// Operand k's elements, picked out of the eight bytes {b, a}.
std::array<Wide, 4> elements(Lane& lane, unsigned k, unsigned count, Type type) {
  std::uint64_t both = lane.in<std::uint32_t>(1) | std::uint64_t{lane.in<std::uint32_t>(2)} << 32;
  auto kind = count == 2 ? isa::SelectorKind::halves : isa::SelectorKind::bytes;
  std::uint16_t selector = lane.operand(k).selector;
  if (selector == 0) selector = isa::default_selector(kind, k == 2);
  std::array<Wide, 4> result{};
  for (unsigned e = 0; e < count; ++e) {
    unsigned bits = 32 / count, at = isa::selector_digit(selector, e) * bits;
    result[e] = field(both, at, bits, isa::is_signed(type));
  }
  return result;
}

/// The results in the lanes of d's mask: put in place of c's, or all added to c.
void merge(Lane& lane, const Instruction& i, const std::array<Wide, 4>& results, unsigned count) {
  std::uint16_t mask = lane.operand(0).selector;
  auto kind = count == 2 ? isa::SelectorKind::half_mask : isa::SelectorKind::byte_mask;
  if (mask == 0) mask = isa::default_selector(kind, false);
  auto d = lane.in<std::uint32_t>(3);
  unsigned bits = 32 / count;
  for (unsigned k = 0; k < isa::selector_count(mask); ++k) {
    unsigned e = isa::selector_digit(mask, k);
    auto value = static_cast<std::uint32_t>(results[e]);
    std::uint32_t place = ((1u << bits) - 1) << (e * bits);
    d = i.opcode->has(Mod::add) ? d + value : (d & ~place) | (value << (e * bits) & place);
  }
  lane.out<std::uint32_t>(0, d);
}

void simd(Lane& lane, const Instruction& i, unsigned count, Binary operation) {
  auto a = elements(lane, 1, count, i.opcode->type(1)), b = elements(lane, 2, count, i.opcode->type(2));
  for (unsigned e = 0; e < count; ++e) {
    a[e] = operation(a[e], b[e]);
    if (i.opcode->has(Mod::sat)) a[e] = clamp(a[e], 32 / count, isa::is_signed(i.opcode->type(0)));
  }
  merge(lane, i, a, count);
}

void simd_set(Lane& lane, const Instruction& i, unsigned count) {
  auto a = elements(lane, 1, count, i.opcode->type(0)), b = elements(lane, 2, count, i.opcode->type(1));
  for (unsigned e = 0; e < count; ++e)
    a[e] = compare_integers(i.opcode->get(isa::ModKind::compare), a[e], b[e]) ? 1 : 0;
  merge(lane, i, a, count);
}

}  // namespace

template <>
void reference<Op::vadd>(Lane& lane, const Instruction& i) {
  scalar(lane, i, add);
}
template <>
void reference<Op::vsub>(Lane& lane, const Instruction& i) {
  scalar(lane, i, subtract);
}
template <>
void reference<Op::vabsdiff>(Lane& lane, const Instruction& i) {
  scalar(lane, i, difference);
}
template <>
void reference<Op::vmin>(Lane& lane, const Instruction& i) {
  scalar(lane, i, minimum);
}
template <>
void reference<Op::vmax>(Lane& lane, const Instruction& i) {
  scalar(lane, i, maximum);
}

template <>
void reference<Op::vshl>(Lane& lane, const Instruction& i) {
  Wide a = part(lane, 1, i.opcode->type(1));
  finish(lane, i, a * (Wide{1} << shift_amount(lane, i)), i.opcode->type(0));
}
template <>
void reference<Op::vshr>(Lane& lane, const Instruction& i) {
  Wide a = part(lane, 1, i.opcode->type(1));
  finish(lane, i, a >> shift_amount(lane, i), i.opcode->type(0));
}

/// a * b + c in 128 bits; the negation of a product or of c comes with the carry that makes it exact.
template <>
void reference<Op::vmad>(Lane& lane, const Instruction& i) {
  Type a_type = i.opcode->type(1), b_type = i.opcode->type(2);
  bool negates = lane.operand(1).minus != lane.operand(2).minus, negates_c = lane.operand(3).minus;
  bool is_signed = isa::is_signed(a_type) || isa::is_signed(b_type) || negates || negates_c;
  Wide product = part(lane, 1, a_type) * part(lane, 2, b_type);
  Wide c = field(lane.in<std::uint32_t>(3), 0, 32, is_signed);
  Wide sum = negates ? c - product : negates_c ? product - c : product + c;
  if (i.opcode->has(Mod::po)) sum += 1;
  if (i.opcode->has(Mod::shr7)) sum >>= 7;
  if (i.opcode->has(Mod::shr15)) sum >>= 15;
  if (i.opcode->has(Mod::sat)) sum = clamp(sum, 32, is_signed);
  lane.out<std::uint32_t>(0, static_cast<std::uint32_t>(sum));
}

template <>
void reference<Op::vset>(Lane& lane, const Instruction& i) {
  Wide a = part(lane, 1, i.opcode->type(0)), b = part(lane, 2, i.opcode->type(1));
  finish(lane, i, compare_integers(i.opcode->get(isa::ModKind::compare), a, b) ? 1 : 0, Type::u32);
}

template <>
void reference<Op::vset2>(Lane& lane, const Instruction& i) {
  simd_set(lane, i, 2);
}
template <>
void reference<Op::vset4>(Lane& lane, const Instruction& i) {
  simd_set(lane, i, 4);
}

#define RADDLE_SIMD_VIDEO(name, count, operation)                      \
  template <>                                                          \
  void reference<Op::name##count>(Lane & lane, const Instruction& i) { \
    simd(lane, i, count, operation);                                   \
  }
RADDLE_SIMD_VIDEO(vadd, 2, add)
RADDLE_SIMD_VIDEO(vsub, 2, subtract)
RADDLE_SIMD_VIDEO(vavrg, 2, average)
RADDLE_SIMD_VIDEO(vabsdiff, 2, difference)
RADDLE_SIMD_VIDEO(vmin, 2, minimum)
RADDLE_SIMD_VIDEO(vmax, 2, maximum)
RADDLE_SIMD_VIDEO(vadd, 4, add)
RADDLE_SIMD_VIDEO(vsub, 4, subtract)
RADDLE_SIMD_VIDEO(vavrg, 4, average)
RADDLE_SIMD_VIDEO(vabsdiff, 4, difference)
RADDLE_SIMD_VIDEO(vmin, 4, minimum)
RADDLE_SIMD_VIDEO(vmax, 4, maximum)
#undef RADDLE_SIMD_VIDEO

}  // namespace raddle::interp
