// Distributions by inversion of one or two uniform numbers per CTA.
#include "distribute/durations.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace raddle::distribute {

std::uint64_t mixed_exponential(std::uint64_t mean, std::uint64_t seed, std::uint64_t number) {
  return static_cast<std::uint64_t>(
      std::llround(-std::log(mixed_unit(seed, number)) * static_cast<double>(mean)));
}

std::uint64_t Durations::drawn(std::uint64_t index) const {
  if (kind == Kind::uniform) {
    const auto wide = static_cast<unsigned __int128>(mixed(seed, index)) * (second - first + 1);
    return first + static_cast<std::uint64_t>(wide >> 64);
  }
  if (kind == Kind::exponential) return std::max<std::uint64_t>(1, mixed_exponential(first, seed, index));
  const double radius = std::sqrt(-2 * std::log(mixed_unit(seed, 2 * index)));
  const double angle = 2 * std::numbers::pi * mixed_unit(seed, 2 * index + 1);
  const double value = static_cast<double>(first) + static_cast<double>(second) * radius * std::cos(angle);
  return value < 1 ? 1 : static_cast<std::uint64_t>(std::llround(value));
}

}  // namespace raddle::distribute
