// Lowerings of f16 and bf16 arithmetic, scalar and packed: elements widen to f32, compute, and round once back.
// f32 has more than twice f16's bits plus two, so sums and products rounded to f32 first still round correctly.
// Source: PTX ISA "Half Precision Floating Point Instructions".
#include "jit/emitter.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

/// Operand k as elements of its 16-bit format (twice the lanes when packed), flushed for .ftz.
Val elements(Emitter& e, unsigned k) {
  Type t = element_type(e.type());
  Val a = e.in(k);
  Val values = t == e.type() ? a : unpack_all(a, t);
  return e.has(Mod::ftz) ? flush_always(values) : values;
}

/// Flush, saturate or cut at zero, and pack again.
void finish(Emitter& e, Val values) {
  Type t = values.type;
  if (e.has(Mod::ftz)) values = flush_always(values);
  if (e.has(Mod::sat) || e.has(Mod::relu)) {
    Val wide = widen_to_f32(values, t);
    // relu: NaN stays NaN (canonical), -0 and what lies below become +0
    wide = e.has(Mod::sat) ? saturate(wide) : select(is_nan(wide) | gt(wide, wide.like(0)), wide, wide.like(0));
    values = narrow_from_f32(wide, t, Mod::rn);
  }
  e.out(t == e.type() ? values : pack_all(values, e.type(), e.in(1).lanes()));
}

/// One f32 operation on the elements.
template <typename F>
void in_f32(Emitter& e, F f) {
  Val a = elements(e, 1), b = elements(e, 2);
  finish(e, narrow_from_f32(f(widen_to_f32(a, a.type), widen_to_f32(b, b.type)), a.type, Mod::rn));
}

void lower_minimum(Emitter& e, Val (*function)(Val, Val, bool)) {
  in_f32(e, [&](Val a, Val b) {
    if (!e.has(Mod::xorsign)) return function(a, b, e.has(Mod::nan_flag));
    Val sign = (a.as(Type::b32) ^ b.as(Type::b32)).as(Type::f32);
    return copy_sign(function(abs(a), abs(b), e.has(Mod::nan_flag)), sign);
  });
}

Val bits_of(Val a) { return a.as(Type::b16); }

}  // namespace

template <>
void lower<Op::add_half>(Emitter& e) {
  in_f32(e, [](Val a, Val b) { return a + b; });
}

template <>
void lower<Op::sub_half>(Emitter& e) {
  in_f32(e, [](Val a, Val b) { return a - b; });
}

template <>
void lower<Op::mul_half>(Emitter& e) {
  in_f32(e, [](Val a, Val b) { return a * b; });
}

template <>
void lower<Op::fma_half>(Emitter& e) {
  Val a = elements(e, 1), b = elements(e, 2), c = elements(e, 3);
  Val d = fma_narrow(a, b, c);
  if (e.has(Mod::oob)) {  // the out-of-bounds NaN as a factor makes the result zero
    Val marker = bits_of(a).like(0xffff);
    Val marked = eq(bits_of(a), marker) | eq(bits_of(b), marker);
    d = select(marked, d.constant(d.type, 0), d);
  }
  finish(e, d);
}

template <>
void lower<Op::neg_half>(Emitter& e) {
  Val a = elements(e, 1);
  finish(e, (bits_of(a) ^ bits_of(a).like(0x8000)).as(a.type));
}

template <>
void lower<Op::abs_half>(Emitter& e) {
  Val a = elements(e, 1);
  finish(e, (bits_of(a) & bits_of(a).like(0x7fff)).as(a.type));
}

template <>
void lower<Op::min_half>(Emitter& e) {
  lower_minimum(e, min_float);
}

template <>
void lower<Op::max_half>(Emitter& e) {
  lower_minimum(e, max_float);
}

template <>
void lower<Op::tanh_half>(Emitter& e) {
  Val a = elements(e, 1);
  finish(e, narrow_from_f32(tanh_approx(widen_to_f32(a, a.type)), a.type, Mod::rn));
}

template <>
void lower<Op::ex2_half>(Emitter& e) {
  Val a = elements(e, 1);
  finish(e, narrow_from_f32(ex2_approx(widen_to_f32(a, a.type), false), a.type, Mod::rn));
}

}  // namespace raddle::jit
