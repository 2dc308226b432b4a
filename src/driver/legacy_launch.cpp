// Launches as CUDA had them before 4.0: a function keeps its block's shape and its arguments from call to
// call. And the counts of a context's users from that time.
#include <algorithm>
#include <cstring>

#include "driver/entry.h"
#include "driver/process.h"

namespace raddle::driver::entry {
namespace {

constexpr std::size_t kMostParameterBytes = 32764;  ///< of any kernel

Status set_argument(Function& function, int offset, const void* value, std::size_t bytes) {
  if (offset < 0 || bytes > kMostParameterBytes ||
      static_cast<std::size_t>(offset) > kMostParameterBytes - bytes)
    return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(function.legacy.mutex);
  std::vector<std::byte>& arguments = function.legacy.arguments;
  arguments.resize(std::max(arguments.size(), static_cast<std::size_t>(offset) + bytes));
  std::memcpy(arguments.data() + offset, value, bytes);
  return CUDA_SUCCESS;
}

Status launch(Here context, In<Function> function, int width, int height, In<Stream> stream) {
  if (width < 1 || height < 1) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(function->legacy.mutex);
  LegacyLaunch& given = function->legacy;
  given.arguments.resize(std::max(given.arguments.size(), given.parameter_bytes));
  void* extra[] = {reinterpret_cast<void*>(kLaunchParameterBuffer), given.arguments.data(),
                   reinterpret_cast<void*>(kLaunchParameterBytes), &given.parameter_bytes,
                   reinterpret_cast<void*>(kLaunchParametersEnd)};
  return cuLaunchKernel(context, function, static_cast<unsigned>(width), static_cast<unsigned>(height), 1,
                        given.block[0], given.block[1], given.block[2], given.shared_bytes, stream, nullptr,
                        extra);
}

}  // namespace

Status cuFuncSetBlockShape(Here, In<Function> function, int x, int y, int z) {
  if (x < 1 || y < 1 || z < 1) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(function->legacy.mutex);
  function->legacy.block = {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
  return CUDA_SUCCESS;
}

Status cuFuncSetSharedSize(Here, In<Function> function, unsigned bytes) {
  const std::lock_guard lock(function->legacy.mutex);
  function->legacy.shared_bytes = bytes;
  return CUDA_SUCCESS;
}

Status cuParamSetSize(Here, In<Function> function, unsigned bytes) {
  if (bytes > kMostParameterBytes) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(function->legacy.mutex);
  function->legacy.parameter_bytes = bytes;
  return CUDA_SUCCESS;
}

Status cuParamSeti(Here, In<Function> function, int offset, unsigned value) {
  return set_argument(*function, offset, &value, sizeof value);
}

Status cuParamSetf(Here, In<Function> function, int offset, float value) {
  return set_argument(*function, offset, &value, sizeof value);
}

Status cuParamSetv(Here, In<Function> function, int offset, void* value, unsigned bytes) {
  return set_argument(*function, offset, value, bytes);
}

Status cuLaunch(Here context, In<Function> function) { return cuLaunchGrid(context, function, 1, 1); }

Status cuLaunchGrid(Here context, In<Function> function, int width, int height) {
  TRY_ASSIGN(const std::shared_ptr<Stream> stream, find<Stream>(nullptr, context));
  return launch(context, function, width, height, stream);
}

Status cuLaunchGridAsync(Here context, In<Function> function, int width, int height, In<Stream> stream) {
  return launch(context, function, width, height, stream);
}

Status cuFuncSetSharedMemConfig(Here, In<Function>, int config) {
  constexpr int kEightBytes = 2;  ///< the widest banks that a program could ask for
  return config < 0 || config > kEightBytes ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

Status cuCtxAttach(Here context, CUcontext* handle, unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  ++context->users;
  *handle = context->handle;
  return CUDA_SUCCESS;
}

Status cuCtxDetach(In<Context> context) {
  return --context->users == 0 ? cuCtxDestroy_v2(context) : Status(CUDA_SUCCESS);
}

}  // namespace raddle::driver::entry
