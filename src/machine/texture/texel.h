// Texels in memory and as kernels see them: channels as numbers or integers, in 32 bits each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "raddle/texture.h"

namespace raddle::machine {

/// Bits of the four channels: f32 or 32-bit integers. Channels that a format lacks read as 0, the last as 1.
using Texel = std::array<std::uint32_t, 4>;

/// Whether reads give numbers (f32): of the floating and normalised types always, of 8- and 16-bit integers
/// where the sampler says so.
bool reads_numbers(ChannelType type, bool normalized_reads);

/// @param numbers  as reads_numbers; @param srgb  decodes the first three of 8-bit channels
Texel load_texel(const std::byte* texel, TexelFormat format, bool numbers, bool srgb);

/// Stores the values of a formatted surface store (PTX ISA "sust"): f32 for floating and normalised channels,
/// u32 or s32, clamped to the channel's range, for integers. Channels from `count` on are left alone.
void store_channels(std::byte* texel, TexelFormat format, const std::uint32_t* values, unsigned count);

}  // namespace raddle::machine
