// Examples of Hopper's asynchronous copies: the tensor memory access unit in its modes, im2col, multicast,
// rings of mbarriers, stores to other blocks.
#include "example.h"

namespace examples {
namespace {

using Words = std::vector<std::uint32_t>;

Example tma_copies(Size size, unsigned threads) {
  const unsigned width = size == Size::small ? 100 : 2004, height = size == Size::small ? 45 : 1001;
  const std::vector<float> in = random_floats(60, std::size_t{width} * height, -1, 1);
  const unsigned pieces = size == Size::small ? 7 : 500, piece = 3072;  // bytes
  const Words words = random_words(61, std::size_t{pieces} * piece / 4);
  Example example{
      "tma_copies",
      "tma_copies",
      {to_bytes(in), unwritten(in.size() * 4), to_bytes(words), unwritten(words.size() * 4), Bytes(piece)}};
  const TensorMapOf from{{0}, TensorMapOf::f32, {width, height}, {32, 32}},
      to{{1}, TensorMapOf::f32, {width, height}, {32, 32}};
  const unsigned columns = blocks_for(width, 32), rows = blocks_for(height, 32);
  example.steps = {{"copy_tiles", {columns, rows, 1}, {32, 1, 1}, {from, to}},
                   {"add_tiles", {columns, rows, 1}, {threads, 1, 1}, {from, to}},
                   {"copy_bytes",
                    {pieces, 1, 1},
                    {32, 1, 1},
                    {BufferRef{2}, BufferRef{3}, BufferRef{4}, static_cast<std::int32_t>(piece)}}};
  example.work = 1e-9 * (16.0 * static_cast<double>(in.size()) + 8.0 * static_cast<double>(words.size()));
  example.unit = "GB/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::vector<double> want;
    for (const float value : in) want.push_back(value + 2 * value);
    const CheckResult tiles = check_floats(from_bytes<float>(results[1]), want, 1e-6, 0);
    if (!tiles.ok) return tiles;
    if (const CheckResult copied = check_words(from_bytes<std::uint32_t>(results[3]), words); !copied.ok)
      return copied;
    Words total(piece / 4);
    for (std::size_t i = 0; i < words.size(); ++i) total[i % total.size()] += words[i];
    const CheckResult added = check_words(from_bytes<std::uint32_t>(results[4]), total);
    return added.ok ? tiles : added;
  };
  return example;
}

Example im2col(Size size, unsigned threads) {
  constexpr unsigned kChannels = 8, kResults = 8, kPixels = 64;
  const unsigned images = size == Size::small ? 2 : 5, height = size == Size::small ? 7 : 56,
                 width = size == Size::small ? 9 : 57;
  const unsigned pixels = images * height * width;
  const std::vector<float> in = random_floats(62, std::size_t{pixels} * kChannels, -1, 1);
  const std::vector<float> filter = random_floats(63, 9 * kChannels * kResults, -1, 1);
  Example example{
      "im2col", "im2col", {to_bytes(in), to_bytes(filter), unwritten(std::size_t{pixels} * kResults * 4)}};
  // The corner of a 3 x 3 filter runs from -1 to the last pixel but one.
  const TensorMapOf map{.tensor = {0},
                        .element = TensorMapOf::f32,
                        .sizes = {kChannels, width, height, images},
                        .lower = {-1, -1},
                        .upper = {-1, -1},
                        .channels = kChannels,
                        .pixels = kPixels};
  example.steps = {{"im2col",
                    {blocks_for(pixels, kPixels), 1, 1},
                    {threads, 1, 1},
                    {map, BufferRef{1}, BufferRef{2}, static_cast<std::int32_t>(width),
                     static_cast<std::int32_t>(height), static_cast<std::int32_t>(pixels)}}};
  example.work = 1e-9 * 2 * 9 * kChannels * kResults * pixels;
  example.unit = "GFLOP/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::vector<double> want(std::size_t{pixels} * kResults);
    for (unsigned pixel = 0; pixel < pixels; ++pixel)
      for (unsigned place = 0; place < 9; ++place) {
        const unsigned x = pixel % width + place % 3 - 1, y = pixel / width % height + place / 3 - 1;
        if (x >= width || y >= height) continue;
        const unsigned from = (pixel / width / height * height + y) * width + x;
        for (unsigned c = 0; c < kChannels; ++c)
          for (unsigned result = 0; result < kResults; ++result)
            want[pixel * kResults + result] +=
                double{in[from * kChannels + c]} * filter[(place * kChannels + c) * kResults + result];
      }
    return check_floats(from_bytes<float>(results[2]), want, 1e-5, 1e-5);
  };
  return example;
}

