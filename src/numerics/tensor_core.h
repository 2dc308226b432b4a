// How Hopper's tensor cores add products up: several products at once, shifted to the largest exponent
// and cut off there, added exactly, cut off again. The rules of RADDLE_MMA=hopper (docs/adr/0050,
// docs/adr/0105). The widths are those of F. Khattak, M. Mikaitis, "Accurate Models of NVIDIA Tensor
// Cores", arXiv:2512.07004; an H200 gave these bits for all of 267,264 elements asked
// (docs/hardware-values.md).
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
  bool to_halves = false;  ///< the last sum is rounded to f16, to nearest; what becomes zero is +0
};

TensorCore hopper_tensor_core(Format elements);

/// The same, where D is f16: no bits are cut off before the last sum is rounded.
TensorCore hopper_tensor_core_to_halves(Format elements);

/// @param a, b  equally many exact values of elements
/// @returns sum plus all products. A NaN, infinity times zero, and infinities of both signs give NaN; a
/// zero is +0, also one that comes of a cut.
float tensor_core_sum(const TensorCore& core, float sum, std::span<const float> a, std::span<const float> b);

/// mma and mma.sp of 8-bit elements, for which only wgmma has tensor cores on Hopper: in f16, first the
/// products of each two of four elements, then the others, and C is added last. @param to_halves  all
/// three sums are to be f16, which whoever calls makes of the last
float byte_sum_in_halves(float c, std::span<const float> a, std::span<const float> b, bool to_halves);

}  // namespace raddle::numerics
