// Images that kernels read through textures and write through surfaces: where they lie, how they are read.
#pragma once

#include <array>
#include <cstdint>

#include "raddle/device_ptr.h"

namespace raddle {

/// One channel of a texel. unorm and snorm are integers that read as numbers from 0 or -1 to 1.
enum class ChannelType : std::uint8_t {
  unsigned8,
  unsigned16,
  unsigned32,
  signed8,
  signed16,
  signed32,
  float16,
  float32,
  unorm8,
  unorm16,
  snorm8,
  snorm16
};

struct TexelFormat {
  ChannelType type = ChannelType::float32;
  unsigned channels = 1;  ///< 1, 2 or 4

  constexpr unsigned channel_bytes() const {
    switch (type) {
      case ChannelType::unsigned8:
      case ChannelType::signed8:
      case ChannelType::unorm8:
      case ChannelType::snorm8:
        return 1;
      case ChannelType::unsigned32:
      case ChannelType::signed32:
      case ChannelType::float32:
        return 4;
      default:
        return 2;
    }
  }
  constexpr unsigned bytes() const { return channels * channel_bytes(); }
  friend bool operator==(const TexelFormat&, const TexelFormat&) = default;
};

/// One level of an image: rows of texels follow each other at `row_pitch` bytes, slices (of depth, layers,
/// cube faces) at `slice_pitch`.
struct ImageLevel {
  DevicePtr address;
  std::uint64_t row_pitch = 0, slice_pitch = 0;
  std::uint32_t width = 1, height = 1, slices = 1;  ///< texels; 1 where there is no such dimension
};

struct Image {
  static constexpr unsigned kMaxLevels = 18;

  TexelFormat format;
  unsigned dimensions = 2;  ///< 1 to 3; layers and cube faces are not counted
  bool layered = false;
  bool cube = false;           ///< slices are faces +x -x +y -y +z -z, six a layer
  bool linear_memory = false;  ///< a 1-D range of memory: read by index, 0 outside
  unsigned samples = 1;        ///< of a texel, in two dimensions without levels; a layer has as many slices
  unsigned level_count = 1;
  std::array<ImageLevel, kMaxLevels> levels{};
};

/// clamp_ogl, which only PTX names: a coordinate goes no further than the edge, where a linear filter takes
/// half of the border.
enum class AddressMode : std::uint8_t { wrap, clamp, mirror, border, clamp_ogl };
enum class FilterMode : std::uint8_t { point, linear };

/// How a texture reads its image (CUDA C++ Programming Guide, "Texture Fetching"; docs/textures.md).
struct Sampler {
  std::array<AddressMode, 3> address{AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
  FilterMode filter = FilterMode::point, mipmap_filter = FilterMode::point;
  bool normalized_coordinates = false;  ///< else in texels, where wrap and mirror act as clamp
  bool normalized_reads = false;        ///< 8- and 16-bit integers read as numbers from 0 or -1 to 1
  bool srgb = false;                    ///< the first three of 8-bit channels that read as numbers are sRGB
  bool seamless_cube = false;           ///< filters across the edges of a cube's faces
  float mipmap_bias = 0, least_level = 0, greatest_level = 0;
  std::array<float, 4> border{};
  unsigned anisotropy = 0;  ///< kept, but all filtering is isotropic
};

/// The number by which kernels name a texture or surface: it has a generation and is never an address.
struct TextureHandle {
  std::uint64_t value = 0;
};
struct SurfaceHandle {
  std::uint64_t value = 0;
};

}  // namespace raddle
