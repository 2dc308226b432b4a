// Launches by name, with attributes and cooperative.
#include "cudart/launch.h"

#include <limits>

#include "cudart/code.h"
#include "cudart/entry.h"

namespace raddle::cudart {
namespace {

bool too_large(std::size_t shared_bytes) { return shared_bytes > std::numeric_limits<unsigned>::max(); }

}  // namespace

cudaError_t launch(cudaFunction_t function, const LaunchShape& shape, void** arguments) {
  const auto& [grid, block, shared_bytes, stream] = shape;
  if (too_large(shared_bytes)) return cudaErrorInvalidValue;
  return driver().cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                 static_cast<unsigned>(shared_bytes), stream, arguments, nullptr);
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
  return driver().cuLaunchKernelEx(&converted, function, arguments, nullptr);
}

cudaError_t cudaLaunchCooperativeKernel(const void* named, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared_bytes, cudaStream_t stream) {
  if (too_large(shared_bytes)) return cudaErrorInvalidValue;
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  return driver().cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                            static_cast<unsigned>(shared_bytes), stream, arguments);
}

}  // namespace entry
}  // namespace raddle::cudart
