// The matrices that benchmarks of products multiply: small integers, so that every order of adding gives the
// same sum in every type.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace bench {

inline constexpr unsigned kSide = 1024;
inline constexpr double kOperations = 2.0 * kSide * kSide * kSide;

inline int element_of_a(unsigned row, unsigned column) {
  return static_cast<int>((row * 7 + column * 13 + 1) % 9) - 4;
}
inline int element_of_b(unsigned row, unsigned column) {
  return static_cast<int>((row * 7 + column * 13 + 2) % 9) - 4;
}

/// As float, int, int8_t, or bf16 in uint16_t.
template <class Element>
Element as_element(int value) {
  if constexpr (std::is_same_v<Element, std::uint16_t>)
    return static_cast<Element>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
  else
    return static_cast<Element>(value);
}

/// @errors invalid: an element of the product is wrong
template <class Element>
raddle::Result<void> check_product(const std::vector<Element>& c) {
  for (unsigned row = 0; row < kSide; row += 37)
    for (unsigned column = 0; column < kSide; column += 41) {
      int sum = 0;
      for (unsigned k = 0; k < kSide; ++k) sum += element_of_a(row, k) * element_of_b(k, column);
      if (c[row * kSide + column] != static_cast<Element>(sum))
        return raddle::Error::invalid("row {}, column {} of the product is wrong", row, column);
    }
  return {};
}

}  // namespace bench
