#include "numerics/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "numerics/half.h"

namespace raddle::numerics {
namespace {

constexpr int kLeastExponent = -126;         // of f32
constexpr std::uint32_t kNan = 0x7fff'ffff;  // the only one

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
  return kept == 0 ? 0
                   : static_cast<float>(std::abs(kept) > kLargest
                                            ? std::copysign(std::numeric_limits<double>::infinity(), kept)
                                            : kept);
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
  if (std::isnan(plain)) return std::bit_cast<float>(kNan);
  if (!std::isfinite(plain)) return static_cast<float>(plain);
  if (largest.exponent == std::numeric_limits<int>::min()) return 0;
  std::int64_t total = cut_off(sum, largest.exponent, core.fraction_bits);
  for (std::size_t i = 0; i < a.size(); ++i)
    total += cut_off(product(core, a[i], b[i]).value, largest.exponent, core.fraction_bits);
  return truncated(std::ldexp(static_cast<double>(total), largest.exponent - core.fraction_bits),
                   core.mantissa_bits);
}

/// The same value as f16 has it, NaN as NaN.
float rounded_to_half(float sum) {
  const float half = std::isnan(sum) ? sum : static_cast<float>(widen(narrow<f16>(sum)));
  return half == 0 ? 0 : half;
}

}  // namespace

TensorCore hopper_tensor_core(Format elements) {
  const int least = 2 - (1 << (elements.exponent_bits - 1));
  if (elements.exponent_bits + elements.mantissa_bits == 7) return {32, 13, 13, least};
  const bool is_tf32 =
      elements.mantissa_bits == kTf32.mantissa_bits && elements.exponent_bits == kTf32.exponent_bits;
  return {is_tf32 ? 8u : 16u, 25, 23, least};
}

TensorCore hopper_tensor_core_to_halves(Format elements) {
  TensorCore core = hopper_tensor_core(elements);
  core.mantissa_bits = 23;
  core.to_halves = true;
  return core;
}

float tensor_core_sum(const TensorCore& core, float sum, std::span<const float> a, std::span<const float> b) {
  for (std::size_t i = 0; i < a.size(); i += core.products) {
    const std::size_t count = std::min<std::size_t>(core.products, a.size() - i);
    sum = add_products(core, sum, a.subspan(i, count), b.subspan(i, count));
  }
  return core.to_halves ? rounded_to_half(sum) : sum;
}

float byte_sum_in_halves(float c, std::span<const float> a, std::span<const float> b, bool to_halves) {
  const TensorCore core = to_halves ? hopper_tensor_core_to_halves(kF16) : hopper_tensor_core(kF16);
  float sum = 0;
  for (const std::size_t half : {0, 2}) {
    std::vector<float> of_a, of_b;
    for (std::size_t i = half; i < a.size(); i += i % 2 == 0 ? 1 : 3) {
      of_a.push_back(a[i]);
      of_b.push_back(b[i]);
    }
    sum = tensor_core_sum(core, sum, of_a, of_b);
  }
  return std::isnan(sum + c) ? std::bit_cast<float>(kNan) : sum + c;
}

}  // namespace raddle::numerics
