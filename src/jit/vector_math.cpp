// PTX's approximate functions as short vector code: argument reduction by exponent bits, minimax polynomials
// (fitted with mpmath's chebyfit), one Newton step on the processor's estimates where the function may use
// AVX-512. Every function takes every input: no traps, no undefined conversions, special values as the PTX
// manual's tables give them.
#include "jit/vector_math.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <initializer_list>
#include <limits>

namespace raddle::jit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSmallestNormal = 0x1p-126;
constexpr unsigned kWidest = 16;  // lanes of AVX-512

/// Horner's scheme, highest coefficient first.
Val polynomial(Val x, std::initializer_list<double> coefficients) {
  auto c = coefficients.begin();
  Val result = x.like_float(*c);
  for (++c; c != coefficients.end(); ++c) result = fma(result, x, x.like_float(*c));
  return result;
}

/// Nearest integer for |x| < 2^22, two ways: as a float, and in the low bits of `bits` (u32).
struct Nearest {
  Val value, bits;
};
Nearest nearest_integer(Val x) {
  Val magic = x.like_float(0x1.8p23), shifted = x + magic;
  return {shifted - magic, shifted.as(Type::u32)};
}

bool has_estimates(Val x) {
  return x.is_vector() && x.lanes() % 4 == 0 && has_feature(x, "avx512f") && has_feature(x, "avx512vl");
}

bool can_scale(Val x) { return x.is_vector() && x.lanes() % kWidest == 0 && has_feature(x, "avx512f"); }

Val slice(Val a, unsigned first, unsigned count) {
  llvm::SmallVector<int, 64> lanes;
  for (unsigned i = 0; i < count; ++i) lanes.push_back(static_cast<int>(first + i));
  return {a.ir, a.ir->CreateShuffleVector(a.v, lanes), a.type};
}

Val concatenate(Val a, Val b) {
  llvm::SmallVector<int, 64> lanes;
  for (unsigned i = 0; i < a.lanes() + b.lanes(); ++i) lanes.push_back(static_cast<int>(i));
  return {a.ir, a.ir->CreateShuffleVector(a.v, b.v, lanes), a.type};
}

/// A function of vectors that a register holds, for longer ones: half by half.
template <class Function, class... Vals>
Val by_halves(const Function& function, Val x, Vals... more) {
  const unsigned half = x.lanes() / 2;
  const Val low = function(slice(x, 0, half), slice(more, 0, half)...);
  const Val high = function(slice(x, half, half), slice(more, half, half)...);
  return concatenate(low, high);
}

/// x * 2^floor(n), rounded once. In whole vectors of the processor.
Val scale(Val x, Val n) {
  if (x.lanes() > kWidest) return by_halves(scale, x, n);
  constexpr unsigned kByMode = 4;  // rounds as everything else does
  return {x.ir,
          x.ir->CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                {x.v, n.v, x.v, x.ir->getInt16(0xffff), x.ir->getInt32(kByMode)}),
          x.type};
}

enum class Estimate { reciprocal, reciprocal_root };

/// The processor's 14-bit estimate; vectors of 4, 8, 16 lanes, or a multiple split in halves.
Val estimate(Estimate what, Val x) {
  unsigned lanes = x.lanes();
  if (lanes > kWidest) return by_halves([&](Val half) { return estimate(what, half); }, x);
  using namespace llvm::Intrinsic;
  bool root = what == Estimate::reciprocal_root;
  ID id = lanes == 16  ? (root ? x86_avx512_rsqrt14_ps_512 : x86_avx512_rcp14_ps_512)
          : lanes == 8 ? (root ? x86_avx512_rsqrt14_ps_256 : x86_avx512_rcp14_ps_256)
                       : (root ? x86_avx512_rsqrt14_ps_128 : x86_avx512_rcp14_ps_128);
  llvm::Value* all = lanes == 16 ? x.ir->getInt16(0xffff) : x.ir->getInt8(0xff);
  return {x.ir, x.ir->CreateIntrinsic(id, {}, {x.v, x.like(0).v, all}), x.type};
}

/// `refined` where the correction is a small number; the estimate itself where 0 or infinity made it NaN or
/// -infinity.
Val unless_special(Val correction, Val refined, Val estimate) {
  return select(gt(correction, correction.like(-2)), refined, estimate);
}

/// Sine or cosine: x = r + q * pi/2, |r| <= pi/4; `offset` quadrants are added to q.
Val sine(Val x, unsigned offset) {
  Nearest q = nearest_integer(x * x.like_float(0x1.45f306p-1));
  Val r = fma(q.value, x.like_float(-0x1.921fb4p+0), x);  // pi/2 in three parts
  r = fma(q.value, x.like_float(-0x1.4442d0p-24), r);
  r = fma(q.value, x.like_float(-0x1.846988p-48), r);
  Val limit = x.like_float(0.8);  // huge x: bounded garbage, as the reduction has no bits left
  r = select(gt(r, limit), limit, r);
  r = select(lt(r, -limit), -limit, r);
  Val t = r * r;
  Val s = r * polynomial(t, {-0.000195039042508, 0.0083320357856, -0.16666650674, 1.0});
  Val c = polynomial(t, {2.43798312512e-5, -0.00138866179996, 0.0416666166925, -0.499999996149, 1.0});
  Val quadrant = q.bits + q.bits.like(offset);
  Val is_cosine = ne(quadrant & quadrant.like(1), quadrant.like(0));
  Val sign = shl(quadrant & quadrant.like(2), 30);
  return (select(is_cosine, c, s).as(Type::u32) ^ sign).as(Type::f32);
}

