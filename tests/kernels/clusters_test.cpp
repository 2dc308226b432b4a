// Clusters on every engine: distributed shared memory, the cluster's barrier, blocks that wait in each
// other's memory or exit early, what a block is told of its cluster, and every fault of remote accesses.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "kernel_test.h"
#include "machine/shape/machine_shape.h"

namespace {

using Values = std::vector<int>;
using raddle::Dim3;
using raddle::LaunchConfig;

class Clusters : public KernelTest {
 protected:
  /// Blocks of 64 threads in clusters of `size`.
  static LaunchConfig of(std::uint32_t blocks, std::uint32_t size, std::uint32_t threads = 64) {
    return {.grid = {blocks},
            .block = {threads},
            .cluster = {size, 1, 1},
            .allow_non_portable_cluster = size > raddle::kPortableClusterSize};
  }
  static Values numbers(std::size_t count) {
    Values values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<int>(i * 7919 % 1013);
    return values;
  }
};
ON_EVERY_ENGINE(Clusters);

// proves: W-17i
TEST_P(Clusters, HistogramInDistributedSharedMemory) {
  const Values in = numbers(20000);
  for (std::uint32_t size : {1u, 2u, 4u, 8u, 16u}) {
    constexpr int kBins = 960;
    Values expected(kBins);
    for (int v : in) ++expected[static_cast<std::size_t>(std::min(v, kBins - 1))];
    const int per_block = kBins / static_cast<int>(size);
    auto out = buffer(Values(kBins)), data = buffer(in);
    LaunchConfig config = of(2 * size, size);
    config.shared_bytes = static_cast<std::uint64_t>(per_block) * sizeof(int);
    run(kernel("clusters.ptx", "histogram"), config, data, static_cast<int>(in.size()), out, kBins,
        per_block);
    EXPECT_EQ(contents(out), expected) << "clusters of " << size;
  }
}

// proves: W-17g
TEST_P(Clusters, EachSumsUp) {
  const Values in = numbers(5000);
  auto out = buffer(Values(3)), data = buffer(in);
  run(kernel("clusters.ptx", "reduce"), of(24, 8, 96), data, static_cast<int>(in.size()), out);
  const Values sums = contents(out);
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0), std::accumulate(in.begin(), in.end(), 0));
  EXPECT_TRUE(std::all_of(sums.begin(), sums.end(), [](int sum) { return sum > 0; }));
}

// proves: W-17g
TEST_P(Clusters, Scan) {
  const std::uint32_t size = 4, threads = 128, blocks = 12;
  const Values in = numbers(blocks * threads);
  Values expected;
  for (std::size_t i = 0; i < in.size(); ++i)
    expected.push_back(in[i] + (i % (size * threads) != 0 ? expected.back() : 0));
  auto out = buffer(Values(in.size())), data = buffer(in);
  run(kernel("clusters.ptx", "scan"), of(blocks, size, threads), data, out);
  EXPECT_EQ(contents(out), expected);
}

// proves: W-17h, W-18c
TEST_P(Clusters, RingOfBlocksPassesValues) {
  const std::uint32_t size = 5, threads = 48, blocks = 20;
  const int rounds = 23;
  const Values in = numbers(blocks * threads);
  Values expected(in.size());
  for (std::uint32_t i = 0; i < in.size(); ++i) {
    const std::uint32_t block = i / threads, cluster = block / size;
    const std::uint32_t to = cluster * size + (block % size + rounds) % size;
    expected[to * threads + i % threads] = in[i] + rounds;
  }
  auto data = buffer(in);
  run(kernel("clusters.ptx", "ring"), of(blocks, size, threads), data, rounds);
  EXPECT_EQ(contents(data), expected);
}

// A block that waits in its own memory for another's store makes progress, on one worker too.
TEST_P(Clusters, SpinningOnSharedMemoryMakesProgress) {
  for (unsigned workers : {1u, 0u}) {
    options_.workers = workers;
    options_.pin = false;
    close();
    auto out = buffer(Values(24));
    run(kernel("clusters.ptx", "spin"), of(24, 8, 32), out, 20);
    EXPECT_EQ(contents(out), Values(24, 20)) << "workers: " << workers;
  }
}

