// The live model and what is seen of it: the task table, the GPCs' counters and pools, the snapshot that
// launches are tried on, and what the log says of both states.
#include <map>
#include <numeric>

#include "distributor_fixture.h"
#include "machine/distributor/gpc_manager.h"
#include "machine/distributor/task_table.h"

namespace raddle::machine::testing {
namespace {

constexpr CtaNeeds kHalf{.threads = 1024, .warps = 32};
using Numbers = std::vector<std::uint32_t>;

// proves: W-2b, W-2c, W-2d
TEST(TaskTable, KeepsWhatAllSmsReportWhenAGridStarts) {
  const MachineShape shape = grid_of_gpcs(1, 2);
  SmUsage usage(shape, 0);
  TaskTable table(usage);
  usage.start(1, kHalf, 77);
  usage.start(0, kHalf, 77), usage.start(0, kHalf, 77);
  const std::uint32_t row = table.acquire(Grid{.needs = kQuarter}, false);
  EXPECT_EQ(table[row].free, (Numbers{0, 2, 4, 4}));
  EXPECT_EQ(table[row].total, 10u);
  usage.exit(0, 1, kHalf, 77);
  EXPECT_EQ(table[row].free, (Numbers{0, 2, 4, 4})) << "kept until somebody looks";
  EXPECT_EQ(table.look(row).free, (Numbers{2, 2, 4, 4}));
  EXPECT_EQ(table[row].free, (Numbers{2, 2, 4, 4}));
  EXPECT_EQ(table.acquire(Grid{.needs = kQuarter}, false), row) << "a task of the same needs: the same row";
  EXPECT_NE(table.acquire(Grid{.needs = kHalf}, false), row);
  CtaNeeds more = kQuarter;
  more.shared_bytes = 200 << 10;
  EXPECT_EQ(table[table.acquire(Grid{.needs = more}, false)].free, (Numbers{1, 1, 1, 1}));
}

/// Two GPCs of three and of five SMs.
MachineShape unequal() {
  MachineShape shape;
  for (const Level level : {Level::set, Level::gpu, Level::ugpu}) shape.open(level);
  for (const std::uint32_t sms : {3u, 5u}) {
    for (const Level level : {Level::gpc, Level::cpc, Level::tpc}) shape.open(level);
    shape.add_sms(sms);
    for (const Level level : {Level::tpc, Level::cpc, Level::gpc}) shape.close(level);
  }
  for (const Level level : {Level::ugpu, Level::gpu, Level::set}) shape.close(level);
  shape.sm.cluster_slots = 2;
  return shape;
}

// proves: W-12a, W-12b, W-12c
TEST(GpcManagers, CountTheClusterSlotsOfTheirOwnSms) {
  GpcManagers gpcs(unequal());
  EXPECT_EQ(gpcs.slots(0), 3u * 2);
  EXPECT_EQ(gpcs.slots(1), 5u * 2);
  for (std::uint32_t left = 5; left-- > 0;) {
    gpcs.take_slot(0);
    EXPECT_EQ(gpcs.slots(0), left + 1);
    EXPECT_EQ(gpcs.launchable()[0], left + 1);
  }
  EXPECT_EQ(gpcs.slots(1), 10u);
  gpcs.return_slot(0);
  EXPECT_EQ(gpcs.slots(0), 2u);
}

// proves: W-16a
TEST(GpcManagers, HaveAPoolOfIdsEach) {
  MachineShape shape = unequal();
  shape.cluster_ids_per_gpc = 2;
  GpcManagers gpcs(shape);
  const std::uint32_t first = gpcs.take_id(0, 1), second = gpcs.take_id(0, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(gpcs.launchable()[0], 0u);
  EXPECT_EQ(gpcs.launchable()[1], 2u) << "the other GPC has its own";
  EXPECT_EQ(gpcs.take_id(1, 1), first) << "the same number, in another GPC";
  EXPECT_TRUE(gpcs.cta_complete(0, second));
  gpcs.flush_done(0, second);
  gpcs.return_id(0, second);
  EXPECT_EQ(gpcs.ids(0), 1u);
  EXPECT_EQ(gpcs.ids(1), 1u);
}

// proves: W-3c
TEST_F(DistributorTest, AClusterMayBeConfinedToASetOfGpus) {
  MachineShape shape;
  shape.open(Level::set);
  for (int gpu = 0; gpu < 2; ++gpu) {
    for (const Level level : {Level::gpu, Level::ugpu, Level::gpc, Level::cpc, Level::tpc}) shape.open(level);
    shape.add_sms(2);
    for (const Level level : {Level::tpc, Level::cpc, Level::gpc, Level::ugpu, Level::gpu})
      shape.close(level);
  }
  shape.close(Level::set);
  make(std::move(shape));
  EXPECT_EQ(distributor_->most_active(clusters_of(16, Level::gpu), kQuarter), 0u) << "a GPU has room for 8";
  EXPECT_EQ(distributor_->most_active(clusters_of(16, Level::set), kQuarter), 1u);
  Grid& grid = add(32, kQuarter, clusters_of(16, Level::set));
  EXPECT_EQ(distribute(), 16u);
  for (const std::uint32_t sm : {0u, 1u, 2u, 3u})
    EXPECT_EQ(
        std::count_if(sink_.ctas.begin(), sink_.ctas.end(), [&](const Cta& cta) { return cta.sm == sm; }), 4);
  EXPECT_TRUE(distributor_->local_ids(sink_.ctas.front().cluster).empty()) << "it shares no window";
  complete_all(grid);
  EXPECT_EQ(distribute(), 16u);
}

/// Looks at the snapshot before and after the policy has tried launches on it.
class LookingPolicy final : public Policy {
 public:
  explicit LookingPolicy(std::vector<Numbers>& loads) : loads_(loads) {}
  std::string_view name() const override { return policy_->name(); }
  void place(const Snapshot& snapshot, Placement& placement, DecisionLog* log) override {
    const Numbers free(snapshot.free.begin(), snapshot.free.end()),
        load(snapshot.load.begin(), snapshot.load.end());
    policy_->place(snapshot, placement, log);
    EXPECT_TRUE(std::ranges::equal(free, snapshot.free)) << "tried on a copy";
    EXPECT_TRUE(std::ranges::equal(load, snapshot.load)) << "the live model is as it was";
    loads_.push_back(load);
  }

 private:
  std::unique_ptr<Policy> policy_ = std::move(*make_policy("lake"));
  std::vector<Numbers>& loads_;
};

// proves: W-9a, W-9b, W-9d
TEST_F(DistributorTest, LaunchesAreTriedOnASnapshotOfTheLiveModel) {
  std::vector<Numbers> loads;
  shape_ = grid_of_gpcs(1, 2, 1);
  distributor_ = std::make_unique<Distributor>(shape_, std::make_unique<LookingPolicy>(loads));
  Grid& first = add(3, kQuarter, clusters_of(3));
  distribute();
  add(2, kQuarter, clusters_of(2));
  distribute();
  complete_all(first);
  add(1, kQuarter);
  distribute();
  EXPECT_EQ(loads, (std::vector<Numbers>{{0, 0}, {2, 1}, {1, 1}}));
}

struct Log final : DecisionLog {
  void record(const Decision& decision) override { decisions.push_back(decision); }
  std::vector<Decision> decisions;
};

// The live state of a decision is what had been committed before its placement began; the shadow state has
// what the placement has decided so far.
// proves: W-21b, W-21e
TEST_F(DistributorTest, DecisionsNameTaskClusterAndBothStates) {
  Log log;
  make(grid_of_gpcs(2, 2));
  distributor_->observe(&log);
  GridKind nested = clusters_of(2);
  nested.levels[nested.depth++] = {Level::cpc, {3, 1, 1}};
  add(5, kHalf);
  add(12, kQuarter, clusters_of(4));
  Grid& last = add(30, kQuarter, nested);
  std::map<std::uint64_t, std::map<std::uint32_t, std::uint32_t>> expected;  // grid: launch index: SM
  Numbers live(8, 0), decided = live;
  std::size_t seen = 0, attempts = 0, launches = 0, refusals = 0, ahead = 0;
  for (int round = 0; round < 60 && !last.finished(); ++round) {
    distribute();
    for (; seen < log.decisions.size(); ++seen) {
      const Decision& decision = log.decisions[seen];
      SCOPED_TRACE(seen);
      if (decision.kind == Decision::Kind::complete) {
        for (const std::uint32_t sm : decision.sms) --live[sm], --decided[sm];
        EXPECT_TRUE(decision.live.empty());
        continue;
      }
      if (decision.kind == Decision::Kind::cluster_complete) continue;
      if (decision.live == decided) live = decided;  // the earlier placement has been committed
      EXPECT_EQ(decision.live, live);
      ahead += live != decided;
      attempts += decision.kind == Decision::Kind::attempt;
      refusals += decision.kind == Decision::Kind::fail;
      EXPECT_LE(decision.cluster,
                grids_[decision.grid - 1]->next / grids_[decision.grid - 1]->kind.ctas_per_cluster());
      if (decision.kind != Decision::Kind::launch) continue;
      ++launches;
      for (std::size_t i = 0; i < decision.sms.size(); ++i) {
        expected[decision.grid][static_cast<std::uint32_t>(decision.first + i)] = decision.sms[i];
        ++decided[decision.sms[i]];
      }
      if (!decision.sms.empty() && decision.grid > 1) {
        const std::uint64_t size = grids_[decision.grid - 1]->kind.ctas_per_cluster();
        EXPECT_LE(decision.cluster, decision.first / size);
      }
    }
    live = decided;
    for (const Cta& cta : sink_.ctas) EXPECT_EQ(expected[cta.grid->id][cta.index], cta.sm);
    complete_one(*sink_.ctas.front().grid);
  }
  EXPECT_TRUE(last.finished());
  EXPECT_EQ(expected[3].size(), 30u);
  EXPECT_GT(attempts, launches / 2);
  EXPECT_GT(ahead, 0u) << "within a session the shadow state goes ahead of the live one";
  EXPECT_GT(refusals, 0u);
}

}  // namespace
}  // namespace raddle::machine::testing
