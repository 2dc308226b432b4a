// Stores of some lanes to shared memory, near its ends: hosts without mask registers write whole vectors
// where these lie in it, and what no lane writes stays as it is.
#include "kernel_test.h"

namespace {

class SharedEdges : public KernelTest {
 protected:
  static constexpr int kWords = 1024, kThreads = 64;

  static std::vector<std::uint32_t> expected(int first, std::uint32_t lanes, bool small) {
    std::vector<std::uint32_t> tile(kWords);
    for (int w = 0; w < kWords; ++w) tile[w] = 3 * w;
    const auto stores = [&](int t, int w) { return w >= 0 && w < kWords && (lanes >> t % 32 & 1) != 0; };
    for (int t = 0; t < kThreads; ++t)
      if (const int w = t + first; stores(t, w)) tile[w] = small ? t | t << 16 : t;
    for (int t = 0; t < kThreads; ++t)
      if (const int w = 2 * t + first; stores(t, w)) tile[w] = t + 5000;
    return tile;
  }
};
ON_EVERY_ENGINE(SharedEdges);

TEST_P(SharedEdges, OnlyWhatLanesWriteChanges) {
  for (const int first : {0, 3, 500, -20, -32, -127, 930, 992, 1000, 1023})
    for (const std::uint32_t lanes : {0xffffffffu, 0x00000001u, 0x80000000u, 0x5a3c0ff1u})
      for (const bool small : {false, true}) {
        auto out = buffer(std::vector<std::uint32_t>(kWords));
        run(kernel("shared_edges.ptx", "store_some"), {.grid = {1}, .block = {kThreads}}, out, first, lanes,
            std::uint32_t{small});
        EXPECT_EQ(contents(out), expected(first, lanes, small)) << first << " " << lanes << " " << small;
      }
}

TEST_P(SharedEdges, NothingLiesBeforeIt) {
  auto out = buffer(std::vector<std::uint32_t>(32));
  run(kernel("shared_edges.ptx", "store_first"), {.grid = {1}, .block = {32}, .shared_bytes = 1024}, out);
  std::vector<std::uint32_t> want;
  for (std::uint32_t t = 0; t < 32; ++t) want.push_back(t < 10 ? 0 : t);
  EXPECT_EQ(contents(out), want);
}

}  // namespace
