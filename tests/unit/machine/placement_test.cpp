// The running machine does what its distributor decides: every block runs on the SM that the decision log
// names, under every policy and shape; caps, clusters, their ids and their memory hold while workers run
// blocks.
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "exec/cluster.h"
#include "machine/launch/recorder.h"
#include "machine/shape/even_shape.h"
#include "machine_fixture.h"

namespace raddle::machine {
namespace {

/// The decisions of a machine, and the placement that follows from them.
class Decisions final : public LaunchRecorder, public DecisionLog {
 public:
  void added(const Grid&, const std::uint32_t*, std::string_view, std::uint64_t) override {}
  void ended(const Grid&, std::uint64_t, std::uint32_t, const CtaTime&) override {}
  DecisionLog* decisions() override { return this; }
  void record(const Decision& decision) override {
    if (decision.kind == Decision::Kind::launch) {
      most_together = std::max(most_together, decision.sms.size());
      for (std::size_t i = 0; i < decision.sms.size(); ++i) {
        sm_of[decision.first + i] = decision.sms[i];
        most_resident = std::max(most_resident, ++resident[decision.sms[i]]);
      }
      most_sms = std::max(most_sms, resident.size());
    } else if (decision.kind == Decision::Kind::complete) {
      for (const std::uint32_t sm : decision.sms)
        if (--resident[sm] == 0) resident.erase(sm);
    }
  }
  std::map<std::uint64_t, std::uint32_t> sm_of;  ///< by launch index
  std::map<std::uint32_t, int> resident;         ///< by SM
  int most_resident = 0;                         ///< on one SM
  std::size_t most_sms = 0;                      ///< with blocks at one time
  std::size_t most_together = 0;                 ///< in one mask
};

class Placement : public MachineTest {
 protected:
  void open_with(const char* policy, const char* shape, DistributorOptions distributor = {}) {
    decisions_ = {};
    MachineOptions options;
    options.distributor = std::move(distributor);
    options.policy = policy;
    options.shape = *preset_shape(shape, 2);
    options.recorder = &decisions_;
    open(std::move(options));
  }
  /// Runs blocks that note their SM. @returns SM by block
  std::vector<std::uint32_t> sms_of(const GridSize& size) {
    std::vector<std::uint32_t> sms(size.x, ~0u);
    auto kernel = TestKernel::of_blocks([&](exec::CtaContext& cta) { sms[cta.ctaid[0]] = cta.smid; });
    EXPECT_EQ(run(kernel, size).kind, exec::FaultKind::none);
    return sms;
  }
  void TearDown() override { close(); }  // before its recorder

