#include "machine_limits.h"

namespace bench {

double Limits::of(Limit limit) const {
  const double values[] = {copy_gb_per_second,      update_gb_per_second,  read_gb_per_second,
                           random_gread_per_second, gincrement_per_second, fma_gflop_per_second};
  return values[static_cast<int>(limit)];
}

std::string_view limit_name(Limit limit) {
  static constexpr std::string_view kNames[] = {"copy",         "update",     "read",
                                                "random reads", "increments", "FMA"};
  return kNames[static_cast<int>(limit)];
}

}  // namespace bench
