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
using CUlinkState = struct CUlinkState_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUarray = struct CUarray_st*;
using CUmipmappedArray = struct CUmipmappedArray_st*;
using CUtexref = struct CUtexref_st*;
using CUsurfref = struct CUsurfref_st*;

using CUhostFn = void (*)(void* data);
enum CUlogLevel : int { LOG_LEVEL_ERROR = 0, LOG_LEVEL_WARNING = 1 };
using CUlogsCallback = void (*)(void* data, CUlogLevel level, char* message, std::size_t length);
using CUlogsCallbackHandle = struct CUlogsCallbackEntry_st*;
using CUlogIterator = unsigned;
using CUoccupancyB2DSize = std::size_t (*)(int block_threads);
using CUstreamCallback = void (*)(CUstream stream, CUresult status, void* data);

struct CUuuid {
  char bytes[16];
};

struct CUctxCreateParams {
  void* execAffinityParams;
  int numExecAffinityParams;
  void* cigParams;
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

/// Channels of a texel. Of the public header's formats, those that textures and surfaces of kernels can have.
enum CUarray_format : int {
  FORMAT_UNSIGNED_INT8 = 0x01,
  FORMAT_UNSIGNED_INT16 = 0x02,
  FORMAT_UNSIGNED_INT32 = 0x03,
  FORMAT_SIGNED_INT8 = 0x08,
  FORMAT_SIGNED_INT16 = 0x09,
  FORMAT_SIGNED_INT32 = 0x0a,
  FORMAT_HALF = 0x10,
  FORMAT_FLOAT = 0x20,
  FORMAT_UNORM_INT8X1 = 0xc0,
  FORMAT_UNORM_INT8X2 = 0xc1,
  FORMAT_UNORM_INT8X4 = 0xc2,
  FORMAT_UNORM_INT16X1 = 0xc3,
  FORMAT_UNORM_INT16X2 = 0xc4,
  FORMAT_UNORM_INT16X4 = 0xc5,
  FORMAT_SNORM_INT8X1 = 0xc6,
  FORMAT_SNORM_INT8X2 = 0xc7,
  FORMAT_SNORM_INT8X4 = 0xc8,
  FORMAT_SNORM_INT16X1 = 0xc9,
  FORMAT_SNORM_INT16X2 = 0xca,
  FORMAT_SNORM_INT16X4 = 0xcb,
};

/// Flags of arrays.
enum : unsigned {
  ARRAY3D_LAYERED = 0x01,
  ARRAY3D_SURFACE_LDST = 0x02,
  ARRAY3D_CUBEMAP = 0x04,
  ARRAY3D_TEXTURE_GATHER = 0x08,
  ARRAY3D_DEPTH_TEXTURE = 0x10,
  ARRAY3D_COLOR_ATTACHMENT = 0x20,
};

struct CUDA_ARRAY_DESCRIPTOR {
  std::size_t Width, Height;
  CUarray_format Format;
  unsigned NumChannels;
};

struct CUDA_ARRAY3D_DESCRIPTOR {
  std::size_t Width, Height, Depth;
  CUarray_format Format;
  unsigned NumChannels, Flags;
};

struct CUDA_ARRAY_MEMORY_REQUIREMENTS {
  std::size_t size, alignment;
  unsigned reserved[4];
};

using CUtexObject = unsigned long long;
using CUsurfObject = unsigned long long;

enum CUresourcetype : int {
  RESOURCE_TYPE_ARRAY = 0,
  RESOURCE_TYPE_MIPMAPPED_ARRAY = 1,
  RESOURCE_TYPE_LINEAR = 2,
  RESOURCE_TYPE_PITCH2D = 3,
};
enum CUaddress_mode : int { ADDRESS_WRAP = 0, ADDRESS_CLAMP = 1, ADDRESS_MIRROR = 2, ADDRESS_BORDER = 3 };
enum CUfilter_mode : int { FILTER_POINT = 0, FILTER_LINEAR = 1 };

/// Flags of textures.
enum : unsigned {
  TRSF_READ_AS_INTEGER = 0x01,
  TRSF_NORMALIZED_COORDINATES = 0x02,
  TRSF_SRGB = 0x10,
  TRSF_DISABLE_TRILINEAR_OPTIMIZATION = 0x20,
  TRSF_SEAMLESS_CUBEMAP = 0x40,
};

struct CUDA_RESOURCE_DESC {
  CUresourcetype resType;
  union {
    struct {
      CUarray hArray;
    } array;
    struct {
      CUmipmappedArray hMipmappedArray;
    } mipmap;
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned numChannels;
      std::size_t sizeInBytes;
    } linear;
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned numChannels;
      std::size_t width, height, pitchInBytes;
    } pitch2D;
    int reserved[32];
  } res;
  unsigned flags;
};

