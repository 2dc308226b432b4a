// Clocks, sleeping, and the limit on a kernel's time, on every engine. How long things take is up to the
// host: only what PTX promises is asked of them.
#include <chrono>

#include "kernel_test.h"

namespace {

class Clocks : public KernelTest {};
ON_EVERY_ENGINE(Clocks);

struct Times {
  std::uint64_t clock64, globaltimer;
  std::uint32_t clock, clock_hi_difference;
  std::uint64_t halves_difference;
};

// proves: K-20e, K-20f
TEST_P(Clocks, RunOnWhileAThreadSleeps) {
  constexpr unsigned kDuration = 300'000;  // nanoseconds
  for (unsigned sleeper : {0u, 31u, 40u}) {
    auto out = buffer(std::vector<Times>(64));
    run(kernel("clocks.ptx", "sleeps"), {.grid = {1}, .block = {64}}, out, kDuration, sleeper);
    std::vector<Times> times = contents(out);
    // At least as long as it was told, here; when other warps started is open.
    EXPECT_GE(times[sleeper].globaltimer, kDuration);
    for (const Times& t : times) {
      EXPECT_GT(t.clock64, 0u);
      EXPECT_GE(t.clock, static_cast<std::uint32_t>(t.clock64));  // read before and after the other
      EXPECT_LT(t.halves_difference, 1'000'000'000u);
      EXPECT_LE(t.clock_hi_difference, 1u);
    }
  }
}

/// The time that warps wait for passes for all of them, on one worker too: a warp begins before the one
/// before it ends. On a busy host not each does.
TEST_P(Clocks, WarpsThatWaitForATimeWaitTogether) {
  constexpr unsigned kThreads = 512, kDuration = 500'000;  // nanoseconds, less than a time slice
  struct Wait {
    std::uint64_t begin, end;
  };
  auto out = buffer(std::vector<Wait>(kThreads));
  run(kernel("clocks.ptx", "waits"), {.grid = {1}, .block = {kThreads}}, out, kDuration);
  const std::vector<Wait> waits = contents(out);
  unsigned together = 0;
  for (unsigned t = 32; t < kThreads; t += 32) together += waits[t].begin < waits[t - 32].end;
  EXPECT_GE(together, kThreads / 32 / 2);
}

TEST_P(Clocks, AnEndlessLoopEndsAtTheTimeLimit) {
  options_.time_limit = std::chrono::milliseconds(200);
  auto out = buffer(std::vector<int>(32));
  const auto start = std::chrono::steady_clock::now();
  auto report = try_run(kernel("clocks.ptx", "endless"), {.grid = {2}, .block = {64}}, out);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("time limit"), std::string::npos) << report.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

}  // namespace
