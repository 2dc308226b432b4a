// Reference semantics of integer arithmetic and bit fields, one lane at a time.
#include "interp/reference.h"

#include <bit>
#include <limits>

#include "interp/lane.h"
#include "interp/types.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Instruction;

namespace {

/// All arithmetic is done in 128 bits, where nothing overflows, and cut to the type.
using Wide = __int128;

template <class T>
T cut(Wide value) {
  return static_cast<T>(static_cast<unsigned __int128>(value));
}

template <class T>
T clamp(Wide value) {
  if (value > std::numeric_limits<T>::max()) return std::numeric_limits<T>::max();
  if (value < std::numeric_limits<T>::min()) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

bool is_pair16(Type type) { return type == Type::u16x2 || type == Type::s16x2; }

/// Applies f to both 16-bit halves.
template <class F>
void by_halves(Lane& lane, Type type, F f) {
  std::uint32_t a = lane.in<std::uint32_t>(1), b = lane.in<std::uint32_t>(2), result = 0;
  for (unsigned shift = 0; shift < 32; shift += 16) {
    auto x = static_cast<std::uint16_t>(a >> shift), y = static_cast<std::uint16_t>(b >> shift);
    Wide r = type == Type::s16x2 ? f(Wide{static_cast<std::int16_t>(x)}, Wide{static_cast<std::int16_t>(y)})
                                 : f(Wide{x}, Wide{y});
    result |= static_cast<std::uint32_t>(cut<std::uint16_t>(r)) << shift;
  }
  lane.out<std::uint32_t>(0, result);
}

template <class F>
void on_integers(Lane& lane, const Instruction& i, F f) {
  Type type = i.opcode->type();
  if (is_pair16(type)) return by_halves(lane, type, f);
  with_integer(type, [&](auto tag) {
    using T = decltype(tag);
    Wide result = f(Wide{lane.in<T>(1)}, Wide{lane.in<T>(2)});
    lane.out<T>(0, i.opcode->has(Mod::sat) ? clamp<T>(result) : cut<T>(result));
  });
}

/// The part of a product that .lo, .hi or .wide asks for, then plus c.
void multiply(Lane& lane, const Instruction& i, bool add) {
  with_integer(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    constexpr unsigned kBits = sizeof(T) * 8;
    // u64 * u64 fits 128 unsigned bits only.
    using Product = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    Product product = static_cast<Product>(lane.in<T>(1)) * static_cast<Product>(lane.in<T>(2));
    if (i.opcode->has(Mod::wide)) {
      using Twice = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      auto sum = static_cast<Twice>(product);
      if (add) sum = static_cast<Twice>(static_cast<std::uint64_t>(sum) + lane.in<std::uint64_t>(3));
      if constexpr (sizeof(T) == 2) {
        using Result = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
        lane.out<Result>(0, static_cast<Result>(sum));
      } else {
        lane.out<Twice>(0, sum);
      }
      return;
    }
    T part = static_cast<T>(i.opcode->has(Mod::hi) ? product >> kBits : product);
    if (!add) return lane.out<T>(0, part);
    Wide sum = Wide{part} + Wide{lane.in<T>(3)};
    lane.out<T>(0, i.opcode->has(Mod::sat) ? clamp<T>(sum) : cut<T>(sum));
  });
}

/// Product of 24-bit operands: bits 0..31 (.lo) or 16..47 (.hi), sign- or zero-extended from bit 23.
template <class T>
T multiply24(const Instruction& i, T a, T b) {
  auto low24 = [](T x) -> std::int64_t {
    if constexpr (std::is_signed_v<T>)
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << 8) >> 8;
    return x & 0xffffff;
  };
  std::int64_t product = low24(a) * low24(b);
  return static_cast<T>(i.opcode->has(Mod::hi) ? product >> 16 : product);
}

/// Where a field begins, or how long it is: 8 bits of the operand for 32-bit fields. The manual
/// restricts both to 255; where more is given, 64-bit fields of an H200 take the whole operand.
std::uint64_t field_bound(const Lane& lane, unsigned k, unsigned top) {
  return lane.in<std::uint32_t>(k) & (top == 31 ? 0xffu : ~0u);
}

}  // namespace

template <>
void reference<Op::add>(Lane& lane, const Instruction& i) {
  on_integers(lane, i, [](Wide a, Wide b) { return a + b; });
}
template <>
void reference<Op::sub>(Lane& lane, const Instruction& i) {
  on_integers(lane, i, [](Wide a, Wide b) { return a - b; });
}
template <>
void reference<Op::mul>(Lane& lane, const Instruction& i) {
  multiply(lane, i, false);
}
template <>
void reference<Op::mad>(Lane& lane, const Instruction& i) {
  multiply(lane, i, true);
}