// proves: W-18d
TEST_P(Clusters, BlocksThatExitedAreNotWaitedFor) {
  const int rounds = 6;
  auto out = buffer(Values(16));
  run(kernel("clusters.ptx", "leave"), of(16, 8), out, rounds);
  Values expected(16);
  for (std::size_t i = 0; i < 16; i += 2) expected[i] = 4 * 64 * rounds;
  EXPECT_EQ(contents(out), expected);
}

/// Each block shows the others a number per round; threads from 64 on leave after the first.
constexpr const char* kRounds = R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry rounds(.param .u64 out, .param .u32 rounds)
{
.shared .align 4 .u32 shown;
.reg .pred %first, %leaves, %more;
.reg .b32 %t, %w, %rank, %size, %next, %address, %round, %rounds, %v, %sum, %i;
.reg .b64 %out, %offset;
  ld.param.u64 %out, [out];
  ld.param.u32 %rounds, [rounds];
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %size, %cluster_nctarank;
  add.u32 %next, %rank, 1;
  rem.u32 %next, %next, %size;
  mov.u32 %address, shown;
  mapa.shared::cluster.u32 %address, %address, %next;
  mov.u32 %i, %ctaid.x;
  mad.lo.u32 %i, %i, 96, %t;
  mul.wide.u32 %offset, %i, 4;
  add.u64 %out, %out, %offset;
  mov.u32 %round, 0;
  mov.u32 %sum, 0;
AGAIN:
  mad.lo.u32 %v, %round, 100, %rank;
  setp.eq.u32 %first, %t, 0;
  @%first st.shared.u32 [shown], %v;
  bar.sync 0;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ld.shared::cluster.u32 %v, [%address];
  add.u32 %sum, %sum, %v;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  st.global.u32 [%out], %sum;
  setp.ge.u32 %leaves, %t, 64;
  @%leaves ret;
  add.u32 %round, %round, 1;
  setp.lt.u32 %more, %round, %rounds;
  @%more bra AGAIN;
  ret;
}
// A warp waits at another barrier than the rest. All its lanes do, as compiled code knows: these are regions.
.visible .entry apart()
{
.reg .pred %p;
.reg .b32 %t, %w;
  mov.u32 %t, %tid.x;
  shr.u32 %w, %t, 5;
  setp.eq.u32 %p, %w, 1;
  @%p bra OTHER;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
OTHER:
  bar.sync 0;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}
)";

// Both halves of the barrier, one behind the other, end a region: no warp needs a fiber.
// proves: W-18d
TEST_P(Clusters, WholeBarriersEndRegions) {
  constexpr std::uint32_t kSize = 4, kRoundsRun = 5;
  for (unsigned workers : {1u, 2u}) {
    options_.workers = workers;
    close();
    load_text(kRounds);
    auto rounds = module().kernel("rounds");
    ASSERT_TRUE(rounds.ok());
    auto out = buffer(Values(2 * kSize * 96));
    const auto report = run(*rounds, of(2 * kSize, kSize, 96), out, kRoundsRun);
    if (!interpreted()) EXPECT_EQ(report.block_kind, "regions");
    Values expected;
    for (std::uint32_t block = 0; block < 2 * kSize; ++block) {
      for (std::uint32_t thread = 0; thread < 96; ++thread) {
        int sum = 0;
        for (std::uint32_t round = 0; round < (thread < 64 ? kRoundsRun : 1); ++round)
          sum += static_cast<int>(100 * round + (block + 1) % kSize);
        expected.push_back(sum);
      }
    }
    EXPECT_EQ(contents(out), expected) << "workers: " << workers;
  }
}

TEST_P(Clusters, WarpsAtTwoKindsOfBarriersAreStuck) {
  load_text(kRounds);
  auto apart = module().kernel("apart");
  ASSERT_TRUE(apart.ok());
  const auto report = try_run(*apart, of(2, 2, 64));
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().to_string().find("deadlock"), std::string::npos) << report.error().to_string();
}

struct Place {
  unsigned cluster[3], clusters[3], in_cluster[3], shape[3], rank, size, is_explicit, rank_of_variable;
};

