// The 16-bit and 8-bit float formats, converted by integer arithmetic or by the processor's own conversion
// where the function may use it: one rounding, subnormals kept, whatever the processor's flushing mode.
#include "base/assert.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

Val bits_of(Val a) { return a.as(isa::bits_type(a.bits())); }

/// f16 to f32 without F16C: shifts the fields into place; a subnormal's value is its fraction times 2^-24.
Val widen_f16_by_integers(Val half) {
  Val h = bits_of(half).to(Type::u32);
  Val sign = shl(h & h.like(0x8000), 16), magnitude = h & h.like(0x7fff);
  Val normal = shl(magnitude, 13) + h.like(112 << 23);
  normal = select(ge(magnitude, h.like(0x7c00)), normal + h.like(112 << 23), normal);
  Val subnormal =
      (int_to_float(magnitude.as(Type::s32), Type::f32) * h.constant_float(Type::f32, 0x1p-24)).as(Type::u32);
  Val result = select(lt(magnitude, h.like(0x400)), subnormal, normal);
  return (result | sign).as(Type::f32);
}

/// Rounds bits to nearest even above the lowest `drop` bits, then shifts them out.
Val round_off(Val bits, unsigned drop) {
  Val odd = shr(bits, drop) & bits.like(1);
  return shr(bits + bits.like((1ll << (drop - 1)) - 1) + odd, drop);
}

/// f32 to f16, nearest even, by integers. Subnormal results come from adding 0.5: the sum's last bit weighs
/// 2^-24.
Val narrow_f16_by_integers(Val a) {
  Val bits = a.as(Type::u32), sign = shr(bits & bits.like(0x80000000ll), 16),
      magnitude = bits & bits.like(0x7fffffff);
  Val normal = round_off(magnitude - bits.like(112 << 23), 13);
  Val half = bits.constant_float(Type::f32, 0.5);
  Val subnormal = (magnitude.as(Type::f32) + half).as(Type::u32) - half.as(Type::u32);
  Val result = select(lt(magnitude, bits.like(113 << 23)), subnormal, normal);
  result = select(ge(magnitude, bits.like(143ll << 23)), bits.like(0x7c00), result);
  result = select(gt(magnitude, bits.like(255ll << 23)), bits.like(0x7fff), result);
  return (result | sign).to(Type::b16).as(Type::f16);
}

Val narrow_f16_nearest(Val a) {
  return has_feature(a, "f16c") ? a.to_float(Type::f16) : narrow_f16_by_integers(a);
}

Val narrow_bf16_nearest(Val a) {
  Val bits = a.as(Type::u32);
  return select(is_nan(a), bits.like(0x7fff), round_off(bits, 16)).to(Type::b16).as(Type::bf16);
}

/// Moves a 16-bit result one step where the mode wants it; `exact` is the f32 it was rounded from.
Val step_towards(Val narrow, Val exact, Mod mode) {
  Val back = widen_to_f32(narrow, narrow.type), bits = bits_of(narrow);
  Val above = gt(back, exact), below = lt(back, exact);
  Val negative = lt(bits.as(Type::s16), bits.constant(Type::s16, 0));
  Val inward = mode == Mod::rz   ? (above & ~negative) | (below & negative)
               : mode == Mod::rm ? above & ~negative
                                 : below & negative;
  Val outward = mode == Mod::rz   ? inward.constant(Type::pred, 0)
                : mode == Mod::rm ? above & negative
                                  : below & ~negative;
  return select(inward, bits - bits.like(1), select(outward, bits + bits.like(1), bits)).as(narrow.type);
}

/// a + b in their own format, rounded to odd, so that rounding it again to a much narrower format rounds
/// once.
Val add_to_odd(Val a, Val b) {
  Val s = a + b, t = s - a;
  Val error = (a - (s - t)) + (b - t);
  Val bits = bits_of(s), zero = error.like(0);
  Val even = eq(bits & bits.like(1), bits.like(0));
  Val grows = eq(gt(error, zero), gt(s, s.like(0)));  // the exact sum lies farther from zero
  Val odd = select(grows, bits + bits.like(1), bits - bits.like(1));
  Val inexact = (gt(error, zero) | lt(error, zero)) & even;  // false for NaN: infinities stay
  return select(inexact, odd, bits).as(s.type);
}

Val infinity_of(Val a) { return a.as(Type::s16).like(a.type == Type::f16 ? 0x7c00 : 0x7f80); }

/// Bits of a 16-bit float as integers that compare as the floats do, -0 below +0; its own inverse.
Val ordered(Val bits) { return bits ^ (shr(bits, 15) & bits.like(0x7fff)); }

}  // namespace

