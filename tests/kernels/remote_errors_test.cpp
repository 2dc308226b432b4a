// Errors of copies that land late in blocks that have exited: by then their warp has gone on, perhaps its
// block has exited, perhaps its cluster is no more.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kernel_test.h"

namespace {

using raddle::Asynchrony;
using testing::HasSubstr;
using Mode = Asynchrony::Mode;
using Counts = std::vector<int>;

constexpr int kSends = 8;                     ///< from block 0 to block 1
constexpr const char* kLine = "PTX line 28";  ///< where block 0 sends

/// Block 0 sends to block 1, and to itself afterwards; meanwhile block 1 exits. Before, it counts what has
/// come: out[0]. If there is a block 2, it stays for long.
std::string text(int blocks, int sends_to_itself) {
  return fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) .reqnctapercluster {} {{
  .reg .b32 %rank, %there, %its_barrier, %flag, %own, %own_barrier, %left, %value;
  .reg .b64 %out, %state;
  .reg .pred %p;
  .shared .b32 word, sent;
  .shared .align 8 .b64 barrier;
  ld.param.u64 %out, [out];
  mov.u32 %rank, %cluster_ctarank;
  mbarrier.init.shared.b64 [barrier], 1;
  st.shared.u32 [sent], 0;
  mov.u32 %own, word;
  mov.u32 %own_barrier, barrier;
  mov.u32 %flag, sent;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.ne.u32 %p, %rank, 0;
  @%p bra OTHERS;
  mapa.shared::cluster.u32 %there, %own, 1;
  mapa.shared::cluster.u32 %its_barrier, %own_barrier, 1;
  mapa.shared::cluster.u32 %flag, %flag, 1;
  mapa.shared::cluster.u32 %own, %own, 0;
  mapa.shared::cluster.u32 %own_barrier, %own_barrier, 0;
  mov.u32 %left, {};
SEND:
  st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%there], 5, [%its_barrier];
  sub.u32 %left, %left, 1;
  setp.ne.u32 %p, %left, 0;
  @%p bra SEND;
  st.volatile.shared::cluster.u32 [%flag], 1;
  nanosleep.u32 1;
  mov.u32 %left, {};
AGAIN:
  setp.eq.u32 %p, %left, 0;
  @%p ret;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%own], 6, [%own_barrier];
  sub.u32 %left, %left, 1;
  bra AGAIN;
OTHERS:
  setp.eq.u32 %p, %rank, 1;
  @%p bra RECEIVER;
  mov.u32 %left, 2000;
STAYS:
  nanosleep.u32 1;
  sub.u32 %left, %left, 1;
  setp.ne.u32 %p, %left, 0;
  @%p bra STAYS;
  ret;
RECEIVER:
  nanosleep.u32 1;
  ld.volatile.shared.u32 %value, [sent];
  setp.eq.u32 %p, %value, 0;
  @%p bra RECEIVER;
  ld.shared.b64 %state, [barrier];
  neg.s64 %state, %state;
  shr.u64 %state, %state, 2;
  cvt.u32.u64 %value, %state;
  and.b32 %value, %value, 0xff;
  st.global.u32 [%out], %value;
  ret;
}}
)",
                     blocks, kSends, sends_to_itself);
}

class RemoteErrors : public KernelTest {
 protected:
  struct Outcome {
    std::string fault;  ///< empty: none
    int received = -1;  ///< by block 1, before it exited; known if there was no fault
  };
  Outcome outcome(std::uint32_t blocks, int sends_to_itself, Asynchrony asynchrony) {
    close();
    options_.shape = "tiny";
    options_.asynchrony = asynchrony;
    load_text(text(static_cast<int>(blocks), sends_to_itself));
    auto out = buffer(Counts{-1});
    const auto report = try_run(*module().kernel("k"), {.grid = {blocks}, .block = {1}}, out);
    if (!report.ok()) return {report.error().message};
    return {"", contents(out)[0]};
  }
};
ON_EVERY_ENGINE(RemoteErrors);

// proves: W-19d, W-19g, W-19h
TEST_P(RemoteErrors, NameTheirThreadAsLongAsThatIsKnown) {
  const std::string known = outcome(2, 0, {Mode::lazy}).fault,
                    forgotten = outcome(2, 600, {Mode::lazy}).fault;
  for (const std::string& fault : {known, forgotten}) {
    EXPECT_THAT(fault, HasSubstr("illegal cluster address"));
    EXPECT_THAT(fault, HasSubstr("in kernel k, block (0,0,0)"));
    EXPECT_THAT(fault, HasSubstr("of rank 1 in cluster (0,0,0): the block has exited"));
  }
  EXPECT_THAT(known, HasSubstr(std::string("thread (0,0,0), ") + kLine));
  EXPECT_THAT(forgotten, testing::Not(HasSubstr("PTX line")));
  EXPECT_THAT(forgotten, HasSubstr("; which thread it was is not known any more"));
}

// What block 1 did not receive fell on a block that had exited. Its error comes back to block 0, or to
// nobody.
// proves: W-19i
TEST_P(RemoteErrors, AreDroppedIfTheirClusterIsNoMore) {
  int raised = 0, dropped = 0;
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    const Outcome seen = outcome(2, 0, {Mode::random, seed});
    raised += !seen.fault.empty();
    dropped += seen.fault.empty() && seen.received < kSends;
  }
  EXPECT_GT(raised, 0);
  EXPECT_GT(dropped, 0);
}

// Block 2 sees to it that there is a cluster still.
// proves: W-19g, W-19h
TEST_P(RemoteErrors, AreTheClustersIfTheirBlockHasExited) {
  int raised_late = 0;
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    const Outcome seen = outcome(3, 0, {Mode::random, seed});
    EXPECT_TRUE(!seen.fault.empty() || seen.received == kSends) << seed << ": an error was dropped";
    if (seen.fault.find("; rank 0, which sent there, has exited, too") == std::string::npos) continue;
    ++raised_late;
    EXPECT_THAT(seen.fault, HasSubstr(std::string("in kernel k, thread (0,0,0), ") + kLine));
    EXPECT_THAT(seen.fault, HasSubstr("of rank 1 in cluster (0,0,0): the block has exited"));
  }
  EXPECT_GT(raised_late, 0);
}

}  // namespace
