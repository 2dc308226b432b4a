// The driver API's binary interface: result codes, handles, structures and constants as its public header
// lays them out, so that programs built against that header run on Raddle. Only what Raddle's entries use is
// here; tests/unit/driver/abi_test.cpp compares it with the real header where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace raddle::driver {

enum CUresult : int {
#define RESULT(name, number, text) name = number,
#include "driver/results.def"
#undef RESULT
};

using CUdevice = int;
using CUdeviceptr = unsigned long long;
// Handles: never addresses; see handles.h.
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUlibrary = struct CUlib_st*;
using CUkernel = struct CUkern_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;

using CUhostFn = void (*)(void* data);
using CUstreamCallback = void (*)(CUstream stream, CUresult status, void* data);

struct CUuuid {
  char bytes[16];
};

struct CUlaunchAttribute {
  int id;
  char pad[4];
  char value[64];
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

inline constexpr int kDriverVersion = 13000;

/// Streams that are no handles.
inline constexpr std::uintptr_t kLegacyStream = 1, kPerThreadStream = 2;

/// Priorities of streams: lower numbers run first.
inline constexpr int kLeastPriority = 0, kGreatestPriority = -5;

/// Flags, under the names of the public header without CU_.
enum : unsigned {
  STREAM_NON_BLOCKING = 1,
  EVENT_BLOCKING_SYNC = 1,
  EVENT_DISABLE_TIMING = 2,
  EVENT_INTERPROCESS = 4,
};

/// `extra` of cuLaunchKernel: alternating names and values.
inline constexpr std::uintptr_t kLaunchParametersEnd = 0, kLaunchParameterBuffer = 1,
                                kLaunchParameterBytes = 2;

enum CUlimit : int { LIMIT_STACK_SIZE = 0, LIMIT_PRINTF_FIFO_SIZE = 1, LIMIT_MALLOC_HEAP_SIZE = 2 };

enum CUfunction_attribute : int {
  FUNC_MAX_THREADS_PER_BLOCK = 0,
  FUNC_SHARED_SIZE_BYTES = 1,
  FUNC_CONST_SIZE_BYTES = 2,
  FUNC_LOCAL_SIZE_BYTES = 3,
  FUNC_NUM_REGS = 4,
  FUNC_PTX_VERSION = 5,
  FUNC_BINARY_VERSION = 6,
  FUNC_CACHE_MODE_CA = 7,
  FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  FUNC_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

enum CUpointer_attribute : int {
  POINTER_CONTEXT = 1,
  POINTER_MEMORY_TYPE = 2,
  POINTER_DEVICE_POINTER = 3,
  POINTER_HOST_POINTER = 4,
  POINTER_IS_MANAGED = 8,
  POINTER_DEVICE_ORDINAL = 9,
  POINTER_RANGE_START_ADDR = 11,
  POINTER_RANGE_SIZE = 12,
};

inline constexpr unsigned kMemoryTypeHost = 1, kMemoryTypeDevice = 2;

enum CUdriverProcAddressQueryResult : int {
  PROC_SUCCESS = 0,
  PROC_NOT_FOUND = 1,
  PROC_VERSION_NOT_SUFFICIENT = 2
};

}  // namespace raddle::driver
