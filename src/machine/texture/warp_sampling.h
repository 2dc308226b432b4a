// tex for a whole warp whose lanes read one image by one sampler: what sampling.h gives for each lane, by
// vector code.
#pragma once

#include <cstdint>

#include "exec/abi.h"
#include "exec/texture.h"
#include "machine/texture/filter.h"
#include "raddle/texture.h"

namespace raddle::machine {

/// Whether requests like this to this image can be answered for a whole warp: one level, no faces, no
/// samples.
bool samples_warps(const Image& image, const exec::TextureRequest& request);

/// @param active  lanes that execute, at least one; others' texels are any
void sample_warp(const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
                 const exec::TextureLanes& lanes, std::uint32_t active, Texels<exec::kWarpSize>& texels);

}  // namespace raddle::machine