Val widen_to_f32(Val a, Type from) {
  if (from == Type::bf16) return shl(bits_of(a).to(Type::u32), 16).as(Type::f32);
  RADDLE_ASSERT(from == Type::f16, "widen_to_f32: f16 and bf16 only");
  return has_feature(a, "f16c") ? a.as(Type::f16).to_float(Type::f32) : widen_f16_by_integers(a);
}

Val widen_opaque(Val a, Type from) {
  Val wide = widen_to_f32(a, from);
  return from == Type::f16 ? wide * wide.like(2) * wide.like_float(0.5) : wide;
}

Val relu_narrow(Val a) {
  Val h = a.as(Type::s16), magnitude = h & h.like(0x7fff), infinity = infinity_of(a);
  return select(gt(magnitude, infinity), h, max(h, h.like(0))).as(a.type);
}

Val saturate_narrow(Val a) {
  Val h = a.as(Type::s16), magnitude = h & h.like(0x7fff);
  Val clamped = min(max(h, h.like(0)), h.like(a.type == Type::f16 ? 0x3c00 : 0x3f80));
  return select(gt(magnitude, infinity_of(a)), h.like(0), clamped).as(a.type);
}

Val minimum_narrow(Val a, Val b, bool propagate_nan, bool maximum) {
  Val x = a.as(Type::s16), y = b.as(Type::s16), infinity = infinity_of(a);
  Val x_nan = gt(x & x.like(0x7fff), infinity), y_nan = gt(y & y.like(0x7fff), infinity);
  Val key = maximum ? max(ordered(x), ordered(y)) : min(ordered(x), ordered(y)), result = ordered(key);
  if (propagate_nan) return select(x_nan | y_nan, x.like(0x7fff), result).as(a.type);
  return select(x_nan, y, select(y_nan, x, result)).as(a.type);
}

Val narrow_from_f32(Val a, Type to, Mod mode) {
  RADDLE_ASSERT(to == Type::f16 || to == Type::bf16, "narrow_from_f32: f16 and bf16 only");
  Val r = to == Type::f16 ? narrow_f16_nearest(a) : narrow_bf16_nearest(a);
  return nearest(mode) ? r : step_towards(r, a, mode);
}

Val fma_narrow(Val a, Val b, Val c) {
  Type t = a.type;
  Val x = widen_to_f32(a, t), y = widen_to_f32(b, t), z = widen_to_f32(c, t);
  if (t == Type::f16)
    return narrow_from_f32(add_to_odd(x * y, z), t, Mod::rn);  // the product is exact in f32
  Val product = x.to_float(Type::f64) * y.to_float(Type::f64);
  return narrow_from_f32(narrow_to_odd_f32(add_to_odd(product, z.to_float(Type::f64))), t, Mod::rn);
}

Val widen_fp8_to_f32(Val bytes, Type from) {
  bool e4m3 = from == Type::e4m3;
  Val b = bytes.as(Type::b8).to(Type::u32);
  if (!e4m3) return widen_to_f32(shl(b, 8).to(Type::b16), Type::f16);
  Val sign = shl(b & b.like(0x80), 24), magnitude = b & b.like(0x7f);
  Val normal = shl(magnitude, 20) + b.like(120 << 23);
  Val subnormal =
      (int_to_float(magnitude.as(Type::s32), Type::f32) * b.constant_float(Type::f32, 0x1p-9)).as(Type::u32);
  Val result = select(lt(magnitude, b.like(8)), subnormal, normal);
  result = select(eq(magnitude, b.like(0x7f)), b.like(0x7fffffff), result);
  return (result | sign).as(Type::f32);
}

Val narrow_to_fp8(Val a, Type to) {
  bool e4m3 = to == Type::e4m3;
  unsigned fraction = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15, top = e4m3 ? 0x7e : 0x7b;
  Val bits = a.as(Type::u32), sign = shr(bits & bits.like(0x80000000ll), 24),
      magnitude = bits & bits.like(0x7fffffff);
  Val normal = round_off(magnitude - bits.like((127ll - bias) << 23), 23 - fraction);
  // Adding 2^(23 - fraction + 1 - bias) makes the sum's last bit weigh as much as the format's smallest
  // number.
  Val anchor = bits.constant(Type::f32, (127ull + 24 - fraction - bias) << 23);
  Val subnormal = (magnitude.as(Type::f32) + anchor).as(Type::u32) - anchor.as(Type::u32);
  Val result = select(lt(magnitude, bits.like((128ll - bias) << 23)), subnormal, min(normal, bits.like(top)));
  result = select(gt(magnitude, bits.like(255ll << 23)), bits.like(0x7f), result | sign);  // NaN: always 0x7f
  return result.to(Type::b8);
}

}  // namespace raddle::jit
