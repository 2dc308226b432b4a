// Reference semantics of f32 and f64 arithmetic, one lane at a time, on top of numerics/.
#include "interp/reference.h"

#include <cmath>

#include "interp/lane.h"
#include "interp/types.h"
#include "numerics/approximate.h"
#include "numerics/arithmetic.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using ptx::Instruction;

namespace {

template <class T>
T flushed_if(const Instruction& i, T x) {
  if constexpr (sizeof(T) == 4) {
    return i.opcode->has(Mod::ftz) ? numerics::flush(x) : x;
  } else {
    return x;
  }
}

template <class T>
T operand(Lane& lane, const Instruction& i, unsigned k) {
  return flushed_if(i, lane.in<T>(k));
}

template <class T>
void result(Lane& lane, const Instruction& i, T x) {
  x = flushed_if(i, x);
  lane.out<T>(0, i.opcode->has(Mod::sat) ? numerics::saturate(x) : x);
}

/// Runs f(a, b, rounding) in the instruction's type, with .ftz and .sat around it.
template <class F>
void binary(Lane& lane, const Instruction& i, F f) {
  with_float(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    result<T>(lane, i, f(operand<T>(lane, i, 1), operand<T>(lane, i, 2), rounding_of(*i.opcode)));
  });
}
template <class F>
void unary(Lane& lane, const Instruction& i, F f) {
  with_float(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    result<T>(lane, i, f(operand<T>(lane, i, 1), rounding_of(*i.opcode)));
  });
}

void multiply_add(Lane& lane, const Instruction& i) {
  with_float(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    T a = operand<T>(lane, i, 1), b = operand<T>(lane, i, 2), c = operand<T>(lane, i, 3);
    result<T>(lane, i, numerics::fma(a, b, c, rounding_of(*i.opcode)));
  });
}

/// An approximate f32 function.
void approximate(Lane& lane, const Instruction& i, float (*f)(float)) {
  result<float>(lane, i, f(operand<float>(lane, i, 1)));
}

numerics::MinMax min_max_of(const Instruction& i) {
  return {.nan = i.opcode->has(Mod::nan_flag), .xorsign = i.opcode->has(Mod::xorsign)};
}

}  // namespace

template <>
void reference<Op::testp>(Lane& lane, const Instruction& i) {
  with_float(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    int kind = std::fpclassify(lane.in<T>(1));
    bool holds = false;
    switch (i.opcode->get(isa::ModKind::test)) {
      case Mod::finite:
        holds = kind != FP_INFINITE && kind != FP_NAN;
        break;
      case Mod::infinite:
        holds = kind == FP_INFINITE;
        break;
      case Mod::number:
        holds = kind != FP_NAN;
        break;
      case Mod::notanumber:
        holds = kind == FP_NAN;
        break;
      case Mod::normal:
        holds = kind == FP_NORMAL || kind == FP_ZERO;
        break;
      default:
        holds = kind == FP_SUBNORMAL;
        break;
    }
    lane.out<bool>(0, holds);
  });
}

/// The sign of a, the magnitude of b.
template <>
void reference<Op::copysign>(Lane& lane, const Instruction& i) {
  with_float(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    lane.out<T>(0, numerics::with_sign(lane.in<T>(2), numerics::sign_of(lane.in<T>(1))));
  });
}

template <>
void reference<Op::add_f>(Lane& lane, const Instruction& i) {
  binary(lane, i, [](auto a, auto b, auto r) { return numerics::add(a, b, r); });
}
template <>
void reference<Op::sub_f>(Lane& lane, const Instruction& i) {
  binary(lane, i, [](auto a, auto b, auto r) { return numerics::sub(a, b, r); });
}
template <>
void reference<Op::mul_f>(Lane& lane, const Instruction& i) {
  binary(lane, i, [](auto a, auto b, auto r) { return numerics::mul(a, b, r); });
}
template <>
void reference<Op::fma>(Lane& lane, const Instruction& i) {
  multiply_add(lane, i);
}
template <>
void reference<Op::mad_f>(Lane& lane, const Instruction& i) {
  multiply_add(lane, i);
}
template <>
void reference<Op::div_f>(Lane& lane, const Instruction& i) {
  binary(lane, i, [](auto a, auto b, auto r) { return numerics::div(a, b, r); });
}
template <>
void reference<Op::div_approx>(Lane& lane, const Instruction& i) {
  float a = operand<float>(lane, i, 1), b = operand<float>(lane, i, 2);
  result<float>(lane, i, i.opcode->has(Mod::full) ? numerics::div_full(a, b) : numerics::div_approx(a, b));
}

// Signs are set as bits, also of NaNs; with .ftz subnormals become zeros.
template <>
void reference<Op::abs_f>(Lane& lane, const Instruction& i) {
  unary(lane, i, [](auto a, auto) { return numerics::with_sign(a, false); });
}
template <>
void reference<Op::neg_f>(Lane& lane, const Instruction& i) {
  unary(lane, i, [](auto a, auto) { return numerics::with_sign(a, !numerics::sign_of(a)); });
}

template <>
void reference<Op::min_f>(Lane& lane, const Instruction& i) {
  binary(lane, i, [&](auto a, auto b, auto) { return numerics::min(a, b, min_max_of(i)); });
}
template <>
void reference<Op::max_f>(Lane& lane, const Instruction& i) {
  binary(lane, i, [&](auto a, auto b, auto) { return numerics::max(a, b, min_max_of(i)); });
}

template <>
void reference<Op::rcp>(Lane& lane, const Instruction& i) {
  unary(lane, i, [](auto a, auto r) { return numerics::rcp(a, r); });
}
template <>
void reference<Op::sqrt>(Lane& lane, const Instruction& i) {
  unary(lane, i, [](auto a, auto r) { return numerics::sqrt(a, r); });
}
template <>
void reference<Op::rcp_approx>(Lane& lane, const Instruction& i) {
  approximate(lane, i, numerics::rcp_approx);
}
template <>
void reference<Op::sqrt_approx>(Lane& lane, const Instruction& i) {
  approximate(lane, i, numerics::sqrt_approx);
}
template <>
void reference<Op::sin>(Lane& lane, const Instruction& i) {
  approximate(lane, i, numerics::sin_approx);
}
template <>
void reference<Op::cos>(Lane& lane, const Instruction& i) {
  approximate(lane, i, numerics::cos_approx);
}
template <>
void reference<Op::lg2>(Lane& lane, const Instruction& i) {
  approximate(lane, i, numerics::lg2_approx);
}
template <>
void reference<Op::ex2>(Lane& lane, const Instruction& i) {
  approximate(lane, i, numerics::ex2_approx);
}
template <>
void reference<Op::tanh>(Lane& lane, const Instruction& i) {
  approximate(lane, i, numerics::tanh_approx);
}

template <>
void reference<Op::rsqrt>(Lane& lane, const Instruction& i) {
  if (i.opcode->type() == isa::Type::f64) {
    lane.out<double>(0, numerics::rsqrt_approx_f64(lane.in<double>(1), false));
  } else {
    approximate(lane, i, numerics::rsqrt_approx);
  }
}
template <>
void reference<Op::rcp_approx_f64>(Lane& lane, const Instruction&) {
  lane.out<double>(0, numerics::rcp_approx_f64(lane.in<double>(1)));
}
template <>
void reference<Op::rsqrt_approx_f64>(Lane& lane, const Instruction&) {
  lane.out<double>(0, numerics::rsqrt_approx_f64(lane.in<double>(1), true));
}

}  // namespace raddle::interp
