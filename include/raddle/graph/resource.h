// Resources of a graph, and views of parts of them (G-1, G-8d).
#pragma once

#include <algorithm>
#include <cstdint>

#include "raddle/texture.h"

namespace raddle::graph {

/// Whose memory it is, and which way its contents go (G-1g, G-1h).
enum class Origin : std::uint8_t {
  transient,  ///< the graph's: it lives from its first writer to its last reader
  input,      ///< the caller binds it, and its contents go in
  output,     ///< the caller binds it; what was in it before is of no meaning
  in_out,
  temporal,  ///< the executor keeps it between runs: what a run writes, the next one reads as previous()
};

/// How the texels of an image are arranged, for the unit that uses them. The contents are the same in all.
enum class Layout : std::uint8_t {
  undefined,  ///< of no meaning: nobody has written, or what was written is dropped
  general,    ///< for kernels
  sampled,    ///< for texture units
  target,     ///< for what draws
  copy,       ///< for copies
};

/// A node of a graph: a buffer or an image. Only the graph that made it knows what it is.
struct Resource {
  std::uint32_t index = ~0u;

  explicit operator bool() const { return index != ~0u; }
  friend bool operator==(Resource, Resource) = default;
};

/// Extents in texels; levels (mips) and layers. Levels follow each other in memory, in each the layers, in
/// each the slices of depth and the rows, all without gaps.
struct ImageShape {
  TexelFormat format{};
  unsigned dimensions = 2;  ///< 1 to 3
  std::uint32_t width = 1, height = 1, depth = 1, layers = 1, mips = 1;
  bool cube = false;  ///< layers are faces, six to a cube

  std::uint32_t width_of(std::uint32_t mip) const { return std::max(width >> mip, 1u); }
  std::uint32_t height_of(std::uint32_t mip) const { return std::max(height >> mip, 1u); }
  std::uint32_t depth_of(std::uint32_t mip) const { return std::max(depth >> mip, 1u); }
  std::uint64_t layer_bytes(std::uint32_t mip) const;  ///< of one layer of a level
  std::uint64_t offset(std::uint32_t mip, std::uint32_t layer) const;
  std::uint64_t bytes() const { return offset(mips, 0); }
  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

/// A part of a resource: a range of bytes of a buffer, or levels and layers of an image. Numbers that are
/// left out mean all there is.
struct View {
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

  Resource resource;
  std::uint64_t begin = 0, bytes = kAll;
  std::uint32_t mip = 0, mips = ~0u, layer = 0, layers = ~0u;

  View() = default;
  View(Resource whole) : resource(whole) {}  // NOLINT: a resource stands for the whole of it
  static View range(Resource buffer, std::uint64_t begin, std::uint64_t bytes) {
    View view(buffer);
    view.begin = begin, view.bytes = bytes;
    return view;
  }
  static View levels(Resource image, std::uint32_t mip, std::uint32_t mips = 1) {
    View view(image);
    view.mip = mip, view.mips = mips;
    return view;
  }
  View of_layers(std::uint32_t first, std::uint32_t count = 1) const {
    View view = *this;
    view.layer = first, view.layers = count;
    return view;
  }
  friend bool operator==(const View&, const View&) = default;
};

}  // namespace raddle::graph
