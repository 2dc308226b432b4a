// Kernels' attributes, occupancy and handles, and variables by their stand-ins.
#include "cudart/code.h"
#include "cudart/entry.h"
#include "cudart/launch.h"

namespace raddle::cudart::entry {
namespace {

cudaError_t read(cudaFunction_t function, int attribute, int& value) {
  return driver().cuFuncGetAttribute(&value, attribute, function);
}

cudaError_t read(cudaFunction_t function, int attribute, std::size_t& value) {
  int number = 0;
  CHECK(read(function, attribute, number));
  value = static_cast<std::size_t>(number);
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* named) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  *attributes = {};
#define ATTRIBUTE(field, number) CHECK(read(function, number, attributes->field));
#define CLUSTER_ATTRIBUTE(field, number) (void)read(function, number, attributes->field);
#include "cudart/function_attributes.def"
#undef CLUSTER_ATTRIBUTE
#undef ATTRIBUTE
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* named, cudaFuncAttribute attribute, int value) {
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  return driver().cuFuncSetAttribute(function, attribute, value);
}

cudaError_t cudaFuncSetCacheConfig(const void* named, cudaFuncCache cache) {
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  return driver().cuFuncSetCacheConfig(function, cache);
}

// Banks have one width on every device that is modelled; the call is kept for old programs.
cudaError_t cudaFuncSetSharedMemConfig(const void* named, cudaSharedMemConfig config) {
  if (config < cudaSharedMemBankSizeDefault || config > cudaSharedMemBankSizeEightByte)
    return cudaErrorInvalidValue;
  cudaFunction_t function = nullptr;
  return function_of(named, function);
}

cudaError_t cudaFuncGetName(const char** name, const void* named) {
  if (name == nullptr) return cudaErrorInvalidValue;
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  return driver().cuFuncGetName(name, function);
}

cudaError_t cudaFuncGetParamInfo(const void* named, std::size_t index, std::size_t* offset,
                                 std::size_t* bytes) {
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  return driver().cuFuncGetParamInfo(function, index, offset, bytes);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* stand_in) {
  if (function == nullptr) return cudaErrorInvalidValue;
  Kernel* kernel = find_kernel(stand_in);
  return kernel == nullptr ? cudaErrorInvalidDeviceFunction : function_of(*kernel, *function);
}

cudaError_t cudaGetKernel(cudaKernel_t* handle, const void* stand_in) {
  if (handle == nullptr) return cudaErrorInvalidValue;
  Kernel* kernel = find_kernel(stand_in);
  return kernel == nullptr ? cudaErrorInvalidDeviceFunction : kernel_handle(*kernel, *handle);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* named, int block_threads,
                                                          std::size_t shared_bytes) {
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  return driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_threads, shared_bytes);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* named,
                                                                   int block_threads,
                                                                   std::size_t shared_bytes, unsigned flags) {
  // The only flag is about caches that nothing here depends on.
  if ((flags & ~unsigned{cudaOccupancyDisableCachingOverride}) != 0) return cudaErrorInvalidValue;
  return entry::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, named, block_threads, shared_bytes);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* shared_bytes, const void* named,
                                                      int blocks, int block_threads) {
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  return driver().cuOccupancyAvailableDynamicSMemPerBlock(shared_bytes, function, blocks, block_threads);
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* cluster_blocks, const void* named,
                                                 const cudaLaunchConfig_t* config) {
  CUlaunchConfig converted;
  CHECK(driver_launch(config, converted));
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  return driver().cuOccupancyMaxPotentialClusterSize(cluster_blocks, function, &converted);
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* named,
                                           const cudaLaunchConfig_t* config) {
  CUlaunchConfig converted;
  CHECK(driver_launch(config, converted));
  cudaFunction_t function = nullptr;
  CHECK(function_of(named, function));
  return driver().cuOccupancyMaxActiveClusters(clusters, function, &converted);
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  std::size_t bytes = 0;
  return variable_at(symbol, *pointer, bytes);
}

cudaError_t cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  if (bytes == nullptr) return cudaErrorInvalidValue;
  void* pointer = nullptr;
  return variable_at(symbol, pointer, *bytes);
}

}  // namespace raddle::cudart::entry
