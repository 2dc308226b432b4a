// The part of the driver API's binary interface that is about memory: copies, locations, pools, mappings,
// handles between processes. Included by abi.h, which has the basic types.
#pragma once

namespace raddle::driver {

using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUmemGenericAllocationHandle = unsigned long long;

enum CUmemorytype : unsigned {
  MEMORYTYPE_HOST = 1,
  MEMORYTYPE_DEVICE = 2,
  MEMORYTYPE_ARRAY = 3,
  MEMORYTYPE_UNIFIED = 4
};

struct CUDA_MEMCPY2D {
  std::size_t srcXInBytes, srcY;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  std::size_t srcPitch;
  std::size_t dstXInBytes, dstY;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  std::size_t dstPitch;
  std::size_t WidthInBytes, Height;
};

/// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER differ only between the array and the pitch: the context is there.
template <class Reserved>
struct Memcpy3D {
  std::size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  Reserved srcContext;
  std::size_t srcPitch, srcHeight;
  std::size_t dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  Reserved dstContext;
  std::size_t dstPitch, dstHeight;
  std::size_t WidthInBytes, Height, Depth;
};
using CUDA_MEMCPY3D = Memcpy3D<void*>;
using CUDA_MEMCPY3D_PEER = Memcpy3D<CUcontext>;

enum CUmemLocationType : int {
  LOCATION_INVALID = 0,
  LOCATION_DEVICE = 1,
  LOCATION_HOST = 2,
  LOCATION_HOST_NUMA = 3,
  LOCATION_HOST_NUMA_CURRENT = 4
};

struct CUmemLocation {
  CUmemLocationType type;
  int id;
};

inline constexpr CUdevice kCpu = -1, kInvalidDevice = -2;  ///< no devices: values in attributes of ranges

enum CUmemcpySrcAccessOrder : int {
  ACCESS_ORDER_STREAM = 1,
  ACCESS_ORDER_DURING_CALL = 2,
  ACCESS_ORDER_ANY = 3
};

struct CUmemcpyAttributes {
  CUmemcpySrcAccessOrder srcAccessOrder;
  CUmemLocation srcLocHint, dstLocHint;
  unsigned flags;
};

inline constexpr int kOperandPointer = 1, kOperandArray = 2;

struct CUmemcpy3DOperand {
  int type;
  union {
    struct {
      CUdeviceptr ptr;
      std::size_t rowLength, layerHeight;  ///< elements; 0: as the extent
      CUmemLocation locHint;
    } ptr;
    struct {
      CUarray array;
      std::size_t x, y, z;  ///< offset in elements
    } array;
  } op;
};

struct CUDA_MEMCPY3D_BATCH_OP {
  CUmemcpy3DOperand src, dst;
  std::size_t width, height, depth;  ///< elements
  CUmemcpySrcAccessOrder srcAccessOrder;
  unsigned flags;
};

enum CUmem_advise : int {
  ADVISE_SET_READ_MOSTLY = 1,
  ADVISE_UNSET_READ_MOSTLY = 2,
  ADVISE_SET_PREFERRED_LOCATION = 3,
  ADVISE_UNSET_PREFERRED_LOCATION = 4,
  ADVISE_SET_ACCESSED_BY = 5,
  ADVISE_UNSET_ACCESSED_BY = 6
};

enum CUmem_range_attribute : int {
  RANGE_READ_MOSTLY = 1,
  RANGE_PREFERRED_LOCATION = 2,
  RANGE_ACCESSED_BY = 3,
  RANGE_LAST_PREFETCH_LOCATION = 4,
  RANGE_PREFERRED_LOCATION_TYPE = 5,
  RANGE_PREFERRED_LOCATION_ID = 6,
  RANGE_LAST_PREFETCH_LOCATION_TYPE = 7,
  RANGE_LAST_PREFETCH_LOCATION_ID = 8
};

enum : unsigned {
  MEM_ATTACH_GLOBAL = 1,
  MEM_ATTACH_HOST = 2,
  MEM_ATTACH_SINGLE = 4,
  MEMHOSTALLOC_PORTABLE = 1,
  MEMHOSTALLOC_DEVICEMAP = 2,
  MEMHOSTALLOC_WRITECOMBINED = 4,
  MEMHOSTREGISTER_PORTABLE = 1,
  MEMHOSTREGISTER_DEVICEMAP = 2,
  MEMHOSTREGISTER_IOMEMORY = 4,
  MEMHOSTREGISTER_READ_ONLY = 8,
};

enum CUmemAllocationHandleType : int {
  HANDLE_TYPE_NONE = 0,
  HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
  HANDLE_TYPE_FABRIC = 8
};

enum CUmemAllocationType : int { ALLOCATION_PINNED = 1, ALLOCATION_MANAGED = 2 };
enum CUmemAccess_flags : int { ACCESS_NONE = 0, ACCESS_READ = 1, ACCESS_READ_WRITE = 3 };
enum CUmemAllocationGranularity_flags : int { GRANULARITY_MINIMUM = 0, GRANULARITY_RECOMMENDED = 1 };
enum CUmemRangeHandleType : int { RANGE_HANDLE_DMA_BUF = 1 };

struct CUmemAllocationProp {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType, gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};

struct CUmulticastObjectProp {
  unsigned numDevices;
  std::size_t size;
  unsigned long long handleTypes, flags;
};
enum CUmulticastGranularity_flags : int { MULTICAST_GRANULARITY_MINIMUM, MULTICAST_GRANULARITY_RECOMMENDED };

struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};

struct CUmemPoolProps {
  CUmemAllocationType allocType;
  CUmemAllocationHandleType handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

enum CUmemPool_attribute : int {
  POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
  POOL_REUSE_ALLOW_OPPORTUNISTIC = 2,
  POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
  POOL_RELEASE_THRESHOLD = 4,
  POOL_RESERVED_CURRENT = 5,
  POOL_RESERVED_HIGH = 6,
  POOL_USED_CURRENT = 7,
  POOL_USED_HIGH = 8
};

struct CUmemPoolPtrExportData {
  unsigned char reserved[64];
};

struct CUipcMemHandle {
  char reserved[64];
};
struct CUipcEventHandle {
  char reserved[64];
};
inline constexpr unsigned kIpcLazyPeerAccess = 1;

}  // namespace raddle::driver
