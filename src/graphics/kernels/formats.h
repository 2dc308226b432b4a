// Texels of render targets: four numbers in, bytes out, and back.
#pragma once

#include "graphics/kernels/draw.h"

namespace raddle::graphics {

/// Integers that are not normalised: targets take the low bits, and are never blended.
__device__ inline bool is_integer(ChannelType type) { return type <= ChannelType::signed32; }

__device__ inline float to_format_range(ChannelType type, float value) {
  if (type == ChannelType::unorm8 || type == ChannelType::unorm16) return __saturatef(value);
  if (type == ChannelType::snorm8 || type == ChannelType::snorm16)
    return value != value ? 0 : fminf(fmaxf(value, -1.0f), 1.0f);
  return value;
}

/// The bits of a channel. Numbers that are normalised are rounded to nearest, NaN is 0.
__device__ inline unsigned channel_bits(ChannelType type, float value) {
  const float inside = to_format_range(type, value);
  switch (type) {
    case ChannelType::unorm8:
      return __float2uint_rn(inside * 255.0f);
    case ChannelType::unorm16:
      return __float2uint_rn(inside * 65535.0f);
    case ChannelType::snorm8:
      return static_cast<unsigned>(__float2int_rn(inside * 127.0f));
    case ChannelType::snorm16:
      return static_cast<unsigned>(__float2int_rn(inside * 32767.0f));
    case ChannelType::float16: {
      std::uint16_t half;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
      return half;
    }
    default:
      return __float_as_uint(value);
  }
}

/// What is read again after a number was written: each fragment blends with what is stored.
__device__ inline float as_stored(ChannelType type, float value) {
  const float inside = to_format_range(type, value);
  switch (type) {
    case ChannelType::unorm8:
      return rintf(inside * 255.0f) / 255.0f;
    case ChannelType::unorm16:
      return rintf(inside * 65535.0f) / 65535.0f;
    case ChannelType::snorm8:
      return rintf(inside * 127.0f) / 127.0f;
    case ChannelType::snorm16:
      return rintf(inside * 32767.0f) / 32767.0f;
    case ChannelType::float16: {
      const auto half = static_cast<std::uint16_t>(channel_bits(type, value));
      return read_channel(&half, type, 0);
    }
    default:
      return value;
  }
}

__device__ inline void write_channel(std::uint64_t at, unsigned bytes, unsigned channel, unsigned bits) {
  if (bytes == 1) reinterpret_cast<std::uint8_t*>(at)[channel] = static_cast<std::uint8_t>(bits);
  if (bytes == 2) reinterpret_cast<std::uint16_t*>(at)[channel] = static_cast<std::uint16_t>(bits);
  if (bytes == 4) reinterpret_cast<std::uint32_t*>(at)[channel] = bits;
}

__device__ inline unsigned channel_bytes(ChannelType type) {
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

/// Writes the channels of a mask. The texel's bytes are `bytes` each.
__device__ inline void write_texel(const TargetView& target, std::uint64_t at, unsigned bytes, unsigned mask,
                                   const float* value) {
  const ChannelType type = target.format.type;
  const unsigned channels = target.format.channels, all = (1u << channels) - 1;
  if (type == ChannelType::unorm8 && channels == 4 && (mask & 15) == 15) {  // the usual one: a word
    unsigned word = 0;
#pragma unroll
    for (unsigned c = 0; c < 4; ++c) word |= __float2uint_rn(__saturatef(value[c]) * 255.0f) << 8 * c;
    *reinterpret_cast<std::uint32_t*>(at) = word;
    return;
  }
#pragma unroll
  for (unsigned c = 0; c < 4; ++c)
    if ((mask & all) >> c & 1) write_channel(at, bytes, c, channel_bits(type, value[c]));
}

__device__ inline void read_texel(const TargetView& target, std::uint64_t at, float* value) {
#pragma unroll
  for (unsigned c = 0; c < 4; ++c)
    value[c] = c < target.format.channels
                   ? read_channel(reinterpret_cast<const void*>(at), target.format.type, c)
                   : (c == 3 ? 1.0f : 0.0f);
}

}  // namespace raddle::graphics
