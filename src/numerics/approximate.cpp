// Approximate functions through double libm; see approximate.h.
#include "numerics/approximate.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "numerics/half.h"

namespace raddle::numerics {
namespace {
float once(double x) { return narrow<float>(x); }
double upper_half(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0xffffffff00000000u);
}
double flushed(double x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0, x) : x; }
}  // namespace

float ex2_approx(float x) { return once(std::exp2(static_cast<double>(x))); }
float lg2_approx(float x) { return once(std::log2(static_cast<double>(x))); }
float sin_approx(float x) { return once(std::sin(static_cast<double>(x))); }
float cos_approx(float x) { return once(std::cos(static_cast<double>(x))); }
float tanh_approx(float x) { return once(std::tanh(static_cast<double>(x))); }
float rcp_approx(float x) { return once(1.0 / static_cast<double>(x)); }
float rsqrt_approx(float x) { return once(1.0 / std::sqrt(static_cast<double>(x))); }
float sqrt_approx(float x) { return once(std::sqrt(static_cast<double>(x))); }
float div_full(float a, float b) { return once(static_cast<double>(a) / static_cast<double>(b)); }

float div_approx(float a, float b) {
  double size = std::fabs(static_cast<double>(b));
  if (size > 0x1p126 && size < HUGE_VAL) {
    if (std::isinf(a) || std::isnan(a)) return canonical<float>();
    return std::signbit(a) != std::signbit(b) ? -0.0f : 0.0f;
  }
  return div_full(a, b);
}

double rcp_approx_f64(double x) { return upper_half(flushed(1.0 / flushed(upper_half(x)))); }
double rsqrt_approx_f64(double x, bool ftz) {
  if (!ftz)
    return 1.0 / std::sqrt(x);  // emulated at full precision: CUDA's rsqrt(double) is this instruction
  return upper_half(flushed(1.0 / std::sqrt(flushed(upper_half(x)))));
}

}  // namespace raddle::numerics
