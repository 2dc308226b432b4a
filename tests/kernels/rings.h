// The shape of the rings (rings.cu) and what they compute, for kernels and callers.
#pragma once

#include <utility>
#include <vector>

namespace rings {

constexpr int kStages = 2, kConsumers = 64, kThreads = kConsumers + 32;
constexpr int kColumns = 32, kRows = 4, kTile = kColumns * kRows;

/// A tensor of u32 whose last tiles stick out.
struct Tensor {
  int tiles_x, tiles_y;
  int width() const { return tiles_x * kColumns - 4; }
  int height() const { return tiles_y * kRows - 1; }
  int elements() const { return width() * height(); }
  int tiles() const { return tiles_x * tiles_y; }
  /// @returns the index of a tile's element; -1: outside
  int place(int tile, int i) const {
    const int x = tile % tiles_x * kColumns + i % kColumns, y = tile / tiles_x * kRows + i / kColumns;
    return x < width() && y < height() ? y * width() + x : -1;
  }
};

/// Writes to `out` what a CTA computes of every `step`-th tile.
/// @param seed  what its threads begin with
/// @returns what its two warps find in memory at their end
template <class Numbers>
std::pair<unsigned, unsigned> compute(const Tensor& tensor, const Numbers& in, unsigned* out, unsigned seed,
                                      int first, int step) {
  std::vector<unsigned> carry(kConsumers, seed);
  const auto value = [&](int tile, int i) {
    return tensor.place(tile, i) < 0 ? 0u : in[tensor.place(tile, i)];
  };
  int last = first;
  for (int tile = first; tile < tensor.tiles(); tile += step) {
    last = tile;
    for (int i = 0; i < kTile; ++i) {
      unsigned& made = carry[i % kConsumers];
      made = made * 5 + value(tile, i) + 3 * value(tile, kTile - 1 - i);
      if (tensor.place(tile, i) >= 0) out[tensor.place(tile, i)] = made;
    }
  }
  return {out[tensor.place(last, 0)], out[tensor.place(last, kTile / 2)]};
}

}  // namespace rings