// proves: W-15a, W-15b, W-15c, W-15i
TEST_P(Clusters, ABlockKnowsItsPlace) {
  const Dim3 grid{18, 12, 2}, shape{3, 2, 1};
  auto out = buffer(std::vector<Place>(18 * 12 * 2));
  run(kernel("clusters.ptx", "where"), {.grid = grid, .block = {8, 4, 1}, .cluster = shape}, out);
  const auto places = contents(out);
  for (unsigned i = 0; i < places.size(); ++i) {
    const unsigned at[3] = {i % 18, i / 18 % 12, i / 18 / 12}, extent[3] = {3, 2, 1}, all[3] = {18, 12, 2};
    const Place& p = places[i];
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(p.cluster[axis], at[axis] / extent[axis]);
      EXPECT_EQ(p.clusters[axis], all[axis] / extent[axis]);
      EXPECT_EQ(p.in_cluster[axis], at[axis] % extent[axis]);
      EXPECT_EQ(p.shape[axis], extent[axis]);
    }
    const unsigned rank = at[0] % 3 + at[1] % 2 * 3;
    EXPECT_EQ(p.rank, rank);
    EXPECT_EQ(p.rank_of_variable, rank);
    EXPECT_EQ(p.size, 6u);
    EXPECT_EQ(p.is_explicit, 1u);
  }
  EXPECT_EQ(places[3 * 18 + 7].rank, 4u);  // the worked example: (7,3,0) in clusters of 3 x 2 x 1
}

TEST_P(Clusters, WithoutClustersABlockIsOne) {
  auto out = buffer(std::vector<Place>(6));
  run(kernel("clusters.ptx", "where"), {.grid = {3, 2}, .block = {32}}, out);
  const auto places = contents(out);
  EXPECT_EQ(places[5].cluster[0], 2u);
  EXPECT_EQ(places[5].clusters[1], 2u);
  EXPECT_EQ(places[5].rank, 0u);
  EXPECT_EQ(places[5].size, 1u);
  EXPECT_EQ(places[5].is_explicit, 0u);
}

// proves: W-15d, W-15e, W-15f, W-15g, W-15h
TEST_P(Clusters, ABlockKnowsItsClustersOfEveryLevel) {
  using raddle::Level;
  // 2 x 2 clusters of the GPU, of 3 x 3 clusters of a GPC, of 3 x 2 blocks.
  const LaunchConfig config{
      .grid = {18, 12}, .block = {32}, .clusters = {{Level::gpu, {3, 3, 1}}, {Level::gpc, {3, 2, 1}}}};
  constexpr unsigned kBlocks = 18 * 12, kNone = ~0u;
  std::vector<std::vector<unsigned>> answers;
  for (unsigned level : {0u, 1u, 2u}) {
    auto out = buffer(std::vector<unsigned>(kBlocks * 13));
    run(kernel("clusters.ptx", "ask"), config, level, out);
    answers.push_back(contents(out));
  }
  const auto h200 = *raddle::machine::preset_shape("h200", 1);
  std::map<std::array<unsigned, 3>, unsigned> cluster_with;  // by outer cluster, GPC and number there
  for (unsigned i = 0; i < kBlocks; ++i) {
    const unsigned x = i % 18, y = i / 18, rank = x % 3 + y % 2 * 3, part = x % 9 / 3 + y % 6 / 2 * 3;
    auto of = [&](unsigned level) {
      const auto* first = &answers[level][i * 13];
      return std::vector<unsigned>(first, first + 10);
    };
    EXPECT_EQ(of(0), (std::vector<unsigned>{2, 1, x / 9, y / 6, 0, 3, 3, 1, part * 6 + rank, 54})) << i;
    EXPECT_EQ(of(1), (std::vector<unsigned>{2, 3, x / 3, y / 2, 0, 3, 2, 1, rank, 6})) << i;
    EXPECT_EQ(of(2),
              (std::vector<unsigned>{2, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone}));
    const unsigned sm = answers[1][i * 13 + 10], gpc = answers[1][i * 13 + 11];
    EXPECT_LT(sm, 132u);
    EXPECT_EQ(gpc, h200.domain_of(Level::gpc, sm));
    EXPECT_NE(answers[1][i * 13 + 12], kNone);
    const std::array with{y / 6 * 2 + x / 9, gpc, answers[1][i * 13 + 12]};
    EXPECT_EQ(cluster_with.try_emplace(with, part).first->second, part) << "a number is one cluster's";
    if (rank != 0) {
      const unsigned first = (y / 2 * 2 * 18 + x / 3 * 3) * 13;
      EXPECT_EQ(answers[1][first + 11], gpc) << "a cluster lies in one GPC";
      EXPECT_EQ(answers[1][first + 12], answers[1][i * 13 + 12]) << "and has one number there";
    }
  }
}