struct CUDA_TEXTURE_DESC {
  CUaddress_mode addressMode[3];
  CUfilter_mode filterMode;
  unsigned flags, maxAnisotropy;
  CUfilter_mode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  float borderColor[4];
  int reserved[12];
};

/// Formats of views: 0 leaves the resource's own; then channels of 8, 16 and 32 bits in ones, twos and fours.
enum CUresourceViewFormat : int { RES_VIEW_FORMAT_NONE = 0, RES_VIEW_FORMAT_FLOAT_4X32 = 0x18 };

struct CUDA_RESOURCE_VIEW_DESC {
  CUresourceViewFormat format;
  std::size_t width, height, depth;
  unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
  unsigned reserved[16];
};

struct alignas(128) CUtensorMap {
  std::uint64_t opaque[16];
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
  OCCUPANCY_DISABLE_CACHING_OVERRIDE = 1,
};

/// `extra` of cuLaunchKernel: alternating names and values.
inline constexpr std::uintptr_t kLaunchParametersEnd = 0, kLaunchParameterBuffer = 1,
                                kLaunchParameterBytes = 2;

enum CUlimit : int {
  LIMIT_STACK_SIZE = 0,
  LIMIT_PRINTF_FIFO_SIZE = 1,
  LIMIT_MALLOC_HEAP_SIZE = 2,
  LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4,
  LIMIT_MAX_L2_FETCH_GRANULARITY = 5,
  LIMIT_PERSISTING_L2_CACHE_SIZE = 6
};

/// Values of streams' attributes: 64 bytes, of which these are used.
union CUstreamAttrValue {
  char pad[64];
  int number;  ///< policies, priorities, domains
  struct {
    void* base_ptr;
    std::size_t num_bytes;
    float hitRatio;
    int hitProp, missProp;
  } window;
  unsigned char domains[2];
};

enum : int {
  STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW = 1,
  STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY = 3,
  STREAM_ATTRIBUTE_PRIORITY = 8,
  STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP = 9,
  STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN = 10
};

using CUgreenCtx = struct CUgreenCtx_st*;

enum : int {
  COREDUMP_ENABLE_ON_EXCEPTION = 1,
  COREDUMP_TRIGGER_HOST = 2,
  COREDUMP_LIGHTWEIGHT = 3,
  COREDUMP_ENABLE_USER_TRIGGER = 4,
  COREDUMP_FILE = 5,
  COREDUMP_PIPE = 6,
  COREDUMP_GENERATION_FLAGS = 7
};

enum : unsigned {
  WAIT_VALUE_GEQ = 0,
  WAIT_VALUE_EQ = 1,
  WAIT_VALUE_AND = 2,
  WAIT_VALUE_NOR = 3,
  WRITE_VALUE_NO_BARRIER = 1
};

enum CUstreamBatchMemOpType : int {
  MEM_OP_WAIT_VALUE_32 = 1,
  MEM_OP_WRITE_VALUE_32 = 2,
  MEM_OP_FLUSH_REMOTE_WRITES = 3,
  MEM_OP_WAIT_VALUE_64 = 4,
  MEM_OP_WRITE_VALUE_64 = 5,
  MEM_OP_BARRIER = 6
};

union CUstreamBatchMemOpParams {
  CUstreamBatchMemOpType operation;
  struct {
    CUstreamBatchMemOpType operation;
    CUdeviceptr address;
    std::uint64_t value;
    unsigned flags;
    CUdeviceptr alias;
  } value;
  struct {
    CUstreamBatchMemOpType operation;
    unsigned flags;
  } flags_only;
  std::uint64_t pad[6];
};

