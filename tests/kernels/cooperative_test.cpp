// Cooperative launches on every engine: barriers over a grid, grids that fill the device, tiles of several
// warps.
#include <numeric>

#include "kernel_test.h"

namespace {

class Cooperative : public KernelTest {};
ON_EVERY_ENGINE(Cooperative);

using Values = std::vector<int>;

// proves: K-7e
TEST_P(Cooperative, BlocksMeetAtABarrierOfTheGrid) {
  for (auto [blocks, threads, n] : {std::tuple{1u, 32u, 40}, {7u, 96u, 2000}, {64u, 64u, 5000}}) {
    Values a(static_cast<std::size_t>(n));
    std::iota(a.begin(), a.end(), 3);
    auto first = buffer(a), second = buffer(Values(a.size()));
    run(kernel("cooperative.ptx", "rounds"), {.grid = {blocks}, .block = {threads}, .cooperative = true},
        first, second, n, 5);
    for (int r = 0; r < 5; ++r) {
      Values next(a.size());
      for (int i = 0; i < n; ++i)
        next[i] =
            static_cast<int>(static_cast<unsigned>(a[i]) + static_cast<unsigned>(a[(i + n / 2 + r) % n]));
      a = next;
    }
    EXPECT_EQ(contents(second), a) << blocks << " blocks";
  }
}

// As many blocks as the device holds at once: far more than there are workers, all of them wait for one
// another.
// proves: W-3h
TEST_P(Cooperative, AGridMayFillTheDevice) {
  options_.shape = "tiny";
  const raddle::Kernel meet = kernel("cooperative.ptx", "meet");
  const std::uint32_t most = meet.blocks_per_sm(64) * device().properties().sm_count;
  ASSERT_GT(most, 2 * device().properties().workers);
  auto arrived = buffer(Values(most + 1)), missing = buffer(Values(1));
  run(meet, {.grid = {most}, .block = {64}, .cooperative = true}, arrived, missing, 4);
  EXPECT_EQ(contents(missing)[0], 0);
  const auto too_large =
      try_run(meet, {.grid = {most + 1}, .block = {64}, .cooperative = true}, arrived, missing, 4);
  ASSERT_FALSE(too_large.ok());
  EXPECT_EQ(too_large.error().code, raddle::ErrorCode::too_large);
}

// Two grids that each want more than half of the device: neither may keep what the other waits for.
// proves: W-3g, W-3h
TEST_P(Cooperative, LargeGridsInTwoStreamsTakeTurns) {
  options_.shape = "tiny";
  const raddle::Kernel meet = kernel("cooperative.ptx", "meet");
  const std::uint32_t blocks = meet.blocks_per_sm(64) * device().properties().sm_count * 3 / 4;
  auto arrived = buffer(Values(2 * blocks)), missing = buffer(Values(1));
  auto left = device().stream(), right = device().stream();
  ASSERT_TRUE(left.ok() && right.ok());
  for (int round = 0; round < 4; ++round) {
    for (raddle::Stream* stream : {&*left, &*right}) {
      const auto half = arrived.address() + (stream == &*right ? blocks * sizeof(int) : 0);
      auto launched = kernel("cooperative.ptx", "meet")
                          .launch({.grid = {blocks}, .block = {64}, .stream = stream, .cooperative = true},
                                  half, missing, 2);
      ASSERT_TRUE(launched.ok()) << launched.error().to_string();
    }
  }
  ASSERT_TRUE(device().synchronize().ok());
  EXPECT_EQ(contents(missing)[0], 0);
}

TEST_P(Cooperative, OnlyACooperativeGridHasAWorkspace) {
  auto answer = buffer(Values{-1});
  run(kernel("cooperative.ptx", "is_cooperative"), {}, answer);
  EXPECT_EQ(contents(answer)[0], 0);
  run(kernel("cooperative.ptx", "is_cooperative"), {.cooperative = true}, answer);
  EXPECT_EQ(contents(answer)[0], 1);
}

TEST_P(Cooperative, TilesOfSeveralWarps) {
  Values in(256);
  for (int t = 0; t < 256; ++t) in[t] = t * 37 % 101;
  Values want(256);
  for (int t = 0; t < 256; ++t) {
    const int tile = t / 64;
    const auto start = in.begin() + tile * 64;
    const auto wide = in.begin() + t / 128 * 128;
    want[t] = std::accumulate(start, start + 64, 0) + in[tile * 64 + 37] +
              (std::count(wide, wide + 128, 77) != 0) * 1000000 + 100000 * tile;
  }
  for (int round = 0; round < 2; ++round) {  // the second run finds the first one's data
    auto a = buffer(in), out = buffer(Values(256 * 3));
    run(kernel("cooperative.ptx", "wide_tiles"), {.grid = {3}, .block = {256}}, a, out);
    Values first = contents(out);
    first.resize(256);
    EXPECT_EQ(first, want);
  }
}

}  // namespace
