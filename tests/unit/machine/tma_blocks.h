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

/// Elements of a slice; 0 without interleave.
inline std::uint32_t per_slice(const TensorMap& map) {
  return slice_bytes(map.interleave) / element_bytes(map.element);
}
inline std::uint32_t row_pitch(const TensorMap& map) {
  if (is_sliced(map)) return slice_bytes(map.interleave);
  const std::uint32_t elements = map.mode == TensorMap::Mode::tile ? map.box[0] : map.channels;
  return std::max(elements * element_bytes(map.element), swizzle_bytes(map.swizzle));
}

inline std::uint32_t elements_of_row(const TensorBlock& b) {
  if (is_sliced(b.map)) return per_slice(b.map);
  return b.map.mode == TensorMap::Mode::tile ? b.map.box[0] : b.map.channels;
}

/// Elements of one row: of dimension 0, or of a slice, whose dimensions all have their coordinate in `at`.
/// @param at  of dimension 0 only where that is no part of the row
inline void add_row(std::vector<Place>& places, const TensorBlock& b, const std::int64_t* at) {
  const TensorMap& m = b.map;
  const std::uint32_t bytes = element_bytes(m.element);
  const auto shared = static_cast<std::uint32_t>(places.size()) / elements_of_row(b) * row_pitch(m);
  bool inside = true;
  std::int64_t global = 0;
  for (unsigned d = is_sliced(m) ? 0 : 1; d < m.rank; ++d) {
    inside = inside && at[d] >= 0 && at[d] < static_cast<std::int64_t>(m.size[d]);
    global += at[d] * (d == 0 ? slice_bytes(m.interleave) : static_cast<std::int64_t>(m.stride[d]));
  }
  for (std::uint32_t i = 0; i < elements_of_row(b); ++i) {
    const std::int64_t c = (is_sliced(m) ? 0 : std::int64_t{b.at[0]}) + i;
    const bool within = is_sliced(m) || (c >= 0 && c < static_cast<std::int64_t>(m.size[0]));
    places.push_back({shared + i * bytes, inside && within, global + c * bytes});
  }
}

/// Tile mode, from its definition. Of slices a copy moves one.
inline std::vector<Place> tile_places(const TensorBlock& b) {
  const TensorMap& m = b.map;
  const unsigned first = is_sliced(m) ? 0 : 1;
  std::vector<Place> places;
  std::uint32_t index[exec::kMaxTensorRank] = {};
  for (;;) {
    std::int64_t at[exec::kMaxTensorRank];
    for (unsigned d = 0; d < m.rank; ++d) at[d] = std::int64_t{b.at[d]} + index[d];
    add_row(places, b, at);
    unsigned d = first;
    for (; d < m.rank; ++d) {
      if (is_sliced(m) && d == m.rank - 2) continue;
      if ((index[d] += m.step[d]) < m.box[d]) break;
      index[d] = 0;
    }
    if (d == m.rank) return places;
  }
}

