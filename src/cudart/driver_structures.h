// Structures of the driver API that the runtime fills, with the runtime's types for handles;
// tests/unit/cudart/abi_test.cpp compares them with cuda.h where there is one. Structures that both APIs lay
// out alike are the runtime's own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "raddle/cuda/cuda_runtime_api.h"

using CUcontext = struct CUctx_st*;

namespace raddle::cudart {

/// CUlaunchConfig.
struct DriverLaunch {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attributes;
  unsigned attribute_count;
};

enum DriverMemory : unsigned { kHostMemory = 1, kDeviceMemory = 2, kArrayMemory = 3, kUnifiedMemory = 4 };

/// One side of CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER; the context counts in the latter only.
struct DriverBoxSide {
  std::size_t x_bytes, y, z, mipmap_level;
  DriverMemory memory;
  void* host;
  unsigned long long device;
  cudaArray_t array;
  CUcontext context;
  std::size_t pitch, height;
};

/// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER.
struct DriverBox {
  DriverBoxSide from, to;
  std::size_t width_bytes, height, depth;
};

/// CUDA_ARRAY3D_DESCRIPTOR. Flags are the runtime's.
struct DriverArray {
  std::size_t width, height, depth;
  int format;
  unsigned channels, flags;
};

/// CUDA_RESOURCE_DESC. Types are the runtime's.
struct DriverResource {
  cudaResourceType type;
  union {
    cudaArray_t array;
    cudaMipmappedArray_t mipmapped;
    struct {
      unsigned long long address;
      int format;
      unsigned channels;
      union {
        std::size_t bytes;  ///< of linear memory
        struct {
          std::size_t width, height, pitch;
        };
      };
    } memory;
    int reserved[32];
  };
  unsigned flags;
};

enum DriverTextureFlags : unsigned {
  kReadAsInteger = 0x01,
  kNormalizedCoordinates = 0x02,
  kSrgb = 0x10,
  kNoTrilinearOptimization = 0x20,
  kSeamlessCubemap = 0x40
};

/// CUDA_TEXTURE_DESC. Modes are the runtime's.
struct DriverTexture {
  cudaTextureAddressMode address_mode[3];
  cudaTextureFilterMode filter_mode;
  unsigned flags, max_anisotropy;
  cudaTextureFilterMode mipmap_filter_mode;
  float mipmap_level_bias, min_mipmap_level, max_mipmap_level;
  float border_color[4];
  int reserved[12];
};

}  // namespace raddle::cudart