template <>
void reference<Op::mul24>(Lane& lane, const Instruction& i) {
  with_integer(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    lane.out<T>(0, multiply24<T>(i, lane.in<T>(1), lane.in<T>(2)));
  });
}
template <>
void reference<Op::mad24>(Lane& lane, const Instruction& i) {
  with_integer(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    Wide sum = Wide{multiply24<T>(i, lane.in<T>(1), lane.in<T>(2))} + Wide{lane.in<T>(3)};
    lane.out<T>(0, i.opcode->has(Mod::sat) ? clamp<T>(sum) : cut<T>(sum));
  });
}

template <>
void reference<Op::sad>(Lane& lane, const Instruction& i) {
  with_integer(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    Wide a = lane.in<T>(1), b = lane.in<T>(2), c = lane.in<T>(3);
    lane.out<T>(0, cut<T>(c + (a < b ? b - a : a - b)));
  });
}

// Division by zero gives all ones, and so does its remainder: PTX leaves it open, an H200 does so.
template <>
void reference<Op::div>(Lane& lane, const Instruction& i) {
  on_integers(lane, i, [](Wide a, Wide b) { return b == 0 ? Wide{-1} : a / b; });
}
template <>
void reference<Op::rem>(Lane& lane, const Instruction& i) {
  on_integers(lane, i, [](Wide a, Wide b) { return b == 0 ? Wide{-1} : a % b; });
}

template <>
void reference<Op::abs>(Lane& lane, const Instruction& i) {
  with_integer(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    Wide a = lane.in<T>(1);
    lane.out<T>(0, cut<T>(a < 0 ? -a : a));
  });
}
template <>
void reference<Op::neg>(Lane& lane, const Instruction& i) {
  with_integer(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    lane.out<T>(0, cut<T>(-Wide{lane.in<T>(1)}));
  });
}

template <>
void reference<Op::min>(Lane& lane, const Instruction& i) {
  bool relu = i.opcode->has(Mod::relu);
  on_integers(lane, i, [relu](Wide a, Wide b) {
    Wide result = a < b ? a : b;
    return relu && result < 0 ? Wide{0} : result;
  });
}
template <>
void reference<Op::max>(Lane& lane, const Instruction& i) {
  bool relu = i.opcode->has(Mod::relu);
  on_integers(lane, i, [relu](Wide a, Wide b) {
    Wide result = a > b ? a : b;
    return relu && result < 0 ? Wide{0} : result;
  });
}

template <>
void reference<Op::popc>(Lane& lane, const Instruction& i) {
  bool wide = i.opcode->type() == Type::b64;
  int ones = wide ? std::popcount(lane.in<std::uint64_t>(1)) : std::popcount(lane.in<std::uint32_t>(1));
  lane.out<std::uint32_t>(0, static_cast<std::uint32_t>(ones));
}
template <>
void reference<Op::clz>(Lane& lane, const Instruction& i) {
  bool wide = i.opcode->type() == Type::b64;
  int zeros =
      wide ? std::countl_zero(lane.in<std::uint64_t>(1)) : std::countl_zero(lane.in<std::uint32_t>(1));
  lane.out<std::uint32_t>(0, static_cast<std::uint32_t>(zeros));
}

/// Position of the highest bit that differs from the sign; all ones if there is none.
template <>
void reference<Op::bfind>(Lane& lane, const Instruction& i) {
  with_integer(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    using U = std::make_unsigned_t<T>;
    T a = lane.in<T>(1);
    U bits = static_cast<U>(a < 0 ? ~a : a);
    if (bits == 0) return lane.out<std::uint32_t>(0, ~0u);
    auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
    lane.out<std::uint32_t>(
        0, i.opcode->has(Mod::shiftamt) ? zeros : static_cast<std::uint32_t>(sizeof(T) * 8 - 1 - zeros));
  });
}

/// The offset-th set bit of mask from bit `base` on, upwards or downwards; with offset 0 `base` itself if
/// set.
template <>
void reference<Op::fns>(Lane& lane, const Instruction&) {
  std::uint32_t mask = lane.in<std::uint32_t>(1), base = lane.in<std::uint32_t>(2);
  std::int32_t offset = lane.in<std::int32_t>(3);
  std::uint32_t result = ~0u;
  if (offset == 0) {
    if (base < 32 && (mask >> base & 1) != 0) result = base;
  } else {
    std::int64_t position = base, step = offset > 0 ? 1 : -1,
                 left = offset > 0 ? offset : -std::int64_t{offset};
    for (; position >= 0 && position < 32; position += step) {
      if ((mask >> position & 1) != 0 && --left == 0) {
        result = static_cast<std::uint32_t>(position);
        break;
      }
    }
  }
  lane.out<std::uint32_t>(0, result);
}

template <>
void reference<Op::brev>(Lane& lane, const Instruction& i) {
  unsigned bits = isa::bit_size(i.opcode->type());
  std::uint64_t a = lane.in<std::uint64_t>(1), result = 0;
  for (unsigned k = 0; k < bits; ++k) result |= (a >> k & 1) << (bits - 1 - k);
  lane.out<std::uint64_t>(0, result);
}