/// 2^x for |x| <= 1/2.
Val power_of_two(Val x) {
  return polynomial(x, {0.000154531629451, 0.00133908633647, 0.00961808255728, 0.0555035711422,
                        0.240226507606, 0.693147188026, 1.0});
}

/// What 2^x is told apart by: below it is zero, above infinite. NaN stays.
Val limited_exponent(Val x) {
  const Val least = x.like_float(-180), most = x.like_float(129);
  const Val above = select(lt(x, least), least, x);
  return select(gt(above, most), most, above);
}

/// 2^x where the processor scales the result, be it subnormal or infinite.
Val ex2_scaled(Val x) {
  const Val argument = limited_exponent(x);
  const Val n = round_even(argument);
  return scale(power_of_two(argument - n), n);
}

}  // namespace

Val ex2_approx(Val x, bool ftz) {
  if (!ftz && can_scale(x)) return ex2_scaled(x);
  const Val argument = limited_exponent(x);
  // 2^n in two factors, of which the last may make the result subnormal or infinite, rounded once. Twice the
  // exponents' bias is in the low bits of what rounds, so that each half of these is a factor's exponent.
  const Val magic = x.like_float(0x1.8p23 + 2 * 127), shifted = argument + magic;
  const Val bits = shifted.as(Type::s32), half = shr(bits, 1);
  const Val first = shl(half, 23).as(Type::f32), second = shl(bits - half, 23).as(Type::f32);
  const Val result = power_of_two(argument - (shifted - magic)) * first * second;
  return ftz ? select(lt(x, x.like_float(-126)), x.like(0), result) : result;
}

Val lg2_approx(Val x, bool ftz) {
  Val smallest = x.like_float(kSmallestNormal), argument = x;
  Val bias = x.like(0);
  if (!ftz) {                                                // subnormals are scaled into the normal range
    Val tiny = lt(x.as(Type::u32), smallest.as(Type::u32));  // by bits, so that flushing does not hide them
    argument =
        select(tiny, int_to_float(x.as(Type::s32), Type::f32) * x.like_float(0x1p-126), x);  // x * 2^23
    bias = select(tiny, x.like(-23), bias);
  }
  Val bits = argument.as(Type::u32), root_half = bits.like(0x3f3504f3);
  Val exponent = shr((bits - root_half).as(Type::s32), 23);
  Val m = (bits - shl(exponent.as(Type::u32), 23)).as(Type::f32),
      f = m - m.like(1);  // m in [sqrt(1/2), sqrt(2))
  Val q = polynomial(f, {0.123110877601, -0.205863656089, 0.216078628616, -0.239169682357, 0.287903203389,
                         -0.360693274085, 0.480910755142, -0.721347468208, 1.44269500356});
  Val e = int_to_float(exponent, Type::f32);
  Val result = fma(f, q, ftz ? e : e + bias);
  // Positive numbers from the smallest (normal) to the largest pass one unsigned comparison.
  Val least = ftz ? smallest.as(Type::u32) : bits.like(1);
  Val ordinary = lt(x.as(Type::u32) - least, bits.like(0x7f800000) - least);
  Val magnitude = x.as(Type::u32) & bits.like(0x7fffffff);
  Val special = select(lt(x, x.like(0)), x.constant(Type::f32, 0x7fffffff), x);  // infinity and NaN stay
  special = select(lt(magnitude, least), x.like_float(-kInfinity), special);
  return select(ordinary, result, special);
}

Val sin_approx(Val x) { return sine(x, 0); }
Val cos_approx(Val x) { return sine(x, 1); }

Val tanh_approx(Val x) {
  Val limit = x.like_float(5.4), magnitude = abs(x);
  Val outside = gt(magnitude, limit), t = select(outside, limit, x);
  Val u = t * t;
  Val numerator = t * polynomial(u, {0.000633026436672, 0.101163528131, 0.999921110839});
  Val result = numerator * rcp_approx(polynomial(u, {0.0124405729526, 0.434039856329, 1.0}));
  return select(outside, copy_sign(x.like(1), x), result);
}

Val rcp_approx(Val x) {
  if (!has_estimates(x)) return divide(x.like(1), x);
  Val y = estimate(Estimate::reciprocal, x), error = fma(-x, y, x.like(1));
  return unless_special(error, fma(y, error, y), y);
}

Val rsqrt_approx(Val x) {
  if (!has_estimates(x)) return divide(x.like(1), sqrt(x));
  Val y = estimate(Estimate::reciprocal_root, x), error = fma(-(x * y), y, x.like(1));
  return unless_special(error, fma(y * y.like_float(0.5), error, y), y);
}

Val sqrt_approx(Val x) {
  if (!has_estimates(x)) return sqrt(x);
  Val y = estimate(Estimate::reciprocal_root, x), root = x * y, error = fma(-root, y, x.like(1));
  // 0 and infinity make the correction NaN and are their own roots; a negative x has a NaN estimate.
  Val special = select(lt(x, x.like(0)), y, x);
  return unless_special(error, fma(root * root.like_float(0.5), error, root), special);
}

Val divide_approx(Val a, Val b, bool ftz) {
  const Val above = gt(abs(b), b.like_float(0x1p126));
  if (ftz) return a * select(above, copy_sign(b.like(0), b), rcp_approx(b));
  const Val quotient = divide(a, b);  // beside the comparison, not behind it
  return select(above, quotient * quotient.like(0), quotient);
}

}  // namespace raddle::jit
