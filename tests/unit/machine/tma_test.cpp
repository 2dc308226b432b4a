// The tensor memory unit by itself: requests without a tensor map, what is refused, completion, groups,
// counters, the order in which responses land, and mistakes. Long, as each has its tests.
#include <gmock/gmock.h>

#include <random>

#include "machine/shape/host.h"
#include "tma_fixture.h"

namespace raddle::machine {
namespace {

using exec::BulkDirection;
using exec::BulkElement;
using exec::BulkKind;
using exec::BulkReduction;
using exec::FaultKind;
using testing::HasSubstr;

class First final : public TmaChooser {
 public:
  std::size_t choose(std::size_t) override { return 0; }
};
class Last final : public TmaChooser {
 public:
  std::size_t choose(std::size_t count) override { return count - 1; }
};
class RandomChooser final : public TmaChooser {
 public:
  explicit RandomChooser(std::uint64_t seed) : random_(seed) {}
  std::size_t choose(std::size_t count) override { return random_() % count; }

 private:
  std::mt19937_64 random_;
};

class Tma : public TmaTest {
 protected:
  void refused(const exec::BulkRequest& request, FaultKind fault, const char* note) {
    const auto before = std::vector<std::byte>(shared(0), shared(kShared));
    const std::uint64_t discarded = unit_.counters().discarded;
    const TmaProblem problem = unit_.submit(thread(), request);
    EXPECT_EQ(problem.fault, fault) << note;
    EXPECT_THAT(problem.note, HasSubstr(note));
    EXPECT_EQ(unit_.culprit().line, 7u);
    EXPECT_EQ(unit_.counters().discarded, discarded + 1);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), shared(0))) << "something of it was done: " << note;
  }
};

// proves: T-11a, T-14a, T-15a, T-15b
TEST_F(Tma, LoadsBytes) {
  auto values = numbers(4096);
  std::uint8_t* from = aligned(values);
  for (std::uint32_t bytes : {16u, 32u, 48u, 128u, 1024u, 4080u}) {
    expect_bytes(bytes);
    EXPECT_FALSE(is_over());
    ASSERT_FALSE(unit_.submit(thread(), load(from, bytes)));
    EXPECT_EQ(std::memcmp(shared(kBlock), from, bytes), 0);
    EXPECT_TRUE(is_over()) << bytes;
  }
}

// proves: T-11c, T-15d, T-15e
TEST_F(Tma, StoresBytes) {
  auto values = numbers(4096), to = std::vector<std::uint8_t>(8192);
  std::memcpy(shared(kBlock), values.data(), 4096);
  ASSERT_FALSE(unit_.submit(thread(), store(aligned(to), 4096)));
  unit_.commit_group(thread());
  ASSERT_FALSE(unit_.wait_group(thread(), 0, false));
  EXPECT_EQ(std::memcmp(aligned(to), values.data(), 4096), 0);
  EXPECT_EQ(aligned(to)[4096], 0);
}

// proves: T-14c
TEST_F(Tma, NoBytesAreNothing) {
  expect_bytes(16);
  const std::uint64_t before = barrier();
  auto values = numbers(16);
  for (const TmaMode mode : {TmaMode::eager, TmaMode::deferred}) {
    unit_.set_mode(mode);
    auto request = load(aligned(values), 0);
    EXPECT_FALSE(unit_.submit(thread(), request));
    request.shared = 8, request.barrier = 1;  // nobody looks
    EXPECT_FALSE(unit_.submit(thread(), request));
    EXPECT_EQ(unit_.outstanding(), 0u);
    EXPECT_EQ(barrier(), before);
  }
}

// proves: T-11b, T-11d
TEST_F(Tma, OtherMembersOfTheCluster) {
  set_cluster(4);
  auto values = numbers(256);
  std::uint8_t* from = aligned(values);
  expect_bytes(256, 3);
  auto request = load(from, 256);
  request.shared = at(kBlock, 3), request.barrier = at(kBarrier, 3);
  ASSERT_FALSE(unit_.submit(thread(1), request));
  EXPECT_EQ(std::memcmp(shared(kBlock, 3), from, 256), 0);
  EXPECT_TRUE(is_over(3));
  // And from there to another one.
  expect_bytes(128, 2);
  exec::BulkRequest between{.kind = BulkKind{.direction = BulkDirection::shared_to_shared}.word(),
                            .bytes = 128,
                            .shared = at(kBlock + 64, 2),
                            .source = at(kBlock, 3),
                            .barrier = at(kBarrier, 2)};
  ASSERT_FALSE(unit_.submit(thread(3), between));
  EXPECT_EQ(std::memcmp(shared(kBlock + 64, 2), from, 128), 0);
  EXPECT_TRUE(is_over(2));
}

