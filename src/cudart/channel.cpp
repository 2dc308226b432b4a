#include "cudart/channel.h"

namespace raddle::cudart {
namespace {

struct Format {
  int number;  ///< CUarray_format
  cudaChannelFormatKind kind;
  int bits;           ///< of a channel
  unsigned channels;  ///< where the format says so; 0: it does not
};

constexpr Format kFormats[] = {
    {0x01, cudaChannelFormatKindUnsigned, 8, 0},
    {0x02, cudaChannelFormatKindUnsigned, 16, 0},
    {0x03, cudaChannelFormatKindUnsigned, 32, 0},
    {0x08, cudaChannelFormatKindSigned, 8, 0},
    {0x09, cudaChannelFormatKindSigned, 16, 0},
    {0x0a, cudaChannelFormatKindSigned, 32, 0},
    {0x10, cudaChannelFormatKindFloat, 16, 0},
    {0x20, cudaChannelFormatKindFloat, 32, 0},
    {0xc0, cudaChannelFormatKindUnsignedNormalized8X1, 8, 1},
    {0xc1, cudaChannelFormatKindUnsignedNormalized8X2, 8, 2},
    {0xc2, cudaChannelFormatKindUnsignedNormalized8X4, 8, 4},
    {0xc3, cudaChannelFormatKindUnsignedNormalized16X1, 16, 1},
    {0xc4, cudaChannelFormatKindUnsignedNormalized16X2, 16, 2},
    {0xc5, cudaChannelFormatKindUnsignedNormalized16X4, 16, 4},
    {0xc6, cudaChannelFormatKindSignedNormalized8X1, 8, 1},
    {0xc7, cudaChannelFormatKindSignedNormalized8X2, 8, 2},
    {0xc8, cudaChannelFormatKindSignedNormalized8X4, 8, 4},
    {0xc9, cudaChannelFormatKindSignedNormalized16X1, 16, 1},
    {0xca, cudaChannelFormatKindSignedNormalized16X2, 16, 2},
    {0xcb, cudaChannelFormatKindSignedNormalized16X4, 16, 4},
};

const Format* find(int number) {
  for (const Format& format : kFormats)
    if (format.number == number) return &format;
  return nullptr;
}

}  // namespace

std::optional<Texel> texel_of(const cudaChannelFormatDesc& description) {
  const int bits[] = {description.x, description.y, description.z, description.w};
  unsigned channels = 0;
  while (channels < 4 && bits[channels] != 0) ++channels;
  for (unsigned i = 0; i < 4; ++i)
    if (bits[i] != (i < channels ? description.x : 0)) return std::nullopt;
  if (channels == 0 || channels == 3) return std::nullopt;
  for (const Format& format : kFormats)
    if (format.kind == description.f && format.bits == description.x &&
        (format.channels == 0 || format.channels == channels))
      return Texel{format.number, channels};
  return std::nullopt;
}

cudaChannelFormatDesc description_of(const Texel& texel) {
  const Format* format = find(texel.format);
  if (format == nullptr) return {0, 0, 0, 0, cudaChannelFormatKindNone};
  const auto bits = [&](unsigned channel) { return channel < texel.channels ? format->bits : 0; };
  return {bits(0), bits(1), bits(2), bits(3), format->kind};
}

std::size_t channel_bytes(int number) {
  const Format* format = find(number);
  return format == nullptr ? 0 : static_cast<std::size_t>(format->bits) / 8;
}

extern "C" __attribute__((visibility("default"))) cudaChannelFormatDesc
cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

}  // namespace raddle::cudart
