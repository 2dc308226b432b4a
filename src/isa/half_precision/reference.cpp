// Reference semantics of f16 and bf16 arithmetic, alone and in pairs. A pair is computed half by half.
#include "interp/reference.h"

#include <cmath>

#include "interp/lane.h"
#include "interp/types.h"
#include "numerics/arithmetic.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using ptx::Instruction;

namespace {

template <class T>
T flushed(bool flush, T x) {
  bool subnormal = flush && std::fabs(numerics::widen(x)) < 0x1p-14 && sizeof(T) == 2;
  if constexpr (std::is_same_v<T, numerics::bf16>)
    subnormal = flush && std::fabs(numerics::widen(x)) < 0x1p-126;
  return subnormal ? numerics::with_sign(T{}, numerics::sign_of(x)) : x;
}

/// Operand k's half number `part`.
template <class T>
T half(Lane& lane, unsigned k, unsigned part, bool flush) {
  return flushed(flush, T{static_cast<std::uint16_t>(lane.in<std::uint32_t>(k) >> (16 * part))});
}

/// f(read) gives the result of one half, where read(k) is operand k of that half; .ftz, .sat and .relu around
/// it.
template <class F>
void by_half(Lane& lane, const Instruction& i, F f) {
  isa::Type type = i.opcode->type();
  bool flush = i.opcode->has(Mod::ftz);
  with_half(type, [&](auto tag) {
    using T = decltype(tag);
    std::uint32_t result = 0;
    for (unsigned part = 0; part < (is_pair(type) ? 2u : 1u); ++part) {
      T value = flushed<T>(flush, f([&](unsigned k) { return half<T>(lane, k, part, flush); }));
      if (i.opcode->has(Mod::sat)) value = numerics::saturate(value);
      if (i.opcode->has(Mod::relu)) value = numerics::relu(value);
      result |= static_cast<std::uint32_t>(value.bits) << (16 * part);
    }
    lane.out<std::uint32_t>(0, result);
  });
}

numerics::MinMax half_min_max(const Instruction& i) {
  return {.nan = i.opcode->has(Mod::nan_flag), .xorsign = i.opcode->has(Mod::xorsign)};
}

/// `.oob`: a factor that is the NaN with which tensor copies fill what lies out of bounds makes the result
/// zero.
template <class T>
bool out_of_bounds(T x) {
  return (x.bits & 0x7fff) == numerics::kOutOfBoundsNan;
}

}  // namespace

template <>
void reference<Op::add_half>(Lane& lane, const Instruction& i) {
  by_half(lane, i, [](auto in) { return numerics::add(in(1), in(2)); });
}
template <>
void reference<Op::sub_half>(Lane& lane, const Instruction& i) {
  by_half(lane, i, [](auto in) { return numerics::sub(in(1), in(2)); });
}
template <>
void reference<Op::mul_half>(Lane& lane, const Instruction& i) {
  by_half(lane, i, [](auto in) { return numerics::mul(in(1), in(2)); });
}
template <>
void reference<Op::fma_half>(Lane& lane, const Instruction& i) {
  bool oob = i.opcode->has(Mod::oob);
  by_half(lane, i, [oob](auto in) {
    if (oob && (out_of_bounds(in(1)) || out_of_bounds(in(2)))) return decltype(in(1)){};
    return numerics::fma(in(1), in(2), in(3));
  });
}
template <>
void reference<Op::neg_half>(Lane& lane, const Instruction& i) {
  by_half(lane, i, [](auto in) { return numerics::with_sign(in(1), !numerics::sign_of(in(1))); });
}
template <>
void reference<Op::abs_half>(Lane& lane, const Instruction& i) {
  by_half(lane, i, [](auto in) { return numerics::with_sign(in(1), false); });
}
template <>
void reference<Op::min_half>(Lane& lane, const Instruction& i) {
  by_half(lane, i, [&](auto in) { return numerics::min(in(1), in(2), half_min_max(i)); });
}
template <>
void reference<Op::max_half>(Lane& lane, const Instruction& i) {
  by_half(lane, i, [&](auto in) { return numerics::max(in(1), in(2), half_min_max(i)); });
}
template <>
void reference<Op::tanh_half>(Lane& lane, const Instruction& i) {
  by_half(lane, i,
          [](auto in) { return numerics::narrow<decltype(in(1))>(std::tanh(numerics::widen(in(1)))); });
}
template <>
void reference<Op::ex2_half>(Lane& lane, const Instruction& i) {
  by_half(lane, i,
          [](auto in) { return numerics::narrow<decltype(in(1))>(std::exp2(numerics::widen(in(1)))); });
}

}  // namespace raddle::interp
