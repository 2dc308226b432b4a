// The calls of the driver API that exports and GPU targets need, as its public header lays them out, and
// where a library has them.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace raddle::graph::cuda {

struct KernelParams {
  void* function;
  unsigned grid[3], block[3], shared_bytes;
  void** arguments;
  void** extra;
  void *kernel, *context;
};

struct CopySide {
  std::size_t x, y, z, level;
  unsigned memory;
  const void* host;
  unsigned long long device;
  void *array, *reserved;
  std::size_t pitch, height;
};
struct CopyParams {
  CopySide from, to;
  std::size_t width, height, depth;
};
inline constexpr unsigned kDeviceMemory = 2;

struct FillParams {
  unsigned long long to;
  std::size_t pitch;
  unsigned value, element_bytes;
  std::size_t width, height;
};

struct HostParams {
  void (*function)(void* data);
  void* data;
};

/// The value of an attribute of launches: 64 bytes, of which these are used.
union AttributeValue {
  char pad[64];
  int number;
  unsigned extents[3];
};
inline constexpr int kCooperative = 2, kClusterDimension = 4, kPriority = 8;

/// Why an executable graph could not be changed.
struct GraphUpdate {
  int result;
  void *node, *from;
};

/// Of a device.
enum Attribute : int {
  kThreadsPerSm = 39,
  kSharedBytesPerSm = 81,
  kRegistersPerSm = 82,
  kSmCount = 16,
  kMemoryClock = 36,     // kHz
  kMemoryBusWidth = 37,  // bits
  kCopyEngines = 40,
  kBlocksPerSm = 106,
};

#define RADDLE_CUDA_CALLS(CALL)                                                                             \
  CALL(cuCtxGetCurrent, (void** context))                                                                   \
  CALL(cuModuleLoadData, (void** module, const void* image))                                                \
  CALL(cuModuleUnload, (void* module))                                                                      \
  CALL(cuModuleGetFunction, (void** function, void* module, const char* name))                              \
  CALL(cuMemAlloc_v2, (unsigned long long* address, std::size_t bytes))                                     \
  CALL(cuMemFree_v2, (unsigned long long address))                                                          \
  CALL(cuGraphCreate, (void** graph, unsigned flags))                                                       \
  CALL(cuGraphDestroy, (void* graph))                                                                       \
  CALL(cuGraphAddEmptyNode, (void** node, void* graph, void* const* after, std::size_t count))              \
  CALL(cuGraphAddKernelNode_v2,                                                                             \
       (void** node, void* graph, void* const* after, std::size_t count, const KernelParams*))              \
  CALL(cuGraphKernelNodeSetAttribute, (void* node, int attribute, const AttributeValue*))                   \
  CALL(cuGraphAddMemcpyNode,                                                                                \
       (void** node, void* graph, void* const* after, std::size_t count, const CopyParams*, void* context)) \
  CALL(cuGraphAddMemsetNode,                                                                                \
       (void** node, void* graph, void* const* after, std::size_t count, const FillParams*, void* context)) \
  CALL(cuGraphAddHostNode,                                                                                  \
       (void** node, void* graph, void* const* after, std::size_t count, const HostParams*))                \
  CALL(cuGraphAddEventRecordNode,                                                                           \
       (void** node, void* graph, void* const* after, std::size_t count, void* event))                      \
  CALL(cuGraphInstantiateWithFlags, (void** exec, void* graph, unsigned long long flags))                   \
  CALL(cuGraphExecUpdate_v2, (void* exec, void* graph, GraphUpdate*))                                       \
  CALL(cuGraphExecDestroy, (void* exec))                                                                    \
  CALL(cuGraphLaunch, (void* exec, void* stream))                                                           \
  CALL(cuInit, (unsigned flags))                                                                            \
  CALL(cuDeviceGetCount, (int* count))                                                                      \
  CALL(cuDeviceGet, (int* device, int number))                                                              \
  CALL(cuDeviceGetName, (char* name, int bytes, int device))                                                \
  CALL(cuDeviceGetAttribute, (int* value, int attribute, int device))                                       \
  CALL(cuDevicePrimaryCtxRetain, (void** context, int device))                                              \
  CALL(cuDevicePrimaryCtxRelease_v2, (int device))                                                          \
  CALL(cuCtxPushCurrent_v2, (void* context))                                                                \
  CALL(cuCtxPopCurrent_v2, (void** context))                                                                \
  CALL(cuStreamCreate, (void** stream, unsigned flags))                                                     \
  CALL(cuStreamDestroy_v2, (void* stream))                                                                  \
  CALL(cuStreamSynchronize, (void* stream))                                                                 \
  CALL(cuEventCreate, (void** event, unsigned flags))                                                       \
  CALL(cuEventDestroy_v2, (void* event))                                                                    \
  CALL(cuEventElapsedTime, (float* milliseconds, void* start, void* end))                                   \
  CALL(cuMemGetInfo_v2, (std::size_t* free, std::size_t* all))                                              \
  CALL(cuMemGetAddressRange_v2, (unsigned long long* base, std::size_t* bytes, unsigned long long address)) \
  CALL(cuMemsetD8_v2, (unsigned long long to, unsigned char value, std::size_t bytes))                      \
  CALL(cuMemcpyHtoD_v2, (unsigned long long to, const void* from, std::size_t bytes))                       \
  CALL(cuMemcpyDtoH_v2, (void* to, unsigned long long from, std::size_t bytes))                             \
  CALL(cuGetErrorName, (int error, const char** name))

struct Calls {
#define RADDLE_CUDA_CALL(name, parameters) int(*name) parameters = nullptr;
  RADDLE_CUDA_CALLS(RADDLE_CUDA_CALL)
#undef RADDLE_CUDA_CALL

  /// @errors not_found: the library, or one of its calls
  static Result<Calls> of(const std::string& library) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW);
    if (handle == nullptr) return Error::make(ErrorCode::not_found, "{}", dlerror());
    return of(handle, library);
  }
  static Result<Calls> of(void* handle, const std::string& library) {
    Calls calls;
#define RADDLE_CUDA_CALL(name, parameters)                                   \
  calls.name = reinterpret_cast<decltype(calls.name)>(dlsym(handle, #name)); \
  if (calls.name == nullptr) return Error::make(ErrorCode::not_found, "{} has no {}", library, #name);
    RADDLE_CUDA_CALLS(RADDLE_CUDA_CALL)
#undef RADDLE_CUDA_CALL
    return calls;
  }

  Result<void> check(int error, const char* call) const {
    if (error == 0) return {};
    const char* name = nullptr;
    if (cuGetErrorName(error, &name) != 0 || name == nullptr) name = "an unknown error";
    return Error::invalid("{}: {}", call, name);
  }
};
#undef RADDLE_CUDA_CALLS

}  // namespace raddle::graph::cuda
