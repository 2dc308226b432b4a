// How Hopper's tensor cores add products up, as far as measurements tell: several products at once, shifted
// to the largest exponent and cut off there, added exactly, cut off again. The rules of RADDLE_MMA=hopper
// (docs/adr/0050). Source of the widths: F. Khattak, M. Mikaitis, "Accurate Models of NVIDIA Tensor Cores",
// arXiv:2512.07004; for e4m3 and e5m2 also DeepSeek-V3's report, arXiv:2412.19437, section 3.5.2.
#pragma once

#include <span>

#include "numerics/format.h"

namespace raddle::numerics {

/// A tensor core's way with one type of elements.
struct TensorCore {
  unsigned products;       ///< that are added at once to what was summed up before
  int fraction_bits;       ///< kept of each summand below the largest exponent among them
  unsigned mantissa_bits;  ///< of the sum that goes on; the rest is cut off
  int least_exponent;      ///< of elements: subnormal ones are not shifted up
};

TensorCore hopper_tensor_core(Format elements);

/// @param a, b  equally many exact values of elements
/// @returns sum plus all products. A NaN, infinity times zero, and infinities of both signs give NaN; a zero
/// is +0.
float tensor_core_sum(const TensorCore& core, float sum, std::span<const float> a, std::span<const float> b);

}  // namespace raddle::numerics
