// Compares one lowering with expected values over edge cases and random operands, at several widths and
// feature sets.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lowering_harness.h"
#include "numerics/format.h"

namespace raddle::jit::testing {

using isa::Type;

/// The rounding modes' names in PTX.
inline constexpr std::pair<const char*, numerics::Rounding> kRoundings[] = {{"rn", numerics::Rounding::rn},
                                                                            {"rz", numerics::Rounding::rz},
                                                                            {"rm", numerics::Rounding::rm},
                                                                            {"rp", numerics::Rounding::rp}};

/// Operand bits that matter for the type (extremes, small numbers, special values, random ones).
Lanes edge_values(Type t);

struct Check {
  std::string opcode;
  std::vector<Type> sources;
  /// The expected bits of destination 0 (and, if `second`, destination 1) for one lane.
  std::function<std::uint64_t(const std::uint64_t*)> expected;
  std::function<std::uint64_t(const std::uint64_t*)> second{};
  Type result = Type::none;   ///< none: bits must be equal; else NaNs of this type (or its elements) match
  double relative_error = 0;  ///< of results of type `result`
  double absolute_error = 0;
  std::vector<int> constants{};
  std::vector<Lanes> values{};  ///< instead of edge values, by source
  unsigned random_lanes = 512;
};

/// Reports mismatches as test failures, with operands.
void check(const Check& c);

template <typename T>
std::uint64_t to_bits(T value) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<std::uint64_t>(value);
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<std::uint32_t>(value);
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<std::uint16_t>(value);
  else
    return static_cast<std::uint64_t>(static_cast<std::uint8_t>(value));
}

template <typename T>
T from_bits(std::uint64_t bits) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(bits);
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(static_cast<std::uint16_t>(bits));
  else
    return static_cast<T>(bits);
}

}  // namespace raddle::jit::testing
