// How a texture turns coordinates into a value: level, face, address mode, filter (CUDA C++ Programming
// Guide, "Texture Fetching"; docs/textures.md says which parts are documented and which inferred). Pure: no
// state beside the image's memory.
#pragma once

#include <array>
#include <cstdint>

#include "exec/texture.h"
#include "machine/texture/texel.h"
#include "raddle/texture.h"

namespace raddle::machine {

/// One lane's coordinates.
struct SamplePoint {
  std::array<float, 3> at{};            ///< f32 coordinates
  std::array<std::int32_t, 3> index{};  ///< s32 coordinates
  std::uint32_t layer = 0, sample = 0;
  float level = 0;
  std::array<std::array<float, 3>, 2> gradient{};
  std::array<std::int32_t, 3> offset{};
};

/// tex: the value at a point.
Texel sample(const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
             const SamplePoint& point);

/// tld4: one channel of the four texels that a bilinear filter would blend, counter-clockwise from the lower
/// left.
Texel gather(const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
             const SamplePoint& point);

}  // namespace raddle::machine
