// Kernels on devices whose copies land late: right ones compute what they should, wrong ones something else,
// the same each time.
#include <gmock/gmock.h>

#include <algorithm>

#include "kernel_test.h"

namespace {

using raddle::Asynchrony;
using Values = std::vector<int>;
constexpr int kTileElements = 512;

std::string copying_text(const std::string& body) {
  return R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .b64 %in, %out;
  .reg .b32 %a, %bar, %id, %at, %v;
  .reg .pred %p, %first;
  .shared .align 128 .b8 tile[2048];
  .shared .align 8 .b64 barrier;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %a, tile;
  mov.u32 %bar, barrier;
  mov.u32 %id, %tid.x;
  shl.b32 %at, %id, 2;
  add.u32 %at, %at, %a;
  setp.eq.u32 %first, %id, 0;
)" + body +
         "  ret;\n}\n";
}

const std::string kLoadTile = R"(  @!%first bra LOADED;
  mbarrier.init.shared.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 2048;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%in], 2048, [%bar];
LOADED:
  bar.sync 0;
)";
const std::string kWaitForTile = R"(AGAIN:
  mbarrier.try_wait.parity.shared.b64 %p, [%bar], 0;
  @!%p bra AGAIN;
)";
const std::string kChangeTile =
    "  ld.shared.u32 %v, [%at];\n  add.u32 %v, %v, 1;\n  st.shared.u32 [%at], %v;\n";
const std::string kFenceTile = "  fence.proxy.async.shared::cta;\n";
const std::string kStoreTile = R"(  bar.sync 0;
  @!%first bra STORED;
  cp.async.bulk.global.shared::cta.bulk_group [%out], [%a], 2048;
)";
const std::string kEndGroup = R"(  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
)";
const std::string kStored = "STORED:\n";

class LateCopies : public KernelTest {
 protected:
  /// What the kernel leaves behind, or nothing if it faults.
  Values result(const std::string& body, Asynchrony::Mode mode, std::uint64_t seed) {
    close();
    options_.asynchrony = {mode, seed};
    load_text(copying_text(body));
    Values values(kTileElements);
    for (int i = 0; i < kTileElements; ++i) values[static_cast<std::size_t>(i)] = i * 37;
    auto in = buffer(values), out = buffer(Values(kTileElements, -1));
    run(*module().kernel("k"), {.grid = {1}, .block = {kTileElements}}, in, out);
    Values left = contents(out);
    for (int i = 0; i < kTileElements; ++i)
      if (left[static_cast<std::size_t>(i)] != i * 37 + 1) return left;
    return {};
  }
  bool is_right(const std::string& body, Asynchrony::Mode mode, std::uint64_t seed = 1) {
    return result(body, mode, seed).empty();
  }
  /// What users are told meanwhile.
  std::string said(const std::string& body, Asynchrony::Mode mode) {
    testing::internal::CaptureStderr();
    is_right(body, mode, 3);
    return testing::internal::GetCapturedStderr();
  }
  static constexpr std::uint64_t kSeeds = 12;
  /// Right under no seed but some, and wrong in the same way again.
  void expect_wrong(const std::string& body) {
    EXPECT_TRUE(is_right(body, Asynchrony::Mode::eager)) << "eager copies hide it";
    EXPECT_FALSE(is_right(body, Asynchrony::Mode::lazy));
    bool wrong = false;
    for (std::uint64_t seed = 1; seed <= kSeeds && !wrong; ++seed) {
      const Values first = result(body, Asynchrony::Mode::random, seed);
      wrong = !first.empty();
      EXPECT_EQ(result(body, Asynchrony::Mode::random, seed), first) << seed;
    }
    EXPECT_TRUE(wrong);
  }
};
ON_EVERY_ENGINE(LateCopies);

// proves: T-16a, T-16b, T-16c, T-16d
TEST_P(LateCopies, DoNotHurtARightKernel) {
  const std::string body =
      kLoadTile + kWaitForTile + kChangeTile + kFenceTile + kStoreTile + kEndGroup + kStored;
  EXPECT_TRUE(is_right(body, Asynchrony::Mode::eager));
  EXPECT_TRUE(is_right(body, Asynchrony::Mode::lazy));
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    EXPECT_TRUE(is_right(body, Asynchrony::Mode::random, seed)) << seed;
}

