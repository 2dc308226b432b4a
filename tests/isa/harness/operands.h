// Operand values for generated tests: edge cases of a type mixed with random ones, from a seeded generator.
#pragma once

#include <cstdint>

#include "isa/harness/value.h"

namespace raddle::testing {

/// xorshift64*: the same sequence everywhere, so a printed seed replays.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  unsigned below(unsigned limit) { return static_cast<unsigned>((next() >> 33) % limit); }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

/// A value of the type: 0, +-1, extremes, small numbers, powers of two, subnormals, NaNs with payloads,
/// infinities, or random bits. Bits above the type, up to `register_bits`, are random too.
Bits random_operand(Random& random, isa::Type type, unsigned register_bits);

/// A register of a matrix: few edge values, else numbers of moderate size, so that sums of many products are
/// numbers for the most part.
Bits random_fragment(Random& random, isa::Type type);

}  // namespace raddle::testing
