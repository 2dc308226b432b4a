// Flushing, saturation, minima and the directed roundings. No operation changes the processor's rounding
// mode: the result is computed to nearest, the sign of its error is found exactly, and the result moves one
// step if the mode wants.
#include <llvm/IR/IntrinsicsX86.h>

#include <limits>

#include "base/assert.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

Type integer_of(Val a) { return isa::bits_type(a.bits()); }
Type signed_of(Type t) {
  return isa::bit_size(t) == 64 ? Type::s64 : isa::bit_size(t) == 32 ? Type::s32 : Type::s16;
}

Val sign_bit(Val a) { return a.constant(integer_of(a), std::uint64_t{1} << (a.bits() - 1)); }
Val sign_set(Val a) { return lt(a.as(signed_of(a.type)), a.constant(signed_of(a.type), 0)); }
Val zero_like(Val a) { return a.like_float(0); }
bool processor_flushes(Val a) {
  auto* function = a.ir->GetInsertBlock()->getParent();
  return function->getDenormalMode(llvm::APFloat::IEEEsingle()) == llvm::DenormalMode::getPreserveSign();
}

/// Moves `r`, rounded to nearest, one step if `mode` wants: `error` has the sign of (exact value - r), NaN
/// for none.
Val step(Val r, Val error, Mod mode) {
  Val bits = r.as(integer_of(r)), one = bits.like(1), none = bits.like(0);
  Val above = lt(error, zero_like(error)),
      below = gt(error, zero_like(error));  // r lies above / below the exact value
  Val negative = sign_set(r);
  Val inward, outward;
  if (mode == Mod::rz) {
    return (bits - select((above & ~negative) | (below & negative), one, none)).as(r.type);
  } else if (mode == Mod::rm) {
    inward = above & ~negative;
    outward = above & negative;
  } else {
    inward = below & negative;
    outward = below & ~negative;
  }
  return select(inward, bits - one, select(outward, bits + one, bits)).as(r.type);
}

