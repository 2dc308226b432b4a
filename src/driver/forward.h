// Where a program runs is its user's choice (K-15): RADDLE_TARGET is "cpu" (the default), "gpu", or "auto":
// the GPU where there is one. For the GPU, each entry hands its call on to NVIDIA's driver, which is another
// library of the same name.
#pragma once

namespace raddle::driver {

/// The function of this name in the driver of the machine's GPU; null where programs run here. If a GPU was
/// asked for and there is no driver of one, says so once; cuInit then answers CUDA_ERROR_NO_DEVICE.
void* gpu_function(const char* symbol);

/// Whether a GPU was asked for and is not there.
bool gpu_is_missing();

}  // namespace raddle::driver