/// Bit by bit as the manual has it: beyond the field (or the register) the sign follows.
template <>
void reference<Op::bfe>(Lane& lane, const Instruction& i) {
  Type type = i.opcode->type();
  unsigned top = isa::bit_size(type) - 1;
  std::uint64_t a = lane.in<std::uint64_t>(1), result = 0;
  if (top == 31) a &= 0xffffffffu;
  const std::uint64_t position = field_bound(lane, 2, top), length = field_bound(lane, 3, top);
  std::uint64_t sign = 0;
  if (isa::is_signed(type) && length != 0)
    sign = a >> std::min<std::uint64_t>(position + length - 1, top) & 1;
  for (unsigned k = 0; k <= top; ++k) {
    std::uint64_t bit = k < length && position + k <= top ? a >> (position + k) & 1 : sign;
    result |= bit << k;
  }
  lane.out<std::uint64_t>(0, result);
}

/// f = b with `length` bits of a put in at `position`.
template <>
void reference<Op::bfi>(Lane& lane, const Instruction& i) {
  unsigned top = isa::bit_size(i.opcode->type()) - 1;
  std::uint64_t a = lane.in<std::uint64_t>(1), f = lane.in<std::uint64_t>(2);
  const std::uint64_t position = field_bound(lane, 3, top), length = field_bound(lane, 4, top);
  for (unsigned k = 0; k < length && position + k <= top; ++k) {
    std::uint64_t bit = std::uint64_t{1} << (position + k);
    f = (a >> k & 1) != 0 ? f | bit : f & ~bit;
  }
  lane.out<std::uint64_t>(0, f);
}

template <>
void reference<Op::szext>(Lane& lane, const Instruction& i) {
  std::uint32_t a = lane.in<std::uint32_t>(1), width = lane.in<std::uint32_t>(2);
  width = i.opcode->has(Mod::wrap) ? width & 31 : std::min(width, 32u);
  bool is_signed = i.opcode->type() == Type::s32;
  std::uint32_t result = 0;
  for (unsigned k = 0; k < 32; ++k) {
    std::uint32_t from = k < width ? k : width - 1;
    std::uint32_t bit = k < width || (is_signed && width != 0) ? a >> from & 1 : 0;
    result |= bit << k;
  }
  lane.out<std::uint32_t>(0, result);
}

/// Ones in positions a .. a + b - 1.
template <>
void reference<Op::bmsk>(Lane& lane, const Instruction& i) {
  std::uint32_t a = lane.in<std::uint32_t>(1), b = lane.in<std::uint32_t>(2);
  bool wrap = i.opcode->has(Mod::wrap);
  a = wrap ? a & 31 : std::min(a, 32u);
  b = wrap ? b & 31 : std::min(b, 32u);
  std::uint32_t result = 0;
  for (std::uint32_t k = a; k < a + b && k < 32; ++k) result |= 1u << k;
  lane.out<std::uint32_t>(0, result);
}

namespace {
std::int64_t byte_of(std::uint32_t x, unsigned k, bool is_signed) {
  auto byte = static_cast<std::uint8_t>(x >> (8 * k));
  return is_signed ? static_cast<std::int8_t>(byte) : byte;
}
std::int64_t half_of(std::uint32_t x, unsigned k, bool is_signed) {
  auto half = static_cast<std::uint16_t>(x >> (16 * k));
  return is_signed ? static_cast<std::int16_t>(half) : half;
}
}  // namespace

template <>
void reference<Op::dp4a>(Lane& lane, const Instruction& i) {
  bool a_signed = i.opcode->type(0) == Type::s32, b_signed = i.opcode->type(1) == Type::s32;
  std::uint32_t a = lane.in<std::uint32_t>(1), b = lane.in<std::uint32_t>(2);
  std::int64_t sum = lane.in<std::uint32_t>(3);
  for (unsigned k = 0; k < 4; ++k) sum += byte_of(a, k, a_signed) * byte_of(b, k, b_signed);
  lane.out<std::uint32_t>(0, static_cast<std::uint32_t>(sum));
}

template <>
void reference<Op::dp2a>(Lane& lane, const Instruction& i) {
  bool a_signed = i.opcode->type(0) == Type::s32, b_signed = i.opcode->type(1) == Type::s32;
  unsigned first = i.opcode->has(Mod::hi) ? 2 : 0;
  std::uint32_t a = lane.in<std::uint32_t>(1), b = lane.in<std::uint32_t>(2);
  std::int64_t sum = lane.in<std::uint32_t>(3);
  for (unsigned k = 0; k < 2; ++k) sum += half_of(a, k, a_signed) * byte_of(b, first + k, b_signed);
  lane.out<std::uint32_t>(0, static_cast<std::uint32_t>(sum));
}

}  // namespace raddle::interp
