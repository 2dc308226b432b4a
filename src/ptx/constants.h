// Arithmetic of constant expressions (PTX ISA "Constant Expressions"): 64-bit integers, signed or unsigned as
// C would have it, and doubles. The grammar is in expressions.cpp.
#pragma once

#include "isa/type.h"
#include "ptx/token.h"

namespace raddle::ptx {

double to_double(Constant c);
std::uint64_t to_integer(Constant c);  ///< floats: truncated, saturating
bool is_true(Constant c);
Constant make_integer(std::uint64_t bits, bool is_unsigned);
Constant make_float(double value);

/// Why a computation has no value; null if it has one.
using Problem = const char*;

/// @param op  '-', '~', '!' or '+'
Problem apply_unary(std::uint16_t op, Constant& value);
/// @param op  a character or Symbol; the result replaces `left`
Problem apply_binary(std::uint16_t op, Constant& left, Constant right);

/// Bits of a constant as an operand of `type`: integers cut to size, then sign- or zero-extended to 64 bits;
/// floats rounded to the type. Type::none keeps the value.
/// @returns problem if a float is given for an integer type, or an integer for f32 or f64
Problem convert_constant(Constant c, isa::Type type, std::uint64_t& bits);

}  // namespace raddle::ptx