  Decisions decisions_;
};

// proves: W-9e, W-11i, W-15g
TEST_F(Placement, BlocksRunWhereTheDistributorDecided) {
  for (const char* shape : {"h200", "tiny", "host"}) {
    std::set<std::vector<std::uint32_t>> all;
    for (const std::string& policy : policy_names()) {
      for (const std::uint32_t cluster : {1u, 2u}) {
        open_with(policy.c_str(), shape);
        const auto sms = sms_of({.x = 40, .threads = 256, .cluster = cluster});
        ASSERT_EQ(decisions_.sm_of.size(), sms.size()) << policy;
        for (std::uint64_t i = 0; i < sms.size(); ++i)
          ASSERT_EQ(sms[i], decisions_.sm_of.at(i)) << shape << ", " << policy << ", block " << i;
        if (cluster == 1) all.insert(sms);
        close();
      }
    }
    if (shape == std::string("h200")) EXPECT_GE(all.size(), 2u) << "policies differ in where blocks run";
  }
}

// One worker reports many runs at a time in a machine that stays full.
// proves: W-21a
TEST_F(Placement, RecordingMovesNoBlock) {
  for (const std::string& policy : policy_names()) {
    std::vector<std::uint32_t> sms[2];
    for (const bool recorded : {false, true}) {
      close();  // it tells its recorder the time as long as it lives
      decisions_ = {};
      MachineOptions options;
      options.policy = policy;
      options.deterministic = 0;
      if (recorded) options.recorder = &decisions_;
      open(std::move(options));
      sms[recorded] = sms_of({.x = 6000, .threads = 256});
    }
    EXPECT_EQ(sms[0], sms[1]) << policy;
    for (std::uint64_t i = 0; i < sms[0].size(); ++i) ASSERT_EQ(decisions_.sm_of.at(i), sms[0][i]) << policy;
  }
}

// proves: W-23a
TEST_F(Placement, ACapKeepsHeadroomOnEverySm) {
  open_with("lake", "tiny");
  sms_of({.x = 100, .threads = 64, .cap_per_sm = 3});
  EXPECT_EQ(decisions_.most_resident, 3);
  close();
  open_with("lake", "tiny");
  sms_of({.x = 100, .threads = 64});
  EXPECT_GT(decisions_.most_resident, 3);
}

// proves: W-5f, W-5g, W-23a, W-23b
TEST_F(Placement, TheOptionsReachTheMachine) {
  const auto run_with = [&](DistributorOptions options, const char* policy = "lake") {
    close();
    open_with(policy, "h200", std::move(options));
    return sms_of({.x = 600, .threads = 512});
  };
  const auto by_number = run_with({});
  for (std::uint32_t i = 0; i < 132; ++i) EXPECT_EQ(by_number[i], i);
  EXPECT_EQ(decisions_.most_resident, 4);
  EXPECT_GT(decisions_.most_together, 8u);
  run_with({.cap_per_sm = 3});
  EXPECT_EQ(decisions_.most_resident, 3);
  run_with({.policy_cap_per_sm = {{"lake", 1}, {"first_fit", 2}}});
  EXPECT_EQ(decisions_.most_resident, 1);
  run_with({.policy_cap_per_sm = {{"lake", 1}, {"first_fit", 2}}}, "first_fit");
  EXPECT_EQ(decisions_.most_resident, 2);
  run_with({.grid_cap_per_sm = 2});
  EXPECT_EQ(decisions_.most_resident, 2);
  run_with({.credits = 8});
  EXPECT_LE(decisions_.most_together, 8u);
  DistributorOptions backwards;
  for (std::uint32_t sm = 132; sm-- > 0;) backwards.sm_order.push_back(sm);
  const auto reversed = run_with(backwards);
  for (std::uint32_t i = 0; i < 132; ++i) EXPECT_EQ(reversed[i], 131 - i);

  MachineOptions wrong;
  wrong.shape = *preset_shape("tiny", 2);
  wrong.distributor = backwards;
  const auto refused = Machine::create(std::move(wrong));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("option sm_order: 'tiny' has no SM 131"), std::string::npos);
}

/// Grids of four blocks of three spaces, each of which fits an SM, on a machine of four SMs in a GPC.
class ThreeSpaces : public MachineTest {
 protected:
  using Sms = std::multiset<std::uint32_t>;

  void open_spaces(MachineOptions options, const AddressSpaceOptions& of_spaces) {
    close_spaces();
    options.shape = machine_of(1, 1, 2, 2);
    options.shape.name = "four SMs";
    open(std::move(options));
    for (auto& space : spaces_) space = std::move(*AddressSpace::open(machine_, of_spaces));
  }
  /// Every block waits until all twelve run. @param body  what their first warps do then
  std::array<Sms, 3> run_grids(std::optional<PlacementMode> of_grids,
                               const std::function<void(exec::WarpContext&)>& body) {
    std::mutex mutex;
    std::atomic<int> running{0};
    std::array<Sms, 3> sms;
    std::vector<TestKernel> kernels;
    for (Sms& of_space : sms) {
      kernels.push_back(TestKernel::of_warps([&](exec::WarpContext& warp) {
        if (warp.warp_id == 0) {
          const std::lock_guard lock(mutex);
          of_space.insert(warp.cta->smid);
          ++running;
        }
        while (running != 12) warp.cta->services->yield(&warp);
        if (warp.warp_id == 0) body(warp);
      }));
    }
    std::vector<Task*> tasks;
    for (std::size_t i = 0; i < 3; ++i)
      tasks.push_back(submit(*spaces_[i], kernels[i], {.x = 4, .threads = 512, .placement = of_grids}));
    for (std::size_t i = 0; i < 3; ++i) {
      tasks[i]->wait();
      spaces_[i]->tasks().release(tasks[i]);
    }
    return sms;
  }
  std::array<Sms, 3> sms_of(std::optional<PlacementMode> of_spaces,
                            std::optional<PlacementMode> of_grids = {}) {
    open_spaces({}, {.placement = of_spaces});
    return run_grids(of_grids, [](exec::WarpContext&) {});
  }
  void close_spaces() {
    for (auto& space : spaces_) space.reset();
    close();
  }
  void TearDown() override { close_spaces(); }

