#include "driver/clusters.h"

#include <algorithm>

#include "driver/function.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

bool is_given(const Dim3& extents) { return (extents.x | extents.y | extents.z) != 0; }

/// What cuFuncSetAttribute made the function's cluster; 0: nothing.
Dim3 required_by_setting(const Function& function) {
  const auto extent = [&](CUfunction_attribute attribute) {
    return static_cast<std::uint32_t>(std::max(0, setting_of(function, attribute)));
  };
  return {extent(FUNC_REQUIRED_CLUSTER_WIDTH), extent(FUNC_REQUIRED_CLUSTER_HEIGHT),
          extent(FUNC_REQUIRED_CLUSTER_DEPTH)};
}

Status choose_regular(const Function& function, const LaunchAttributes& wanted, LaunchConfig& config) {
  config.cluster = wanted.cluster;
  const Dim3 required = required_by_setting(function);
  if (!is_given(required)) return CUDA_SUCCESS;
  if (required.x == 0 || required.y == 0 || required.z == 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  if (is_given(wanted.cluster) &&
      (wanted.cluster.x != required.x || wanted.cluster.y != required.y || wanted.cluster.z != required.z))
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  config.cluster = required;
  return CUDA_SUCCESS;
}

/// Whether an empty device runs at least one cluster of such a launch.
bool can_run(raddle::Kernel& kernel, const LaunchConfig& config) {
  const Result<std::uint64_t> active = kernel.active_clusters(config);
  return active && *active != 0;
}

// A kernel with a compiled cluster size has no other, and without a regular size there is none to be
// preferred to.
Status choose_preferred(raddle::Kernel& kernel, Dim3 preferred, LaunchConfig& config) {
  const Dim3 regular = config.cluster, grid = config.grid;
  if (!is_given(preferred) || !is_given(regular) || kernel.info().required_cluster.x != 0)
    return CUDA_SUCCESS;
  const auto divides = [](const Dim3& part, const Dim3& whole) {
    return whole.x % part.x == 0 && whole.y % part.y == 0 && whole.z % part.z == 0;
  };
  if (!divides(regular, preferred) || !divides(preferred, grid)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const std::uint64_t blocks = std::uint64_t{preferred.x} * preferred.y * preferred.z;
  const std::uint32_t bound = kernel.info().largest_cluster;
  if (blocks > (bound != 0 ? bound : kLargestClusterSize)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  LaunchConfig trial = config;
  trial.cluster = preferred;
  if (can_run(kernel, trial)) config.cluster = preferred;
  return CUDA_SUCCESS;
}

}  // namespace

bool asks_for_clusters(const Function& function, const LaunchAttributes& wanted) {
  const KernelInfo& info = function.kernel().info();
  return is_given(wanted.cluster) || info.required_cluster.x != 0 ||
         setting_of(function, FUNC_REQUIRED_CLUSTER_WIDTH) > 0;
}

Status choose_clusters(Function& function, const LaunchAttributes& wanted, LaunchConfig& config) {
  TRY(choose_regular(function, wanted, config));
  config.allow_non_portable_cluster = setting_of(function, FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) > 0;
  TRY(choose_preferred(function.kernel(), wanted.preferred_cluster, config));
  const int set = setting_of(function, FUNC_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
  const int policy = wanted.policy != CLUSTER_SCHEDULING_POLICY_DEFAULT ? int{wanted.policy} : set;
  if (policy == CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING) return CUDA_SUCCESS;
  // As an H200 does where nothing is asked: a cluster's CTAs are on SMs of their own (docs/hardware.md).
  // Smaller machines put them where they fit.
  config.distribution = DistributionMode::multicast;
  if (!can_run(function.kernel(), config)) config.distribution = DistributionMode::load_balance;
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver
