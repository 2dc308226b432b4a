// Blocks of tensors by their definition, an element at a time: what the unit's results are compared with. And
// random ones.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "exec/tensor_map.h"

namespace raddle::machine {

using exec::TensorMap;

inline constexpr std::size_t kTensorBytes = 1 << 18;  ///< room for any tensor

/// An element of a block: where it lies in shared memory, and in the tensor, if it does.
struct Place {
  std::uint32_t shared;
  bool inside;
  std::int64_t global;  ///< distance from the tensor's base
};

struct TensorBlock {
  TensorMap map;
  std::int32_t at[exec::kMaxTensorRank] = {};
  std::uint16_t offset[3] = {};
};

/// Elements of one row at a coordinate of dimension 0; interleaved layouts have a slice there.
inline void add_row(std::vector<Place>& places, const TensorBlock& b, bool inside, std::int64_t global,
                    std::uint32_t shared) {
  const std::uint32_t bytes = element_bytes(b.map.element);
  const bool sliced = b.map.interleave != TensorMap::Interleave::none;
  const std::uint32_t count = sliced                                ? slice_bytes(b.map.interleave) / bytes
                              : b.map.mode == TensorMap::Mode::tile ? b.map.box[0]
                                                                    : b.map.channels;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int64_t c = std::int64_t{b.at[0]} + i;
    const bool within = sliced || (c >= 0 && c < static_cast<std::int64_t>(b.map.size[0]));
    places.push_back({shared + i * bytes, inside && within, global + (sliced ? std::int64_t{i} : c) * bytes});
  }
}

inline std::int64_t slices(const TensorMap& map) {
  const std::int64_t per_slice = slice_bytes(map.interleave) / element_bytes(map.element);
  return (static_cast<std::int64_t>(map.size[0]) + per_slice - 1) / per_slice;
}

/// All rows of a block around dimension 0: one, or one for each slice of channels.
inline void add_slices(std::vector<Place>& places, const TensorBlock& b, const auto& rows_of_slice) {
  if (b.map.interleave == TensorMap::Interleave::none) return rows_of_slice(true, 0);
  const std::uint32_t extent = b.map.mode == TensorMap::Mode::tile ? b.map.box[0] : b.map.channels;
  const std::int64_t between =
      static_cast<std::int64_t>(b.map.size[b.map.rank - 2] * b.map.stride[b.map.rank - 2]);
  for (std::uint32_t i = 0; i < extent; i += b.map.step[0]) {
    const std::int64_t slice = std::int64_t{b.at[0]} + i;
    rows_of_slice(slice >= 0 && slice < slices(b.map), slice * between);
  }
  (void)places;
}

inline std::uint32_t row_pitch(const TensorMap& map) {
  if (map.interleave != TensorMap::Interleave::none) return slice_bytes(map.interleave);
  const std::uint32_t elements = map.mode == TensorMap::Mode::tile ? map.box[0] : map.channels;
  return std::max(elements * element_bytes(map.element), swizzle_bytes(map.swizzle));
}

/// Tile mode, from its definition.
inline std::vector<Place> tile_places(const TensorBlock& b) {
  std::vector<Place> places;
  std::uint32_t row = 0;
  add_slices(places, b, [&](bool slice_inside, std::int64_t slice) {
    std::uint32_t index[exec::kMaxTensorRank] = {};
    for (;;) {
      bool inside = slice_inside;
      std::int64_t global = slice;
      for (unsigned d = 1; d < b.map.rank; ++d) {
        const std::int64_t c = std::int64_t{b.at[d]} + index[d];
        inside = inside && c >= 0 && c < static_cast<std::int64_t>(b.map.size[d]);
        global += c * static_cast<std::int64_t>(b.map.stride[d]);
      }
      add_row(places, b, inside, global, row++ * row_pitch(b.map));
      unsigned d = 1;
      for (; d < b.map.rank; ++d) {
        if ((index[d] += b.map.step[d]) < b.map.box[d]) break;
        index[d] = 0;
      }
      if (d == b.map.rank) return;
    }
  });
  return places;
}

/// im2col mode, from its definition: every filter base of the box in order, from the first on.
inline std::vector<Place> im2col_places(const TensorBlock& b) {
  const unsigned spatial = b.map.rank - 2;
  std::vector<Place> places;
  std::uint32_t row = 0;
  add_slices(places, b, [&](bool slice_inside, std::int64_t slice) {
    std::int64_t base[3], image = b.at[b.map.rank - 1];
    for (unsigned i = 0; i < spatial; ++i) base[i] = b.at[i + 1];
    for (std::uint32_t pixel = 0; pixel < b.map.pixels; ++pixel) {
      bool inside =
          slice_inside && image >= 0 && image < static_cast<std::int64_t>(b.map.size[b.map.rank - 1]);
      std::int64_t global = slice + image * static_cast<std::int64_t>(b.map.stride[b.map.rank - 1]);
      for (unsigned i = 0; i < spatial; ++i) {
        const std::int64_t c = base[i] + b.offset[i];
        inside = inside && c >= 0 && c < static_cast<std::int64_t>(b.map.size[i + 1]);
        global += c * static_cast<std::int64_t>(b.map.stride[i + 1]);
      }
      add_row(places, b, inside, global, row++ * row_pitch(b.map));
      unsigned i = 0;
      for (; i < spatial; ++i) {
        base[i] += b.map.step[i + 1];
        if (base[i] <= static_cast<std::int64_t>(b.map.size[i + 1]) - 1 + b.map.upper[i]) break;
        base[i] = b.map.lower[i];
      }
      if (i == spatial) ++image;
    }
  });
  return places;
}

/// Places with the swizzle of the shared address at which the block begins.
inline std::vector<Place> places_of(const TensorBlock& b, std::uint32_t begin) {
  auto places = b.map.mode == TensorMap::Mode::tile ? tile_places(b) : im2col_places(b);
  for (Place& place : places) {
    std::uint32_t address = begin + place.shared;
    const unsigned units = static_cast<unsigned>(swizzle_bytes(b.map.swizzle)) / 16;
    if (units != 0) {
      const unsigned line = address / 128, unit = address / 16 % 8;
      address = line * 128 + (unit ^ (line % units)) * 16 + address % 16;
    }
    place.shared = address;
  }
  return places;
}

inline std::int32_t between(std::mt19937_64& random, std::int64_t least, std::int64_t most) {
  return static_cast<std::int32_t>(
      least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1)));
}

/// A map that check() accepts, of a tensor that fits in kTensorBytes, and coordinates in and around it.
class Maker {
 public:
  explicit Maker(std::mt19937_64& random) : random_(random) {}

  /// Tile mode: another box of the same map.
  void move_box(TensorBlock& b) {
    for (unsigned d = 0; d < b.map.rank; ++d)
      b.at[d] = any(0, 9) == 0   ? any(-1000, 1000)
                : any(0, 2) == 0 ? 0
                                 : any(-5, static_cast<std::int64_t>(b.map.size[d]) + 3);
  }
  TensorBlock block(std::uint64_t base) {
    for (;;) {
      TensorBlock b;
      b.map.address = base;
      choose_layout(b.map);
      choose_sizes(b.map);
      b.map.mode == TensorMap::Mode::tile ? choose_box(b) : choose_pixels(b);
      if (tensor_bytes(b.map) <= kTensorBytes && block_bytes(b.map) <= (128u << 10) &&
          exec::check(b.map).ok())
        return b;
    }
  }

 private:
  std::int32_t any(std::int64_t least, std::int64_t most) { return between(random_, least, most); }

  void choose_layout(TensorMap& m) {
    m.mode = any(0, 2) == 0 ? TensorMap::Mode::im2col : TensorMap::Mode::tile;
    m.interleave =
        any(0, 4) != 0 ? TensorMap::Interleave::none : static_cast<TensorMap::Interleave>(any(1, 2));
    const bool deep = m.mode == TensorMap::Mode::im2col || m.interleave != TensorMap::Interleave::none;
    m.rank = static_cast<std::uint32_t>(any(deep ? 3 : 1, 5));
    m.element = static_cast<TensorMap::Element>(any(0, 12));
    m.swizzle = m.interleave == TensorMap::Interleave::bytes32 ? TensorMap::Swizzle::bytes32
                                                               : static_cast<TensorMap::Swizzle>(any(0, 3));
    if (exec::is_floating(m.element)) m.fill = static_cast<TensorMap::Fill>(any(0, 1));
  }
  void choose_sizes(TensorMap& m) {
    const std::int64_t alignment = m.interleave == TensorMap::Interleave::bytes32 ? 32 : 16;
    const std::int64_t largest[] = {0, 300, 24, 9, 6, 4};
    for (unsigned d = 0; d < m.rank; ++d) {
      m.size[d] = static_cast<std::uint64_t>(any(1, largest[m.rank]));
      m.step[d] = static_cast<std::uint32_t>(any(0, 2) == 0 ? any(1, 8) : 1);
    }
    m.stride[0] = element_bytes(m.element);
    const bool sliced = m.interleave != TensorMap::Interleave::none;
    std::int64_t bytes =
        sliced ? slice_bytes(m.interleave) : static_cast<std::int64_t>(m.size[0] * m.stride[0]);
    for (unsigned d = 1; d < m.rank; ++d) {
      bytes = (bytes + alignment - 1) / alignment * alignment + (any(0, 3) == 0 ? alignment * any(0, 3) : 0);
      m.stride[d] = static_cast<std::uint64_t>(bytes);
      bytes *= static_cast<std::int64_t>(m.size[d]);
      if (sliced && d == m.rank - 2) bytes *= slices(m);
    }
  }
  static std::uint64_t tensor_bytes(const TensorMap& m) {
    std::uint64_t bytes = m.rank == 1 ? m.size[0] * m.stride[0] : m.size[m.rank - 1] * m.stride[m.rank - 1];
    return bytes + 32;
  }
  static std::uint64_t block_bytes(const TensorMap& m) {
    std::uint64_t bytes = row_pitch(m);
    if (m.interleave != TensorMap::Interleave::none)
      bytes *= m.mode == TensorMap::Mode::tile ? m.box[0] : m.channels;
    if (m.mode == TensorMap::Mode::im2col) return bytes * m.pixels;
    for (unsigned d = 1; d < m.rank; ++d) bytes *= m.box[d];
    return bytes;
  }
  void choose_box(TensorBlock& b) {
    TensorMap& m = b.map;
    const auto bytes = static_cast<std::int64_t>(element_bytes(m.element));
    const std::int64_t width = m.swizzle == TensorMap::Swizzle::none ? 256 : swizzle_bytes(m.swizzle);
    m.box[0] = static_cast<std::uint32_t>(
        m.interleave != TensorMap::Interleave::none ? any(1, 4) : 16 * any(1, width / 16) / bytes);
    // Whole rows of the tensor now and then, which the unit moves as one.
    if (m.interleave == TensorMap::Interleave::none && any(0, 2) == 0 && m.size[0] * m.stride[0] % 16 == 0)
      m.box[0] = static_cast<std::uint32_t>(m.size[0]);
    for (unsigned d = 1; d < m.rank; ++d)
      m.box[d] = static_cast<std::uint32_t>(
          any(1, std::min<std::int64_t>(40, static_cast<std::int64_t>(m.size[d]) + 4)));
    move_box(b);
  }
  void choose_pixels(TensorBlock& b) {
    TensorMap& m = b.map;
    const auto bytes = static_cast<std::int64_t>(element_bytes(m.element));
    const std::int64_t width = m.swizzle == TensorMap::Swizzle::none ? 256 : swizzle_bytes(m.swizzle);
    m.channels = static_cast<std::uint32_t>(
        m.interleave != TensorMap::Interleave::none ? any(1, 3) : any(1, width / 16) * 16 / bytes);
    m.pixels = static_cast<std::uint32_t>(any(1, 80));
    const unsigned spatial = m.rank - 2;
    for (unsigned i = 0; i < spatial; ++i) {
      m.lower[i] = any(-4, 3);
      m.upper[i] = any(-4, 4);
      const std::int64_t last = static_cast<std::int64_t>(m.size[i + 1]) - 1 + m.upper[i];
      if (last < m.lower[i]) continue;  // empty: check() refuses it
      b.at[i + 1] = any(m.lower[i], last);
      b.offset[i] = static_cast<std::uint16_t>(any(0, 4));
    }
    b.at[0] = any(-3, static_cast<std::int64_t>(m.size[0]));
    b.at[m.rank - 1] = any(-1, static_cast<std::int64_t>(m.size[m.rank - 1]));
  }

  std::mt19937_64& random_;
};

inline std::string told(const TensorBlock& b) {
  std::string text = b.map.mode == TensorMap::Mode::tile ? "tile" : "im2col";
  const auto add = [&](const char* name, auto values, unsigned count) {
    text += std::string(" ") + name;
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? " " : ",") + std::to_string(values[i]);
  };
  add("size", b.map.size, b.map.rank);
  add("stride", b.map.stride, b.map.rank);
  add("box", b.map.box, b.map.rank);
  add("step", b.map.step, b.map.rank);
  add("at", b.at, b.map.rank);
  add("lower", b.map.lower, 3), add("upper", b.map.upper, 3), add("offset", b.offset, 3);
  text += " channels " + std::to_string(b.map.channels) + " pixels " + std::to_string(b.map.pixels);
  text += " element " + std::to_string(static_cast<int>(b.map.element));
  text += " interleave " + std::to_string(static_cast<int>(b.map.interleave));
  return text + " swizzle " + std::to_string(static_cast<int>(b.map.swizzle));
}

}  // namespace raddle::machine
