// Sizes in whole units.
#pragma once

#include <cstdint>

namespace raddle {

/// The smallest multiple of `unit`, which need not be a power of two, that is not less than `value`.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace raddle