/// im2col mode, from its definition: every filter base of the box in order, from the first on.
inline std::vector<Place> im2col_places(const TensorBlock& b) {
  const TensorMap& m = b.map;
  const unsigned first = is_sliced(m) ? 0 : 1, spatial = m.rank - 2, images = m.rank - 1;
  std::vector<Place> places;
  std::int64_t base[exec::kMaxTensorRank];
  std::copy_n(b.at, m.rank, base);
  for (std::uint32_t pixel = 0; pixel < m.pixels; ++pixel) {
    std::int64_t at[exec::kMaxTensorRank];
    std::copy_n(base, m.rank, at);
    for (unsigned i = 0; i < spatial; ++i) at[first + i] += b.offset[i];
    add_row(places, b, at);
    unsigned i = 0;
    for (; i < spatial; ++i) {
      const unsigned d = first + i;
      base[d] += m.step[d];
      if (base[d] <= static_cast<std::int64_t>(m.size[d]) - 1 + m.upper[i]) break;
      base[d] = m.lower[i];
    }
    if (i == spatial) base[images] += m.step[images];
  }
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
    align(b);
  }
  /// Moves a block to where a store may begin. @returns whether there is such a place
  bool make_storable(TensorBlock& b) const {
    const unsigned first = is_sliced(b.map) ? 0 : 1;
    for (unsigned d = 0; d < b.map.rank; ++d) b.at[d] = std::max(b.at[d], 0);
    for (unsigned i = 0; b.map.mode == TensorMap::Mode::im2col && i < b.map.rank - 2; ++i) {
      std::int32_t& at = b.at[first + i];
      at = std::max(at, b.map.lower[i]);
      if (at > static_cast<std::int64_t>(b.map.size[first + i]) - 1 + b.map.upper[i]) return false;
    }
    return true;
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
  /// Rows begin at multiples of 16 bytes.
  static void align(TensorBlock& b) {
    const auto elements = static_cast<std::int32_t>(16 / element_bytes(b.map.element));
    if (!is_sliced(b.map)) b.at[0] = b.at[0] / elements * elements;
  }

  void choose_layout(TensorMap& m) {
    m.mode = any(0, 2) == 0 ? TensorMap::Mode::im2col : TensorMap::Mode::tile;
    m.interleave =
        any(0, 4) != 0 ? TensorMap::Interleave::none : static_cast<TensorMap::Interleave>(any(1, 2));
    const bool deep = m.mode == TensorMap::Mode::im2col || is_sliced(m);
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
    if (is_sliced(m)) m.stride[0] = slice_bytes(m.interleave);
    auto bytes = static_cast<std::int64_t>(m.size[0] * m.stride[0]);
    for (unsigned d = 1; d < m.rank; ++d) {
      bytes = (bytes + alignment - 1) / alignment * alignment + (any(0, 3) == 0 ? alignment * any(0, 3) : 0);
      m.stride[d] = static_cast<std::uint64_t>(bytes);
      bytes *= static_cast<std::int64_t>(m.size[d]);
    }
  }
  static std::uint64_t tensor_bytes(const TensorMap& m) {
    std::uint64_t bytes = m.rank == 1 ? m.size[0] * m.stride[0] : m.size[m.rank - 1] * m.stride[m.rank - 1];
    return bytes + 32;
  }
  static std::uint64_t block_bytes(const TensorMap& m) {
    std::uint64_t bytes = row_pitch(m);
    if (m.mode == TensorMap::Mode::im2col) return bytes * m.pixels;
    for (unsigned d = is_sliced(m) ? 0 : 1; d < m.rank; ++d) bytes *= m.box[d];
    return bytes;
  }
  void choose_box(TensorBlock& b) {
    TensorMap& m = b.map;
    const auto bytes = static_cast<std::int64_t>(element_bytes(m.element));
    const std::int64_t width = m.swizzle == TensorMap::Swizzle::none ? 256 : swizzle_bytes(m.swizzle);
    m.box[0] = static_cast<std::uint32_t>(16 * any(1, width / 16) / bytes);
    // Whole rows of the tensor now and then, which the unit moves as one.
    if (!is_sliced(m) && any(0, 2) == 0 && m.size[0] * m.stride[0] % 16 == 0)
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
    m.channels = static_cast<std::uint32_t>(any(1, width / 16) * 16 / bytes);
    m.pixels = static_cast<std::uint32_t>(any(1, 80));
    const unsigned first = is_sliced(m) ? 0 : 1, spatial = m.rank - 2;
    for (unsigned d = 0; d < m.rank; ++d) b.at[d] = any(-3, static_cast<std::int64_t>(m.size[d]));
    for (unsigned i = 0; i < spatial; ++i) {
      m.lower[i] = any(-4, 3);
      m.upper[i] = any(-4, 4);
      const std::int64_t last = static_cast<std::int64_t>(m.size[first + i]) - 1 + m.upper[i];
      if (last < m.lower[i]) continue;  // empty: check() refuses it
      b.at[first + i] = any(m.lower[i], last);
      b.offset[i] = static_cast<std::uint16_t>(any(0, 4));
    }
    align(b);
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
