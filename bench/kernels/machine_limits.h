// The limits of this machine, measured in the same run as the kernels.
#pragma once

namespace bench {

struct Limits {
  double copy_gb_per_second;    ///< out = in, bytes read plus bytes written
  double update_gb_per_second;  ///< y += a * x, two reads and a write that needs no fetch of its own
  double read_gb_per_second;    ///< sum of an array
  double fma_gflop_per_second;  ///< fp32, two operations per fused multiply-add
};

Limits measure_limits(bool quick);

}  // namespace bench
