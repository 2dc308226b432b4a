// libcuda.so.1 as the runtime sees it: found by name when the first call needs it, so that programs link and
// start without it. Raddle's runtime uses only documented calls of the driver API.
#pragma once

#include "driver/abi.h"
#include "raddle/cuda/cuda_runtime_api.h"

namespace raddle::cudart {

// Structures that both APIs lay out alike are the runtime's own.
using driver::CUcontext;
using driver::CUDA_ARRAY3D_DESCRIPTOR;
using driver::CUDA_KERNEL_NODE_PARAMS;
using driver::CUDA_MEMCPY3D;
using driver::CUDA_MEMCPY3D_PEER;
using driver::CUDA_RESOURCE_DESC;
using driver::CUDA_TEXTURE_DESC;
using driver::CUgraphNodeParams;
using driver::CUlaunchConfig;

struct DriverTable {
#define DRIVER(name, version, parameters) cudaError_t(*name) parameters = nullptr;
#include "cudart/driver.def"
#undef DRIVER
};

/// Loads and initialises the driver at its first call. cudaErrorInsufficientDriver: no driver, or an old
/// one; says so once
cudaError_t load_driver();

/// The functions for which no stream means the legacy stream or, in calls that end in _ptsz or _ptds, the
/// thread's own. After load_driver() succeeded.
const DriverTable& driver();

}  // namespace raddle::cudart
