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

__device__ inline float channel_value(ChannelType type, unsigned bits);

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
    case ChannelType::float16:
      return channel_value(type, channel_bits(type, value));
    default:
      return value;
  }
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

/// A texel of 1, 2, 4, 8 or 16 bytes as words.
__device__ inline uint4 load_words(std::uint64_t at, unsigned bytes) {
  if (bytes == 16) return *reinterpret_cast<const uint4*>(at);
  uint4 words{0, 0, 0, 0};
  if (bytes == 8) {
    const uint2 two = *reinterpret_cast<const uint2*>(at);
    words.x = two.x, words.y = two.y;
  } else if (bytes == 4) {
    words.x = *reinterpret_cast<const std::uint32_t*>(at);
  } else if (bytes == 2) {
    words.x = *reinterpret_cast<const std::uint16_t*>(at);
  } else {
    words.x = *reinterpret_cast<const std::uint8_t*>(at);
  }
  return words;
}

__device__ inline void store_words(std::uint64_t at, unsigned bytes, uint4 words) {
  if (bytes == 16) {
    *reinterpret_cast<uint4*>(at) = words;
  } else if (bytes == 8) {
    *reinterpret_cast<uint2*>(at) = make_uint2(words.x, words.y);
  } else if (bytes == 4) {
    *reinterpret_cast<std::uint32_t*>(at) = words.x;
  } else if (bytes == 2) {
    *reinterpret_cast<std::uint16_t*>(at) = static_cast<std::uint16_t>(words.x);
  } else {
    *reinterpret_cast<std::uint8_t*>(at) = static_cast<std::uint8_t>(words.x);
  }
}

/// The bits of word `word` that channels of a mask have, of `each` bytes.
__device__ inline unsigned bits_of_mask(unsigned mask, unsigned each, unsigned word) {
  unsigned bits = 0;
  const unsigned of_word = 4 / each;
  for (unsigned c = 0; c < of_word; ++c)
    if ((mask >> (word * of_word + c) & 1) != 0)
      bits |= (each == 4 ? ~0u : (1u << 8 * each) - 1) << 8 * each * c;
  return bits;
}

/// Writes the channels of a mask. The texel has `bytes`.
__device__ inline void write_texel(const TargetView& target, std::uint64_t at, unsigned bytes, unsigned mask,
                                   const float* value) {
  const unsigned channels = target.format.channels, all = (1u << channels) - 1, each = bytes / channels;
  if ((mask & all) == 0) return;
  unsigned bits[4];
#pragma unroll
  for (unsigned c = 0; c < 4; ++c) bits[c] = channel_bits(target.format.type, value[c]);
  uint4 words{0, 0, 0, 0};
  if (each == 4) words = make_uint4(bits[0], bits[1], bits[2], bits[3]);
  if (each == 2)
    words = make_uint4((bits[0] & 0xffff) | bits[1] << 16, (bits[2] & 0xffff) | bits[3] << 16, 0, 0);
  if (each == 1) words.x = (bits[0] & 255) | (bits[1] & 255) << 8 | (bits[2] & 255) << 16 | bits[3] << 24;
  if ((mask & all) != all) {  // what is not written stays as it is
    const uint4 old = load_words(at, bytes);
    const uint4 kept = make_uint4(~bits_of_mask(mask, each, 0), ~bits_of_mask(mask, each, 1),
                                  ~bits_of_mask(mask, each, 2), ~bits_of_mask(mask, each, 3));
    words.x = (words.x & ~kept.x) | (old.x & kept.x), words.y = (words.y & ~kept.y) | (old.y & kept.y);
    words.z = (words.z & ~kept.z) | (old.z & kept.z), words.w = (words.w & ~kept.w) | (old.w & kept.w);
  }
  store_words(at, bytes, words);
}

__device__ inline float channel_value(ChannelType type, unsigned bits) {
  switch (type) {
    case ChannelType::unorm8:
      return static_cast<float>(bits & 255) / 255.0f;
    case ChannelType::unorm16:
      return static_cast<float>(bits & 0xffff) / 65535.0f;
    case ChannelType::snorm8:
      return fmaxf(static_cast<float>(static_cast<std::int8_t>(bits)) / 127.0f, -1.0f);
    case ChannelType::snorm16:
      return fmaxf(static_cast<float>(static_cast<std::int16_t>(bits)) / 32767.0f, -1.0f);
    case ChannelType::float16: {
      float value;
      asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<std::uint16_t>(bits)));
      return value;
    }
    default:
      return __uint_as_float(bits);
  }
}

/// Channels that the format lacks are 0, 0, 0, 1.
__device__ inline void read_texel(const TargetView& target, std::uint64_t at, unsigned bytes, float* value) {
  const unsigned channels = target.format.channels, each = bytes / channels;
  const uint4 words = load_words(at, bytes);
#pragma unroll
  for (unsigned c = 0; c < 4; ++c) {
    const unsigned word = each == 4   ? (c == 0   ? words.x
                                         : c == 1 ? words.y
                                         : c == 2 ? words.z
                                                  : words.w)
                          : each == 2 ? (c < 2 ? words.x : words.y) >> (c & 1) * 16
                                      : words.x >> c * 8;
    value[c] = c < channels ? channel_value(target.format.type, word) : (c == 3 ? 1.0f : 0.0f);
  }
}

}  // namespace raddle::graphics