// proves: T-16e, T-16f, T-16i
TEST_P(LateCopies, ShowThatNobodyWaited) {
  const std::string body = kLoadTile + kChangeTile + kFenceTile + kStoreTile + kEndGroup + kStored;
  expect_wrong(body);
  EXPECT_THAT(said(body, Asynchrony::Mode::lazy),
              testing::HasSubstr("PTX line 22 is not over when its block exits"));
}

/// In a ring the next phase begins before the bytes of this one have come.
// proves: T-16i
TEST_P(LateCopies, SayWhoseBytesAPhaseDidNotExpect) {
  std::string load = kLoadTile;
  const std::string arrives = "  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 2048;\n";
  const std::string unexpected = "  mbarrier.arrive.shared.b64 _, [%bar];\n";
  load.erase(load.find(arrives), arrives.size());
  std::string right = load, wrong = load;
  right.insert(right.find("LOADED:"), arrives);
  wrong.insert(wrong.find("LOADED:"), unexpected);
  const std::string rest = kWaitForTile + kChangeTile + kFenceTile + kStoreTile + kEndGroup + kStored;
  EXPECT_EQ(said(right + rest, Asynchrony::Mode::lazy), "");
  EXPECT_THAT(said(wrong + rest, Asynchrony::Mode::lazy),
              testing::HasSubstr("mbarrier.expect_tx is missing"));
}

// The results are right: a wait comes before what is stored. Only the interpreter sees addresses.
// proves: T-16i
TEST_P(LateCopies, NameAccessesThatWaitForNoCopy) {
  const std::string rest = kChangeTile + kFenceTile + kStoreTile, end = kEndGroup + kStored;
  const std::string own = "  cp.async.ca.shared.global [%at], [%in], 4;\n";
  const struct {
    std::string body;
    const char* told;  ///< by the interpreter; null: nothing
  } loads[] = {
      {kLoadTile + kWaitForTile + "  ld.shared.u32 %v, [%at];\n" + rest + end, nullptr},
      {kLoadTile + "  ld.volatile.shared.u32 %v, [%at];\n" + kWaitForTile + rest + end, nullptr},
      {kLoadTile + "  ld.shared.u32 %v, [%at];\n" + kWaitForTile + rest + end,
       "PTX line 25 reads what the copy of PTX line 22 "
       "has "
       "yet to write: a wait"},
      {kLoadTile + kWaitForTile + rest + "  ld.global.u32 %v, [%out];\n" + end,
       "PTX line 35 reads what the copy of PTX line 34 has yet to write: a wait"},
      {kLoadTile + kWaitForTile + rest + "  ld.shared.u32 %v, [%at];\n  st.shared.u32 [%at], %v;\n" + end,
       "a store in kernel k, block (0,0,0), thread (0,0,0), PTX line 36 overwrites what the copy of PTX line "
       "34 "
       "has yet to read: a wait"},
      {own + "  ld.shared.u32 %v, [%at];\n  cp.async.wait_all;\n  bar.sync 0;\n" + kLoadTile + kWaitForTile +
           rest + end,
       "PTX line 19 reads what the copy of PTX line 18 has yet to write: a wait"},
  };
  for (const auto& [body, told] : loads) {
    EXPECT_TRUE(is_right(body, Asynchrony::Mode::lazy)) << body;
    const std::string text = said(body, Asynchrony::Mode::lazy);
    if (told != nullptr && interpreted())
      EXPECT_THAT(text, testing::HasSubstr(told)) << body;
    else
      EXPECT_EQ(text, "") << body;
  }
}

// proves: T-16g, T-17a
TEST_P(LateCopies, ShowThatNobodyFenced) {
  expect_wrong(kLoadTile + kWaitForTile + kChangeTile + kStoreTile + kEndGroup + kStored);
}

