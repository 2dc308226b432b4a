// The clusters of a launch as CUDA describes them: by attributes of the launch, by what was set for the
// function.
#pragma once

#include "driver/launch_attributes.h"
#include "driver/objects.h"
#include "raddle/types.h"

namespace raddle::driver {

/// Whether a launch has to call choose_clusters; most have not.
bool asks_for_clusters(const Function& function, const LaunchAttributes& wanted);

/// Fills in a launch's clusters. The regular size is the attribute's, else the function's; the preferred one
/// replaces it if the device can run such clusters. CUDA_ERROR_INVALID_CLUSTER_SIZE; CUDA_ERROR_INVALID_VALUE
Status choose_clusters(Function& function, const LaunchAttributes& wanted, LaunchConfig& config);

}  // namespace raddle::driver
