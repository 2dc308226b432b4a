// Conditions in memory that streams wait for.
#pragma once

#include <cstdint>
#include <memory>

namespace raddle {

/// A word in memory and the value to wait for; both count as unsigned numbers of `bytes` bytes.
struct WordCondition {
  enum class Comparison : std::uint8_t {
    reached,  ///< word - value, as a signed number, is not negative: numbers may start again at 0
    equal,
    any_common_bit,      ///< some bit is set in both
    any_bit_in_neither,  ///< some bit is set in neither
  };
  void* word = nullptr;  ///< aligned; whoever changes it does so in one access
  unsigned bytes = 4;    ///< 4 or 8
  Comparison comparison = Comparison::reached;
  std::uint64_t value = 0;
  std::shared_ptr<const void> holds = nullptr;  ///< lives until the wait is over
};

}  // namespace raddle
