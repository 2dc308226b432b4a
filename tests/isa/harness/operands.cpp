// Edge values by type class.
#include "isa/harness/operands.h"

#include <algorithm>

namespace raddle::testing {
namespace {

std::uint64_t integer_operand(Random& random, unsigned width) {
  std::uint64_t mask = low_bits(width), top = 1ull << (width - 1);
  switch (random.below(8)) {
    case 0:
      return random.below(4);
    case 1:
      return (0 - static_cast<std::uint64_t>(random.below(4))) & mask;
    case 2:
      return (top + random.below(3) - 1) & mask;  // around the sign change
    case 3:
      return random.below(width + 40) & mask;  // shift amounts, positions, small counts
    case 4:
      return (1ull << random.below(width)) & mask;
    case 5:
      return ((1ull << random.below(width)) - 1 - random.below(2)) & mask;
    default:
      return random.next() & mask;
  }
}

std::uint64_t float_operand(Random& random, isa::Type type) {
  unsigned width = isa::bit_size(type);
  std::uint64_t sign = static_cast<std::uint64_t>(random.below(2)) << (width - 1);
  std::uint64_t one = from_double(1.0, type), infinity = from_double(1e300 * 1e300, type);
  switch (random.below(14)) {
    case 0:
      return sign;
    case 1:
      return sign | one;
    case 2:
      return sign | infinity;
    case 3:
      return sign | (infinity + 1 + random.below(5)) % (1ull << (width - 1));  // signalling NaNs
    case 4:
      return sign | low_bits(width - 1);  // quiet NaN, full payload
    case 5:
      return sign | (infinity - 1 - random.below(3));  // largest numbers
    case 6:
      return sign | random.below(8);  // tiny subnormals
    case 7:
      return sign |
             (random.next() & low_bits(width - 1) & (infinity - 1) & (one - 1) >> 4);  // subnormals, small
    case 8:
      return sign | from_double(random.below(64), type);
    case 9:
      return sign | from_double(random.below(64) + 0.5, type);  // ties of rounding to integer
    case 10:
      return sign | (one + random.below(5) - 2);  // around one
    case 11:
      return sign | from_double(std::min(1e30, 1.0 * (1ull << random.below(63))), type);
    case 12:
      return sign | ((one + (random.next() & (one >> 3))) & low_bits(width - 1));  // moderate magnitudes
    default:
      return random.next() & low_bits(width);
  }
}

std::uint64_t scalar_operand(Random& random, isa::Type type) {
  if (isa::is_float(type)) return float_operand(random, type);
  return integer_operand(random, isa::bit_size(type));
}

}  // namespace

Bits random_operand(Random& random, isa::Type type, unsigned register_bits) {
  unsigned width = isa::bit_size(type);
  if (width == 1) return {random.next() & 1};
  if (width > 64) return {integer_operand(random, 64), integer_operand(random, 64)};
  Elements elements = elements_of(type);
  unsigned part = isa::bit_size(elements.type);
  Bits value;
  for (unsigned i = 0; i < elements.count; ++i)
    value.lo |= scalar_operand(random, elements.type) << (i * part);
  if (type == isa::Type::b32 && random.chance(30)) value.lo = float_operand(random, isa::Type::f32);
  if (register_bits > width)
    value.lo |= (random.next() & low_bits(register_bits)) << width & low_bits(register_bits);
  return value;
}

Bits random_fragment(Random& random, isa::Type type) {
  constexpr unsigned kEdgePercent = 1;
  const Elements elements = elements_of(type);
  const unsigned part = isa::bit_size(elements.type);
  if (!isa::is_float(elements.type)) return random_operand(random, type, 0);
  const std::uint64_t one = from_double(1.0, elements.type), eight = from_double(8.0, elements.type);
  Bits value;
  for (unsigned i = 0; i < elements.count; ++i) {
    std::uint64_t element =
        (random.next() & 1) << (part - 1) | (one - (eight - one) + random.next() % (2 * (eight - one)));
    if (random.chance(kEdgePercent)) element = float_operand(random, elements.type);
    value.lo |= element << (i * part);
  }
  return value;
}

}  // namespace raddle::testing
