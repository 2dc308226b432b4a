// Reference semantics of set, setp, selp, slct and their half-precision sisters.
#include "interp/reference.h"

#include "interp/lane.h"
#include "interp/types.h"
#include "numerics/arithmetic.h"
#include "numerics/compare.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using isa::Type;
using numerics::Compare;
using ptx::Instruction;

namespace {

Compare float_comparison(Mod how) {
  switch (how) {
    case Mod::eq:
      return Compare::eq;
    case Mod::ne:
      return Compare::ne;
    case Mod::lt:
      return Compare::lt;
    case Mod::le:
      return Compare::le;
    case Mod::gt:
      return Compare::gt;
    case Mod::ge:
      return Compare::ge;
    case Mod::equ:
      return Compare::equ;
    case Mod::neu:
      return Compare::neu;
    case Mod::ltu:
      return Compare::ltu;
    case Mod::leu:
      return Compare::leu;
    case Mod::gtu:
      return Compare::gtu;
    case Mod::geu:
      return Compare::geu;
    case Mod::num:
      return Compare::num;
    case Mod::nan_:
      return Compare::nan;
    default:
      RADDLE_UNREACHABLE("no float comparison");
  }
}

/// `lo` and `hi` are of another modifier kind than the other comparisons.
Mod comparison_of(const isa::Opcode& opcode) {
  if (opcode.has(Mod::lo)) return Mod::lo;
  if (opcode.has(Mod::hi)) return Mod::hi;
  return opcode.get(isa::ModKind::compare);
}

double flushed_if(bool flush, double x, double smallest_normal) {
  return flush && (x < 0 ? -x : x) < smallest_normal ? 0.0 : x;
}

bool compare_values(Lane& lane, const Instruction& i, Type type, unsigned a, unsigned b) {
  Mod how = comparison_of(*i.opcode);
  bool flush = i.opcode->has(Mod::ftz);
  if (isa::is_float(type)) {
    return with_any_float(type, [&](auto tag) {
      using T = decltype(tag);
      double limit = std::is_same_v<T, numerics::f16> ? 0x1p-14 : sizeof(T) == 8 ? 0.0 : 0x1p-126;
      double x = flushed_if(flush, numerics::widen(lane.in<T>(a)), limit);
      double y = flushed_if(flush, numerics::widen(lane.in<T>(b)), limit);
      return numerics::compare(float_comparison(how), x, y);
    });
  }
  return with_integer(type, [&](auto tag) {
    using T = decltype(tag);
    return compare_integers<T>(how, lane.in<T>(a), lane.in<T>(b));
  });
}

bool compare_halves(Lane& lane, const Instruction& i, Type type, unsigned a, unsigned b, unsigned part) {
  bool flush = i.opcode->has(Mod::ftz);
  return with_half(type, [&](auto tag) {
    using T = decltype(tag);
    double limit = std::is_same_v<T, numerics::f16> ? 0x1p-14 : 0x1p-126;
    auto read = [&](unsigned k) {
      T half{static_cast<std::uint16_t>(lane.in<std::uint32_t>(k) >> (16 * part))};
      return flushed_if(flush, numerics::widen(half), limit);
    };
    return numerics::compare(float_comparison(comparison_of(*i.opcode)), read(a), read(b));
  });
}

/// Combines a comparison with predicate operand k as .and, .or or .xor say; without one, as it is.
bool combine(Lane& lane, const Instruction& i, bool compared, unsigned k) {
  if (!lane.has(k)) return compared;
  bool c = lane.in<bool>(k);
  switch (i.opcode->get(isa::ModKind::operation)) {
    case Mod::and_:
      return compared && c;
    case Mod::or_:
      return compared || c;
    case Mod::xor_:
      return compared != c;
    default:
      return compared;
  }
}

/// True in a destination type: all ones in an integer, 1.0 in a float.
std::uint64_t truth(Type type) {
  switch (type) {
    case Type::f32:
      return 0x3f800000u;
    case Type::f16:
      return 0x3c00u;
    case Type::bf16:
      return 0x3f80u;
    default:
      return ~std::uint64_t{0} >> (64 - isa::bit_size(type));
  }
}

/// p = cmp(a, b) op c, q = !cmp(a, b) op c.
void set_predicates(Lane& lane, const Instruction& i, bool compared) {
  bool p = combine(lane, i, compared, 4), q = combine(lane, i, !compared, 4);
  lane.out<bool>(0, p);
  if (lane.has(1)) lane.out<bool>(1, q);
}

}  // namespace

template <>
void reference<Op::set>(Lane& lane, const Instruction& i) {
  bool holds = combine(lane, i, compare_values(lane, i, i.opcode->type(1), 1, 2), 3);
  lane.out<std::uint64_t>(0, holds ? truth(i.opcode->type(0)) : 0);
}
template <>
void reference<Op::set_half>(Lane& lane, const Instruction& i) {
  reference<Op::set>(lane, i);
}

/// f16x2 and bf16x2: a half each, all ones or 1.0; with an integer destination 16 bits of ones each.
template <>
void reference<Op::set_half2>(Lane& lane, const Instruction& i) {
  Type to = i.opcode->type(0), from = i.opcode->type(1);
  std::uint32_t one = to == Type::f16x2 ? 0x3c00u : to == Type::bf16x2 ? 0x3f80u : 0xffffu, result = 0;
  for (unsigned part = 0; part < 2; ++part) {
    bool holds = combine(lane, i, compare_halves(lane, i, from, 1, 2, part), 3);
    if (holds) result |= one << (16 * part);
  }
  lane.out<std::uint32_t>(0, result);
}

template <>
void reference<Op::setp>(Lane& lane, const Instruction& i) {
  set_predicates(lane, i, compare_values(lane, i, i.opcode->type(0), 2, 3));
}
template <>
void reference<Op::setp_half>(Lane& lane, const Instruction& i) {
  bool compared = compare_values(lane, i, i.opcode->type(0), 1, 2);
  lane.out<bool>(0, combine(lane, i, compared, 3));
}
template <>
void reference<Op::setp_half2>(Lane& lane, const Instruction& i) {
  bool p = combine(lane, i, compare_halves(lane, i, i.opcode->type(0), 2, 3, 0), 4);
  bool q = combine(lane, i, compare_halves(lane, i, i.opcode->type(0), 2, 3, 1), 4);
  lane.out<bool>(0, p);
  lane.out<bool>(1, q);
}

template <>
void reference<Op::selp>(Lane& lane, const Instruction&) {
  lane.out<std::uint64_t>(0, lane.in<std::uint64_t>(lane.in<bool>(3) ? 1 : 2));
}

/// a if c >= 0, else b; -0.0 counts as >= 0, NaN does not.
template <>
void reference<Op::slct>(Lane& lane, const Instruction& i) {
  bool first;
  if (i.opcode->type(1) == Type::f32) {
    float c = lane.in<float>(3);
    first = (i.opcode->has(Mod::ftz) ? numerics::flush(c) : c) >= 0;
  } else {
    first = lane.in<std::int32_t>(3) >= 0;
  }
  lane.out<std::uint64_t>(0, lane.in<std::uint64_t>(first ? 1 : 2));
}

}  // namespace raddle::interp