/// An unevaluated sum: value = rounded sum, error = what the rounding lost.
struct Sum {
  Val value, error;
};
Sum two_sum(Val a, Val b) {
  Val s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

/// A zero sum is -0 towards minus infinity unless both addends are +0.
Val fix_zero_sign(Val r, Val error, Val a, Val b, Mod mode) {
  if (mode != Mod::rm) return r;
  Val sign = ((a.as(integer_of(a)) | b.as(integer_of(b))) & sign_bit(a)).as(a.type);
  return select(eq(r, zero_like(r)) & eq(error, zero_like(error)),
                copy_sign(r, a.type == r.type ? sign : sign.to_float(r.type)), r);
}

/// f32 result r of a sum of two f64 whose terms are exact: rounding by mode.
Val sum_to_f32(Val r, Val a, Val b, Mod mode) {
  Sum s = two_sum(a, b);
  Val error = (s.value - r.to_float(Type::f64)) + s.error;
  return fix_zero_sign(step(r, error, mode), error, a, b, mode);
}

Val is_infinite(Val a) { return eq(abs(a), a.like_float(std::numeric_limits<double>::infinity())); }
Val is_finite(Val a) { return lt(abs(a), a.like_float(std::numeric_limits<double>::infinity())); }

/// Sign of a * b + c - r for f64, r being the rounded value. Scaled so that no intermediate under- or
/// overflows.
Val fma_error(Val a, Val b, Val c, Val r) {
  Val product = abs(a * b), one = a.like(1);
  Val big = gt(product, a.like_float(0x1p900)) | gt(abs(c), a.like_float(0x1p900));
  Val tiny = lt(abs(r), a.like_float(0x1p-800)) & lt(product, a.like_float(0x1p-600));
  Val half_scale = select(big, a.like_float(0x1p-54), select(tiny, a.like_float(0x1p54), one));
  Val x = a * half_scale, y = b * half_scale, z = c * half_scale * half_scale,
      s = r * half_scale * half_scale;
  z = select(eq(z, zero_like(z)) & ne(c, zero_like(c)), copy_sign(a.like_float(0x1p-1074), c), z);
  Val high = x * y, low = fma(x, y, -high);
  Sum first = two_sum(z, low), second = two_sum(high, first.value);
  Val error = ((second.value - s) + second.error) + first.error;
  // A product so small that its own rounding underflows lies far below the result's last bit: its sign
  // decides.
  Val zero = zero_like(a), vanishes = lt(abs(high), a.like_float(0x1p-968));
  vanishes = vanishes & ne(a, zero) & ne(b, zero) & is_finite(c);
  error = select(vanishes,
                 (a.like(1).as(Type::b64) | ((a.as(Type::b64) ^ b.as(Type::b64)) & sign_bit(a))).as(a.type),
                 error);
  return select(eq(a, zero) | eq(b, zero), zero,
                error);  // r is c; scaling the other factor may have overflowed
}

/// Where finite operands overflowed, the error is minus the infinity.
Val overflow_error(Val error, Val r, Val operands_finite) {
  return select(is_infinite(r) & operands_finite, -r, error);
}

constexpr unsigned kWordsOfAvx = 8;

bool has_maximum_of_avx(Val a) {
  return a.type == Type::f32 && a.is_vector() && a.lanes() == kWordsOfAvx && has_feature(a, "avx2") &&
         !has_feature(a, "avx512f");
}

/// Of two the processor gives the second where one is NaN or both are zero. Both orders, joined by `and`: the
/// same where numbers differ, +0 of different zeros; the order of a NaN is all ones, which leaves the other.
/// Without selections, which cost three operations each on processors of Intel; and max(b, a) is computed by
/// the same instructions, so that lanes that exchange values compute it once.
Val maximum_of_both_orders(Val a, Val b) {
  const auto in_order = [](Val first, Val second) {
    const Val maximum{first.ir,
                      first.ir->CreateIntrinsic(llvm::Intrinsic::x86_avx_max_ps_256, {}, {first.v, second.v}),
                      first.type};
    const Val bits = maximum.as(Type::u32);
    return select(is_nan(second), bits.like(~0), bits);
  };
  return (in_order(a, b) & in_order(b, a)).as(a.type);
}

Val compare_minimum(Val a, Val b, bool propagate_nan, bool minimum) {
  if (!minimum && !propagate_nan && has_maximum_of_avx(a)) return maximum_of_both_orders(a, b);
  Val result = select(minimum ? lt(a, b) : gt(a, b), a, b);  // b where one is NaN
  Val x = a.as(integer_of(a)), y = b.as(integer_of(b));
  result = select(eq(a, b), (minimum ? x | y : x & y).as(a.type), result);  // tells the zeros apart
  if (!propagate_nan) return select(is_nan(b), a, result);
  return select(compare(llvm::CmpInst::FCMP_UNO, a, b), a + b, result);
}

}  // namespace

Val flush_always(Val a) {
  Val bits = a.as(integer_of(a));
  RADDLE_ASSERT(a.is_float() && a.bits() <= 32, "flush: f32, f16 and bf16 only");
  Val exponent = a.constant(bits.type, a.type == Type::f16    ? 0x7c00u
                                       : a.type == Type::bf16 ? 0x7f80u
                                                              : 0x7f800000u);
  return select(eq(bits & exponent, bits.like(0)), bits & sign_bit(a), bits).as(a.type);
}

Val flush(Val a) { return a.type == Type::f32 && processor_flushes(a) ? a : flush_always(a); }

Val saturate(Val a) {
  Val positive = select(gt(a, zero_like(a)), a, zero_like(a));
  return select(lt(positive, a.like(1)), positive, a.like(1));
}

Val min_float(Val a, Val b, bool propagate_nan) { return compare_minimum(a, b, propagate_nan, true); }
Val max_float(Val a, Val b, bool propagate_nan) { return compare_minimum(a, b, propagate_nan, false); }

Val add_rounded(Val a, Val b, Mod mode) {
  Val r = a + b;
  if (nearest(mode)) return r;
  if (a.type == Type::f32) return sum_to_f32(r, a.to_float(Type::f64), b.to_float(Type::f64), mode);
  Val error = overflow_error(two_sum(a, b).error, r, is_finite(a) & is_finite(b));
  return fix_zero_sign(step(r, error, mode), error, a, b, mode);
}

