// Work on whole targets: clearing, and averaging samples.
#include "graphics/kernels/formats.h"
#include "graphics/kernels/targets.h"

using namespace raddle::graphics;

/// A thread per texel of all slices, in rows of `width`.
extern "C" __global__ void raddle_draw_clear(const __grid_constant__ ClearData data) {
  const unsigned bytes = channel_bytes(data.target.format.type);
  const std::size_t count = std::size_t{data.width} * data.height * data.slices;
  for (std::size_t i = Loop::first(); i < count; i += Loop::step()) {
    const std::size_t row = i / data.width;
    const std::uint64_t at = data.target.address + row / data.height * data.target.slice_pitch +
                             row % data.height * data.target.row_pitch +
                             i % data.width * bytes * data.target.format.channels;
    write_texel(data.target, at, bytes * data.target.format.channels, 15, data.value);
  }
}

extern "C" __global__ void raddle_draw_resolve(const __grid_constant__ ResolveData data) {
  const unsigned bytes = channel_bytes(data.to.format.type), texel_bytes = bytes * data.to.format.channels;
  const std::size_t count = std::size_t{data.width} * data.height * data.layers;
  for (std::size_t i = Loop::first(); i < count; i += Loop::step()) {
    const std::size_t row = i / data.width, layer = row / data.height;
    const std::uint64_t in_slice = i % data.width * texel_bytes;
    float sum[4] = {0, 0, 0, 0}, value[4];
    for (unsigned s = 0; s < data.samples; ++s) {
      read_texel(data.from, data.from.address + (layer * data.samples + s) * data.from.slice_pitch +
                                row % data.height * data.from.row_pitch + in_slice, texel_bytes, value);
#pragma unroll
      for (unsigned c = 0; c < 4; ++c) sum[c] += value[c];
    }
#pragma unroll
    for (unsigned c = 0; c < 4; ++c) value[c] = sum[c] / static_cast<float>(data.samples);
    write_texel(data.to, data.to.address + layer * data.to.slice_pitch + row % data.height * data.to.row_pitch + in_slice,
                texel_bytes, 15, value);
  }
}
