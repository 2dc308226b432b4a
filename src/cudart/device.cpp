// Devices: which one a thread uses, what they are, limits and versions.
#include <algorithm>
#include <array>

#include "cudart/code.h"
#include "cudart/entry.h"

namespace raddle::cudart::entry {
namespace {

constexpr int kLargestCount = 1 << 20;  // of devices

template <class T>
void read_attribute(int device, cudaDeviceAttr attribute, T& field) {
  int value = 0;
  if (driver().cuDeviceGetAttribute(&value, attribute, device) == cudaSuccess) field = static_cast<T>(value);
}

cudaError_t count_devices(int& count) {
  CHECK(load_driver());
  return driver().cuDeviceGetCount(&count);
}

cudaError_t check(int device) {
  int count = 0;
  CHECK(count_devices(count));
  return device >= 0 && device < count ? cudaSuccess : cudaErrorInvalidDevice;
}

/// How many of the wishes a device grants: those whose field is not 0.
int granted(const cudaDeviceProp& wish, const cudaDeviceProp& offer) {
  int wishes = 0;
  const auto count = [&](auto wanted, auto offered) { wishes += wanted != 0 && offered >= wanted; };
  count(wish.major, offer.major);
  count(wish.minor, offer.minor);
  count(wish.totalGlobalMem, offer.totalGlobalMem);
  count(wish.multiProcessorCount, offer.multiProcessorCount);
  count(wish.sharedMemPerBlock, offer.sharedMemPerBlock);
  count(wish.regsPerBlock, offer.regsPerBlock);
  return wishes;
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return count == nullptr ? cudaErrorInvalidValue : count_devices(*count);
}

cudaError_t cudaSetDevice(int device) {
  CHECK(check(device));
  thread().device = device;
  return use_device(device);
}

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
  CHECK(check(device));
  if ((flags & cudaInitDeviceFlagsAreValid) != 0)
    CHECK(driver().cuDevicePrimaryCtxSetFlags(device, device_flags));
  CUcontext context = nullptr;
  return primary_context(device, context);
}

cudaError_t cudaGetDevice(int* device) {
  return device == nullptr ? cudaErrorInvalidValue : current_device(*device);
}

cudaError_t cudaSetValidDevices(int* devices, int length) {
  if (length < 0 || length > kLargestCount || (devices == nullptr && length != 0))
    return cudaErrorInvalidValue;
  for (int i = 0; i < length; ++i)
    if (check(devices[i]) != cudaSuccess) return cudaErrorInvalidValue;
  if (length != 0) thread().device = devices[0];  // the first that works, and each does
  return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  if ((flags & ~unsigned{cudaDeviceMask}) != 0) return cudaErrorInvalidValue;
  int device = 0;
  CHECK(current_device(device));
  return driver().cuDevicePrimaryCtxSetFlags(device, flags);
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  if (flags == nullptr) return cudaErrorInvalidValue;
  int device = 0, active = 0;
  CHECK(current_device(device));
  CHECK(driver().cuDevicePrimaryCtxGetState(device, flags, &active));
  *flags |= cudaDeviceMapHost;  // always so
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return cudaErrorInvalidValue;
  CHECK(check(device));
  *properties = {};
  CHECK(driver().cuDeviceGetName(properties->name, sizeof properties->name, device));
  CHECK(driver().cuDeviceGetUuid(&properties->uuid, device));
  CHECK(driver().cuDeviceTotalMem(&properties->totalGlobalMem, device));
#define PROPERTY(field, attribute) read_attribute(device, attribute, properties->field);
#include "cudart/properties.def"
#undef PROPERTY
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  CHECK(load_driver());
  return driver().cuDeviceGetAttribute(value, attribute, device);
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wish) {
  if (device == nullptr || wish == nullptr) return cudaErrorInvalidValue;
  int count = 0, most = -1;
  CHECK(count_devices(count));
  for (int candidate = 0; candidate < count; ++candidate) {
    cudaDeviceProp offer;
    CHECK(entry::cudaGetDeviceProperties(&offer, candidate));
    if (const int wishes = granted(*wish, offer); wishes > most) {
      most = wishes;
      *device = candidate;
    }
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
  int device = 0;
  CHECK(current_device(device));
  CHECK(reset_device(device));
  forget_contexts();
  return driver().cuCtxSetCurrent(nullptr);
}

cudaError_t cudaDeviceSynchronize() {
  CHECK(prepare());
  return driver().cuCtxSynchronize();
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  CHECK(prepare());
  return driver().cuCtxSetLimit(limit, value);
}

cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  CHECK(prepare());
  return driver().cuCtxGetLimit(value, limit);
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* cache) {
  if (cache == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  int config = 0;
  CHECK(driver().cuCtxGetCacheConfig(&config));
  *cache = static_cast<cudaFuncCache>(config);
  return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache cache) {
  CHECK(prepare());
  return driver().cuCtxSetCacheConfig(cache);
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  if (config == nullptr) return cudaErrorInvalidValue;
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}

// As cudaFuncSetSharedMemConfig.
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
  const bool known = config >= cudaSharedMemBankSizeDefault && config <= cudaSharedMemBankSizeEightByte;
  return known ? prepare() : cudaErrorInvalidValue;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  CHECK(prepare());
  return driver().cuCtxGetStreamPriorityRange(least, greatest);
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
  CHECK(load_driver());
  return driver().cuDeviceGetByPCIBusId(device, id);
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  CHECK(load_driver());
  return driver().cuDeviceGetPCIBusId(id, length, device);
}

cudaError_t cudaCtxResetPersistingL2Cache() {
  CHECK(prepare());
  return driver().cuCtxResetPersistingL2Cache();
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  if (load_driver() == cudaErrorInsufficientDriver) {
    *version = 0;  // no driver: no error here
    return cudaSuccess;
  }
  return driver().cuDriverGetVersion(version);
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = CUDART_VERSION;
  return cudaSuccess;
}

// Calls that start and stop a profiler do nothing: there is no profiler.
cudaError_t cudaProfilerStart() { return prepare(); }
cudaError_t cudaProfilerStop() { return prepare(); }

}  // namespace raddle::cudart::entry