Val multiply_rounded(Val a, Val b, Mod mode) {
  Val r = a * b;
  if (nearest(mode)) return r;
  if (a.type == Type::f32)
    return step(r, a.to_float(Type::f64) * b.to_float(Type::f64) - r.to_float(Type::f64), mode);
  Val error = fma_error(a, b, zero_like(a), r);
  return step(r, overflow_error(error, r, is_finite(a) & is_finite(b)), mode);
}

Val fma_rounded(Val a, Val b, Val c, Mod mode) {
  Val r = fma(a, b, c);
  if (nearest(mode)) return r;
  if (a.type == Type::f32)
    return sum_to_f32(r, a.to_float(Type::f64) * b.to_float(Type::f64), c.to_float(Type::f64), mode);
  Val error = overflow_error(fma_error(a, b, c, r), r, is_finite(a) & is_finite(b) & is_finite(c));
  Val product_sign = (a.as(Type::b64) ^ b.as(Type::b64)).as(Type::f64);
  return fix_zero_sign(step(r, error, mode), error, product_sign, c, mode);
}

Val divide_rounded(Val a, Val b, Mod mode) {
  Val r = divide(a, b);
  if (nearest(mode)) return r;
  Val error;
  if (a.type == Type::f32) {
    error = fma(-r.to_float(Type::f64), b.to_float(Type::f64), a.to_float(Type::f64));
  } else {
    Val tiny = lt(abs(a), a.like_float(0x1p-900)), small_divisor = lt(abs(b), a.like(1));
    Val scale = select(tiny, a.like_float(0x1p200), a.like(1));
    Val one = a.like(1);
    error = fma(-(r * select(small_divisor, one, scale)), b * select(small_divisor, scale, one), a * scale);
  }
  Val flipped = copy_sign(error.like(1), b.type == error.type ? b : b.to_float(error.type));
  return step(r, error * flipped, mode);
}

Val sqrt_rounded(Val a, Mod mode) {
  Val r = sqrt(a);
  if (nearest(mode)) return r;
  if (a.type == Type::f32) {
    Val root = r.to_float(Type::f64);
    return step(r, fma(-root, root, a.to_float(Type::f64)), mode);
  }
  Val tiny = lt(a, a.like_float(0x1p-900));
  Val root = r * select(tiny, a.like_float(0x1p100), a.like(1));
  return step(r, fma(-root, root, a * select(tiny, a.like_float(0x1p200), a.like(1))), mode);
}

Val narrow_to_f32(Val exact, Mod mode) {
  Val r = exact.to_float(Type::f32);
  return nearest(mode) ? r : step(r, exact - r.to_float(Type::f64), mode);
}

Val narrow_to_odd_f32(Val exact) {
  Val towards_zero = narrow_to_f32(exact, Mod::rz), bits = towards_zero.as(Type::b32);
  Val inexact = ne(towards_zero.to_float(Type::f64), exact);
  return (bits | inexact.to(Type::b32)).as(Type::f32);
}

Val int_to_float_rounded(Val a, Type t, Mod mode) {
  Val r = int_to_float(a, t);
  bool exact = a.bits() <= (t == Type::f64 ? 32u : 16u);
  if (nearest(mode) || exact) return r;
  // The rounded value as an integer again, unless it has reached 2^bits and so lies above every a.
  Val wide = a.is_signed() ? a.to(Type::s64) : a.to(Type::u64);
  Val limit = r.like_float(wide.is_signed() ? 0x1p63 : 0x1p64);
  Val beyond = ge(r, limit);
  Val back = float_to_int_in_range(select(beyond, zero_like(r), r), wide.type);
  Val error = select(gt(wide, back), r.like(1), select(lt(wide, back), r.like(-1), zero_like(r)));
  return step(r, select(beyond, r.like(-1), error), mode);
}

Val round_to_integral(Val a, Mod mode) {
  switch (mode) {
    case Mod::rni:
      return round_even(a);
    case Mod::rzi:
      return truncate(a);
    case Mod::rmi:
      return floor(a);
    case Mod::rpi:
      return ceil(a);
    default:
      RADDLE_UNREACHABLE("not an integer rounding");
  }
}

}  // namespace raddle::jit
