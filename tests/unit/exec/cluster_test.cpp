// The cluster's barrier under random arrivals and exits, against a plain count of who is where; and the
// judgement of remote accesses.
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
  std::vector<std::unique_ptr<Cta>> ctas;
  unsigned threads;  // of each CTA

  Cluster(unsigned count, unsigned threads_per_cta) : threads(threads_per_cta) {
    context.cta_count = count;
    context.live = (1u << count) - 1;
    context.barrier = cluster_barrier_start(count);
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

// proves: W-18d, W-20b
TEST(ClusterBarrier, ABlockThatExitsIsGoneForOthersAndNotWaitedFor) {
  Cluster cluster(3, 1);
  arrive_at_cluster(cluster.ctas[0]->warps[0], 1);
  cluster.exit(*cluster.ctas[0], cluster.ctas[0]->warps[0], 0);  // after it arrived
  EXPECT_EQ(cluster.context.live.load(), 6u);
  EXPECT_EQ(phases_completed(cluster.context), 0u);
  arrive_at_cluster(cluster.ctas[1]->warps[0], 1);
  EXPECT_EQ(wait_for_cluster(cluster.ctas[1]->warps[0], 1), 1u);
  cluster.exit(*cluster.ctas[2], cluster.ctas[2]->warps[0], 0);  // before
  EXPECT_EQ(phases_completed(cluster.context), 1u);
  EXPECT_EQ(wait_for_cluster(cluster.ctas[1]->warps[0], 1), 0u);
}

// proves: W-19a, W-19b, W-19c, W-19d, W-19e
TEST(ClusterAddresses, RemoteAccessesAreJudged) {
  Cluster cluster(4, 1);
  cluster.launch.largest_shared = 0x39000;
  cluster.context.shared_bytes = 0x440;
  cluster.context.live = 0b0111;
  const CtaContext& cta = cluster.ctas[1]->context;
  auto judge = [&](std::uint32_t rank, std::uint32_t offset, std::uint32_t bytes) {
    return check_remote(cta, map_to_rank(0x5000000 | offset, rank), bytes);
  };
  EXPECT_EQ(judge(0, 0x400, 4), ClusterProblem::none);
  EXPECT_EQ(judge(2, 0x43c, 4), ClusterProblem::none);
  EXPECT_EQ(judge(2, 0x43c, 8), ClusterProblem::beyond_allocation);
  EXPECT_EQ(judge(2, 0x38fff, 1), ClusterProblem::beyond_allocation);
  EXPECT_EQ(judge(2, 0x39000, 1), ClusterProblem::above_largest);
  EXPECT_EQ(judge(3, 0x400, 4), ClusterProblem::exited);
  EXPECT_EQ(judge(4, 0x400, 4), ClusterProblem::no_such_rank);
  EXPECT_EQ(judge(258, 0x400, 4), ClusterProblem::no_such_rank) << "2 in eight bits";
  EXPECT_EQ(judge(1, 0x39000, 4), ClusterProblem::none) << "the CTA's own memory is not judged";
}

TEST(ClusterAddresses, GenericOnesAreOfTheWindowOrNot) {
  ClusterContext cluster{};
  cluster.window = reinterpret_cast<std::byte*>(std::uintptr_t{0x7f0010000000});
  EXPECT_EQ(shared_address_of(cluster, 0x7f0010000000), 0u);
  EXPECT_EQ(shared_address_of(cluster, 0x7f0013000412), 0x3000412u);
  EXPECT_EQ(shared_address_of(cluster, 0x7f000fffffff), std::nullopt);
  EXPECT_EQ(shared_address_of(cluster, 0x7f0110000000), std::nullopt);
}

}  // namespace
