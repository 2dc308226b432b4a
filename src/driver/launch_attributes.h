// What the attributes of cuLaunchKernelEx ask for. launch_attributes.def says what becomes of each.
#pragma once

#include <optional>
#include <vector>

#include "driver/status.h"
#include "raddle/types.h"

namespace raddle::driver {

enum LaunchAttributeId : int {
#define LAUNCH_ATTRIBUTE(name, number, how, text) LAUNCH_##name = number,
#include "driver/launch_attributes.def"
#undef LAUNCH_ATTRIBUTE
};

struct LaunchAttributes {
  bool cooperative = false;
  std::optional<int> priority;
  CUevent begin_event = nullptr;                      ///< to be recorded when all blocks have begun
  bool begins_early = false;                          ///< when what is before it in its stream has triggered
  CUevent trigger_event = nullptr;                    ///< to be recorded at the kernel's trigger
  bool triggers_at_start = false;                     ///< as each block begins
  Dim3 cluster{0, 0, 0}, preferred_cluster{0, 0, 0};  ///< 0: not given
  CUclusterSchedulingPolicy policy = CLUSTER_SCHEDULING_POLICY_DEFAULT;
};

/// CUDA_ERROR_NOT_SUPPORTED, after naming it on stderr, for one that is refused; CUDA_ERROR_INVALID_VALUE for
/// one that nobody knows.
Status read_launch_attributes(const CUlaunchConfig& config, LaunchAttributes& wanted);

}  // namespace raddle::driver
