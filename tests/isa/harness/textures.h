// The textures and surfaces of the instruction tests: one of each geometry, with contents that tests can
// name. A run has its own, so that stores of one do not show in another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isa/geometry.h"
#include "machine/texture/texture_unit.h"

namespace raddle::testing {

/// Texel (x, y, slice) of level l has the channels x + 8 y + 32 slice + 384 c + 2048 l: f32, or s32 in the
/// textures of integers. Textures are 8 texels wide and 4 high (cubes 4), have 4 slices (cubes 6, cube arrays
/// 12) and 2 levels; they filter linearly between texels and levels, clamp, and take coordinates in texels.
/// Multi-sample textures have a slice for each sample of a layer, and one level.
/// Surfaces are 512 bytes: rows of 64 bytes (one of 512 in one dimension) of b32, as many as the 2 slices of
/// 3d and a2d and the 8 layers of a1d leave. Byte i is i * 7 modulo 256.
class TestTextures {
 public:
  static constexpr unsigned kSamples = 2;  ///< of multi-sample textures

  TestTextures();
  const machine::TextureUnit& unit() const { return unit_; }

  /// Handles are the same in every run.
  static std::uint64_t texture(isa::Geometry geometry, bool integers);
  static std::uint64_t surface(isa::Geometry geometry);
  /// Takes the nearest texel, wraps, forces coordinates in texels.
  static std::uint64_t sampler();

 private:
  void add_texture(isa::Geometry geometry, bool integers);

  machine::TextureUnit unit_;
  std::vector<std::vector<std::uint32_t>> memory_;
  alignas(64) std::byte surface_[512];
};

/// Bits that keep random coordinates of a surface access aligned, and inside where the opcode traps outside.
std::uint32_t coordinate_mask(const isa::Opcode& opcode, bool is_first);

}  // namespace raddle::testing