Example multicast_transpose(Size size, unsigned threads) {
  constexpr unsigned kCluster = 4;
  const unsigned width = size == Size::small ? 100 : 1500,
                 height = size == Size::small ? 68 : 1204;  // rows of 16 bytes
  const Words in = random_words(64, std::size_t{width} * height);
  Example example{"multicast_transpose", "multicast_transpose", {to_bytes(in), unwritten(in.size() * 4)}};
  example.steps = {{"multicast_transpose",
                    {blocks_for(width, 32) * kCluster, blocks_for(height, 32), 1},
                    {threads, 1, 1},
                    {TensorMapOf{{0}, TensorMapOf::u32, {width, height}, {32, 32 / kCluster}},
                     TensorMapOf{{1}, TensorMapOf::u32, {height, width}, {32, 32 / kCluster}}},
                    0,
                    kCluster}};
  example.work = 8e-9 * static_cast<double>(in.size());
  example.unit = "GB/s";
  example.check = [=](const std::vector<Bytes>& results) {
    Words want(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) want[i % width * height + i / width] = in[i];
    return check_words(from_bytes<std::uint32_t>(results[1]), want);
  };
  return example;
}

Example barrier_ring(Size size) {
  const unsigned width = size == Size::small ? 256 : 1024, rows = size == Size::small ? 40 : 1000;
  const std::vector<float> in = random_floats(65, std::size_t{width} * rows, -1, 1);
  Example example{"barrier_ring", "barrier_ring", {to_bytes(in), unwritten(in.size() * 4)}};
  example.steps = {
      {"barrier_ring",
       {width / 128, 1, 1},
       {160, 1, 1},
       {BufferRef{0}, BufferRef{1}, static_cast<std::int32_t>(width), static_cast<std::int32_t>(rows)}}};
  example.work = 8e-9 * static_cast<double>(in.size());
  example.unit = "GB/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::vector<double> want(in.begin(), in.end());
    for (std::size_t i = width; i < want.size(); ++i) want[i] += 0.5 * want[i - width];
    return check_floats(from_bytes<float>(results[1]), want, 1e-5, 1e-5);
  };
  return example;
}

Example halo_exchange(Size size, unsigned threads) {
  constexpr unsigned kCluster = 4;
  const unsigned rods = size == Size::small ? 3 : 60;
  const int steps = size == Size::small ? 9 : 200;
  const unsigned cells = kCluster * threads;  // of a rod
  const std::vector<float> in = random_floats(66, std::size_t{rods} * cells, 0, 1);
  Example example{"halo_exchange", "halo_exchange", {to_bytes(in), unwritten(in.size() * 4)}};
  example.steps = {{"halo_exchange",
                    {rods * kCluster, 1, 1},
                    {threads, 1, 1},
                    {BufferRef{0}, BufferRef{1}, steps},
                    0,
                    kCluster}};
  example.work = 1e-6 * static_cast<double>(in.size()) * steps;
  example.unit = "Mcell/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::vector<double> want(in.begin(), in.end());
    for (int step = 0; step < steps; ++step) {
      const std::vector<double> now = want;
      for (std::size_t i = 0; i < want.size(); ++i) {
        const double before = i % cells == 0 ? 0 : now[i - 1], after = (i + 1) % cells == 0 ? 0 : now[i + 1];
        want[i] = now[i] + 0.25 * (before - 2 * now[i] + after);
      }
    }
    return check_floats(from_bytes<float>(results[1]), want, 1e-5, 1e-5);
  };
  return example;
}

}  // namespace

std::vector<Example> make_asynchronous_examples(Size size, unsigned threads) {
  return {tma_copies(size, threads), im2col(size, threads), multicast_transpose(size, threads),
          barrier_ring(size), halo_exchange(size, threads)};
}

}  // namespace examples
