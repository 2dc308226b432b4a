// Functions called by pointer on every engine: tables, pointers kept in memory between launches, virtual
// functions.
#include <algorithm>

#include "kernel_test.h"

namespace {

class Pointers : public KernelTest {
 protected:
  static constexpr int kN = 205;
  std::vector<int> which_;
  std::vector<float> in_;

  void SetUp() override {
    for (int i = 0; i < kN; ++i) {
      which_.push_back(i * 7 % 11 % 3);
      in_.push_back(static_cast<float>(i) - 40.25f);
    }
  }

  static float apply(int which, float x) { return which == 0 ? x * x : which == 1 ? -x : x * 0.5f; }
};
ON_EVERY_ENGINE(Pointers);

TEST_P(Pointers, LanesCallWhatTheTableHoldsForThem) {
  auto which = buffer(which_);
  auto in = buffer(in_), out = buffer(std::vector<float>(kN));
  std::vector<float> want;
  for (int i = 0; i < kN; ++i) want.push_back(apply(which_[i], apply(which_[i], in_[i])));
  for (const unsigned threads : {1u, 32u, 96u, 50u}) {
    ASSERT_TRUE(out.write(std::vector<float>(kN)).ok());
    run(kernel("pointers.ptx", "map_by_table"), {.grid = {(kN + threads - 1) / threads}, .block = {threads}},
        which, in, out, kN);
    EXPECT_EQ(contents(out), want) << threads;
  }
}

TEST_P(Pointers, PointersInMemoryOutliveTheirLaunch) {
  auto which = buffer(which_);
  auto in = buffer(in_), out = buffer(std::vector<float>(kN));
  auto work = buffer(std::vector<std::uint64_t>(2 * kN));
  run(kernel("pointers.ptx", "prepare"), {.grid = {4}, .block = {64}}, which, in, work, kN);
  run(kernel("pointers.ptx", "perform"), {.grid = {3}, .block = {96}}, work, out, kN);
  std::vector<float> want;
  for (int i = kN - 1; i >= 0; --i) want.push_back(apply(which_[i], in_[i]));
  EXPECT_EQ(contents(out), want);
}

TEST_P(Pointers, VirtualFunctionsOfObjectsThatAKernelMade) {
  auto shapes = buffer(std::vector<std::uint64_t>(3 * kN));  // 24 bytes each
  auto areas = buffer(std::vector<float>(kN));
  auto corners = buffer(std::vector<int>(kN));
  run(kernel("pointers.ptx", "make_shapes"), {.grid = {4}, .block = {64}}, shapes, kN);
  run(kernel("pointers.ptx", "measure_shapes"), {.grid = {5}, .block = {48}}, shapes, areas, corners, kN);
  std::vector<float> want_areas;
  std::vector<int> want_corners;
  for (int i = 0; i < kN; ++i) {
    want_areas.push_back(static_cast<float>(i) * (i % 2 ? 1.5f : 2.0f));
    want_corners.push_back(i % 2 ? 3 : 4);
  }
  EXPECT_EQ(contents(areas), want_areas);
  EXPECT_EQ(contents(corners), want_corners);
}

// A pointer that no function has is a fault, not a jump.
TEST_P(Pointers, WildPointersAreFaults) {
  auto work = buffer(std::vector<std::uint64_t>(2 * 32, 0x123456789abcdef0));
  auto out = buffer(std::vector<float>(32));
  auto failed = try_run(kernel("pointers.ptx", "perform"), {.grid = {1}, .block = {32}}, work, out, 32);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, raddle::ErrorCode::kernel_fault);
  EXPECT_NE(failed.error().message.find("in kernel perform, block (0,0,0)"), std::string::npos)
      << failed.error().message;
}

}  // namespace
