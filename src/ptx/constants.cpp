// Arithmetic and conversion of constants. Integers wrap, shifts beyond 63 empty the word, nothing is
// undefined.
#include "ptx/constants.h"

#include <bit>
#include <cmath>

namespace raddle::ptx {

double to_double(Constant c) {
  switch (c.kind) {
    case Constant::Kind::s64:
      return static_cast<double>(static_cast<std::int64_t>(c.bits));
    case Constant::Kind::u64:
      return static_cast<double>(c.bits);
    case Constant::Kind::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(c.bits));
    case Constant::Kind::f64:
      return std::bit_cast<double>(c.bits);
  }
  return 0;
}

std::uint64_t to_integer(Constant c) {
  if (!c.is_float()) return c.bits;
  const double value = to_double(c);
  if (std::isnan(value)) return 0;
  if (value >= 18446744073709551616.0) return ~0ull;
  if (value >= 9223372036854775808.0) return static_cast<std::uint64_t>(value);
  if (value < -9223372036854775808.0) return 1ull << 63;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

bool is_true(Constant c) { return c.is_float() ? to_double(c) != 0 : c.bits != 0; }

Constant make_integer(std::uint64_t bits, bool is_unsigned) {
  return {is_unsigned ? Constant::Kind::u64 : Constant::Kind::s64, bits};
}

Constant make_float(double value) { return {Constant::Kind::f64, std::bit_cast<std::uint64_t>(value)}; }

Problem apply_unary(std::uint16_t op, Constant& value) {
  switch (op) {
    case '+':
      return nullptr;
    case '!':
      value = make_integer(!is_true(value), false);
      return nullptr;
    case '-':
      if (value.kind == Constant::Kind::f32)
        value.bits ^= 0x80000000u;
      else if (value.kind == Constant::Kind::f64)
        value.bits ^= 1ull << 63;
      else
        value.bits = 0 - value.bits;
      return nullptr;
    default:
      if (value.is_float()) return "'~' needs an integer";
      value.bits = ~value.bits;
      return nullptr;
  }
}

namespace {

Problem float_binary(std::uint16_t op, Constant& left, Constant right) {
  const double a = to_double(left), b = to_double(right);
  switch (op) {
    case '+':
      left = make_float(a + b);
      return nullptr;
    case '-':
      left = make_float(a - b);
      return nullptr;
    case '*':
      left = make_float(a * b);
      return nullptr;
    case '/':
      left = make_float(a / b);
      return nullptr;
    case '<':
      left = make_integer(a < b, false);
      return nullptr;
    case '>':
      left = make_integer(a > b, false);
      return nullptr;
    case kLessEqual:
      left = make_integer(a <= b, false);
      return nullptr;
    case kGreaterEqual:
      left = make_integer(a >= b, false);
      return nullptr;
    case kEqual:
      left = make_integer(a == b, false);
      return nullptr;
    case kNotEqual:
      left = make_integer(a != b, false);
      return nullptr;
    default:
      return "this operator needs integers";
  }
}

Problem divide(std::uint16_t op, Constant& left, std::uint64_t b, bool is_unsigned) {
  if (b == 0) return "division by zero in a constant expression";
  const std::uint64_t a = left.bits;
  const auto sa = static_cast<std::int64_t>(a), sb = static_cast<std::int64_t>(b);
  if (is_unsigned)
    left.bits = op == '/' ? a / b : a % b;
  else if (sb == -1)
    left.bits = op == '/' ? 0 - a : 0;  // also INT64_MIN / -1, which wraps
  else
    left.bits = static_cast<std::uint64_t>(op == '/' ? sa / sb : sa % sb);
  left.kind = is_unsigned ? Constant::Kind::u64 : Constant::Kind::s64;
  return nullptr;
}

/// The result has the left operand's type; distances of 64 and more shift everything out.
void shift(std::uint16_t op, Constant& left, std::uint64_t by) {
  const bool arithmetic = op == kShiftRight && left.kind == Constant::Kind::s64;
  if (by >= 64)
    left.bits = arithmetic && left.bits >> 63 ? ~0ull : 0;
  else if (op == kShiftLeft)
    left.bits <<= by;
  else
    left.bits =
        arithmetic ? static_cast<std::uint64_t>(static_cast<std::int64_t>(left.bits) >> by) : left.bits >> by;
}

bool less(std::uint64_t a, std::uint64_t b, bool is_unsigned) {
  return is_unsigned ? a < b : static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
}

}  // namespace

Problem apply_binary(std::uint16_t op, Constant& left, Constant right) {
  if (op == kAndAnd || op == kOrOr) {
    const bool a = is_true(left), b = is_true(right);
    left = make_integer(op == kAndAnd ? a && b : a || b, false);
    return nullptr;
  }
  if (left.is_float() || right.is_float()) return float_binary(op, left, right);
  const bool is_unsigned = left.kind == Constant::Kind::u64 || right.kind == Constant::Kind::u64;
  const std::uint64_t a = left.bits, b = right.bits;
  switch (op) {
    case '+':
      left = make_integer(a + b, is_unsigned);
      return nullptr;
    case '-':
      left = make_integer(a - b, is_unsigned);
      return nullptr;
    case '*':
      left = make_integer(a * b, is_unsigned);
      return nullptr;
    case '/':
    case '%':
      return divide(op, left, b, is_unsigned);
    case '&':
      left = make_integer(a & b, is_unsigned);
      return nullptr;
    case '|':
      left = make_integer(a | b, is_unsigned);
      return nullptr;
    case '^':
      left = make_integer(a ^ b, is_unsigned);
      return nullptr;
    case kShiftLeft:
    case kShiftRight:
      shift(op, left, b);
      return nullptr;
    case '<':
      left = make_integer(less(a, b, is_unsigned), false);
      return nullptr;
    case '>':
      left = make_integer(less(b, a, is_unsigned), false);
      return nullptr;
    case kLessEqual:
      left = make_integer(!less(b, a, is_unsigned), false);
      return nullptr;
    case kGreaterEqual:
      left = make_integer(!less(a, b, is_unsigned), false);
      return nullptr;
    case kEqual:
      left = make_integer(a == b, false);
      return nullptr;
    case kNotEqual:
      left = make_integer(a != b, false);
      return nullptr;
    default:
      return "not an operator of constant expressions";
  }
}

Problem convert_constant(Constant c, isa::Type type, std::uint64_t& bits) {
  const auto type_class = isa::type_class(type);
  const unsigned size = isa::bit_size(type);
  bits = c.bits;
  switch (type_class) {
    case isa::TypeClass::none:
    case isa::TypeClass::opaque:
      return nullptr;
    case isa::TypeClass::predicate:
      bits = is_true(c);
      return c.is_float() ? "a predicate constant is an integer" : nullptr;
    case isa::TypeClass::float_:
      if (size == 32 && c.is_float() && c.kind != Constant::Kind::f32)
        bits = std::bit_cast<std::uint32_t>(static_cast<float>(to_double(c)));
      if (size == 64 && c.is_float())
        bits = c.kind == Constant::Kind::f64 ? c.bits : std::bit_cast<std::uint64_t>(to_double(c));
      if (type != isa::Type::tf32 && size >= 32 && !c.is_float())
        return "an integer constant where a floating-point one is needed";
      if (size < 32 && c.is_float())
        return "16-bit floating-point constants are written as their bits, in hexadecimal";
      break;
    case isa::TypeClass::bits:
    case isa::TypeClass::packed_float:
    case isa::TypeClass::packed_integer:
      if (c.kind == Constant::Kind::f64 && size == 32)
        bits = std::bit_cast<std::uint32_t>(static_cast<float>(to_double(c)));
      if (c.kind == Constant::Kind::f32 && size == 64) bits = std::bit_cast<std::uint64_t>(to_double(c));
      break;
    case isa::TypeClass::signed_:
    case isa::TypeClass::unsigned_:
      if (c.is_float()) return "a floating-point constant where an integer is needed";
      break;
  }
  if (size < 64 && size > 0) {
    bits &= (1ull << size) - 1;
    if (type_class == isa::TypeClass::signed_ && bits >> (size - 1)) bits |= ~0ull << size;
  }
  return nullptr;
}

}  // namespace raddle::ptx
