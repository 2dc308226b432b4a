// Lowerings of f32 and f64 arithmetic. Subnormals are flushed explicitly for .ftz; roundings:
// jit/vector_math.h. Source: PTX ISA "Floating Point Instructions".
#include "base/assert.h"
#include "isa/op.h"
#include "jit/emitter.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

bool flushes(Emitter& e) { return e.has(Mod::ftz) && e.type() == Type::f32; }

/// Operand k of an arithmetic operation.
Val input(Emitter& e, unsigned k) { return flushes(e) ? flush(e.in(k)) : e.in(k); }

/// Result of an arithmetic operation.
void finish(Emitter& e, Val d) {
  if (flushes(e)) d = flush(d);
  e.out(e.has(Mod::sat) ? saturate(d) : d);
}

Mod rounding(Emitter& e) { return e.get(ModKind::rounding); }

void lower_fma(Emitter& e) { finish(e, fma_rounded(input(e, 1), input(e, 2), input(e, 3), rounding(e))); }

/// Sign, absolute value, minimum: no arithmetic, so flushed here even where the processor flushes arithmetic.
Val moved(Emitter& e, Val d) { return flushes(e) ? flush_always(d) : d; }

void lower_minimum(Emitter& e, Val (*function)(Val, Val, bool)) {
  Val a = moved(e, e.in(1)), b = moved(e, e.in(2));
  if (!e.has(Mod::xorsign)) return e.out(function(a, b, e.has(Mod::nan_flag)));
  Val bits = a.as(isa::bits_type(a.bits())), sign = (bits ^ b.as(bits.type)).as(a.type);
  e.out(copy_sign(function(abs(a), abs(b), e.has(Mod::nan_flag)), sign));
}

/// The gross f64 approximations compute with the upper 32 bits of their input and give a zero lower half.
Val upper_half(Val a) {
  return (a.as(Type::b64) & a.constant(Type::b64, 0xffffffff00000000ull)).as(Type::f64);
}

/// f64 subnormals to zero, for rcp and rsqrt.approx.ftz.f64.
Val flush_f64(Val a) {
  Val bits = a.as(Type::b64);
  Val exponent = bits & bits.like(0x7ff0000000000000ll);
  return select(eq(exponent, bits.like(0)), bits & bits.constant(Type::b64, 1ull << 63), bits).as(Type::f64);
}

}  // namespace

template <>
void lower<Op::testp>(Emitter& e) {
  Val a = e.in(1), magnitude = abs(a);
  Val infinity = a.constant(a.type, a.type == Type::f32 ? 0x7f800000ull : 0x7ff0000000000000ull);
  Val smallest = a.constant(a.type, a.type == Type::f32 ? 0x00800000ull : 0x0010000000000000ull);
  Type integer = a.type == Type::f32 ? Type::u32 : Type::u64;
  Val bits = magnitude.as(integer), top = infinity.as(integer),
      least = smallest.as(integer);  // immune to flushing
  Val is_subnormal = lt(bits, least) & ne(bits, bits.like(0));
  switch (e.get(ModKind::test)) {
    case Mod::finite:
      return e.out(lt(bits, top));
    case Mod::infinite:
      return e.out(eq(bits, top));
    case Mod::number:
      return e.out(le(bits, top));
    case Mod::notanumber:
      return e.out(gt(bits, top));
    case Mod::normal:  // zero is
      return e.out(lt(bits, top) & ~is_subnormal);
    case Mod::subnormal:
      return e.out(is_subnormal);
    default:
      RADDLE_UNREACHABLE("not a testp property");
  }
}

template <>
void lower<Op::copysign>(Emitter& e) {
  e.out(copy_sign(e.in(2), e.in(1)));
}

template <>
void lower<Op::add_f>(Emitter& e) {
  finish(e, add_rounded(input(e, 1), input(e, 2), rounding(e)));
}

template <>
void lower<Op::sub_f>(Emitter& e) {
  Mod mode = rounding(e);
  bool plain = mode == Mod::none || mode == Mod::rn;
  Val a = input(e, 1), b = input(e, 2);
  finish(e, plain ? a - b : add_rounded(a, -b, mode));
}

template <>
void lower<Op::mul_f>(Emitter& e) {
  finish(e, multiply_rounded(input(e, 1), input(e, 2), rounding(e)));
}

template <>
void lower<Op::fma>(Emitter& e) {
  lower_fma(e);
}

template <>
void lower<Op::mad_f>(Emitter& e) {
  lower_fma(e);
}

template <>
void lower<Op::div_f>(Emitter& e) {
  finish(e, divide_rounded(input(e, 1), input(e, 2), rounding(e)));
}

template <>
void lower<Op::div_approx>(Emitter& e) {
  Val a = input(e, 1), b = input(e, 2);
  finish(e, e.has(Mod::approx) ? divide_approx(a, b, e.has(Mod::ftz)) : divide(a, b));
}

template <>
void lower<Op::abs_f>(Emitter& e) {
  e.out(moved(e, abs(e.in(1))));
}

template <>
void lower<Op::neg_f>(Emitter& e) {
  e.out(moved(e, -e.in(1)));
}

template <>
void lower<Op::min_f>(Emitter& e) {
  lower_minimum(e, min_float);
}

template <>
void lower<Op::max_f>(Emitter& e) {
  lower_minimum(e, max_float);
}

template <>
void lower<Op::rcp>(Emitter& e) {
  Val a = input(e, 1);
  finish(e, divide_rounded(a.like(1), a, rounding(e)));
}

template <>
void lower<Op::rcp_approx>(Emitter& e) {
  finish(e, rcp_approx(input(e, 1)));
}

template <>
void lower<Op::rcp_approx_f64>(Emitter& e) {
  Val a = flush_f64(upper_half(e.in(1)));
  e.out(flush_f64(upper_half(divide(a.like(1), a))));
}

template <>
void lower<Op::sqrt>(Emitter& e) {
  finish(e, sqrt_rounded(input(e, 1), rounding(e)));
}

template <>
void lower<Op::sqrt_approx>(Emitter& e) {
  finish(e, sqrt_approx(input(e, 1)));
}

template <>
void lower<Op::rsqrt>(Emitter& e) {
  Val a = input(e, 1);
  if (a.type == Type::f32) return finish(e, rsqrt_approx(a));
  e.out(divide(a.like(1), sqrt(a)));
}

template <>
void lower<Op::rsqrt_approx_f64>(Emitter& e) {
  Val a = flush_f64(upper_half(e.in(1)));
  e.out(upper_half(divide(a.like(1), sqrt(a))));
}

template <>
void lower<Op::sin>(Emitter& e) {
  finish(e, sin_approx(input(e, 1)));
}

template <>
void lower<Op::cos>(Emitter& e) {
  finish(e, cos_approx(input(e, 1)));
}

template <>
void lower<Op::lg2>(Emitter& e) {
  e.out(lg2_approx(e.in(1), e.has(Mod::ftz)));
}

template <>
void lower<Op::ex2>(Emitter& e) {
  e.out(ex2_approx(e.in(1), e.has(Mod::ftz)));
}

template <>
void lower<Op::tanh>(Emitter& e) {
  e.out(tanh_approx(e.in(1)));
}

}  // namespace raddle::jit
