// Kernels of two modelled spaces on one machine, whose pages the test enters itself: what they read and
// write, and exactly how often TLBs miss.
#include <thread>

#include "pages_fixture.h"

namespace raddle::attacks {
namespace {

// The same wherever the page tables lie.
// proves: A-6c
TEST_P(PagesTest, PageTablesOfTheHostLeadToTheSamePages) {
  for (const Aperture aperture : {Aperture::device, Aperture::host}) {
    restart({.tables = aperture});
    const bool is_host = aperture == Aperture::host;
    for (unsigned space : {0u, 1u}) {
      enter(space, 0, frames(2 * space, 2));
      word(2 * space * kFrame) = 40 + space;
      ASSERT_EQ(run_on(space, 0, kFrame, 16).kind, exec::FaultKind::none);
      EXPECT_EQ(word(2 * space * kFrame), 41u + space);
      EXPECT_EQ(word(2 * space * kFrame + 16), 40u + space);
      EXPECT_EQ(pages(space).counts().sm_tlbs, (Hits{4, 2}));
      EXPECT_EQ(run_on(space, 0, 5 * kFrame, 16).kind, exec::FaultKind::illegal_address);
    }
    const machine::WalkCounts walks = mmu().walks();
    EXPECT_GE(walks.reads, 2u * (4 + 1));
    EXPECT_EQ(walks.host_reads, is_host ? walks.reads : 0u);
    spaces_[1].reset();  // its tables go back
    EXPECT_EQ(mmu().tables().host_tables() != 0, is_host);
    const std::uint64_t tables = mmu().tables().host_tables();
    spaces_[1] = opened();
    EXPECT_EQ(mmu().tables().host_tables(), tables + (is_host ? 1 : 0));
    spaces_[1].reset();
    EXPECT_EQ(mmu().tables().host_tables(), tables);
    spaces_[1] = opened();
  }
}

// proves: A-24a, A-24b, A-24c, A-24d, A-8a, A-6a, A-7c, A-7d, A-7e, A-7f, A-7g, A-7h
TEST_P(PagesTest, PagesZeroAndOneOfTwoSpaces) {
  for (unsigned space : {0u, 1u}) enter(space, 0, frames(2 * space, 2));
  const FrameRun shared = frames(4, 1);
  for (std::uint64_t frame = 0; frame < 4; ++frame) word(frame * kFrame) = 100 * frame;
  for (unsigned space : {0u, 1u}) {
    ASSERT_EQ(run_on(space, 0, kFrame, 16).kind, exec::FaultKind::none);
    // Three pages' worth of accesses, two pages: each is one miss, in the SM's TLB and in the GPC's.
    EXPECT_EQ(pages(space).counts().sm_tlbs, (Hits{4, 2}));
    EXPECT_EQ(pages(space).counts().gpc_tlbs, (Hits{0, 2}));
  }
  for (std::uint64_t frame = 0; frame < 4; ++frame) EXPECT_EQ(word(frame * kFrame), 100 * frame + 1);
  EXPECT_EQ(word(16), 0u);
  EXPECT_EQ(word(24), 100u);
  EXPECT_EQ(word(2 * kFrame + 16), 200u);
  EXPECT_EQ(word(2 * kFrame + 24), 300u);

  // One frame in both, at addresses of their own.
  enter(0, 7 * kFrame, shared);
  enter(1, 9 * kFrame, shared);
  word(shared.start) = 1000;
  ASSERT_EQ(run_on(0, 7 * kFrame, kFrame, 16).kind, exec::FaultKind::none);
  ASSERT_EQ(run_on(1, 9 * kFrame, kFrame, 16).kind, exec::FaultKind::none);
  EXPECT_EQ(word(16), 1000u);
  EXPECT_EQ(word(2 * kFrame + 16), 1001u);
  EXPECT_EQ(word(shared.start), 1002u);
}

/// Each warp adds 1 to a word of its own in the first page; then the first warp of all raises a flag in a
/// page that both spaces have, and waits for the other space's.
constexpr const char* kMeeting = R"(
.version 8.7
.target sm_90a
.address_size 64
.visible .entry meeting(.param .u64 own, .param .u64 mine, .param .u64 theirs)
{
  .reg .u64 %a<4>, %x;
  .reg .u32 %t, %w, %n;
  .reg .pred %p;
  mov.u32 %t, %tid.x;
  rem.u32 %w, %t, 32;
  setp.ne.u32 %p, %w, 0;
  @%p bra done;
  mov.u32 %w, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mad.lo.u32 %w, %w, %n, %t;
  shr.u32 %w, %w, 5;
  ld.param.u64 %a0, [own];
  mad.wide.u32 %a0, %w, 8, %a0;
  ld.global.u64 %x, [%a0];
  add.u64 %x, %x, 1;
  st.global.u64 [%a0], %x;
  setp.ne.u32 %p, %w, 0;
  @%p bra done;
  ld.param.u64 %a1, [mine];
  ld.param.u64 %a2, [theirs];
  st.volatile.global.u64 [%a1], 1;
again:
  ld.volatile.global.u64 %x, [%a2];
  setp.eq.u64 %p, %x, 0;
  @%p bra again;
done:
  ret;
}
)";

// Both run at once, as each waits for the other; all warps of all their CTAs carry their own identifier.
// proves: A-24b, A-24c, A-24d, A-5b, A-5d
TEST_P(PagesTest, TwoSpacesRunAtOnce) {
  constexpr unsigned kBlocks = 6, kWarps = 4;
  const auto meeting = Kernel::make(kMeeting, GetParam(), Translation::modelled, 32 * kWarps);
  const FrameRun shared = frames(4, 1);
  std::array<std::thread, 2> threads;
  for (unsigned space : {0u, 1u}) {
    enter(space, 0, frames(2 * space, 2));
    enter(space, (7 + space) * kFrame, shared);
  }
  for (unsigned space : {0u, 1u})
    threads[space] = std::thread([&, space] {
      const std::uint64_t page = (7 + space) * kFrame;
      EXPECT_EQ(
          run(*spaces_[space], *meeting, {0, page + space * 8, page + (1 - space) * 8}, kBlocks, 32 * kWarps)
              .kind,
          exec::FaultKind::none);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::uint64_t first : {0u, 2u})
    for (unsigned i = 0; i < kFrame / 8; ++i)
      ASSERT_EQ((&word(first * kFrame))[i], i < kBlocks * kWarps ? 1u : 0u) << first << ", word " << i;
  EXPECT_EQ(word(shared.start) + word(shared.start + 8), 2u);
}

// proves: A-8b, A-8c, A-8d, A-8e
TEST_P(PagesTest, CachesSeeASharedLineByTheirTags) {
  restart({.virtual_cache = {.entries = 64}, .physical_cache = {.entries = 64}});
  const FrameRun shared = frames(4, 1);
  word(shared.start) = 5;
  for (unsigned space : {0u, 1u}) {
    enter(space, (7 + space) * kFrame, shared);
    // All three addresses are in one line of the shared page.
    ASSERT_EQ(run_on(space, (7 + space) * kFrame, (7 + space) * kFrame + 8, (7 + space) * kFrame + 16).kind,
              exec::FaultKind::none);
    EXPECT_EQ(pages(space).counts().virtual_caches, (Hits{5, 1}));
  }
  EXPECT_EQ(pages(0).counts().physical_cache, (Hits{0, 1}));
  EXPECT_EQ(pages(1).counts().physical_cache, (Hits{1, 0}));  // the other space brought the line
  EXPECT_EQ(word(shared.start), 7u);
  EXPECT_EQ(word(shared.start + 16), 6u);
}

// proves: A-9a, A-9b, A-9d, A-9f, A-9h
TEST_P(PagesTest, FaultsNameTheSpaceAndStopItAlone) {
  enter(0, 0, frames(0, 1));
  enter(0, kFrame, frames(1, 1), {.write = false, .atomic = false});
  enter(1, 0, frames(2, 1));
  exec::Fault fault = run_on(0, 0, kFrame, 16);
  EXPECT_EQ(fault.kind, exec::FaultKind::illegal_address);
  EXPECT_EQ(fault.address, kFrame);
  EXPECT_NE(fault.ptx_line, 0u);
  EXPECT_TRUE(fault.thread_known);
  EXPECT_NE(fault.to_string().find("address space 1: its page does not allow that: write, "),
            std::string::npos)
      << fault.to_string();
  EXPECT_EQ(word(0), 1u);       // what came before
  EXPECT_EQ(word(kFrame), 0u);  // not what did not
  EXPECT_TRUE(spaces_[0]->failed());
  EXPECT_EQ(run_on(1, 0, 8, 16).kind, exec::FaultKind::none);
  fault = run_on(1, 5 * kFrame, 8, 16);
  EXPECT_EQ(fault.kind, exec::FaultKind::illegal_address);
  EXPECT_EQ(fault.address, 5 * kFrame);
  EXPECT_NE(fault.to_string().find("address space 2: read, "), std::string::npos) << fault.to_string();
}

// proves: A-9c
TEST_P(PagesTest, ASpaceThatIsNotBoundFaults) {
  enter(0, 0, frames(0, 1));
  mmu().asids().unbind(pages(0).asid());
  const exec::Fault fault = run_on(0, 0, 8, 16);
  EXPECT_EQ(fault.kind, exec::FaultKind::illegal_address);
  EXPECT_NE(fault.to_string().find("no page directory is bound"), std::string::npos) << fault.to_string();
  EXPECT_EQ(word(0), 0u);
}

// A wrong page is a wrong value, and no translation outlives its page or its space.
// proves: A-5g
TEST_P(PagesTest, NothingStaleIsUsed) {
  enter(0, 0, frames(0, 1));
  word(0) = 1;
  ASSERT_EQ(run_on(0, 0, 8, 16).kind, exec::FaultKind::none);
  pages(0).leave(0, kFrame);
  enter(0, 0, frames(1, 1));
  word(kFrame) = 50;
  ASSERT_EQ(run_on(0, 0, 8, 16).kind, exec::FaultKind::none);
  EXPECT_EQ(word(kFrame + 16), 50u);
  EXPECT_EQ(word(0), 2u);
  const machine::Asid asid = pages(0).asid();
  spaces_[0].reset();
  spaces_[0] = opened();
  EXPECT_EQ(pages(0).asid(), asid);
  EXPECT_EQ(pages(0).counts().sm_tlbs, Hits{});
  EXPECT_EQ(run_on(0, 0, 8, 16).kind, exec::FaultKind::illegal_address);
}

// Both spaces are the first of their context, and have the same virtual pages. In turns they have the same
// identifier, and nothing that a TLB has outlives a turn; at once, the context is a part of it.
// proves: A-23c, A-23e, A-5g, A-5j
TEST_P(PagesTest, ContextsHaveTheSameIdentifiers) {
  constexpr std::uint64_t kRounds = 5;
  for (const ContextMode mode : {ContextMode::queued, ContextMode::concurrent}) {
    restart({}, mode);
    for (unsigned space : {0u, 1u}) enter(space, 0, frames(2 * space, 2));
    for (std::uint64_t i = 0; i < kRounds; ++i)
      for (unsigned space : {0u, 1u}) ASSERT_EQ(run_on(space, 0, kFrame, 16).kind, exec::FaultKind::none);
    for (std::uint64_t frame = 0; frame < 4; ++frame) EXPECT_EQ(word(frame * kFrame), kRounds);
    const bool is_queued = mode == ContextMode::queued;
    for (unsigned space : {0u, 1u}) {
      EXPECT_EQ(pages(space).number(), 1u);
      const std::uint64_t misses = is_queued ? 2 * kRounds : 2;
      EXPECT_EQ(pages(space).counts().sm_tlbs, (Hits{6 * kRounds - misses, misses}));
    }
    EXPECT_EQ(pages(0).asid(), is_queued ? machine::kNoAsid : 1u);
    EXPECT_EQ(pages(1).asid(), is_queued ? 1u : 257u);
  }
}

// The host has the same frames at the same addresses, and all are free again at the end.
TEST_P(PagesTest, AllocationsLieAtTheSameAddressForBoth) {
  run_on(0, 0, 0, 0);  // takes the pages of its launches
  spaces_[1].reset();
  const std::uint64_t free_before = mmu().memory().free_bytes();
  spaces_[1] = opened();
  for (const std::uint64_t bytes : {256ull, 70000ull, 5ull << 20}) {
    const DevicePtr address = *spaces_[1]->memory().allocate(bytes);
    auto* const words = reinterpret_cast<std::uint64_t*>(address.value);
    words[0] = 10, words[bytes / 8 - 1] = 20;
    ASSERT_EQ(run_on(1, address.value, address.value + bytes - 8, address.value + 16).kind,
              exec::FaultKind::none);
    EXPECT_EQ(words[0], 11u);
    EXPECT_EQ(words[bytes / 8 - 1], 21u);
    EXPECT_EQ(words[2], 10u);
    ASSERT_TRUE(spaces_[1]->memory().free(address).ok());
  }
  const DevicePtr left = *spaces_[1]->memory().allocate(1 << 20);
  EXPECT_EQ(run_on(0, left.value, left.value, left.value).kind, exec::FaultKind::illegal_address);
  spaces_[1].reset();
  EXPECT_EQ(mmu().memory().free_bytes(), free_before);
}

INSTANTIATE_TEST_SUITE_P(Engines, PagesTest, testing::ValuesIn(engines()));

}  // namespace
}  // namespace raddle::attacks
