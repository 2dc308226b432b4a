// Lowerings of video instructions. Scalar ones compute in 64 bits, where nothing but a shift by 32 and a
// product can overflow; SIMD ones element by element in 32 bits. Source: PTX ISA "Video Instructions".
#include "isa/op.h"
#include "isa/selector.h"
#include "jit/emitter.h"

namespace raddle::jit {
namespace {

Val wide(Val a, bool is_signed) { return a.as(is_signed ? Type::s32 : Type::u32).to(Type::s64); }

/// Bits [at, at + bits) of a 32-bit value at the sign of `type`, in 32 bits.
Val cut(Val a, unsigned at, unsigned bits, Type type) {
  Val top = shl(a.as(Type::u32), 32 - at - bits).as(isa::is_signed(type) ? Type::s32 : Type::u32);
  return shr(top, 32 - bits);
}

Val source(Emitter& e, unsigned k, Type type) {
  std::uint16_t selector = e.operand(k).selector;
  Val a = e.in(k);
  if (selector == 0) return wide(a, isa::is_signed(type));
  unsigned bits = isa::selector_bits(selector);
  return wide(cut(a, isa::selector_digit(selector, 0) * bits, bits, type), isa::is_signed(type));
}

Val clamp(Val a, unsigned bits, bool is_signed) {
  std::int64_t low = is_signed ? -(1ll << (bits - 1)) : 0, high = (1ll << (is_signed ? bits - 1 : bits)) - 1;
  return min(max(a, a.like(low)), a.like(high));
}

Val compare_by(Emitter& e, Val a, Val b) {
  switch (e.get(ModKind::compare)) {
    case Mod::eq:
      return eq(a, b);
    case Mod::ne:
      return ne(a, b);
    case Mod::lt:
      return lt(a, b);
    case Mod::le:
      return le(a, b);
    case Mod::gt:
      return gt(a, b);
    default:
      return ge(a, b);
  }
}

/// The low `bits` of `value` replace those of c from bit `at` on.
Val insert(Val c, Val value, unsigned at, unsigned bits) {
  std::int64_t mask = static_cast<std::int64_t>(((1ull << bits) - 1) << at);
  return (c & c.like(~mask)) | (shl(value, at) & c.like(mask));
}

void finish_video(Emitter& e, Val value, Type type) {
  std::uint16_t selector = e.operand(0).selector;
  unsigned bits = isa::selector_bits(selector);
  bool is_signed = isa::is_signed(type);
  if (e.has(Mod::sat)) value = clamp(value, bits, is_signed);
  if (e.get(ModKind::operation) != Mod::none) {
    Val c = wide(e.in(3), is_signed);
    value = e.has(Mod::add) ? value + c : e.has(Mod::min) ? min(value, c) : max(value, c);
  }
  Val result = value.to(Type::u32);
  if (selector != 0)
    result = insert(e.in(3, Type::u32), result, isa::selector_digit(selector, 0) * bits, bits);
  e.out(result);
}

Val add(Val a, Val b) { return a + b; }
Val subtract(Val a, Val b) { return a - b; }
Val difference(Val a, Val b) { return max(a, b) - min(a, b); }
/// Floor of the half, of the sum plus one where that is positive.
Val average(Val a, Val b) {
  Val sum = a + b;
  return shr(sum + (sum.like(1) & ~shr(sum, sum.bits() - 1)), 1);
}

template <typename F>
void scalar(Emitter& e, F operation) {
  finish_video(e, operation(source(e, 1, e.type(1)), source(e, 2, e.type(2))), e.type(0));
}

Val shift_amount(Emitter& e) {
  Val b = source(e, 2, Type::u32);
  return e.has(Mod::wrap) ? b & b.like(31) : min(b, b.like(32));
}

/// Element e of the four halves or eight bytes {b, a}.
Val pick(Emitter& e, unsigned which, unsigned count, Type type) {
  unsigned bits = 32 / count;
  Val from = e.in(which < count ? 1 : 2);
  return cut(from, which % count * bits, bits, type).as(Type::s32);
}

/// Computes the elements that d's mask names and merges them into c, or adds them to it.
template <typename F>
void simd(Emitter& e, unsigned count, unsigned first_type, F operation) {
  using isa::SelectorKind;
  unsigned bits = 32 / count;
  auto selector = [&](unsigned k, SelectorKind kind) {
    std::uint16_t written = e.operand(k).selector;
    return written != 0 ? written : isa::default_selector(kind, k == 2);
  };
  auto elements = count == 2 ? SelectorKind::halves : SelectorKind::bytes;
  std::uint16_t from_a = selector(1, elements), from_b = selector(2, elements);
  std::uint16_t mask = selector(0, count == 2 ? SelectorKind::half_mask : SelectorKind::byte_mask);
  Val d = e.in(3, Type::u32);
  for (unsigned k = 0; k < isa::selector_count(mask); ++k) {
    unsigned n = isa::selector_digit(mask, k);
    Val a = pick(e, isa::selector_digit(from_a, n), count, e.type(first_type));
    Val b = pick(e, isa::selector_digit(from_b, n), count, e.type(first_type + 1));
    Val result = operation(a, b);
    if (e.has(Mod::sat)) result = clamp(result, bits, isa::is_signed(e.type(0)));
    Val value = result.as(Type::u32);
    d = e.has(Mod::add) ? d + value : insert(d, value, n * bits, bits);
  }
  e.out(d);
}

void simd_set(Emitter& e, unsigned count) {
  simd(e, count, 0, [&](Val a, Val b) { return compare_by(e, a, b).to(Type::u32).as(Type::s32); });
}

Val minimum(Val a, Val b) { return min(a, b); }
Val maximum(Val a, Val b) { return max(a, b); }

}  // namespace

template <>
void lower<Op::vadd>(Emitter& e) {
  scalar(e, add);
}
template <>
void lower<Op::vsub>(Emitter& e) {
  scalar(e, subtract);
}
template <>
void lower<Op::vabsdiff>(Emitter& e) {
  scalar(e, difference);
}
template <>
void lower<Op::vmin>(Emitter& e) {
  scalar(e, minimum);
}
template <>
void lower<Op::vmax>(Emitter& e) {
  scalar(e, maximum);
}

/// A value shifted by 32 is beyond every bound and has no low bits: it keeps both if it is first brought into
/// 31 bits.
template <>
void lower<Op::vshl>(Emitter& e) {
  Val a = source(e, 1, e.type(1)), amount = shift_amount(e);
  a = select(eq(amount, amount.like(32)), clamp(a, 32, true), a);
  finish_video(e, shift_left(a, amount), e.type(0));
}
template <>
void lower<Op::vshr>(Emitter& e) {
  finish_video(e, shift_right(source(e, 1, e.type(1)), shift_amount(e)), e.type(0));
}

/// The sum as high * 2^32 + low with low in [0, 2^32): both parts of the product and c fit 64 bits with room.
template <>
void lower<Op::vmad>(Emitter& e) {
  bool is_signed_product = isa::is_signed(e.type(1)) || isa::is_signed(e.type(2));
  bool negates = e.operand(1).minus != e.operand(2).minus, negates_c = e.operand(3).minus && !negates;
  bool is_signed = is_signed_product || negates || negates_c;
  Val product = source(e, 1, e.type(1)) * source(e, 2, e.type(2));
  if (!is_signed_product) product = product.as(Type::u64);
  Val high = shr(product, 32).as(Type::s64), low = product.as(Type::s64) & high.like(0xffffffffll);
  Val c = wide(e.in(3), is_signed);
  if (negates) high = -high, low = -low;
  low = low + (negates_c ? -c : c);
  if (e.has(Mod::po)) low = low + low.like(1);
  high = high + shr(low, 32);
  low = low & low.like(0xffffffffll);
  unsigned scale = e.has(Mod::shr7) ? 7 : e.has(Mod::shr15) ? 15 : 0;
  if (scale == 0) high = clamp(high, 32, true);  // still beyond every bound, if it was
  Val result = shl(high, 32 - scale) + shr(low, scale);
  if (e.has(Mod::sat)) result = clamp(result, 32, is_signed);
  e.out(result.to(Type::u32));
}

template <>
void lower<Op::vset>(Emitter& e) {
  Val holds = compare_by(e, source(e, 1, e.type(0)), source(e, 2, e.type(1)));
  finish_video(e, holds.to(Type::u32).to(Type::s64), Type::u32);
}

template <>
void lower<Op::vset2>(Emitter& e) {
  simd_set(e, 2);
}
template <>
void lower<Op::vset4>(Emitter& e) {
  simd_set(e, 4);
}

#define RADDLE_SIMD_VIDEO(name, count, operation) \
  template <>                                     \
  void lower<Op::name##count>(Emitter & e) {      \
    simd(e, count, 1, operation);                 \
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

}  // namespace raddle::jit
