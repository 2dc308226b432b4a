// Launches of the driver's functions, with the errors that the runtime has for them.
#pragma once

#include "cudart/thread.h"

namespace raddle::cudart {

/// @errors as the driver: cudaErrorInvalidValue where no device has such a grid or block, as on an H200
cudaError_t launch(cudaFunction_t function, const LaunchShape& shape, void** arguments);

/// The driver's form of a configuration. cudaErrorInvalidValue
cudaError_t driver_launch(const cudaLaunchConfig_t* config, CUlaunchConfig& launch);

}  // namespace raddle::cudart