  std::array<std::unique_ptr<AddressSpace>, 3> spaces_;
};

// proves: A-16a, A-16b, A-25a, A-25c
TEST_F(ThreeSpaces, TakeAnSmEachOrShareAll) {
  const Sms everywhere{0, 1, 2, 3};
  const auto deep = sms_of(PlacementMode::deep), wide = sms_of(PlacementMode::wide);
  std::set<std::uint32_t> used;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(deep[i].count(*deep[i].begin()), 4u) << "one SM";
    used.insert(deep[i].begin(), deep[i].end());
    EXPECT_EQ(wide[i], everywhere);
  }
  EXPECT_EQ(used.size(), 3u) << "each its own";
  EXPECT_EQ(sms_of({}), wide) << "as it was before there was a choice";
  for (const Sms& sms : sms_of(PlacementMode::wide, PlacementMode::deep)) EXPECT_NE(sms, everywhere);
  for (const Sms& sms : sms_of(PlacementMode::deep, PlacementMode::wide)) EXPECT_EQ(sms, everywhere);
}

/// The same grids, of modelled spaces.
class ThreeModelledSpaces : public ThreeSpaces {
 protected:
  static constexpr std::uint64_t kPages = 3, kFrame = 4096;

  /// Each block reads a word of each of its space's three pages, which are at the same addresses, once.
  void read_pages(PlacementMode mode, unsigned workers) {
    const TagStoreSpec lines{.entries = 64};
    open_spaces({.workers = workers, .mmu = {.virtual_cache = lines, .physical_cache = lines}},
                {.translation = Translation::modelled});
    for (auto& space : spaces_) {
      const auto frames = mmu().memory().take(kPages * kFrame, kFrame);
      ASSERT_TRUE(frames && space->pages()->enter(kFrame, *frames, {}).ok());
    }
    run_grids(mode, [](exec::WarpContext& warp) {
      std::uint64_t addresses[kPages];
      for (std::uint64_t i = 0; i < kPages; ++i) addresses[i] = (1 + i) * kFrame;
      warp.cta->services->translate(&warp, (1u << kPages) - 1, addresses, sizeof(std::uint64_t),
                                    static_cast<std::uint32_t>(exec::AccessKind::load), 1);
    });
    for (auto& space : spaces_) EXPECT_FALSE(space->failed());
  }
  Mmu& mmu() { return spaces_[0]->pages()->mmu(); }
  /// @param asids    in the TLB of each SM, in no order
  /// @param at_sms   of each space, in the SMs' TLBs as in their caches, which go by virtual addresses
  /// @param at_gpc   of each space, in the GPC's TLB as in the physical cache
  void expect(const Sms& asids, const Hits& at_sms, const Hits& at_gpc) {
    Sms found;
    for (std::uint32_t sm = 0; sm < 4; ++sm)
      found.insert(static_cast<std::uint32_t>(std::ranges::count_if(
          spaces_, [&](const auto& space) { return mmu().sm_tlb(sm, space->pages()->asid()) != Hits{}; })));
    EXPECT_EQ(found, asids);
    for (const auto& space : spaces_) {
      const TranslationCounts counts = space->pages()->counts();
      EXPECT_EQ(counts.sm_tlbs, at_sms);
      EXPECT_EQ(counts.virtual_caches, at_sms);
      EXPECT_EQ(counts.gpc_tlbs, at_gpc);
      EXPECT_EQ(counts.physical_cache, at_gpc);
    }
    EXPECT_EQ(mmu().counts().sm_tlbs, (Hits{3 * at_sms.hits, 3 * at_sms.misses}));
  }
};

