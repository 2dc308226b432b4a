// PTX comparisons (setp, set): ordered forms are false and unordered ones true where an operand is NaN.
#pragma once

#include "numerics/half.h"

namespace raddle::numerics {

enum class Compare : unsigned char { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

/// @param a, b  operands, widened exactly
inline bool compare(Compare how, double a, double b) {
  bool unordered = a != a || b != b;
  switch (how) {
    case Compare::eq:
      return a == b;
    case Compare::ne:
      return !unordered && a != b;
    case Compare::lt:
      return a < b;
    case Compare::le:
      return a <= b;
    case Compare::gt:
      return a > b;
    case Compare::ge:
      return a >= b;
    case Compare::equ:
      return unordered || a == b;
    case Compare::neu:
      return unordered || a != b;
    case Compare::ltu:
      return unordered || a < b;
    case Compare::leu:
      return unordered || a <= b;
    case Compare::gtu:
      return unordered || a > b;
    case Compare::geu:
      return unordered || a >= b;
    case Compare::num:
      return !unordered;
    case Compare::nan:
      return unordered;
  }
  return false;
}

}  // namespace raddle::numerics
