#include "machine/texture/texel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "numerics/half.h"

namespace raddle::machine {
namespace {

template <class T>
void write(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
void store_signed(std::byte* to, std::uint32_t value) {
  constexpr std::int32_t kLeast = std::numeric_limits<T>::min(), kGreatest = std::numeric_limits<T>::max();
  write(to, static_cast<T>(std::clamp(static_cast<std::int32_t>(value), kLeast, kGreatest)));
}
template <class T>
void store_unsigned(std::byte* to, std::uint32_t value) {
  write(to, static_cast<T>(std::min<std::uint32_t>(value, std::numeric_limits<T>::max())));
}
/// Rounded to nearest; NaN becomes 0.
template <class T>
void store_normalized(std::byte* to, std::uint32_t value) {
  constexpr auto kGreatest = static_cast<float>(std::numeric_limits<T>::max());
  constexpr float kLeast = std::is_signed_v<T> ? -1.0f : 0.0f;
  const auto number = std::bit_cast<float>(value);
  const float clamped = std::isnan(number) ? 0.0f : std::clamp(number, kLeast, 1.0f);
  write(to, static_cast<T>(std::nearbyint(clamped * kGreatest)));
}

void store_channel(std::byte* to, ChannelType type, std::uint32_t value) {
  switch (type) {
    case ChannelType::unsigned8:
      return store_unsigned<std::uint8_t>(to, value);
    case ChannelType::unsigned16:
      return store_unsigned<std::uint16_t>(to, value);
    case ChannelType::signed8:
      return store_signed<std::int8_t>(to, value);
    case ChannelType::signed16:
      return store_signed<std::int16_t>(to, value);
    case ChannelType::unorm8:
      return store_normalized<std::uint8_t>(to, value);
    case ChannelType::unorm16:
      return store_normalized<std::uint16_t>(to, value);
    case ChannelType::snorm8:
      return store_normalized<std::int8_t>(to, value);
    case ChannelType::snorm16:
      return store_normalized<std::int16_t>(to, value);
    case ChannelType::float16:
      return write(to, numerics::narrow<numerics::f16>(double{std::bit_cast<float>(value)}).bits);
    case ChannelType::unsigned32:
    case ChannelType::signed32:
    case ChannelType::float32:
      return write(to, value);
  }
}

}  // namespace

/// IEC 61966-2-1.
float from_srgb(float v) { return v <= 0.04045f ? v / 12.92f : std::pow((v + 0.055f) / 1.055f, 2.4f); }

bool reads_numbers(ChannelType type, bool normalized_reads) {
  switch (type) {
    case ChannelType::unsigned32:
    case ChannelType::signed32:
      return false;
    case ChannelType::unsigned8:
    case ChannelType::unsigned16:
    case ChannelType::signed8:
    case ChannelType::signed16:
      return normalized_reads;
    default:
      return true;
  }
}

void store_channels(std::byte* texel, TexelFormat format, const std::uint32_t* values, unsigned count) {
  for (unsigned c = 0; c < std::min(format.channels, count); ++c)
    store_channel(texel + std::size_t{c} * format.channel_bytes(), format.type, values[c]);
}

}  // namespace raddle::machine
