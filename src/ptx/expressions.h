// Constant expressions in PTX text (PTX ISA "Constant Expressions").
#pragma once

#include "ptx/constants.h"
#include "ptx/state.h"

namespace raddle::ptx {

/// True if the current token can start a constant expression.
bool starts_constant(const Parser& parser);
/// Reads a full expression (ternary included) at the cursor.
bool parse_constant(Parser& parser, Constant& value);
/// A single term, for places where `>` is not an operator: a literal, or an expression in parentheses.
bool parse_term(Parser& parser, Constant& value);
/// As parse_constant, when the first token, a number, is passed already.
bool continue_constant(Parser& parser, const Token& first, Constant& value);
/// As parse_constant, for a place that needs an integer.
bool parse_integer(Parser& parser, std::string_view what, std::uint64_t& value);
/// A plain non-negative integer no greater than `most`.
bool parse_count(Parser& parser, std::string_view what, std::uint64_t most, std::uint64_t& value);

}  // namespace raddle::ptx
