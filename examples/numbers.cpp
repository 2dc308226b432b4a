// Examples that compute with numbers alone: Fourier transforms and random numbers from a counter.
#include <algorithm>
#include <array>
#include <complex>

#include "example.h"

namespace examples {
namespace {

/// In place, sorted, in double precision: radix 2, by recursion.
void transform(std::vector<std::complex<double>>& data) {
  const std::size_t n = data.size();
  if (n == 1) return;
  std::vector<std::complex<double>> even(n / 2), odd(n / 2);
  for (std::size_t i = 0; i < n / 2; ++i) even[i] = data[2 * i], odd[i] = data[2 * i + 1];
  transform(even);
  transform(odd);
  for (std::size_t i = 0; i < n / 2; ++i) {
    const std::complex<double> turned =
        std::polar(1.0, -2 * M_PI * static_cast<double>(i) / static_cast<double>(n)) * odd[i];
    data[i] = even[i] + turned;
    data[i + n / 2] = even[i] - turned;
  }
}

Example fft(Size size, int n) {
  const int batch = size == Size::small ? 5 : (2 << 20) / n + 1;
  const std::vector<float> in = random_floats(40, std::size_t{2} * n * batch, -1, 1);
  Example example{"fft_" + std::to_string(n), "fft", {to_bytes(in), unwritten(in.size() * sizeof(float))}};
  example.steps = {{"fft",
                    {static_cast<unsigned>(batch), 1, 1},
                    {static_cast<unsigned>(n / 4), 1, 1},
                    {BufferRef{0}, BufferRef{1}, n},
                    static_cast<unsigned>(n) * 8}};
  example.work = 5e-9 * n * std::log2(n) * batch;  // as FFTs are usually counted
  example.unit = "GFLOP/s";
  example.check = [in, n](const std::vector<Bytes>& results) {
    std::vector<double> want;
    for (std::size_t start = 0; start < in.size(); start += 2 * n) {
      std::vector<std::complex<double>> data;
      for (int i = 0; i < n; ++i) data.emplace_back(in[start + 2 * i], in[start + 2 * i + 1]);
      transform(data);
      for (const std::complex<double>& value : data) want.insert(want.end(), {value.real(), value.imag()});
    }
    return check_floats(from_bytes<float>(results[1]), want, 1e-5, 2e-6 * std::sqrt(n) * std::log2(n));
  };
  return example;
}

using Words4 = std::array<std::uint32_t, 4>;
using Words2 = std::array<std::uint32_t, 2>;

Words4 philox(Words4 counter, Words2 key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0],
                        b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

/// The known answers that the authors of Philox publish.
Example philox_known() {
  constexpr std::uint32_t kOnes = 0xffffffff;
  const std::vector<Words4> counters = {
      {}, {kOnes, kOnes, kOnes, kOnes}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}};
  const std::vector<Words2> keys = {{}, {kOnes, kOnes}, {0xa4093822, 0x299f31d0}};
  const std::vector<std::uint32_t> want = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8,
                                           0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd,
                                           0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  Example example{"philox_known", "philox", {to_bytes(counters), to_bytes(keys), unwritten(want.size() * 4)}};
  example.steps = {{"philox_each", {1, 1, 1}, {32, 1, 1}, {BufferRef{0}, BufferRef{1}, BufferRef{2}, 3}}};
  example.work = 1e-6 * 3;
  example.unit = "Mdraw/s";
  example.check = [want](const std::vector<Bytes>& results) {
    return check_words(from_bytes<std::uint32_t>(results[2]), want);
  };
  return example;
}

Example philox_fill(Size size, unsigned threads) {
  const int n = size == Size::small ? 5003 : 2000003, seed = 2024;
  Example example{"philox_fill", "philox", {unwritten(std::size_t{16} * n)}};
  example.steps = {{"philox_fill", {blocks_for(n, threads), 1, 1}, {threads, 1, 1}, {BufferRef{0}, seed, n}}};
  example.work = 1e-6 * n;
  example.unit = "Mdraw/s";
  example.check = [n](const std::vector<Bytes>& results) {
    std::vector<std::uint32_t> want;
    for (int i = 0; i < n; ++i) {
      const Words4 words = philox({static_cast<std::uint32_t>(i)}, {seed});
      want.insert(want.end(), words.begin(), words.end());
    }
    return check_words(from_bytes<std::uint32_t>(results[0]), want);
  };
  return example;
}

Example philox_pi(Size size, unsigned threads) {
  const int n = size == Size::small ? 10007 : 5000011, seed = 7;
  Example example{"philox_pi", "philox", {Bytes(sizeof(std::uint32_t))}};
  example.steps = {
      {"philox_pi", {size == Size::small ? 7u : 250u, 1, 1}, {threads, 1, 1}, {BufferRef{0}, seed, n}}};
  example.work = 1e-6 * n;
  example.unit = "Mdraw/s";
  example.check = [n](const std::vector<Bytes>& results) {
    const auto unit = [](std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; };
    const auto hits = [](float x, float y) { return std::fma(x, x, y * y) < 1.0f; };  // as nvcc fuses it
    std::uint32_t want = 0;
    for (int i = 0; i < n; ++i) {
      const Words4 w = philox({static_cast<std::uint32_t>(i), 0, 0, 1}, {seed});
      want += hits(unit(w[0]), unit(w[1])) + hits(unit(w[2]), unit(w[3]));
    }
    return check_words(from_bytes<std::uint32_t>(results[0]), {want});
  };
  return example;
}

}  // namespace

std::vector<Example> make_number_examples(Size size, unsigned threads) {
  std::vector<Example> all = {fft(size, 1024), fft(size, 2048), philox_known(), philox_fill(size, threads),
                              philox_pi(size, threads)};
  if (size ==
      Size::small) {  // every size that fits a block: blocks of 1 to 1024 threads, most not whole warps
    for (const int n : {4, 8, 16, 32, 64, 128, 256, 512, 4096}) all.push_back(fft(size, n));
  }
  return all;
}

}  // namespace examples
