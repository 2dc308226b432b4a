// Lowerings of f16 and bf16 arithmetic, scalar and packed: elements widen to f32, compute, and round once
// back. f32 has more than twice f16's bits plus two, so sums and products rounded to f32 first still round
// correctly. Source: PTX ISA "Half Precision Floating Point Instructions".
#include "isa/op.h"
#include "jit/emitter.h"
#include "jit/vector_math.h"
#include "numerics/half.h"

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
void finish_halves(Emitter& e, Val values) {
  Type t = values.type;
  if (e.has(Mod::ftz)) values = flush_always(values);
  if (e.has(Mod::sat)) values = saturate_narrow(values);
  if (e.has(Mod::relu)) values = relu_narrow(values);
  e.out(t == e.type() ? values : pack_all(values, e.type(), e.in(1).lanes()));
}

/// One f32 operation on the elements.
template <typename F>
void in_f32(Emitter& e, F f) {
  Val a = elements(e, 1), b = elements(e, 2);
  finish_halves(e, narrow_from_f32(f(widen_to_f32(a, a.type), widen_to_f32(b, b.type)), a.type, Mod::rn));
}

Val bits_of(Val a) { return a.as(Type::b16); }

void lower_minimum(Emitter& e, bool maximum) {
  Val a = elements(e, 1), b = elements(e, 2);
  if (!e.has(Mod::xorsign)) return finish_halves(e, minimum_narrow(a, b, e.has(Mod::nan_flag), maximum));
  Val sign = bits_of(a).like(0x8000), magnitude = bits_of(a).like(0x7fff);
  Val x = (bits_of(a) & magnitude).as(a.type), y = (bits_of(b) & magnitude).as(a.type);
  Val d = minimum_narrow(x, y, e.has(Mod::nan_flag), maximum);
  finish_halves(e, (bits_of(d) | ((bits_of(a) ^ bits_of(b)) & sign)).as(a.type));
}

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
    const auto is_marker = [](Val x) {
      return eq(bits_of(x) & bits_of(x).like(0x7fff), bits_of(x).like(numerics::kOutOfBoundsNan));
    };
    Val marked = is_marker(a) | is_marker(b);
    d = select(marked, d.constant(d.type, 0), d);
  }
  finish_halves(e, d);
}

template <>
void lower<Op::neg_half>(Emitter& e) {
  Val a = elements(e, 1);
  finish_halves(e, (bits_of(a) ^ bits_of(a).like(0x8000)).as(a.type));
}

template <>
void lower<Op::abs_half>(Emitter& e) {
  Val a = elements(e, 1);
  finish_halves(e, (bits_of(a) & bits_of(a).like(0x7fff)).as(a.type));
}

template <>
void lower<Op::min_half>(Emitter& e) {
  lower_minimum(e, false);
}

template <>
void lower<Op::max_half>(Emitter& e) {
  lower_minimum(e, true);
}

template <>
void lower<Op::tanh_half>(Emitter& e) {
  Val a = elements(e, 1);
  finish_halves(e, narrow_from_f32(tanh_approx(widen_to_f32(a, a.type)), a.type, Mod::rn));
}

template <>
void lower<Op::ex2_half>(Emitter& e) {
  Val a = elements(e, 1);
  finish_halves(e, narrow_from_f32(ex2_approx(widen_to_f32(a, a.type), false), a.type, Mod::rn));
}

}  // namespace raddle::jit
