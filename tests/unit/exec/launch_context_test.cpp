// What a launch hands to its kernels.
#include <gtest/gtest.h>

#include "exec/abi.h"

namespace raddle::exec {
namespace {

// Compiled code divides by multiplying: the coordinates of every thread of every block have to come out.
TEST(LaunchContext, InversesDivideEveryThread) {
  constexpr std::uint32_t kThreads = kMaxWarps * kWarpSize;
  LaunchContext launch{};
  for (std::uint32_t extent = 1; extent <= kThreads; ++extent) {
    launch.set_ntid(extent, kThreads + 1 - extent, 1);
    for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
      ASSERT_EQ(thread * launch.ntid_inverse[0] >> 32, thread / launch.ntid[0]) << extent;
      ASSERT_EQ(thread * launch.ntid_inverse[1] >> 32, thread / launch.ntid[1]) << extent;
    }
  }
}

}  // namespace
}  // namespace raddle::exec
