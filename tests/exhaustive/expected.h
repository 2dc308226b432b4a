// What an instruction of one narrow operand gives, from the manual and by other means than the engines':
// numbers are doubles, which hold every value of 16 bits, and rounding searches the list of the format's
// values.
#pragma once

#include <optional>

#include "isa/harness/value.h"
#include "isa/row.h"

namespace raddle::testing {

/// The result of one element, as wide as its type.
/// @param from, to  element types of source and destination
/// @param bits      the source's bits
/// @returns nothing if this file does not know the instruction: a defect of the test
std::optional<std::uint64_t> expected_element(const isa::Opcode& opcode, isa::Type from, isa::Type to,
                                              std::uint64_t bits);

/// Whether an approximate function's result is within the row's error of the true value; false for functions
/// that this file does not know.
bool is_near(const isa::Opcode& opcode, isa::Type type, std::uint64_t bits, std::uint64_t result);

}  // namespace raddle::testing
