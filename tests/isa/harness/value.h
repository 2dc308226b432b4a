// Typed operand values of the instruction tests: literals as test files spell them, their printing, and the
// comparison of results. Independent of src/numerics on purpose: it judges what is computed there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/type.h"

namespace raddle::testing {

/// One operand's bits, little end first; `hi` is used by b128 only.
struct Bits {
  std::uint64_t lo = 0, hi = 0;
  bool operator==(const Bits&) const = default;
};

/// Ones in the lowest `count` bits, at most all 64.
inline std::uint64_t low_bits(unsigned count) { return count >= 64 ? ~0ull : (1ull << count) - 1; }

/// The text without blanks, tabs and carriage returns at its ends.
std::string_view trim(std::string_view text);

/// Reads a literal at a type: decimal or 0x integers; for floats a decimal number, `nan`, `inf`, `-inf`, or
/// 0x raw bits; for packed types `<low, high>` or 0x raw bits; for predicates `true`, `false`.
/// @errors invalid: not a literal of that type, or a number the type cannot hold exactly
Result<Bits> parse_literal(std::string_view text, isa::Type type);

/// Hex, and the number itself for float types.
std::string format_value(Bits value, isa::Type type);

/// The value as an immediate operand of PTX text.
std::string immediate_text(Bits value, isa::Type type);

/// Same value as far as PTX fixes it: equal bits, or NaN against NaN in each element of a float type.
bool same_value(Bits a, Bits b, isa::Type type);
/// Within a relative error of each other (or both tiny: below the smallest normal number times 4).
bool near_value(Bits a, Bits b, isa::Type type, double relative_error);

bool is_nan(std::uint64_t bits, isa::Type scalar);
double to_double(std::uint64_t bits, isa::Type scalar);     ///< f16, bf16, tf32, f32, f64, e4m3, e5m2
std::uint64_t from_double(double value, isa::Type scalar);  ///< nearest, ties to even; overflow to infinity

/// The parts of a packed type (f16x2: f16, 2). A type without a format in format_of stays whole, as bits.
struct Elements {
  isa::Type type;
  unsigned count;
};
Elements elements_of(isa::Type type);

}  // namespace raddle::testing