// Who comes first on an SM misses there; of these, only the first of all misses in what the SMs share.
// proves: A-17b, A-17c, A-25b, A-25d
TEST_F(ThreeModelledSpaces, MissOnEachSmThatTheyAreOn) {
  const Hits all_miss{0, 4 * kPages}, first_misses{3 * kPages, kPages}, only_the_first{0, kPages};
  for (const unsigned workers : {1u, 0u}) {
    read_pages(PlacementMode::deep, workers);
    expect({0, 1, 1, 1}, first_misses, only_the_first);
    read_pages(PlacementMode::wide, workers);
    expect({3, 3, 3, 3}, all_miss, first_misses);
  }
}

// A space that never ends has two SMs of four at most, also after its limit was changed while it runs.
// proves: A-21a
TEST_F(Placement, ALimitOfSmsHoldsWhileBlocksRun) {
  MachineOptions options;
  options.shape = machine_of(1, 1, 2, 2);
  options.shape.name = "four SMs";
  options.recorder = &decisions_;
  open(std::move(options));
  std::mutex mutex;
  std::set<std::uint32_t> used;
  auto kernel = TestKernel::of_blocks([&](exec::CtaContext& cta) {
    const std::lock_guard lock(mutex);
    used.insert(cta.smid);
  });
  auto limited = std::move(*AddressSpace::open(machine_, {.sm_limit = {.sms = {1, 2, 3}, .most = 2}}));
  const GridSize size{.x = 3000, .threads = 512};
  EXPECT_EQ(run(*limited, kernel, size).kind, exec::FaultKind::none);
  EXPECT_EQ(decisions_.most_sms, 2u);
  EXPECT_FALSE(used.contains(0));
  used.clear();
  ASSERT_TRUE(limited->confine({.sms = {0}}).ok());
  EXPECT_EQ(run(*limited, kernel, size).kind, exec::FaultKind::none);
  EXPECT_EQ(used, std::set<std::uint32_t>{0});
  GridWork together;
  together.threads_per_block = 1024;
  together.blocks = together.context.nctaid[0] = 3;
  together.context.nctaid[1] = together.context.nctaid[2] = 1;
  together.cooperative = true;
  EXPECT_EQ(limited->check(together).error().code, ErrorCode::too_large) << "an SM holds two";
  EXPECT_TRUE(space_->check(together).ok());
  const auto wrong = limited->confine({.sms = {4}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message, "limit of SMs: 'four SMs' has no SM 4, but 4 SMs");
  ASSERT_TRUE(limited->confine({}).ok());
  used.clear();
  EXPECT_EQ(run(*limited, kernel, {.x = 40, .threads = 512}).kind, exec::FaultKind::none);
  EXPECT_TRUE(used.contains(3));
  EXPECT_EQ(decisions_.most_sms, 4u);
  limited.reset();
}

// Blocks in flight on an SM: as many as its threads, slots and shared memory allow of the kernel's.
// proves: K-8c
TEST_F(Placement, BlocksInFlightFollowTheKernelsNeeds) {
  const auto in_flight = [&](const GridSize& size) {
    close();
    open_with("lake", "tiny");
    sms_of(size);
    return decisions_.most_resident;
  };
  EXPECT_EQ(in_flight({.x = 100, .threads = 1024}), 2);
  EXPECT_EQ(in_flight({.x = 100, .threads = 256}), 8);
  EXPECT_EQ(in_flight({.x = 100, .threads = 32}), 32);
  EXPECT_EQ(in_flight({.x = 100, .threads = 32, .shared = 50u << 10}), 4);
}

// Each block waits until all of its cluster have come: possible only if they run at once.
// proves: W-4b, W-16c
TEST_F(Placement, ClustersAreResidentAsAWhole) {
  constexpr std::uint32_t kSize = 4, kClusters = 300;
  open_with("lake", "h200");
  std::vector<std::atomic<std::uint32_t>> come(kClusters);
  std::mutex mutex;
  std::set<std::pair<std::uint32_t, std::uint32_t>> live;  // GPC and local id
  std::atomic<int> wrong{0};
  auto kernel = TestKernel::of_warps([&](exec::WarpContext& warp) {
    const exec::CtaContext& cta = *warp.cta;
    const std::uint32_t number = cta.ctaid[0] / kSize;
    const auto id = std::pair(cta.cluster->gpc, cta.cluster->local_id);
    if (machine_->shape().domain_of(Level::gpc, cta.smid) != id.first ||
        cta.cluster_rank != cta.ctaid[0] % kSize)
      ++wrong;
    if (come[number].fetch_add(1) == 0) {
      const std::lock_guard lock(mutex);
      if (!live.insert(id).second) ++wrong;  // two clusters with one id
    }
    while (come[number] < kSize) cta.services->yield(&warp);
    if (come[number].fetch_add(1) == 2 * kSize - 1) {
      const std::lock_guard lock(mutex);
      live.erase(id);
    }
  });
  ASSERT_EQ(run(kernel, {.x = kSize * kClusters, .threads = 32, .shared = 1024, .cluster = kSize}).kind,
            exec::FaultKind::none);
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(live.empty());
}

// A grid that could never be resident as a whole would wait for itself at its first barrier.
// proves: W-3g, W-3h
TEST_F(Placement, ACooperativeGridHasRoomOrIsRefused) {
  open_with("lake", "tiny");
  const auto check = [&](std::uint32_t blocks) {
    GridWork grid;
    grid.threads_per_block = 1024;
    grid.blocks = grid.context.nctaid[0] = blocks;
    grid.context.nctaid[1] = grid.context.nctaid[2] = 1;
    grid.cooperative = true;
    return space_->check(grid);
  };
  EXPECT_TRUE(check(4).ok()) << "two to an SM";
  const auto refused = check(5);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::too_large);
}