// Once for each copy of the text, wherever the fence is missing.
// proves: T-16i, T-17b
TEST_P(LateCopies, SayWhichCopyLacksAFence) {
  const std::string unfenced = kLoadTile + kWaitForTile + kChangeTile + kStoreTile + kEndGroup + kStored;
  const std::string fenced =
      kLoadTile + kWaitForTile + kChangeTile + kFenceTile + kStoreTile + kEndGroup + kStored;
  const std::string unread = kLoadTile + kWaitForTile + kChangeTile + kFenceTile + kStoreTile +
                             "  cp.async.bulk.commit_group;\n" + kStored;
  const std::string missing =
      "raddle: warning: a bulk copy in kernel k, block (0,0,0), thread (0,0,0), PTX line ";
  for (const auto mode : {Asynchrony::Mode::lazy, Asynchrony::Mode::random}) {
    EXPECT_EQ(said(fenced, mode), "");
    const std::string text = said(unfenced, mode);
    EXPECT_THAT(text, testing::StartsWith(missing + "33 reads shared memory that threads have stored to"));
    EXPECT_THAT(text, testing::HasSubstr("fence.proxy.async is missing"));
    EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  }
  EXPECT_THAT(said(unread, Asynchrony::Mode::lazy), testing::HasSubstr("wait_group.read) is missing"));
  EXPECT_EQ(said(unfenced, Asynchrony::Mode::eager), "");
}

// proves: T-16h, T-16i
TEST_P(LateCopies, ShowThatNobodyExpectedBytes) {
  std::string load = kLoadTile;
  const std::string expects = "mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 2048;";
  load.replace(load.find(expects), expects.size(), "mbarrier.arrive.shared.b64 _, [%bar];");
  const std::string body = load + kWaitForTile + kChangeTile + kFenceTile + kStoreTile + kEndGroup + kStored;
  expect_wrong(body);
  EXPECT_THAT(said(body, Asynchrony::Mode::lazy),
              testing::HasSubstr("PTX line 22 is not over when its block exits"));
}

// proves: T-16f
TEST_P(LateCopies, ShowThatTheBlockExitedBeforeItWasRead) {
  expect_wrong(kLoadTile + kWaitForTile + kChangeTile + kFenceTile + kStoreTile +
               "  cp.async.bulk.commit_group;\n" + kStored);
}

// A loop that looks at the phase, and does something else too, gets there.
TEST_P(LateCopies, EndLoopsThatPoll) {
  const std::string poll = R"(AGAIN:
  mbarrier.test_wait.parity.shared.b64 %p, [%bar], 0;
  add.u32 %v, %v, 1;
  @!%p bra AGAIN;
)";
  const std::string body = kLoadTile + poll + kChangeTile + kFenceTile + kStoreTile + kEndGroup + kStored;
  EXPECT_TRUE(is_right(body, Asynchrony::Mode::lazy));
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    EXPECT_TRUE(is_right(body, Asynchrony::Mode::random, seed)) << seed;
}

// What is in flight comes before the verdict that nobody can run.
TEST_P(LateCopies, AreNoDeadlockWhileSomethingIsInFlight) {
  const std::string more = "  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], 64;\n";
  std::string load = kLoadTile;
  load.insert(load.find("  cp.async"), more);
  for (auto mode : {Asynchrony::Mode::lazy, Asynchrony::Mode::random}) {
    close();
    options_.asynchrony = {mode, 3};
    load_text(copying_text(load + kWaitForTile));
    auto in = buffer(Values(kTileElements)), out = buffer(Values(kTileElements));
    const auto report = try_run(*module().kernel("k"), {.grid = {1}, .block = {kTileElements}}, in, out);
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.error().message, testing::HasSubstr("nobody can run"));
    EXPECT_THAT(report.error().message, testing::HasSubstr("64 bytes")) << "the rest has landed";
  }
}

// The fault is the asking thread's, whoever runs when it is found.
TEST_P(LateCopies, FaultWhereTheyWereAskedFor) {
  for (auto mode : {Asynchrony::Mode::lazy, Asynchrony::Mode::random}) {
    close();
    options_.asynchrony = {mode, 3};
    load_text(copying_text("  add.u64 %in, %in, 0x100000000000;\n" + kLoadTile + kWaitForTile));
    auto in = buffer(Values(kTileElements)), out = buffer(Values(kTileElements));
    const auto report = try_run(*module().kernel("k"), {.grid = {1}, .block = {kTileElements}}, in, out);
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.error().message, testing::HasSubstr("thread (0,0,0), PTX line 23"));
    EXPECT_THAT(report.error().message, testing::HasSubstr("illegal address"));
  }
}

}  // namespace
