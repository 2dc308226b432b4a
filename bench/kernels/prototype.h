// The bar set before Raddle was written: a hand-written prototype of "a warp is two vectors and a mask",
// measured on another machine, carried over to this one by the ratio of the machines' limits. An estimate,
// marked as one.
#pragma once

#include "machine_limits.h"
#include "parameters.h"

namespace bench {

inline constexpr const char* kPrototypeName = "prototype-est";
inline constexpr const char* kPrototypeRemark =
    "not run here: a prototype's figures from a 2-core AVX-512 Xeon (copy 18.9 GB/s, update 33 GB/s, read "
    "19.5 GB/s, FMA 225 "
    "GFLOP/s), "
    "scaled by this machine's limits";

/// Work per second that the prototype would reach here, in the kernel's unit; 0 for kernels that it did not
/// have.
double prototype_estimate(Kernel kernel, const Limits& here);

}  // namespace bench
