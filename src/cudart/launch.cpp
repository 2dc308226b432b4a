// Launches by name, with attributes and cooperative.
#include "cudart/launch.h"

#include <limits>

#include "cudart/code.h"
#include "cudart/entry.h"

namespace raddle::cudart {
namespace {

bool within(const dim3& size, cudaDeviceAttr first) {
  int device = 0, most[3] = {};
  if (current_device(device) != cudaSuccess) return true;
  for (int i = 0; i < 3; ++i)  // x, y and z are attributes of successive numbers
    if (driver().cuDeviceGetAttribute(&most[i], first + i, device) != cudaSuccess) return true;
  const auto fits = [](unsigned value, int limit) {
    return value != 0 && value <= static_cast<unsigned>(limit);
  };
  return fits(size.x, most[0]) && fits(size.y, most[1]) && fits(size.z, most[2]);
}

/// The driver says only that a value is invalid; the runtime tells what no device could run from other
/// mistakes.
cudaError_t explained(cudaError_t error, const dim3& grid, const dim3& block) {
  if (error != cudaErrorInvalidValue) return error;
  int device = 0, threads = 0;
  CHECK(current_device(device));
  CHECK(driver().cuDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, device));
  const unsigned long long block_threads = 1ull * block.x * block.y * block.z;
  const bool possible = within(grid, cudaDevAttrMaxGridDimX) && within(block, cudaDevAttrMaxBlockDimX) &&
                        block_threads <= static_cast<unsigned>(threads);
  return possible ? error : cudaErrorInvalidConfiguration;
}

bool too_large(std::size_t shared_bytes) { return shared_bytes > std::numeric_limits<unsigned>::max(); }

}  // namespace

cudaError_t launch(cudaFunction_t function, const LaunchShape& shape, void** arguments) {
  const auto& [grid, block, shared_bytes, stream] = shape;
  if (too_large(shared_bytes)) return cudaErrorInvalidValue;
  const cudaError_t error =
      driver().cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                              static_cast<unsigned>(shared_bytes), stream, arguments, nullptr);
  return error == cudaSuccess ? error : explained(error, grid, block);
}

cudaError_t driver_launch(const cudaLaunchConfig_t* config, CUlaunchConfig& launch) {
  if (config == nullptr || too_large(config->dynamicSmemBytes)) return cudaErrorInvalidValue;
  launch = {config->gridDim.x,
            config->gridDim.y,
            config->gridDim.z,
            config->blockDim.x,
            config->blockDim.y,
            config->blockDim.z,
            static_cast<unsigned>(config->dynamicSmemBytes),
            reinterpret_cast<driver::CUstream>(config->stream),
            reinterpret_cast<driver::CUlaunchAttribute*>(config->attrs),
            config->numAttrs};
  return cudaSuccess;
}

namespace entry {

cudaError_t cudaLaunchKernel(const void* named, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes, cudaStream_t stream) {
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  return launch(function, {grid, block, shared_bytes, stream}, arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* named, void** arguments) {
  CUlaunchConfig converted;
  CHECK(driver_launch(config, converted));
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  return explained(driver().cuLaunchKernelEx(&converted, function, arguments, nullptr), config->gridDim,
                   config->blockDim);
}

cudaError_t cudaLaunchCooperativeKernel(const void* named, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared_bytes, cudaStream_t stream) {
  if (too_large(shared_bytes)) return cudaErrorInvalidValue;
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  return explained(
      driver().cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                         static_cast<unsigned>(shared_bytes), stream, arguments),
      grid, block);
}

}  // namespace entry
}  // namespace raddle::cudart
