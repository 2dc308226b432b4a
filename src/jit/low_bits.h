// Low bits of an integer that are known before code runs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace raddle::jit {

/// What is known of a value's low bits: the first `count` of them are those of `value`.
struct LowBits {
  static constexpr std::uint8_t kMost = 31;
  std::uint8_t count = 0;
  std::uint32_t value = 0;

  static LowBits zeros(int count) {
    return {.count = static_cast<std::uint8_t>(std::clamp<int>(count, 0, kMost))};
  }
  static LowBits of(std::int64_t known, unsigned count = kMost) {
    return {.count = static_cast<std::uint8_t>(count),
            .value = static_cast<std::uint32_t>(known) & ((1u << count) - 1)};
  }
  /// Zeros before the first bit that may be one.
  std::uint8_t aligned() const {
    return value == 0 ? count : static_cast<std::uint8_t>(std::countr_zero(value));
  }
  /// What is known of both values, if they are alternatives.
  LowBits common(LowBits other) const {
    const unsigned alike =
        value == other.value ? kMost : static_cast<unsigned>(std::countr_zero(value ^ other.value));
    return of(value, std::min({unsigned{count}, unsigned{other.count}, alike}));
  }
  friend bool operator==(const LowBits&, const LowBits&) = default;
};

}  // namespace raddle::jit
