// Lowerings of integer arithmetic: add to max, division. Bit fields and dot products: lowering_bits.cpp.
// Source: PTX ISA "Integer Arithmetic Instructions".
#include "isa/op.h"
#include "jit/emitter.h"

namespace raddle::jit {
namespace {

/// Applies f to the elements of packed operands, or to the values themselves.
template <typename F>
Val elementwise(Emitter& e, F f) {
  Type packed = e.type(), element = element_type(packed);
  Val a = e.in(1), b = e.in(2);
  if (element == packed) return f(a, b);
  return pack_all(f(unpack_all(a, element), unpack_all(b, element)), packed, a.lanes());
}

Val relu(Emitter& e, Val a) { return e.has(Mod::relu) ? max(a, a.like(0)) : a; }

/// The product's half that .lo, .hi or .wide asks for.
Val product(Emitter& e, Val a, Val b) {
  if (e.has(Mod::hi)) return multiply_high(a, b);
  if (!e.has(Mod::wide)) return a * b;
  Type wide = isa::widened(a.type);
  return a.to(wide) * b.to(wide);
}

Val saturating_add(Val a, Val b) { return intrinsic(llvm::Intrinsic::sadd_sat, a, b); }

/// mul24 reads the low 24 bits; .lo keeps bits 0..31 of the 48-bit product, .hi bits 16..47.
Val product24(Emitter& e, Val a, Val b) {
  Type wide = isa::widened(a.type);
  Val x = shr(shl(a, 8), 8).to(wide), y = shr(shl(b, 8), 8).to(wide);
  Val p = x * y;
  return (e.has(Mod::hi) ? shr(p, 16) : p).to(a.type);
}

struct Division {
  Val quotient, remainder;
};

/// Quotient of vectors through floating point, exact: x / y differs from an integer by at least 1/y, far
/// more than the rounding error of a format with twice the bits (f32 for 16-bit, f64 for 32-bit
/// integers).
Val divide_through_float(Val a, Val b) {
  Type t = a.bits() == 16 ? Type::f32 : Type::f64;
  return float_to_int_in_range(divide(int_to_float(a, t), int_to_float(b, t)), a.type);
}

/// PTX leaves division by zero open; here quotient and remainder are all ones, as an H200's are.
/// The most negative number divided by -1 wraps to itself, remainder 0.
Division divide_integers(Val a, Val b) {
  Val zero = eq(b, b.like(0));
  Val unsafe = zero;
  if (a.is_signed()) {
    Val lowest = a.constant(a.type, std::uint64_t{1} << (a.bits() - 1));
    unsafe = unsafe | (eq(a, lowest) & eq(b, b.like(-1)));
  }
  Val divisor = select(unsafe, b.like(1), b);
  std::uint64_t known;
  bool through_float = a.is_vector() && a.bits() <= 32 && !is_constant(b, known);
  Val q = through_float   ? divide_through_float(a, divisor)
          : a.is_signed() ? Val{a.ir, a.ir->CreateSDiv(a.v, divisor.v), a.type}
                          : Val{a.ir, a.ir->CreateUDiv(a.v, divisor.v), a.type};
  q = select(zero, q.like(-1), q);
  return {q, select(zero, q.like(-1), a - q * b)};
}

Val absolute(Val a) { return max(a, -a); }

}  // namespace

template <>
void lower<Op::add>(Emitter& e) {
  if (e.has(Mod::sat)) return e.out(saturating_add(e.in(1), e.in(2)));
  e.out(elementwise(e, [](Val a, Val b) { return a + b; }));
}

template <>
void lower<Op::sub>(Emitter& e) {
  if (e.has(Mod::sat)) return e.out(intrinsic(llvm::Intrinsic::ssub_sat, e.in(1), e.in(2)));
  e.out(e.in(1) - e.in(2));
}

template <>
void lower<Op::mul>(Emitter& e) {
  e.out(product(e, e.in(1), e.in(2)));
}

template <>
void lower<Op::mad>(Emitter& e) {
  Val p = product(e, e.in(1), e.in(2)), c = e.in(3);
  e.out(e.has(Mod::sat) ? saturating_add(p, c) : p + c);
}

template <>
void lower<Op::mul24>(Emitter& e) {
  e.out(product24(e, e.in(1), e.in(2)));
}

template <>
void lower<Op::mad24>(Emitter& e) {
  Val p = product24(e, e.in(1), e.in(2)), c = e.in(3);
  e.out(e.has(Mod::sat) ? saturating_add(p, c) : p + c);
}

template <>
void lower<Op::sad>(Emitter& e) {
  Val a = e.in(1), b = e.in(2);
  e.out(e.in(3) + (max(a, b) - min(a, b)));
}

template <>
void lower<Op::div>(Emitter& e) {
  e.out(divide_integers(e.in(1), e.in(2)).quotient);
}

template <>
void lower<Op::rem>(Emitter& e) {
  e.out(divide_integers(e.in(1), e.in(2)).remainder);
}

template <>
void lower<Op::abs>(Emitter& e) {
  e.out(absolute(e.in(1)));
}

template <>
void lower<Op::neg>(Emitter& e) {
  e.out(-e.in(1));
}

template <>
void lower<Op::min>(Emitter& e) {
  e.out(elementwise(e, [&](Val a, Val b) { return relu(e, min(a, b)); }));
}

template <>
void lower<Op::max>(Emitter& e) {
  e.out(elementwise(e, [&](Val a, Val b) { return relu(e, max(a, b)); }));
}

}  // namespace raddle::jit
