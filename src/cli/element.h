// Elements of the buffers that `raddle run` makes: their types, how they are filled, printed and compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/type.h"

namespace raddle::cli {

/// The type of a buffer's elements or of a scalar argument: a PTX type of 8 to 64 bits; `i32` means `s32`.
/// @errors invalid
Result<isa::Type> parse_element_type(std::string_view name);

/// Bits of a number written by hand, at a type: decimal, 0x..., 1.5, -inf, nan.
/// @errors invalid: no number, or out of the type's range
Result<std::uint64_t> parse_scalar(isa::Type type, const std::string& text);

std::uint64_t load_element(isa::Type type, const std::byte* at);
void store_element(isa::Type type, std::byte* at, std::uint64_t bits);

/// The element's value; exact but for integers beyond 2^53.
double element_value(isa::Type type, std::uint64_t bits);
std::string element_text(isa::Type type, std::uint64_t bits);

/// How a buffer is filled.
struct Fill {
  enum class Kind : std::uint8_t { zeros, iota, random, value, file };
  Kind kind = Kind::zeros;
  std::uint64_t seed = 0;
  std::uint64_t bits = 0;  ///< value
  std::string file;        ///< .npy
};

/// `zeros`, `iota`, `random`, `random:SEED`, a number, or a path that ends in .npy.
/// @param default_seed  for `random` without a seed
/// @errors invalid
Result<Fill> parse_fill(isa::Type type, const std::string& text, std::uint64_t default_seed);

/// Fills with anything but a file. Random floats lie in [0, 1), random integers are all bit patterns.
void fill_elements(isa::Type type, const Fill& fill, std::vector<std::byte>& bytes);

/// The first difference, as a sentence, with how many there are; empty if none. Floats compare with
/// `tolerance` relative to the expected value (absolute below 1), any NaN equals any NaN; integers compare
/// exactly.
std::string first_difference(isa::Type type, const std::vector<std::byte>& actual,
                             const std::vector<std::byte>& expected, double tolerance);

}  // namespace raddle::cli
