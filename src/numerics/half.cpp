// Conversions to the 8-bit formats; see half.h.
#include "numerics/half.h"

#include <cmath>

namespace raddle::numerics {
namespace {
std::uint8_t saturating(double x, Format format, bool relu) {
  if (std::isnan(x)) return static_cast<std::uint8_t>(canonical_nan(format));
  if (relu && std::signbit(x)) return 0;
  std::uint64_t bits = round_double(x, format, Rounding::rn);
  std::uint64_t magnitude = bits & 0x7f, limit = largest_finite(format, false);
  if (magnitude > limit) bits = largest_finite(format, std::signbit(x));
  return static_cast<std::uint8_t>(bits);
}
}  // namespace

std::uint8_t to_e4m3(double x, bool relu) { return saturating(x, kE4m3, relu); }
std::uint8_t to_e5m2(double x, bool relu) { return saturating(x, kE5m2, relu); }

}  // namespace raddle::numerics
