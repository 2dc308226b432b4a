#include "numerics/tensor_core.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace raddle::numerics {
namespace {

constexpr int kLeastExponent = -126;  // of f32

/// A summand, exact; `exponent` says where it is cut off.
struct Summand {
  double value;
  int exponent;
};

int exponent_of(float value, int least) {
  return value == 0 || !std::isfinite(value) ? least : std::max(std::ilogb(value), least);
}

/// Products keep the sum of their factors' exponents, also where they are 2 or more times its power.
Summand product(const TensorCore& core, float a, float b) {
  return {double{a} * b, exponent_of(a, core.least_exponent) + exponent_of(b, core.least_exponent)};
}

/// Towards zero, to so many bits of fraction at the exponent: an integer.
std::int64_t cut_off(double value, int exponent, int fraction_bits) {
  return static_cast<std::int64_t>(std::trunc(std::ldexp(value, fraction_bits - exponent)));
}

/// A finite value towards zero, as f32 of fewer mantissa bits.
float truncated(double value, unsigned mantissa_bits) {
  const int lost =
      static_cast<int>(mantissa_bits) - std::max(value == 0 ? 0 : std::ilogb(value), kLeastExponent);
  const double kept = std::ldexp(std::trunc(std::ldexp(value, lost)), -lost);
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(
      std::abs(kept) > kLargest ? std::copysign(std::numeric_limits<double>::infinity(), kept) : kept);
}

/// One turn of the core.
float add_products(const TensorCore& core, float sum, std::span<const float> a, std::span<const float> b) {
  double plain = sum;  // says whether the result is finite; infinities and NaN are what IEEE says
  Summand largest{sum, exponent_of(sum, kLeastExponent)};
  if (sum == 0) largest.exponent = std::numeric_limits<int>::min();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Summand next = product(core, a[i], b[i]);
    if (!std::isfinite(next.value) || !std::isfinite(plain)) plain += next.value;
    if (next.value != 0 && std::isfinite(next.value))
      largest.exponent = std::max(largest.exponent, next.exponent);
  }
  if (!std::isfinite(plain)) return static_cast<float>(plain);
  if (largest.exponent == std::numeric_limits<int>::min()) return 0;
  std::int64_t total = cut_off(sum, largest.exponent, core.fraction_bits);
  for (std::size_t i = 0; i < a.size(); ++i)
    total += cut_off(product(core, a[i], b[i]).value, largest.exponent, core.fraction_bits);
  return truncated(std::ldexp(static_cast<double>(total), largest.exponent - core.fraction_bits),
                   core.mantissa_bits);
}

}  // namespace

TensorCore hopper_tensor_core(Format elements) {
  const int least = 2 - (1 << (elements.exponent_bits - 1));
  if (elements.exponent_bits + elements.mantissa_bits == 7) return {32, 13, 13, least};
  const bool is_tf32 =
      elements.mantissa_bits == kTf32.mantissa_bits && elements.exponent_bits == kTf32.exponent_bits;
  return {is_tf32 ? 8u : 16u, 25, 23, least};
}

float tensor_core_sum(const TensorCore& core, float sum, std::span<const float> a, std::span<const float> b) {
  for (std::size_t i = 0; i < a.size(); i += core.products) {
    const std::size_t count = std::min<std::size_t>(core.products, a.size() - i);
    sum = add_products(core, sum, a.subspan(i, count), b.subspan(i, count));
  }
  return sum;
}

}  // namespace raddle::numerics
