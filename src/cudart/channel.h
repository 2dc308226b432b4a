// Texels in both spellings: the runtime's bits of each channel, the driver's format and number of channels.
#pragma once

#include <optional>

#include "cudart/driver.h"

namespace raddle::cudart {

struct Texel {
  int format;  ///< CUarray_format
  unsigned channels;
};

/// Nothing for channels of different sizes, of sizes that do not exist, or of compressed kinds.
std::optional<Texel> texel_of(const cudaChannelFormatDesc& description);
cudaChannelFormatDesc description_of(const Texel& texel);

/// Bytes of a channel of a format; 0 for unknown ones.
std::size_t channel_bytes(int format);

}  // namespace raddle::cudart
