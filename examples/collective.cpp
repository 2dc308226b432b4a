// Examples in which the threads of a block work together: reduction, single-pass scan, histogram, bitonic
// sort, softmax, layer normalisation.
#include <algorithm>
#include <array>

#include "example.h"

namespace examples {
namespace {

Example reduction(Size size) {
  const int n = size == Size::small ? 50001 : 8000001, blocks = size == Size::small ? 13 : 250;
  const std::vector<float> in = random_floats(11, n, 0, 1);
  Example example{"reduction", "reduction", {to_bytes(in), unwritten((blocks + 1) * sizeof(float))}};
  const std::size_t result_offset = blocks * sizeof(float);
  example.steps = {
      {"reduce_sum", {static_cast<unsigned>(blocks), 1, 1}, {256, 1, 1}, {BufferRef{0}, BufferRef{1}, n}},
      {"reduce_sum", {1, 1, 1}, {256, 1, 1}, {BufferRef{1}, BufferRef{1, result_offset}, blocks}}};
  example.work = 4e-9 * n;
  example.unit = "GB/s";
  example.check = [in, blocks](const std::vector<Bytes>& results) {
    double sum = 0;
    for (const float value : in) sum += value;
    return check_floats({from_bytes<float>(results[1])[blocks]}, {sum}, 1e-5, 0);
  };
  return example;
}

Example scan_lookback(Size size, unsigned threads) {
  constexpr long kItems = 16;  // of the kernel
  const int n = size == Size::small ? 40012 : 2000004;
  const unsigned tiles = blocks_for(n, kItems * threads);
  const std::vector<std::uint32_t> in = random_words(12, n);  // sums wrap, as unsigned ones do
  Example example{"scan_lookback",
                  "scan_lookback",
                  {to_bytes(in), unwritten(n * sizeof(std::uint32_t)), Bytes(tiles * sizeof(std::uint64_t)),
                   Bytes(sizeof(std::uint32_t))}};
  example.steps = {{"scan_lookback",
                    {tiles, 1, 1},
                    {threads, 1, 1},
                    {BufferRef{0}, BufferRef{1}, BufferRef{2}, BufferRef{3}, n}}};
  example.work = 8e-9 * n;
  example.unit = "GB/s";
  example.check = [in](const std::vector<Bytes>& results) {
    std::vector<std::uint32_t> want(in.size());
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < in.size(); ++i) want[i] = sum += in[i];
    return check_words(from_bytes<std::uint32_t>(results[1]), want);
  };
  return example;
}

Example histogram(Size size) {
  const int words = size == Size::small ? 5003 : 4000003;
  const std::vector<std::uint32_t> in = random_words(13, words);
  Example example{"histogram", "histogram", {to_bytes(in), Bytes(256 * sizeof(std::uint32_t))}};
  example.steps = {{"histogram",
                    {size == Size::small ? 5u : 250u, 1, 1},
                    {256, 1, 1},
                    {BufferRef{0}, BufferRef{1}, words}}};
  example.work = 4e-6 * words;
  example.unit = "Mbyte/s";
  example.check = [in](const std::vector<Bytes>& results) {
    std::vector<std::uint32_t> want(256);
    for (const std::uint32_t word : in) {
      for (int shift = 0; shift < 32; shift += 8) ++want[word >> shift & 255];
    }
    return check_words(from_bytes<std::uint32_t>(results[1]), want);
  };
  return example;
}

Example bitonic_sort(Size size) {
  constexpr int kRun = 1024;
  const unsigned runs = size == Size::small ? 3 : 700;
  const std::vector<std::uint32_t> keys = random_words(14, runs * kRun);
  Example example{"bitonic_sort", "bitonic_sort", {to_bytes(keys)}};
  example.steps = {{"bitonic_sort", {runs, 1, 1}, {512, 1, 1}, {BufferRef{0}}}};
  example.work = 1e-6 * runs * kRun;
  example.unit = "Mkey/s";
  example.check = [keys](const std::vector<Bytes>& results) {
    std::vector<std::uint32_t> want = keys;
    for (std::size_t run = 0; run < want.size(); run += kRun) {
      std::sort(want.begin() + static_cast<long>(run), want.begin() + static_cast<long>(run + kRun));
    }
    return check_words(from_bytes<std::uint32_t>(results[0]), want);
  };
  return example;
}

/// The two 16-bit formats, as bits.
struct Half {
  static std::uint16_t encode(float value) {
    const _Float16 half = static_cast<_Float16>(value);
    std::uint16_t bits;
    std::memcpy(&bits, &half, sizeof(bits));
    return bits;
  }
  static float decode(std::uint16_t bits) {
    _Float16 half;
    std::memcpy(&half, &bits, sizeof(bits));
    return static_cast<float>(half);
  }
};
struct Bfloat {
  static std::uint16_t encode(float value) {  // truncation: any input will do
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return static_cast<std::uint16_t>(bits >> 16);
  }
  static float decode(std::uint16_t bits) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
};

std::vector<double> exact_softmax(const std::vector<float>& in, int columns) {
  std::vector<double> out(in.size());
  for (std::size_t row = 0; row < in.size(); row += columns) {
    const double maximum = *std::max_element(&in[row], &in[row] + columns);
    double sum = 0;
    for (int i = 0; i < columns; ++i) sum += out[row + i] = std::exp(in[row + i] - maximum);
    for (int i = 0; i < columns; ++i) out[row + i] /= sum;
  }
  return out;
}

/// @param relative  error allowed for rounding to the format: half a unit in the last place, and a little
template <class Format>
Example softmax(Size size, const std::string& kernel, double relative) {
  const int columns = size == Size::small ? 300 : 1000, rows = size == Size::small ? 4 : 1000;
  std::vector<std::uint16_t> in;
  std::vector<float> values;
  for (const float value : random_floats(15, static_cast<std::size_t>(columns) * rows, -8, 8)) {
    in.push_back(Format::encode(value));
    values.push_back(Format::decode(in.back()));
  }
  Example example{kernel, "softmax", {to_bytes(in), unwritten(in.size() * 2)}};
  example.steps = {
      {kernel, {static_cast<unsigned>(rows), 1, 1}, {256, 1, 1}, {BufferRef{0}, BufferRef{1}, columns}}};
  example.work = 1e-6 * columns * rows;
  example.unit = "Melement/s";
  example.check = [values, columns, relative](const std::vector<Bytes>& results) {
    std::vector<float> got;
    for (const std::uint16_t bits : from_bytes<std::uint16_t>(results[1]))
      got.push_back(Format::decode(bits));
    return check_floats(got, exact_softmax(values, columns), relative, 0x1p-24);  // half has subnormals there
  };
  return example;
}

Example layer_norm(Size size, unsigned threads) {
  const int columns = size == Size::small ? 301 : 1023, rows = size == Size::small ? 5 : 2000;
  const float epsilon = 1e-5f;
  const std::vector<float> in = random_floats(18, static_cast<std::size_t>(columns) * rows, 99, 101),
                           scale = random_floats(19, columns, 0.5f, 2),
                           shift = random_floats(20, columns, -1, 1);
  Example example{"layer_norm",
                  "layer_norm",
                  {to_bytes(in), to_bytes(scale), to_bytes(shift), unwritten(in.size() * sizeof(float))}};
  example.steps = {{"layer_norm",
                    {static_cast<unsigned>(rows), 1, 1},
                    {threads, 1, 1},
                    {BufferRef{0}, BufferRef{1}, BufferRef{2}, BufferRef{3}, columns, epsilon}}};
  example.work = 1e-6 * columns * rows;
  example.unit = "Melement/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::vector<double> want(in.size());
    for (std::size_t row = 0; row < in.size(); row += columns) {
      double mean = 0, variance = 0;
      for (int c = 0; c < columns; ++c) mean += in[row + c] / columns;
      for (int c = 0; c < columns; ++c) variance += (in[row + c] - mean) * (in[row + c] - mean) / columns;
      const double factor = 1 / std::sqrt(variance + epsilon);
      for (int c = 0; c < columns; ++c) want[row + c] = (in[row + c] - mean) * factor * scale[c] + shift[c];
    }
    return check_floats(from_bytes<float>(results[3]), want, 1e-4, 1e-4);
  };
  return example;
}

}  // namespace

std::vector<Example> make_collective_examples(Size size, unsigned threads) {
  return {reduction(size),
          scan_lookback(size, threads),
          histogram(size),
          bitonic_sort(size),
          softmax<Half>(size, "softmax_half", 1.02 * 0x1p-11),
          softmax<Bfloat>(size, "softmax_bf16", 1.02 * 0x1p-8),
          layer_norm(size, threads)};
}

}  // namespace examples
