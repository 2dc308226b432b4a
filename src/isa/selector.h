// Selectors of video instructions' operands: `a.b3` a byte, `b.h20` elements of a vector, `d.b310` a mask of
// lanes. Kept in 16 bits inside an operand; 0 means that none was written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace raddle::isa {

/// What selectors an operand position allows (PTX ISA "Video Instructions").
enum class SelectorKind : std::uint8_t {
  none,
  part,       ///< .b0 to .b3, .h0, .h1: one byte or half of the register
  halves,     ///< .hxy: two of the four halves of {b, a}
  bytes,      ///< .bxyzw: four of the eight bytes of {b, a}
  half_mask,  ///< .h0, .h1, .h10: results kept
  byte_mask,  ///< .b0 to .b3210: results kept
};

/// Reads a selector without its dot ("b3210"). @returns 0 if the text is not a selector
std::uint16_t selector_from_text(std::string_view text);
/// The spelling with its dot; empty for 0.
std::string selector_text(std::uint16_t selector);
bool selector_fits(SelectorKind kind, std::uint16_t selector);
/// The selector that an operand without one has; `second`: of operand b, whose elements lie above a's.
std::uint16_t default_selector(SelectorKind kind, bool second);

constexpr unsigned selector_count(std::uint16_t selector) { return selector >> 12 & 7; }
/// Digit k counted from the right of the text: element k of a vector.
constexpr unsigned selector_digit(std::uint16_t selector, unsigned k) { return selector >> (3 * k) & 7; }
/// Bits that are selected: 8 or 16; 32 for the whole register.
constexpr unsigned selector_bits(std::uint16_t selector) {
  return selector == 0 ? 32 : selector >> 15 ? 16 : 8;
}

}  // namespace raddle::isa