// proves: W-24a
TEST_F(Placement, AClusterHasASlotOfClusterWideMemoryToItself) {
  constexpr std::uint32_t kSize = 2, kClusters = 200;  // more than there are slots
  open_with("lake", "h200");
  std::atomic<int> wrong{0};
  auto kernel = TestKernel::of_warps([&](exec::WarpContext& warp) {
    const exec::CtaContext& cta = *warp.cta;
    auto* words = reinterpret_cast<std::uint32_t*>(cta.cluster->cluster_memory);
    std::atomic_ref(words[cta.cluster_rank]).store(cta.ctaid[0] + 1);
    cta.services->cluster_arrive(&warp, warp.live_lanes);
    cta.services->cluster_wait(&warp, warp.live_lanes);
    for (std::uint32_t rank = 0; rank < kSize; ++rank)
      if (std::atomic_ref(words[rank]).load() != cta.ctaid[0] - cta.cluster_rank + rank + 1) ++wrong;
    cta.services->cluster_arrive(&warp, warp.live_lanes);
    cta.services->cluster_wait(&warp, warp.live_lanes);
  });
  ASSERT_EQ(
      run(kernel, {.x = kSize * kClusters, .shared = 1024, .cluster = kSize, .cluster_memory = true}).kind,
      exec::FaultKind::none);
  EXPECT_EQ(wrong, 0);
  GridWork plain;
  plain.threads_per_block = 32;
  plain.blocks = 1;
  plain.cluster_memory = true;
  EXPECT_FALSE(space_->check(plain).ok());
}

}  // namespace
}  // namespace raddle::machine
