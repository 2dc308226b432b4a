// Examples whose blocks wait for one another: radix sort with look-back, producers and consumers, scans by
// clusters.
#include <algorithm>
#include <numeric>
#include <utility>

#include "example.h"

namespace examples {
namespace {

Example radix_sort(Size size, unsigned threads) {
  threads = std::max(threads, 256u);
  const int n = size == Size::small ? 20011 : 1000003;
  std::vector<std::uint32_t> keys = random_words(50, n), order(n);
  for (int i = 0; i < n; i += 3) keys[i] &= 0xff00ff;  // equal keys: their order must stay
  std::iota(order.begin(), order.end(), 0u);
  const unsigned tiles = blocks_for(n, 16l * threads);
  constexpr std::size_t kCounts = 256 * sizeof(std::uint32_t);
  Example example{"radix_sort",
                  "radix_sort",
                  {to_bytes(keys), to_bytes(order), unwritten(4ul * n), unwritten(4ul * n),
                   Bytes(4 * kCounts), Bytes(4 * tiles * kCounts), Bytes(4 * sizeof(std::uint32_t))}};
  example.steps = {{"radix_count",
                    {size == Size::small ? 5u : 200u, 1, 1},
                    {threads, 1, 1},
                    {BufferRef{0}, BufferRef{4}, n}},
                   {"radix_starts", {4, 1, 1}, {256, 1, 1}, {BufferRef{4}}}};
  for (int pass = 0; pass < 4; ++pass) {
    const int from = pass % 2 * 2, to = 2 - from;
    example.steps.push_back({"radix_pass",
                             {tiles, 1, 1},
                             {threads, 1, 1},
                             {BufferRef{from}, BufferRef{from + 1}, BufferRef{to}, BufferRef{to + 1},
                              BufferRef{4, pass * kCounts}, BufferRef{5, pass * tiles * kCounts},
                              BufferRef{6, pass * sizeof(std::uint32_t)}, pass, n}});
  }
  example.work = 1e-6 * n;
  example.unit = "Mkey/s";
  example.check = [keys, order](const std::vector<Bytes>& results) {
    std::vector<std::uint32_t> want_order = order, want_keys;
    std::sort(want_order.begin(), want_order.end(),
              [&](auto a, auto b) { return std::pair(keys[a], a) < std::pair(keys[b], b); });
    for (const std::uint32_t i : want_order) want_keys.push_back(keys[i]);
    const CheckResult sorted = check_words(from_bytes<std::uint32_t>(results[0]), want_keys);
    return sorted.ok ? check_words(from_bytes<std::uint32_t>(results[1]), want_order) : sorted;
  };
  return example;
}

Example ring_buffer(Size size, unsigned threads) {
  const int items = size == Size::small ? 700 : 5000, slots = 5;
  Example example{
      "ring_buffer", "ring_buffer", {Bytes(slots * 8), Bytes(2 * 4), Bytes(sizeof(std::uint64_t))}};
  // More blocks than one core runs at once, and than a small machine holds.
  example.steps = {{"ring_buffer",
                    {size == Size::small ? 40u : 400u, 1, 1},
                    {threads, 1, 1},
                    {BufferRef{0}, slots, BufferRef{1}, items, BufferRef{2}}}};
  example.work = 1e-3 * items;
  example.unit = "kitem/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::uint64_t sum = 0;
    for (std::uint32_t ticket = 0; ticket < static_cast<std::uint32_t>(items); ++ticket) {
      for (std::uint32_t thread = 0; thread < threads; ++thread) sum += ticket * 2654435761u ^ thread;
    }
    return check_words(from_bytes<std::uint32_t>(results[2]),
                       {static_cast<std::uint32_t>(sum), static_cast<std::uint32_t>(sum >> 32)});
  };
  return example;
}

Example cluster_scan(Size size, unsigned threads) {
  constexpr unsigned kCluster = 8, kItems = 16;  // the latter of the kernel
  const int n = size == Size::small ? 40012 : 1000004;
  const std::vector<std::uint32_t> values = random_words(51, n);
  const unsigned run = kCluster * kItems * threads, clusters = blocks_for(n, run);
  Example example{"cluster_scan", "cluster_scan", {to_bytes(values), unwritten(4ul * n)}};
  example.steps = {{"cluster_scan",
                    {clusters * kCluster, 1, 1},
                    {threads, 1, 1},
                    {BufferRef{0}, BufferRef{1}, n},
                    0,
                    kCluster}};
  example.work = 8e-9 * n;
  example.unit = "GB/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::vector<std::uint32_t> want = values;
    for (std::size_t i = 1; i < want.size(); ++i)
      if (i % run != 0) want[i] += want[i - 1];
    return check_words(from_bytes<std::uint32_t>(results[1]), want);
  };
  return example;
}

}  // namespace

std::vector<Example> make_cooperating_examples(Size size, unsigned threads) {
  return {radix_sort(size, threads), ring_buffer(size, threads), cluster_scan(size, threads)};
}

}  // namespace examples
