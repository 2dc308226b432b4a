// mbarriers on every engine: rings, lanes that wait, clusters; and waits that nobody can end.
#include <gmock/gmock.h>

#include <numeric>

#include "kernel_test.h"

namespace {

using testing::HasSubstr;

class Mbarriers : public KernelTest {};
ON_EVERY_ENGINE(Mbarriers);

std::vector<int> one_to(std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST_P(Mbarriers, CarryARing) {
  for (auto [blocks, warps] : {std::pair{1u, 2u}, {3u, 2u}, {7u, 2u}}) {
    constexpr int kTiles = 23;
    const auto in = one_to(blocks * kTiles * 32);
    auto a = buffer(in), out = buffer(std::vector<int>(in.size()));
    run(kernel("mbarriers.ptx", "ring"), {.grid = {blocks}, .block = {warps * 32}}, a, out, kTiles);
    auto want = in;
    for (int& v : want) v *= 3;
    EXPECT_EQ(contents(out), want) << blocks << ' ' << warps;
  }
}

TEST_P(Mbarriers, OneLaneMayWaitForItsWarp) {
  for (int at_warp : {0, 1})
    for (unsigned blocks : {1u, 5u}) {
      auto out = buffer(std::vector<int>(32));
      run(kernel("mbarriers.ptx", "one_lane_waits"), {.grid = {blocks}, .block = {64}}, out, at_warp);
      std::vector<int> want(32);
      std::iota(want.begin(), want.end(), 32);
      EXPECT_EQ(contents(out), want) << at_warp;
    }
}

TEST_P(Mbarriers, LanesMayWaitForEachOther) {
  auto out = buffer(std::vector<int>(32));
  run(kernel("mbarriers.ptx", "lanes_wait"), {.grid = {1}, .block = {32}}, out);
  std::vector<int> want(32);
  for (int t = 0; t < 32; ++t) want[t] = 31 - t;
  EXPECT_EQ(contents(out), want);
}

TEST_P(Mbarriers, BarriersOfLibcuHavePhases) {
  for (unsigned threads : {32u, 40u, 256u}) {
    auto out = buffer(std::vector<int>(threads));
    run(kernel("mbarriers.ptx", "phases"), {.grid = {1}, .block = {threads}}, out, 7);
    std::vector<int> want(threads);
    for (unsigned t = 0; t < threads; ++t)
      want[t] = static_cast<int>((t + 7) % threads + (t % 2 == 0 ? (t + 2) % threads : 0));
    EXPECT_EQ(contents(out), want) << threads;
  }
}

// K-4: what waits is whoever does nothing else.
TEST_P(Mbarriers, WhoWorksBetweenPollsIsNotSuspended) {
  auto out = buffer(std::vector<int>(1));
  run(kernel("mbarriers.ptx", "works_while_waiting"), {.grid = {1}, .block = {64}}, out);
  EXPECT_GE(contents(out)[0], 10);
  run(kernel("mbarriers.ptx", "gives_up"), {.grid = {1}, .block = {64}}, out, 1000);
  EXPECT_EQ(contents(out)[0], 1000);
}

TEST_P(Mbarriers, CtasOfAClusterArriveAtEachOthers) {
  for (unsigned workers : {1u, 2u}) {
    close();
    options_.workers = workers;
    for (unsigned threads : {32u, 64u}) {
      auto out = buffer(std::vector<int>(8 * threads));
      run(kernel("mbarriers.ptx", "around"), {.grid = {8}, .block = {threads}}, out, 9);
      std::vector<int> want;
      for (unsigned b = 0; b < 8; ++b)
        for (unsigned t = 0; t < threads; ++t) want.push_back(static_cast<int>((b + 3) % 4 * 100 + t + 9));
      EXPECT_EQ(contents(out), want) << workers << ' ' << threads;
    }
  }
}

TEST_P(Mbarriers, ADeadlockNamesWhatIsMissing) {
  for (int elected : {0, 1})
    for (auto [arrivals, bytes, text] : {std::tuple{3, 0, "lacks 2 of 3 arrivals and 0 bytes"},
                                         {1, 96, "lacks 0 of 1 arrivals and 96 bytes"}}) {
      close();
      auto report =
          try_run(kernel("mbarriers.ptx", "starves"), {.grid = {2}, .block = {64}}, arrivals, bytes, elected);
      ASSERT_FALSE(report.ok());
      const std::string message = report.error().to_string();
      EXPECT_THAT(message, HasSubstr("deadlock"));
      EXPECT_THAT(message, HasSubstr("the phase of parity 0 of the mbarrier at shared address 0x400"));
      EXPECT_THAT(message, HasSubstr(text)) << message;
    }
}

TEST_P(Mbarriers, ADeadlockOfAClusterIsFound) {
  for (unsigned workers : {1u, 2u})
    for (int arrives : {-1, 0, 1}) {
      close();
      options_.workers = workers;
      auto report =
          try_run(kernel("mbarriers.ptx", "starves_in_cluster"), {.grid = {4}, .block = {64}}, arrives);
      ASSERT_FALSE(report.ok());
      EXPECT_THAT(report.error().to_string(), HasSubstr("deadlock"));
    }
}

}  // namespace