enum CUatomicOperation : int {
  ATOMIC_INTEGER_ADD = 0,
  ATOMIC_INTEGER_MIN = 1,
  ATOMIC_INTEGER_MAX = 2,
  ATOMIC_INTEGER_INCREMENT = 3,
  ATOMIC_INTEGER_DECREMENT = 4,
  ATOMIC_AND = 5,
  ATOMIC_OR = 6,
  ATOMIC_XOR = 7,
  ATOMIC_EXCHANGE = 8,
  ATOMIC_CAS = 9,
  ATOMIC_FLOAT_ADD = 10,
  ATOMIC_FLOAT_MIN = 11,
  ATOMIC_FLOAT_MAX = 12
};

/// Capabilities: signs, results not wanted, widths.
enum : unsigned {
  ATOMIC_SIGNED = 1,
  ATOMIC_UNSIGNED = 2,
  ATOMIC_REDUCTION = 4,
  ATOMIC_SCALAR_32 = 8,
  ATOMIC_SCALAR_64 = 16,
  ATOMIC_SCALAR_128 = 32,
  ATOMIC_VECTOR_32X4 = 64
};

/// Attributes of a pair of devices.
enum : int {
  P2P_PERFORMANCE_RANK = 1,
  P2P_ACCESS_SUPPORTED = 2,
  P2P_NATIVE_ATOMIC_SUPPORTED = 3,
  P2P_CUDA_ARRAY_ACCESS_SUPPORTED = 4,
  P2P_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED = 5
};

enum CUexecAffinityType : int { EXEC_AFFINITY_SM_COUNT = 0 };
struct CUexecAffinityParam {
  CUexecAffinityType type;
  unsigned sm_count;
};

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
  FUNC_CLUSTER_SIZE_MUST_BE_SET = 10,
  FUNC_REQUIRED_CLUSTER_WIDTH = 11,
  FUNC_REQUIRED_CLUSTER_HEIGHT = 12,
  FUNC_REQUIRED_CLUSTER_DEPTH = 13,
  FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
  FUNC_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15,
  FUNC_ATTRIBUTE_COUNT,
};

enum CUclusterSchedulingPolicy : int {
  CLUSTER_SCHEDULING_POLICY_DEFAULT = 0,
  CLUSTER_SCHEDULING_POLICY_SPREAD = 1,
  CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING = 2,
};

enum CUfunctionLoadingState : int { FUNCTION_LOADING_STATE_UNLOADED = 0, FUNCTION_LOADING_STATE_LOADED = 1 };
/// What cuLinkAddData and cuLinkAddFile take.
enum CUjitInputType : int {
  JIT_INPUT_CUBIN = 0,
  JIT_INPUT_PTX = 1,
  JIT_INPUT_FATBINARY = 2,
  JIT_INPUT_OBJECT = 3,
  JIT_INPUT_LIBRARY = 4,
};
enum CUmoduleLoadingMode : int { MODULE_EAGER_LOADING = 1, MODULE_LAZY_LOADING = 2 };

enum CUpointer_attribute : int {
  POINTER_CONTEXT = 1,
  POINTER_MEMORY_TYPE = 2,
  POINTER_DEVICE_POINTER = 3,
  POINTER_HOST_POINTER = 4,
  POINTER_P2P_TOKENS = 5,
  POINTER_SYNC_MEMOPS = 6,
  POINTER_BUFFER_ID = 7,
  POINTER_IS_MANAGED = 8,
  POINTER_DEVICE_ORDINAL = 9,
  POINTER_IS_IPC_CAPABLE = 10,
  POINTER_RANGE_START_ADDR = 11,
  POINTER_RANGE_SIZE = 12,
  POINTER_MAPPED = 13,
  POINTER_ALLOWED_HANDLE_TYPES = 14,
  POINTER_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
  POINTER_ACCESS_FLAGS = 16,
  POINTER_MEMPOOL_HANDLE = 17,
  POINTER_MAPPING_SIZE = 18,
  POINTER_MAPPING_BASE_ADDR = 19,
  POINTER_MEMORY_BLOCK_ID = 20,
  POINTER_IS_HW_DECOMPRESS_CAPABLE = 21,
};

enum CUdriverProcAddressQueryResult : int {
  PROC_SUCCESS = 0,
  PROC_NOT_FOUND = 1,
  PROC_VERSION_NOT_SUFFICIENT = 2
};

}  // namespace raddle::driver

#include "driver/abi_graph.h"   // of these and those
#include "driver/abi_memory.h"  // of these types
