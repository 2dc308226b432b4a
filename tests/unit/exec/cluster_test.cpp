// The cluster's barrier under random arrivals and exits, against a plain count of who is where; and what
// shared addresses mean.
#include "exec/cluster.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace {

using namespace raddle::exec;

/// CTAs of two warps each, whose lanes arrive, wait and exit as a random sequence says.
struct Cluster {
  static constexpr unsigned kWarps = 2;
  struct Cta {
    CtaContext context{};
    WarpContext warps[kWarps]{};
  };
  LaunchContext launch{};
  ClusterContext context{};
  std::atomic<std::uint64_t> barrier{0};
  std::vector<std::unique_ptr<Cta>> ctas;
  unsigned threads;  // of each CTA

  Cluster(unsigned count, unsigned threads_per_cta) : threads(threads_per_cta) {
    context.cta_count = count;
    context.barrier = &barrier;
    barrier = cluster_barrier_start(count);
    tables_are_in_place(context, count);
    for (unsigned rank = 0; rank < count; ++rank) {
      auto cta = std::make_unique<Cta>();
      cta->context.cluster = &context;
      cta->context.launch = &launch;
      cta->context.cluster_rank = rank;
      cta->context.live_threads = threads;
      for (WarpContext& warp : cta->warps) warp.cta = &cta->context;
      ctas.push_back(std::move(cta));
    }
  }
  void exit(Cta& cta, WarpContext& warp, std::uint32_t lane) {
    forget_exiting(warp, 1u << lane);
    --cta.context.live_threads;
    arrive_if_all(cta.context);
    if (cta.context.live_threads == 0) leave_cluster(cta.context);
  }
};

/// One thread's account: phases it arrived in, phases it waited for.
struct Thread {
  unsigned arrived = 0, waited = 0;
  bool exited = false;
};

// A phase is over exactly when every thread that has not exited has arrived in it.
// proves: W-18a, W-18c, W-18d
TEST(ClusterBarrier, EndsAPhaseWhenAllThreadsLeftHaveArrived) {
  std::mt19937 random(20);
  for (int round = 0; round < 300; ++round) {
    const unsigned count = 1 + random() % 5, per_warp = 1 + random() % 3;
    Cluster cluster(count, Cluster::kWarps * per_warp);
    std::vector<Thread> threads(count * cluster.threads);
    for (int step = 0; step < 400; ++step) {
      const unsigned t = random() % static_cast<unsigned>(threads.size());
      Thread& thread = threads[t];
      if (thread.exited) continue;
      Cluster::Cta& cta = *cluster.ctas[t / cluster.threads];
      WarpContext& warp = cta.warps[t % cluster.threads / per_warp];
      const std::uint32_t lane = t % per_warp;
      unsigned over = ~0u;  // phases that all threads left have arrived in
      for (const Thread& other : threads)
        if (!other.exited) over = std::min(over, other.arrived);
      ASSERT_EQ(phases_completed(cluster.context), over);
      if (random() % 60 == 0) {
        thread.exited = true;
        cluster.exit(cta, warp, lane);
        if (std::ranges::all_of(threads, [](const Thread& other) { return other.exited; })) break;
      } else if (thread.arrived == thread.waited) {
        ++thread.arrived;
        arrive_at_cluster(warp, 1u << lane);
      } else {
        const bool waits = wait_for_cluster(warp, 1u << lane) != 0;
        ASSERT_EQ(waits, over < thread.arrived);
        if (!waits) ++thread.waited;
      }
    }
  }
}

// All CTAs are there and have arrived, but an SM has not brought its tables up to date.
// proves: W-18b
TEST(ClusterBarrier, WaitsUntilAllTablesAreInPlace) {
  Cluster cluster(3, 1);
  cluster.barrier = cluster_barrier_start(3);
  for (const auto& cta : cluster.ctas) arrive_at_cluster(cta->warps[0], 1);
  EXPECT_EQ(phases_completed(cluster.context), 0u);
  tables_are_in_place(cluster.context, 2);
  EXPECT_EQ(phases_completed(cluster.context), 0u);
  EXPECT_EQ(wait_for_cluster(cluster.ctas[0]->warps[0], 1), 1u);
  tables_are_in_place(cluster.context, 1);
  EXPECT_EQ(phases_completed(cluster.context), 1u);
  EXPECT_EQ(wait_for_cluster(cluster.ctas[0]->warps[0], 1), 0u);
}

// proves: W-18d
TEST(ClusterBarrier, ABlockThatExitsIsNotWaitedFor) {
  Cluster cluster(3, 1);
  arrive_at_cluster(cluster.ctas[0]->warps[0], 1);
  cluster.exit(*cluster.ctas[0], cluster.ctas[0]->warps[0], 0);  // after it arrived
  EXPECT_EQ(phases_completed(cluster.context), 0u);
  arrive_at_cluster(cluster.ctas[1]->warps[0], 1);
  EXPECT_EQ(wait_for_cluster(cluster.ctas[1]->warps[0], 1), 1u);
  cluster.exit(*cluster.ctas[2], cluster.ctas[2]->warps[0], 0);  // before
  EXPECT_EQ(phases_completed(cluster.context), 1u);
  EXPECT_EQ(wait_for_cluster(cluster.ctas[1]->warps[0], 1), 0u);
}

TEST(ClusterAddresses, GenericOnesAreOfTheWindowOrNot) {
  CtaContext cta{};
  cta.shared = reinterpret_cast<std::byte*>(std::uintptr_t{0x7f0010000000});
  EXPECT_EQ(shared_address_of(cta, 0x7f0010000000), 0u);
  EXPECT_EQ(shared_address_of(cta, 0x7f0013000412), 0x3000412u);
  EXPECT_EQ(shared_address_of(cta, 0x7f000fffffff), 0xffffffffu);  // with its sign
  EXPECT_EQ(shared_address_of(cta, 0x7f008fffffff), 0x7fffffffu);
  EXPECT_EQ(shared_address_of(cta, 0x7eff90000000), 0x80000000u);
  EXPECT_EQ(shared_address_of(cta, 0x7eff8fffffff), std::nullopt);
  EXPECT_EQ(shared_address_of(cta, 0x7f0090000000), std::nullopt);
  EXPECT_TRUE(is_in_window(cta, 0x7f0010000000) && is_in_window(cta, 0x7f008fffffff));
  EXPECT_FALSE(is_in_window(cta, 0x7f000fffffff) || is_in_window(cta, 0x7f0090000000));
}

}  // namespace