// proves: T-12a, T-12b, T-12c, T-14d
TEST_F(Tma, Multicast) {
  set_cluster(8);
  auto values = numbers(512);
  std::uint8_t* from = aligned(values);
  auto request = load(from, 512);
  set_kind(request, [](BulkKind& kind) { kind.multicast = true; });
  request.receivers = 0b1010'0110;
  for (std::uint32_t rank = 0; rank < 8; ++rank) expect_bytes(512, rank);
  ASSERT_FALSE(unit_.submit(thread(0), request));  // the requester is not among them
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const bool receives = (request.receivers >> rank & 1) != 0;
    EXPECT_EQ(std::memcmp(shared(kBlock, rank), from, 512) == 0, receives) << rank;
    EXPECT_EQ(is_over(rank), receives) << rank;
  }
}

// proves: T-1e, T-1i, T-1j, T-14a, T-14b
TEST_F(Tma, RefusesWrongRequests) {
  set_cluster(2);
  auto values = numbers(4096);
  std::uint8_t* from = aligned(values);
  expect_bytes(64);
  const auto loads = [&](auto change) {
    auto request = load(from, 64);
    change(request);
    return request;
  };
  const auto kind = [](auto change) { return [change](exec::BulkRequest& r) { set_kind(r, change); }; };
  refused(loads([](auto& r) { r.bytes = 24; }), FaultKind::illegal_instruction,
          "24 bytes, which is no multiple of 16");
  refused(loads([](auto& r) { r.global += 8; }), FaultKind::misaligned_address, "of global memory");
  refused(loads([](auto& r) { r.shared += 8; }), FaultKind::misaligned_address, "of shared memory");
  refused(loads([](auto& r) { r.barrier += 4; }), FaultKind::misaligned_address, "of an mbarrier");
  refused(loads([](auto& r) { r.shared += kShared - kBlock; }), FaultKind::illegal_address,
          "no shared memory");
  refused(loads([](auto& r) { r.bytes = 0xffff'fff0; }), FaultKind::illegal_address, "no shared memory");
  refused(loads([&](auto& r) { r.shared = at(kBlock, 2); }), FaultKind::illegal_cluster_address, "");
  refused(loads([&](auto& r) { r.shared = at(kShared - 16, 1); }), FaultKind::illegal_cluster_address, "");
  refused(loads([&](auto& r) { r.barrier = at(kBarrier, 2); }), FaultKind::illegal_cluster_address, "");
  refused(loads([&](auto& r) { r.shared = address(from); }), FaultKind::illegal_address, "no shared memory");
  refused(loads([&](auto& r) {
            r.shared = at(kBlock, 1);
            kind([](BulkKind& k) { k.own_memory = true; })(r);
          }),
          FaultKind::illegal_address, "no shared memory");
  refused(loads([&](auto& r) {
            r.receivers = 0b101;
            kind([](BulkKind& k) { k.multicast = true; })(r);
          }),
          FaultKind::illegal_cluster_address, "");
  exit(1);
  refused(loads([&](auto& r) { r.shared = at(kBlock, 1); }), FaultKind::illegal_cluster_address, "");
  auto stores = store(from, 64);
  stores.shared = at(kBlock, 1);
  refused(stores, FaultKind::illegal_address, "no shared memory");
}

// What a table says of a CTA's memory decides where a copy lands, also if it says something else meanwhile.
// proves: W-17d, W-17f
TEST_F(Tma, CopiesFollowMemoryThatMoves) {
  for (const TmaMode mode : {TmaMode::eager, TmaMode::deferred}) {
    set_cluster(4);
    unit_.set_mode(mode);
    auto values = numbers(256);
    std::uint8_t* from = aligned(values);
    std::memset(shared(kBlock, 2), 0, 256);
    const std::uint32_t moved = mode == TmaMode::eager ? 1u << 20 : 2u << 20;
    const auto move = [&] { tables_.move(entries_[2], (2u << exec::kRankShift) + moved); };
    exec::init_mbarrier(exec::mbarrier_at(shared(kBarrier + moved, 2)), 1);
    auto request = load(from, 256);
    request.shared = at(kBlock, 2), request.barrier = at(kBarrier, 2);
    if (mode == TmaMode::eager) move();
    ASSERT_FALSE(unit_.submit(thread(0), request));
    if (mode == TmaMode::deferred) move();
    ASSERT_FALSE(unit_.drain());
    EXPECT_EQ(std::memcmp(shared(kBlock + moved, 2), from, 256), 0);
    EXPECT_NE(std::memcmp(shared(kBlock, 2), from, 256), 0);
  }
}

// An mbarrier that is none, and one that would count too far.
TEST_F(Tma, RefusesBarriers) {
  auto values = numbers(64);
  EXPECT_EQ(unit_.submit(thread(), load(aligned(values), 64)).fault, FaultKind::illegal_barrier);
}

// proves: T-1f, T-1g, T-1h, T-20a, T-20b, T-22a, T-22b
TEST_F(Tma, ResponsesLandInAnyOrder) {
  auto values = numbers(8192);
  std::uint8_t* from = aligned(values) + 16;  // lines and rows differ
  unit_.set_mode(TmaMode::deferred);
  First first;
  Last last;
  RandomChooser random(5);
  for (TmaChooser* chooser : {static_cast<TmaChooser*>(&first), static_cast<TmaChooser*>(&last),
                              static_cast<TmaChooser*>(&random)}) {
    std::memset(shared(kBlock), 0, 4096);
    expect_bytes(4096);
    ASSERT_FALSE(unit_.submit(thread(), load(from, 4096)));
    EXPECT_EQ(unit_.outstanding(), 33u) << "none crosses a line of 128 bytes";
    for (std::size_t left = 33; left != 0; --left) {
      EXPECT_FALSE(is_over());
      EXPECT_EQ(unit_.outstanding(), left);
      ASSERT_FALSE(unit_.advance(*chooser));
    }
    EXPECT_EQ(unit_.outstanding(), 0u);
    EXPECT_TRUE(is_over());
    EXPECT_EQ(std::memcmp(shared(kBlock), from, 4096), 0);
  }
}

// proves: T-12d, T-12e, T-12f, T-20b
TEST_F(Tma, AMulticastIsDoneWhenEveryReceiverHasIt) {
  set_cluster(4);
  auto values = numbers(256);
  unit_.set_mode(TmaMode::deferred);
  auto request = load(aligned(values), 256);
  set_kind(request, [](BulkKind& kind) { kind.multicast = true; });
  request.receivers = 0b1110;
  for (std::uint32_t rank = 1; rank < 4; ++rank) expect_bytes(256, rank);
  ASSERT_FALSE(unit_.submit(thread(0), request));
  RandomChooser random(11);
  for (int left = 6; left != 0; --left) {
    EXPECT_EQ(cluster_.traffic[0], 1u) << "in flight until the last acknowledgement";
    ASSERT_FALSE(unit_.advance(random));
  }
  EXPECT_EQ(cluster_.traffic[0], 0u);
  EXPECT_EQ(unit_.outstanding(), 0u);
  for (std::uint32_t rank = 1; rank < 4; ++rank) EXPECT_TRUE(is_over(rank));
}

// proves: T-15d, T-15e, T-20c
TEST_F(Tma, GroupsWaitForTheirOwn) {
  unit_.set_mode(TmaMode::deferred);
  std::vector<std::uint8_t> to(8192);
  std::uint8_t* out = aligned(to);
  const auto send = [&](std::uint32_t number, std::uint32_t who) {
    auto request = store(out + number * 256, 256);
    request.shared = at(kBlock + number * 256);
    std::memset(shared(kBlock + number * 256), static_cast<int>(number + 1), 256);
    ASSERT_FALSE(unit_.submit(thread(0, who), request));
  };
  const auto arrived = [&](std::uint32_t number) { return out[number * 256 + 255] == number + 1; };
  send(0, 1), send(1, 1);  // two requests in one group
  unit_.commit_group(thread(0, 1));
  send(2, 1);
  unit_.commit_group(thread(0, 1));
  send(3, 1);  // never committed
  send(4, 2);  // of another thread
  unit_.commit_group(thread(0, 2));
  ASSERT_FALSE(unit_.wait_group(thread(0, 1), 2, false));
  EXPECT_FALSE(arrived(0));
  ASSERT_FALSE(unit_.wait_group(thread(0, 1), 1, false));
  EXPECT_TRUE(arrived(0) && arrived(1));
  EXPECT_FALSE(arrived(2));
  ASSERT_FALSE(unit_.wait_group(thread(0, 1), 0, true));
  EXPECT_FALSE(arrived(2)) << "the source was read, no more";
  std::memset(shared(kBlock + 512), 77, 256);
  ASSERT_FALSE(unit_.wait_group(thread(0, 1), 0, false));
  EXPECT_TRUE(arrived(2));
  EXPECT_FALSE(arrived(3) || arrived(4));
  ASSERT_FALSE(unit_.drain());
  EXPECT_TRUE(arrived(3) && arrived(4));
}

// Before anything of them was asked of memory, too.
// proves: T-15d, T-15e
TEST_F(Tma, WaitsForWhatIsStillQueued) {
  unit_.set_mode(TmaMode::deferred);
  std::vector<std::uint8_t> to(1024);
  std::uint8_t* out = aligned(to);
  std::memset(shared(kBlock), 7, 256);
  ASSERT_FALSE(unit_.submit(thread(), store(out, 256)));
  unit_.commit_group(thread());
  ASSERT_FALSE(unit_.wait_group(thread(), 0, true));
  std::memset(shared(kBlock), 8, 256);
  ASSERT_FALSE(unit_.wait_group(thread(), 0, false));
  EXPECT_EQ(out[0], 7);
  EXPECT_EQ(out[255], 7);
}

// Even those that are queued behind another CTA's.
TEST_F(Tma, ACtasOwnCopiesLand) {
  set_cluster(2);
  TmaUnit unit({.most_lines = 1});
  unit.set_mode(TmaMode::deferred);
  auto values = numbers(1024);
  exec::init_mbarrier(barrier(), 1);
  exec::init_mbarrier(barrier(1), 1);
  std::memset(shared(kBlock), 0, 512);
  std::memset(shared(kBlock, 1), 0, 512);
  ASSERT_FALSE(unit.submit(thread(0), load(aligned(values), 512)));
  auto other = load(aligned(values), 256);
  other.shared = at(kBlock, 1), other.barrier = at(kBarrier, 1);
  ASSERT_FALSE(unit.submit(thread(1), other));
  RandomChooser random(3);
  EXPECT_EQ(unit.outstanding(&ctas_[1]), 2u);
  ASSERT_FALSE(unit.advance(random, &ctas_[1]));
  ASSERT_FALSE(unit.drain(&ctas_[1]));
  EXPECT_EQ(unit.outstanding(&ctas_[1]), 0u);
  EXPECT_EQ(std::memcmp(shared(kBlock, 1), aligned(values), 256), 0);
  EXPECT_EQ(*shared(kBlock), std::byte{0});
  EXPECT_EQ(unit.outstanding(&ctas_[0]), 4u);
}

// proves: T-17a, T-17b
TEST_F(Tma, ReadsWhatFencesPublished) {
  ProxyViews views;
  unit_.set_mode(TmaMode::deferred);
  unit_.set_views(&views);
  std::memset(shared(kBlock), 9, 128);
  views.begin(shared(0), kShared);
  std::vector<std::uint8_t> to(512);
  // What the copies since the last question have read, each the same.
  const auto noted = [&] {
    TmaMistake mistake = TmaMistake::none;
    for (const auto& [requester, made] : unit_.take_mistakes()) {
      EXPECT_EQ(requester.line, 7u);
      mistake = made;
    }
    return mistake;
  };
  std::uint8_t* out = aligned(to);
  const auto stored = [&](bool exits = false) {
    EXPECT_FALSE(unit_.submit(thread(), store(out, 128)));
    if (exits) views.spoil(shared(0));
    EXPECT_FALSE(unit_.drain());
    return out[5];
  };
  EXPECT_NE(stored(), 9);
  EXPECT_EQ(noted(), TmaMistake::none) << "nobody has stored anything";
  std::memset(shared(kBlock), 1, 128);
  EXPECT_NE(stored(), 1) << "nobody has published it";
  EXPECT_EQ(noted(), TmaMistake::unpublished);
  views.publish();
  EXPECT_EQ(stored(), 1);
  EXPECT_EQ(noted(), TmaMistake::none);
  *shared(kBlock + 127) = std::byte{2};
  EXPECT_EQ(stored(), 1);
  EXPECT_EQ(noted(), TmaMistake::unpublished) << "a single byte";
  // What the unit itself writes both see.
  std::vector<std::uint8_t> from(512, 3);
  exec::init_mbarrier(barrier(), 1);
  ASSERT_FALSE(unit_.submit(thread(), load(aligned(from), 128)));
  ASSERT_FALSE(unit_.drain());
  EXPECT_EQ(*shared(kBlock), std::byte{3});
  EXPECT_EQ(stored(), 3);
  EXPECT_EQ(noted(), TmaMistake::none);
  EXPECT_NE(stored(true), 3) << "read after the CTA has exited";
  EXPECT_EQ(noted(), TmaMistake::exited);
  ASSERT_FALSE(unit_.submit(thread(), load(aligned(from), 128)));
  ASSERT_FALSE(unit_.drain());
  EXPECT_EQ(noted(), TmaMistake::unawaited);
  views.end(shared(0));
  EXPECT_EQ(stored(), 3) << "without a view there is the memory";
}

// The phase in which bytes were asked for is over before they land: nobody expected them.
// proves: T-16i
TEST_F(Tma, BytesLandInThePhaseThatExpectsThem) {
  unit_.set_mode(TmaMode::deferred);
  std::vector<std::uint8_t> from(512, 3);
  exec::init_mbarrier(barrier(), 1);
  const auto arrive = [&](std::uint32_t expected) {
    exec::change_mbarrier(exec::mbarrier_at(shared(kBarrier)), exec::MbarrierOperation::arrive, 1, expected);
  };
  for (const bool is_expected : {true, false, true}) {
    ASSERT_FALSE(unit_.submit(thread(), load(aligned(from), 128)));
    arrive(is_expected ? 128 : 0);
    EXPECT_FALSE(unit_.made_mistakes());
    ASSERT_FALSE(unit_.drain());
    const auto mistakes = unit_.take_mistakes();
    ASSERT_EQ(mistakes.size(), is_expected ? 0u : 1u);
    if (!is_expected) EXPECT_EQ(mistakes[0].second, TmaMistake::unexpected);
    if (!is_expected) exec::init_mbarrier(barrier(), 1);
  }
}

// A policy decides who is next; the rest of the unit does not know it.
// proves: T-1b, T-18j, T-21a, T-21b, T-21c
TEST_F(Tma, TheQueueHasAPolicy) {
  auto values = numbers(4096);
  std::uint8_t* from = aligned(values);
  const SmallestFirst smallest;
  const FirstInFirstOut fifo;
  for (const TmaPolicy* policy :
       {static_cast<const TmaPolicy*>(&fifo), static_cast<const TmaPolicy*>(&smallest)}) {
    TmaUnit unit({.most_lines = 1});
    unit.set_mode(TmaMode::deferred);
    unit.set_policy(*policy);
    exec::init_mbarrier(barrier(), 1);
    std::memset(shared(kBlock), 0, 1024);
    auto large = load(from, 512), small = load(from, 16);
    small.shared = at(kBlock + 512);
    ASSERT_FALSE(unit.submit(thread(), large));
    ASSERT_FALSE(unit.submit(thread(), small));
    First first;
    ASSERT_FALSE(unit.advance(first));
    const bool small_is_first = *shared(kBlock + 512) != std::byte{0};
    EXPECT_EQ(small_is_first, policy == &smallest);
    ASSERT_FALSE(unit.drain());
    EXPECT_EQ(unit.counters().queued, policy == &smallest ? 1u : 4u);
  }
}

// proves: T-18a, T-18c, T-18d, T-18e, T-18g
TEST_F(Tma, Counts) {
  auto values = numbers(8192);
  std::uint8_t* from = aligned(values);
  exec::init_mbarrier(barrier(), 1);
  ASSERT_FALSE(unit_.submit(thread(), load(from, 4096)));
  EXPECT_EQ(unit_.counters(), (TmaCounters{.requests = 1, .lines = 32, .sectors = 128, .bytes = 4096}));
  // Sixteen bytes off: a line more, and sectors lie across groups of banks.
  ASSERT_FALSE(unit_.submit(thread(), load(from + 16, 4096)));
  EXPECT_EQ(unit_.counters(),
            (TmaCounters{.requests = 2, .lines = 65, .sectors = 257, .bytes = 8192, .bank_conflicts = 33}));
  // Both ends off by the same: none.
  auto moved = load(from + 16, 96);
  moved.shared += 16;
  ASSERT_FALSE(unit_.submit(thread(), moved));
  EXPECT_EQ(unit_.counters().bank_conflicts, 33u);
}

// proves: T-11e, T-14f
TEST_F(Tma, PrefetchesAreHints) {
  auto values = numbers(256);
  exec::BulkRequest request{.kind = BulkKind{.direction = BulkDirection::to_cache}.word(),
                            .bytes = 256,
                            .global = address(aligned(values))};
  for (TmaMode mode : {TmaMode::eager, TmaMode::deferred}) {
    unit_.set_mode(mode);
    ASSERT_FALSE(unit_.submit(thread(), request));
    EXPECT_EQ(unit_.outstanding(), 0u);
  }
  EXPECT_EQ(unit_.counters().lines, 4u);
  request.global = 0x10;  // nobody reads there
  ASSERT_FALSE(unit_.submit(thread(), request));
}

// A CTA that was stopped has nothing in flight any more.
TEST_F(Tma, ForgetsACta) {
  set_cluster(2);
  unit_.set_mode(TmaMode::deferred);
  auto values = numbers(256);
  auto request = load(aligned(values), 256);
  exec::init_mbarrier(barrier(), 1);
  exec::init_mbarrier(barrier(1), 1);
  ASSERT_FALSE(unit_.submit(thread(0), request));
  request.shared = at(kBlock, 0), request.barrier = at(kBarrier, 0);
  ASSERT_FALSE(unit_.submit(thread(1), request));
  std::vector<std::uint8_t> to(512);
  auto stores = store(aligned(to), 128);
  ASSERT_FALSE(unit_.submit(thread(0), stores));
  EXPECT_EQ(unit_.outstanding(), 5u);
  EXPECT_EQ(cluster_.traffic[1], 1u);
  unit_.forget(ctas_[0]);
  EXPECT_EQ(unit_.outstanding(), 2u);
  EXPECT_EQ(cluster_.traffic[1], 1u);
  unit_.forget(ctas_[1]);
  EXPECT_EQ(cluster_.traffic[1], 0u);
  EXPECT_EQ(unit_.outstanding(), 0u);
}

// proves: T-14e
TEST_F(Tma, Reduces) {
  std::vector<std::uint32_t> to(64 + 32), from(64);
  std::uint32_t* out = aligned(to);
  const auto reduced = [&](BulkReduction op, BulkElement element, auto old, auto value) {
    using T = decltype(old);
    for (std::size_t i = 0; i < 256 / sizeof(T); ++i) {
      std::memcpy(reinterpret_cast<std::byte*>(out) + i * sizeof(T), &old, sizeof(T));
      std::memcpy(shared(kBlock) + i * sizeof(T), &value, sizeof(T));
    }
    auto request = store(out, 256);
    set_kind(request, [&](BulkKind& kind) { kind.reduction = op, kind.element = element; });
    EXPECT_FALSE(unit_.submit(thread(), request));
    T result;
    std::memcpy(&result, reinterpret_cast<std::byte*>(out) + 256 - sizeof(T), sizeof(T));
    return result;
  };
  using Op = BulkReduction;
  using E = BulkElement;
  EXPECT_EQ(reduced(Op::add, E::u32, 0xffff'ffffu, 3u), 2u);
  EXPECT_EQ(reduced(Op::add, E::s32, -5, 3), -2);
  EXPECT_EQ(reduced(Op::add, E::u64, 1ull << 40, 3ull), (1ull << 40) + 3);
  EXPECT_EQ(reduced(Op::add, E::f32, 1.5f, 2.25f), 3.75f);
  EXPECT_EQ(reduced(Op::add, E::f64, 1.5, 2.25), 3.75);
  EXPECT_EQ(reduced(Op::add, E::f16, std::uint16_t{0x3c00}, std::uint16_t{0x3c00}), 0x4000);
  EXPECT_EQ(reduced(Op::add, E::bf16, std::uint16_t{0x3f80}, std::uint16_t{0x3f80}), 0x4000);
  EXPECT_EQ(reduced(Op::min, E::s32, -5, 3), -5);
  EXPECT_EQ(reduced(Op::min, E::u32, 0xffff'fff0u, 3u), 3u);
  EXPECT_EQ(reduced(Op::max, E::s64, -5ll, 3ll), 3);
  EXPECT_EQ(reduced(Op::max, E::u64, 0xffff'ffff'ffff'fff0ull, 3ull), 0xffff'ffff'ffff'fff0ull);
  EXPECT_EQ(reduced(Op::min, E::f16, std::uint16_t{0xbc00}, std::uint16_t{0x3c00}), 0xbc00);
  EXPECT_EQ(reduced(Op::max, E::bf16, std::uint16_t{0xbf80}, std::uint16_t{0x3f80}), 0x3f80);
  EXPECT_EQ(reduced(Op::inc, E::u32, 7u, 7u), 0u);
  EXPECT_EQ(reduced(Op::inc, E::u32, 6u, 7u), 7u);
  EXPECT_EQ(reduced(Op::dec, E::u32, 0u, 7u), 7u);
  EXPECT_EQ(reduced(Op::dec, E::u32, 5u, 7u), 4u);
  EXPECT_EQ(reduced(Op::and_, E::u32, 0xf0f0u, 0xff00u), 0xf000u);
  EXPECT_EQ(reduced(Op::or_, E::u64, 0xf0f0ull, 0xff00ull), 0xfff0ull);
  EXPECT_EQ(reduced(Op::xor_, E::u32, 0xf0f0u, 0xff00u), 0x0ff0u);
}

// A grid that has stored more than the host's caches hold stores past them, whatever its pieces begin at.
TEST_F(Tma, LargeGridsStoreTheSame) {
  constexpr std::uint32_t kPiece = 16384;
  launch_.nsmid = 132, launch_.nctaid[0] = 200, launch_.nctaid[1] = launch_.nctaid[2] = 1;
  launch_.grid_id = 7;
  const std::uint64_t pieces = largest_cache() / (launch_.nsmid * kPiece) + 3;
  auto values = numbers(kPiece + 64);
  std::memcpy(shared(kBlock), values.data(), kPiece);
  std::vector<std::uint8_t> to(kPiece + 256);
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    const std::size_t shift = piece % 3 * 16, bytes = kPiece - shift * 2;
    std::fill(to.begin(), to.end(), std::uint8_t{0});
    auto* const begin = aligned(to) + shift;
    EXPECT_FALSE(unit_.submit(thread(), store(begin, static_cast<std::uint32_t>(bytes))));
    EXPECT_FALSE(unit_.drain());
    ASSERT_EQ(std::memcmp(begin, values.data(), bytes), 0) << piece;
    ASSERT_EQ(begin[bytes], 0) << piece;
  }
}

// proves: T-13g
TEST_F(Tma, ReducesInOtherMembers) {
  set_cluster(2);
  expect_bytes(64, 1);
  for (std::uint32_t i = 0; i < 16; ++i) {
    reinterpret_cast<std::int32_t*>(shared(kBlock))[i] = -static_cast<std::int32_t>(i);
    reinterpret_cast<std::int32_t*>(shared(kBlock, 1))[i] = 100;
  }
  exec::BulkRequest request{.kind = BulkKind{.direction = BulkDirection::shared_to_shared,
                                             .reduction = BulkReduction::add,
                                             .element = BulkElement::s32}
                                        .word(),
                            .bytes = 64,
                            .shared = at(kBlock, 1),
                            .source = at(kBlock),
                            .barrier = at(kBarrier, 1)};
  ASSERT_FALSE(unit_.submit(thread(0), request));
  for (std::int32_t i = 0; i < 16; ++i)
    EXPECT_EQ(reinterpret_cast<std::int32_t*>(shared(kBlock, 1))[i], 100 - i);
  EXPECT_TRUE(is_over(1));
}

}  // namespace
}  // namespace raddle::machine