/// A wrong access by rank 1 of the only cluster, and the text of its fault.
struct Miss {
  const char* kernel;
  int to, offset, exits;
  const char* says;
};

// proves: W-19a, W-19b, W-19c, W-19d, W-19e, W-19g
TEST_P(Clusters, RemoteFaultsAreRaisedWhereTheyComeFrom) {
  const Miss misses[] = {
      {"touch", 4, 0, 0, "of rank 4 in cluster (0,0,0), which has 4 blocks"},
      {"touch", 300, 0, 0, "of rank 127 in cluster (0,0,0), which has 4 blocks"},
      {"touch", 2, 0x100000, 0, "of rank 2 in cluster (0,0,0): no block can have more than"},
      {"touch", 2, 64, 0, "of rank 2 in cluster (0,0,0): the block has 0x440 bytes"},
      {"touch", 3, 4, 1,
       "offset 0x404 of the shared memory of rank 3 in cluster (0,0,0): the block has exited"},
      {"touch_atomically", 9, 0, 0, "of rank 9 in cluster (0,0,0), which has 4 blocks"},
      {"touch_atomically", 0, 0x400000, 0, "of rank 0 in cluster (0,0,0): no block can have more than"},
      {"touch_atomically", 0, 64, 0, "of rank 0 in cluster (0,0,0): the block has 0x440 bytes"},
      {"touch_atomically", 3, 8, 1,
       "offset 0x408 of the shared memory of rank 3 in cluster (0,0,0): the block"},
  };
  for (const Miss& miss : misses) {
    close();
    auto report = try_run(kernel("clusters.ptx", miss.kernel), of(4, 4), 1, miss.to, miss.offset, miss.exits,
                          std::uint64_t{0});
    ASSERT_FALSE(report.ok()) << miss.kernel << ' ' << miss.says;
    EXPECT_EQ(report.error().code, raddle::ErrorCode::kernel_fault);
    const std::string text = report.error().message;
    EXPECT_NE(text.find(miss.says), std::string::npos) << text << "\nshould say: " << miss.says;
    EXPECT_NE(text.find("illegal cluster address"), std::string::npos) << text;
    EXPECT_NE(text.find("block (1,0,0), thread (5,0,0), PTX line"), std::string::npos) << text;
  }
}

// Random accesses to other blocks' memory, also where it ends and of a block that has exited: every engine
// passes the same judgement, though compiled code walks no tables.
// proves: W-17f
TEST_P(Clusters, EnginesJudgeRemoteAccessesAlike) {
  constexpr int kEnd = 64;  // of the block's memory, seen from its words
  std::uint32_t state = 5;
  const auto draw = [&](std::uint32_t below) {
    state = state * 1664525 + 1013904223;
    return static_cast<int>((state >> 8) % below);
  };
  int good = 0;
  for (int i = 0; i < 40; ++i) {
    const int size = 2 + draw(7), to = draw(static_cast<std::uint32_t>(size) + 1), exits = draw(3) == 0;
    const int offset = draw(4) == 0 ? 4 << draw(20) : 4 * draw(kEnd / 4 + 2);
    if (to == 1) continue;  // the accessing block itself
    close();
    const bool is_right = to < size && offset + 4 <= kEnd && exits == 0;
    auto out = buffer(Values(1));
    auto report = try_run(kernel("clusters.ptx", draw(2) == 0 ? "touch" : "touch_atomically"),
                          of(static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(size)), 1, to,
                          offset, exits, out);
    EXPECT_EQ(report.ok(), is_right) << "rank " << to << " of " << size << ", offset " << offset << ", "
                                     << exits;
    good += report.ok();
    if (!report.ok()) EXPECT_NE(report.error().message.find("illegal cluster address"), std::string::npos);
  }
  EXPECT_GT(good, 5);
}

}  // namespace
