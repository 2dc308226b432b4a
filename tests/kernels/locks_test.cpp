// Mutual exclusion on every engine, and blocks that wait for one another when not all of them fit at once.
#include <algorithm>
#include <numeric>

#include "kernel_test.h"

namespace {

class Locks : public KernelTest {};
ON_EVERY_ENGINE(Locks);

// Tickets are served in their order, which need not be the threads' order.
TEST_P(Locks, ATicketLockServesEveryThreadOnce) {
  for (const auto& [blocks, threads] : {std::pair{1u, 32u}, {3u, 50u}, {5u, 64u}}) {
    const unsigned n = blocks * threads;
    auto guard = buffer(std::vector<unsigned>(2)), count = buffer(std::vector<unsigned>(1));
    auto sum = buffer(std::vector<std::int64_t>(1));
    auto order = buffer(std::vector<int>(n, -1));
    run(kernel("locks.ptx", "tickets"), {.grid = {blocks}, .block = {threads}}, guard, count, sum, order);
    EXPECT_EQ(contents(count)[0], n);
    EXPECT_EQ(contents(guard), (std::vector<unsigned>{n, n}));
    std::vector<int> entered = contents(order);
    std::int64_t want = 0;
    for (unsigned k = 0; k < n; ++k) want += std::int64_t{entered[k]} * k;
    EXPECT_EQ(contents(sum)[0], want);
    std::sort(entered.begin(), entered.end());
    for (unsigned k = 0; k < n; ++k) ASSERT_EQ(entered[k], static_cast<int>(k));
  }
}

// Lanes of a warp hold different locks at once, and contend for some.
TEST_P(Locks, EveryLaneTakesItsBucketsLock) {
  constexpr int kBuckets = 13, kKeys = 1000;
  std::vector<unsigned> keys(kKeys);
  for (int i = 0; i < kKeys; ++i) keys[i] = static_cast<unsigned>(i) * 2654435761u >> 7;
  auto locks = buffer(std::vector<int>(kBuckets)), heads = buffer(std::vector<int>(kBuckets, -1));
  auto links = buffer(std::vector<int>(kKeys, -2));
  auto device_keys = buffer(keys);
  run(kernel("locks.ptx", "insert"), {.grid = {11}, .block = {96}}, locks, heads, links, device_keys,
      kBuckets, kKeys);
  EXPECT_EQ(contents(locks), std::vector<int>(kBuckets));
  const std::vector<int> first = contents(heads), next = contents(links);
  std::vector<int> found;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    for (int i = first[bucket]; i >= 0 && found.size() <= kKeys; i = next[i]) {
      EXPECT_EQ(keys[i] % kBuckets, static_cast<unsigned>(bucket));
      found.push_back(i);
    }
  }
  std::sort(found.begin(), found.end());
  ASSERT_EQ(found.size(), static_cast<std::size_t>(kKeys));
  for (int i = 0; i < kKeys; ++i) ASSERT_EQ(found[i], i);
}

// Neighbouring lanes want the same lock: the one that has it must get on while the other spins.
TEST_P(Locks, LanesSpinForOneAnother) {
  constexpr int kAccounts = 5, kRounds = 4, kThreads = 150;
  auto locks = buffer(std::vector<int>(kAccounts)), accounts = buffer(std::vector<int>(kAccounts));
  run(kernel("locks.ptx", "naive"), {.grid = {3}, .block = {50}}, locks, accounts, kAccounts, kRounds);
  std::vector<int> want(kAccounts);
  for (int i = 0; i < kThreads; ++i) {
    for (int round = 0; round < kRounds; ++round) want[(i / 2 + round * 7) % kAccounts] += i + round;
  }
  EXPECT_EQ(contents(accounts), want);
}

// One core, a machine of two SMs, and many more blocks than fit: those that wait are set aside for those they
// wait for.
// proves: K-7f
TEST_P(Locks, MoreProducersAndConsumersThanFitAtOnce) {
  options_.shape = "tiny";
  options_.workers = 1;
  constexpr int kItems = 300, kThreads = 96;
  for (const int slot_count : {1, 3}) {
    auto slots = buffer(std::vector<unsigned>(2 * slot_count)), tickets = buffer(std::vector<unsigned>(2));
    auto sum = buffer(std::vector<std::uint64_t>(1));
    run(kernel("../../examples/kernels/ring_buffer.ptx", "ring_buffer"), {.grid = {200}, .block = {kThreads}},
        slots, slot_count, tickets, kItems, sum);
    std::uint64_t want = 0;
    for (std::uint32_t ticket = 0; ticket < kItems; ++ticket) {
      for (std::uint32_t thread = 0; thread < kThreads; ++thread) want += ticket * 2654435761u ^ thread;
    }
    EXPECT_EQ(contents(sum)[0], want);
  }
}

}  // namespace
