// Requests of kernel code to the machine's texture unit, one per instruction of a warp. A word holds what all
// lanes share; the rest are arrays by lane, of which only active lanes' entries are read and written. Plain
// layout, filled by generated code; see exec/abi.h.
#pragma once

#include <cstdint>

#include "isa/geometry.h"

namespace raddle::exec {

/// tex and tld4.
struct TextureRequest {
  enum Action : std::uint32_t { base, level, gradient, gather };
  enum Result : std::uint32_t { bits32, half, half_pair };

  isa::Geometry geometry = isa::Geometry::d2;
  Action action = base;
  Result result = bits32;  ///< half: f16 in the low bits; half_pair: two f16 in results 0 and 1 each
  bool integer_coordinates = false;  ///< .s32, else .f32
  bool has_offset = false;
  std::uint32_t component = 0;  ///< gather: channel
  bool has_sampler = false;     ///< beside the texture

  constexpr std::uint32_t word() const {
    return static_cast<std::uint32_t>(geometry) | action << 4 | result << 6 |
           std::uint32_t{integer_coordinates} << 8 | std::uint32_t{has_offset} << 9 | component << 10 |
           std::uint32_t{has_sampler} << 12;
  }
  static constexpr TextureRequest from_word(std::uint32_t w) {
    return {static_cast<isa::Geometry>(w & 15),
            static_cast<Action>(w >> 4 & 3),
            static_cast<Result>(w >> 6 & 3),
            (w >> 8 & 1) != 0,
            (w >> 9 & 1) != 0,
            w >> 10 & 3,
            (w >> 12 & 1) != 0};
  }
};

/// What a tex or tld4 says of its request; whether it has an offset and a sampler is up to its operands.
TextureRequest texture_request(const isa::Opcode& opcode);

struct TextureLanes {
  std::uint64_t handle[32];
  std::uint64_t sampler[32];  ///< its handle; where has_sampler
  std::uint32_t layer[32];
  std::uint32_t sample[32];
  std::uint32_t coordinate[3][32];   ///< f32 or s32
  std::uint32_t level[32];           ///< action level: as the coordinates
  std::uint32_t gradient[2][3][32];  ///< f32; action gradient: along x and y of the screen, by coordinate
  std::int32_t offset[3][32];        ///< texels; where has_offset
  std::uint32_t result[4][32];
  std::uint32_t resident;  ///< lanes whose texels are in memory: all of them
};

/// suld, sust and sured.
struct SurfaceRequest {
  enum Action : std::uint32_t { load, store, add, min, max, and_, or_ };
  enum Bounds : std::uint32_t { trap, clamp, zero };

  isa::Geometry geometry = isa::Geometry::d2;
  Action action = load;
  Bounds bounds = trap;
  bool formatted = false;   ///< .p: x counts texels, values are converted to the surface's format; else bytes
  bool is_signed = false;   ///< min, max
  std::uint32_t bytes = 4;  ///< of an element
  std::uint32_t elements = 1;  ///< of a vector

  constexpr std::uint32_t word() const {
    return static_cast<std::uint32_t>(geometry) | action << 4 | bounds << 8 | std::uint32_t{formatted} << 10 |
           std::uint32_t{is_signed} << 11 | bytes << 12 | elements << 16;
  }
  static constexpr SurfaceRequest from_word(std::uint32_t w) {
    return {static_cast<isa::Geometry>(w & 15),
            static_cast<Action>(w >> 4 & 15),
            static_cast<Bounds>(w >> 8 & 3),
            (w >> 10 & 1) != 0,
            (w >> 11 & 1) != 0,
            w >> 12 & 15,
            w >> 16 & 7};
  }
};

struct SurfaceLanes {
  std::uint64_t handle[32];
  std::uint32_t layer[32];
  std::int32_t coordinate[3][32];
  std::uint64_t value[4][32];  ///< by element: stored, added, ..., or loaded; zero-extended
};

/// txq, suq and istypep.
enum class TextureQuery : std::uint32_t {
  width,
  height,
  depth,
  channel_data_type,
  channel_order,
  normalized_coordinates,
  array_size,
  mipmap_levels,
  samples,
  filter_mode,
  address_mode_0,
  address_mode_1,
  address_mode_2,
  force_unnormalized_coordinates,
  memory_layout,
  is_texture,
  is_sampler,
  is_surface,
};

/// What a txq, suq or istypep asks.
TextureQuery texture_query(const isa::Opcode& opcode);

struct TextureQueryLanes {
  std::uint64_t handle[32];
  std::uint32_t level[32];  ///< of width, height, depth
  std::uint32_t result[32];
};

}  // namespace raddle::exec
