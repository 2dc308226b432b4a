// Texels in memory and as kernels see them: channels as numbers or integers, in 32 bits each.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "numerics/half.h"
#include "raddle/texture.h"

namespace raddle::machine {

/// Bits of the four channels: f32 or 32-bit integers. Channels that a format lacks read as 0, as an
/// H200's do.
using Texel = std::array<std::uint32_t, 4>;

/// Whether reads give numbers (f32): of the floating and normalised types always, of 8- and 16-bit
/// integers where the sampler says so.
bool reads_numbers(ChannelType type, bool normalized_reads);

/// IEC 61966-2-1's decoding.
float from_srgb(float v);

/// One channel's bits, read as T.
template <class T>
T read_channel(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// 8- and 16-bit integers: v / greatest as numbers, signed ones not below -1.
template <class T>
std::uint32_t integer_channel(const std::byte* from, bool numbers) {
  const T value = read_channel<T>(from);
  constexpr auto kGreatest = static_cast<float>(std::numeric_limits<T>::max());
  return numbers ? std::bit_cast<std::uint32_t>(std::max(static_cast<float>(value) / kGreatest, -1.0f))
                 : static_cast<std::uint32_t>(std::int32_t{value});
}

/// Gives `to` a function that reads a channel of this type.
template <class To>
[[gnu::always_inline]] inline void with_reader(ChannelType type, bool numbers, To to) {
  switch (type) {
    case ChannelType::unsigned8:
    case ChannelType::unorm8:
      return to([=](const std::byte* from) { return integer_channel<std::uint8_t>(from, numbers); });
    case ChannelType::unsigned16:
    case ChannelType::unorm16:
      return to([=](const std::byte* from) { return integer_channel<std::uint16_t>(from, numbers); });
    case ChannelType::signed8:
    case ChannelType::snorm8:
      return to([=](const std::byte* from) { return integer_channel<std::int8_t>(from, numbers); });
    case ChannelType::signed16:
    case ChannelType::snorm16:
      return to([=](const std::byte* from) { return integer_channel<std::int16_t>(from, numbers); });
    case ChannelType::float16:
      return to([](const std::byte* from) {
        const auto half = read_channel<numerics::f16>(from);
        return std::bit_cast<std::uint32_t>(static_cast<float>(numerics::widen(half)));
      });
    case ChannelType::unsigned32:
    case ChannelType::signed32:
    case ChannelType::float32:
      return to([](const std::byte* from) { return read_channel<std::uint32_t>(from); });
  }
}

/// The greatest number in which a filter of these channels counts: an H200 blends normalised channels of
/// 8 bits, too, in 16. 0: it does not count in integers.
inline double filter_scale(ChannelType type) {
  switch (type) {
    case ChannelType::unsigned8:
    case ChannelType::unorm8:
    case ChannelType::unsigned16:
    case ChannelType::unorm16:
      return 65535;
    case ChannelType::signed8:
    case ChannelType::snorm8:
    case ChannelType::signed16:
    case ChannelType::snorm16:
      return 32767;
    default:
      return 0;
  }
}

/// A number as normalised channels can hold it.
inline float nearest_number(ChannelType type, float value) {
  const bool bytes = type == ChannelType::unsigned8 || type == ChannelType::unorm8 ||
                     type == ChannelType::signed8 || type == ChannelType::snorm8;
  const double scale = filter_scale(type);
  if (scale == 0) return value;
  const bool is_signed = scale == 32767;
  const float greatest = bytes ? (is_signed ? 127 : 255) : static_cast<float>(scale);
  const float inside = value >= 1                                              ? 1
                       : value <= (is_signed ? -1.0f : 0.0f) || value != value ? (is_signed ? -1.0f : 0.0f)
                                                                               : value;
  return std::floor(inside * greatest + 0.5f) / greatest;
}

/// N texels, by channel and lane. @param at  bytes from `texels` to each; @param numbers  as
/// reads_numbers; @param srgb  decodes the first three of 8-bit channels
template <unsigned N>
[[gnu::always_inline]] inline void load_texels(const std::byte* texels,
                                               const std::array<std::uint64_t, N>& at, TexelFormat format,
                                               bool numbers, bool srgb,
                                               std::array<std::array<std::uint32_t, N>, 4>& result) {
  const unsigned bytes = format.channel_bytes(), channels = format.channels;
  with_reader(format.type, numbers, [&](auto read) {
    for (unsigned c = 0; c < channels; ++c)
      for (unsigned l = 0; l < N; ++l) result[c][l] = read(texels + at[l] + std::size_t{c} * bytes);
  });
  for (unsigned c = channels; c < 4; ++c) result[c].fill(0);
  if (srgb && numbers && bytes == 1)
    for (unsigned c = 0; c < std::min(channels, 3u); ++c)
      for (unsigned l = 0; l < N; ++l)
        result[c][l] = std::bit_cast<std::uint32_t>(from_srgb(std::bit_cast<float>(result[c][l])));
}

/// Stores the values of a formatted surface store (PTX ISA "sust"): f32 for floating and normalised
/// channels, u32 or s32, clamped to the channel's range, for integers. Channels from `count` on are left
/// alone.
void store_channels(std::byte* texel, TexelFormat format, const std::uint32_t* values, unsigned count);

}  // namespace raddle::machine
