// The limits of this machine, measured in the same run as the kernels.
#pragma once

#include <string_view>

namespace bench {

/// What a kernel cannot beat.
enum class Limit { copy, update, read, random_reads, increments, arithmetic };

struct Limits {
  double copy_gb_per_second;       ///< out = in, bytes read plus bytes written
  double update_gb_per_second;     ///< y += a * x, two reads and a write that needs no fetch of its own
  double read_gb_per_second;       ///< sum of an array
  double random_gread_per_second;  ///< of kRandomReads numbers, places known long before
  double gincrement_per_second;    ///< of private tables of 256 counts, as bytes say, four in turns
  double fma_gflop_per_second;  ///< fp32, two operations per fused multiply-add; of other instructions half

  /// In GB, Gread, Gincrement or GFLOP per second.
  double of(Limit limit) const;
};

/// As tables and JSON name it.
std::string_view limit_name(Limit limit);

Limits measure_limits(bool quick);

}  // namespace bench
