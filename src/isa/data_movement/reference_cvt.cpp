// Reference semantics of cvt: integers by clamping or cutting, floats by one exact rounding (numerics/).
#include <cmath>

#include "interp/lane.h"
#include "interp/reference.h"
#include "interp/types.h"
#include "numerics/arithmetic.h"
#include "numerics/convert.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using isa::Type;
using numerics::Rounding;
using ptx::Instruction;

namespace {

numerics::IntegerShape shape(Type type) { return {isa::bit_size(type), isa::is_signed(type)}; }

/// Operand 1 as an integer of the type, extended to 64 bits.
std::uint64_t integer_operand(Lane& lane, Type type) {
  return with_integer(type, [&](auto tag) {
    using T = decltype(tag);
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    return static_cast<std::uint64_t>(static_cast<Wide>(lane.in<T>(1)));
  });
}

double float_operand(Lane& lane, const Instruction& i, unsigned k, Type type) {
  if (type == Type::f32 && i.opcode->has(Mod::ftz))
    return numerics::widen(numerics::flush(lane.in<float>(k)));
  return with_any_float(type, [&](auto tag) { return numerics::widen(lane.in<decltype(tag)>(k)); });
}

void integer_result(Lane& lane, Type to, std::uint64_t value) {
  with_integer(to, [&](auto tag) { lane.out<decltype(tag)>(0, static_cast<decltype(tag)>(value)); });
}

/// Rounds to T with .satfinite and .relu.
template <class T>
T finish(const Instruction& i, double value, Rounding rounding) {
  T result = numerics::narrow<T>(value, rounding);
  if (i.opcode->has(Mod::satfinite) && std::isinf(numerics::widen(result))) {
    result = numerics::from_encoding<T>(numerics::largest_finite(numerics::FormatOf<T>::value, value < 0));
  }
  return i.opcode->has(Mod::relu) ? numerics::relu(result) : result;
}

template <class T>
void float_result(Lane& lane, const Instruction& i, T result) {
  if constexpr (sizeof(T) == 4) {
    if (i.opcode->has(Mod::ftz)) result = numerics::flush(result);
  }
  lane.out<T>(0, i.opcode->has(Mod::sat) ? numerics::saturate(result) : result);
}

bool rounds_to_integral(const isa::Opcode& opcode) {
  return opcode.has(Mod::rni) || opcode.has(Mod::rzi) || opcode.has(Mod::rmi) || opcode.has(Mod::rpi);
}

void from_integer(Lane& lane, const Instruction& i, Type to, Type from) {
  std::uint64_t value = integer_operand(lane, from);
  if (isa::is_float(to)) {
    bool negative = isa::is_signed(from) && (value >> 63) != 0;
    with_any_float(to, [&](auto tag) {
      using T = decltype(tag);
      float_result<T>(
          lane, i, numerics::from_integer<T>(negative, negative ? 0 - value : value, rounding_of(*i.opcode)));
    });
    return;
  }
  if (i.opcode->has(Mod::sat)) value = numerics::clamp_integer(value, shape(from), shape(to));
  integer_result(lane, to, value);
}

}  // namespace

template <>
void reference<Op::cvt>(Lane& lane, const Instruction& i) {
  Type to = i.opcode->type(0), from = i.opcode->type(1);
  if (!isa::is_float(from)) return from_integer(lane, i, to, from);
  double value = float_operand(lane, i, 1, from);
  Rounding rounding = rounding_of(*i.opcode);
  if (!isa::is_float(to)) {
    return integer_result(lane, to, numerics::to_integer(value, isa::bit_size(from), shape(to), rounding));
  }
  if (rounds_to_integral(*i.opcode)) value = numerics::round_to_integral(value, rounding);
  with_any_float(to, [&](auto tag) {
    using T = decltype(tag);
    float_result<T>(lane, i, finish<T>(i, value, rounding));
  });
}

template <>
void reference<Op::cvt_tf32>(Lane& lane, const Instruction& i) {
  float a = lane.in<float>(1);
  std::uint32_t bits = numerics::to_tf32(a, rounding_of(*i.opcode));
  auto value = std::bit_cast<float>(bits);
  if (i.opcode->has(Mod::satfinite) && std::isinf(value)) {
    bits = static_cast<std::uint32_t>(numerics::largest_finite(numerics::kTf32, a < 0)) << 13;
  }
  if (i.opcode->has(Mod::relu) && !std::isnan(a) && std::signbit(a)) bits = 0;
  lane.out<std::uint32_t>(0, bits);
}

template <>
void reference<Op::cvt_x2>(Lane& lane, const Instruction& i) {
  with_half(i.opcode->type(0), [&](auto tag) {
    using T = decltype(tag);
    Rounding rounding = rounding_of(*i.opcode);
    T high = finish<T>(i, float_operand(lane, i, 1, Type::f32), rounding);
    T low = finish<T>(i, float_operand(lane, i, 2, Type::f32), rounding);
    lane.out<std::uint32_t>(0, static_cast<std::uint32_t>(high.bits) << 16 | low.bits);
  });
}

/// Pairs of 8-bit floats: of two f32 the first becomes the high byte, pairs of f16 keep their order.
template <>
void reference<Op::cvt_f8>(Lane& lane, const Instruction& i) {
  Type to = i.opcode->type(0), from = i.opcode->type(1);
  bool relu = i.opcode->has(Mod::relu);
  if (to == Type::f16x2) {
    auto bytes = lane.in<std::uint16_t>(1);
    std::uint32_t result = 0;
    for (unsigned part = 0; part < 2; ++part) {
      auto byte = static_cast<std::uint8_t>(bytes >> (8 * part));
      auto half = numerics::narrow<numerics::f16>(from == Type::e4m3x2 ? numerics::from_e4m3(byte)
                                                                       : numerics::from_e5m2(byte));
      result |= static_cast<std::uint32_t>(relu ? numerics::relu(half).bits : half.bits) << (16 * part);
    }
    return lane.out<std::uint32_t>(0, result);
  }
  double high = 0, low = 0;
  if (from == Type::f32) {
    high = float_operand(lane, i, 1, from), low = float_operand(lane, i, 2, from);
  } else {
    auto pair = lane.in<std::uint32_t>(1);
    high = numerics::widen(numerics::f16{static_cast<std::uint16_t>(pair >> 16)});
    low = numerics::widen(numerics::f16{static_cast<std::uint16_t>(pair)});
  }
  auto byte = [&](double x) {
    return to == Type::e4m3x2 ? numerics::to_e4m3(x, relu) : numerics::to_e5m2(x, relu);
  };
  lane.out<std::uint16_t>(0, static_cast<std::uint16_t>(byte(high) << 8 | byte(low)));
}

/// b clamped into the low bits, a above it, then c shifted up behind them.
template <>
void reference<Op::cvt_pack>(Lane& lane, const Instruction& i) {
  Type to = i.opcode->type(0);
  unsigned bits = isa::bit_size(to);
  auto clamped = [&](unsigned k) {
    auto value = static_cast<std::uint64_t>(std::int64_t{lane.in<std::int32_t>(k)});
    std::uint64_t result = numerics::clamp_integer(value, {32, true}, shape(to));
    return result & ((std::uint64_t{1} << bits) - 1);
  };
  std::uint64_t result = clamped(2) | clamped(1) << bits;
  if (lane.has(3)) result |= static_cast<std::uint64_t>(lane.in<std::uint32_t>(3)) << (2 * bits);
  lane.out<std::uint32_t>(0, static_cast<std::uint32_t>(result));
}

}  // namespace raddle::interp
