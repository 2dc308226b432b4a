// The distributor's options: as text, what they refuse, and what each does.
#include "machine/distributor/options.h"

#include "distributor_fixture.h"

namespace raddle::machine::testing {
namespace {

DistributorOptions options_of(std::string_view text) {
  const Result<DistributorOptions> options = parse_distributor_options(text);
  EXPECT_TRUE(options.ok()) << options.error().to_string();
  return options.ok() ? *options : DistributorOptions{};
}

TEST(DistributorOptions, ComeFromText) {
  const DistributorOptions options = options_of(
      "cap_per_sm=8,cap_per_sm.lake=4,cap_per_sm.first_fit=2,grid_cap_per_sm=3,patience=70,credits=9,"
      "sm_order=5-3:0:1-2,ties=waiting,task_slots=7,turn=9,preemptive=1,active_pool=2,"
      "pending_pool=5");
  EXPECT_EQ(options.cap_per_sm, 8u);
  EXPECT_EQ(options.policy_cap_per_sm, (std::map<std::string, std::uint32_t>{{"lake", 4}, {"first_fit", 2}}));
  EXPECT_EQ(options.grid_cap_per_sm, 3u);
  EXPECT_EQ(options.patience, 70u);
  EXPECT_EQ(options_of("work_kinds=3,share_every=20").work_kinds, 3u);
  EXPECT_EQ(options_of("work_kinds=3,share_every=20").share_every, 20u);
  EXPECT_EQ(options.credits, 9u);
  EXPECT_EQ(options.sm_order, (std::vector<std::uint32_t>{5, 4, 3, 0, 1, 2}));
  EXPECT_EQ(options.ties, TieBreak::waiting);
  EXPECT_EQ(options.task_slots, 7u);
  EXPECT_EQ(options.turn, 9u);
  EXPECT_TRUE(options.preemptive);
  EXPECT_EQ(options.active_pool, 2u);
  EXPECT_EQ(options.pending_pool, 5u);
  EXPECT_EQ(options_of("").patience, 1024u);
  EXPECT_EQ(options_of("ties=priority").ties, TieBreak::priority);
}

TEST(DistributorOptions, WhatIsWrongIsSaidWithTheOptionsName) {
  const MachineShape shape = grid_of_gpcs(1, 3);  // 6 SMs
  const auto complaint = [&](std::string_view text) {
    const Result<DistributorOptions> options = parse_distributor_options(text);
    if (!options) return options.error().message;
    const Result<void> fits = check(*options, shape);
    return fits ? std::string() : fits.error().message;
  };
  EXPECT_EQ(complaint("sm_order=5-0,cap_per_sm.lake=1"), "");
  for (const auto& [text, part] : std::map<std::string, std::string>{
           {"cap_per_sm=-1", "option cap_per_sm: '-1' is no count"},
           {"cap_per_sm=4294967296",
            "option cap_per_sm: 4294967296 is out of range: it may be from 0 to 4294967295"},
           {"cap_per_sm.lake=x", "option cap_per_sm.lake: 'x'"},
           {"cap_per_sm.best=1", "option cap_per_sm.best: no policy 'best'"},
           {"credits=18446744073709551616", "option credits: "},
           {"credits=1 ", "option credits: '1 '"},
           {"patience=", "option patience: ''"},
           {"patience", "option patience: has no value"},
           {"ties=dice", "option ties: 'dice' is none of load, waiting, priority"},
           {"preemptive=2", "option preemptive: 2 is out of range: it may be from 0 to 1"},
           {"active_pool=3,pending_pool=3", "option active_pool: 3 is not less than the 3 of pending_pool"},
           {"colour=1", "no option 'colour'; there are cap_per_sm, "},
           {"=1", "no option ''"},
           {"sm_order=0-6", "has no SM 6, but 6 SMs"},
           {"sm_order=0-5:3", "option sm_order: SM 3 stands there twice"},
           {"sm_order=0-4", "option sm_order: names 5 of the 6 SMs"},
           {"sm_order=0-", "option sm_order: ''"},
           {"sm_order=0::1", "option sm_order: ''"},
           {"sm_order=0-99999999", "option sm_order: 99999999 is out of range"}})
    EXPECT_NE(complaint(text).find(part), std::string::npos) << text << ": " << complaint(text);
  DistributorOptions typed;
  typed.ties = TieBreak(7);
  EXPECT_NE(check(typed, shape).error().message.find("option ties"), std::string::npos);
}

// proves: W-23a, W-23b
TEST_F(DistributorTest, CapsOfMachinePolicyAndGridAreData) {
  const auto launched = [&](const char* text, std::uint32_t cap_of_grid = 0) {
    make(grid_of_gpcs(1, 1, 2), options_of(text));  // the policy is lake
    add(Grid{.needs = kQuarter, .ctas = 100, .cap_per_sm = cap_of_grid});
    return distribute();
  };
  EXPECT_EQ(launched(""), 8u);
  for (std::uint32_t cap = 1; cap <= 4; ++cap) {
    EXPECT_EQ(launched(fmt::format("cap_per_sm={}", cap).c_str()), 2 * cap);
    EXPECT_EQ(launched(fmt::format("cap_per_sm.lake={}", cap).c_str()), 2 * cap);
    EXPECT_EQ(launched(fmt::format("grid_cap_per_sm={}", cap).c_str()), 2 * cap);
  }
  EXPECT_EQ(launched("cap_per_sm.first_fit=1"), 8u) << "of another policy";
  EXPECT_EQ(launched("cap_per_sm=2,cap_per_sm.lake=3"), 4u) << "the lower one counts";
  EXPECT_EQ(launched("cap_per_sm=3,cap_per_sm.lake=2"), 4u);
  EXPECT_EQ(launched("grid_cap_per_sm=1", 3), 6u) << "the grid names its own";
  EXPECT_EQ(distributor_->most_per_sm(kQuarter), 1u);
  EXPECT_EQ(distributor_->most_active({}, kQuarter), 2u);
}

// All resources at their limit, and each of them one beyond it.
TEST(SlotsPerSm, OneFitsWhereAnyDo) {
  const SmLimits sm;
  const CtaNeeds all{sm.threads, sm.warps, sm.barriers, sm.registers, sm.shared_bytes};
  std::vector<CtaNeeds> beyond(5, all);
  ++beyond[0].threads, ++beyond[1].warps, ++beyond[2].barriers, ++beyond[3].registers,
      ++beyond[4].shared_bytes;
  EXPECT_EQ(slots_per_sm(sm, all), 1u);
  EXPECT_TRUE(fits_empty_sm(sm, all));
  for (const CtaNeeds& needs : beyond) {
    EXPECT_EQ(slots_per_sm(sm, needs), 0u);
    EXPECT_FALSE(fits_empty_sm(sm, needs));
  }
}

/// Three GPCs of two SMs that answer alike, and their differences.
struct Tie {
  MachineShape shape = grid_of_gpcs(3, 1);
  std::vector<std::uint32_t> free{3, 3, 3, 3, 3, 3}, load{4, 4, 1, 1, 2, 2}, waiting{2, 0, 0, 1, 0, 0};
  std::vector<std::uint32_t> order;

  /// GPCs of the clusters of one CTA that are placed.
  std::vector<std::uint32_t> chosen(TieBreak ties, std::uint64_t left) const {
    const GridKind kind = clusters_of(1);
    Placement placement;
    (*make_policy("lake"))
        ->place({shape, kind, free, load, {}, order, left, 0, 0, ties, waiting}, placement, nullptr);
    std::vector<std::uint32_t> gpcs;
    for (const std::uint32_t sm : placement.sms) gpcs.push_back(sm / 2);
    return gpcs;
  }
};

// proves: W-7h, W-7i
TEST(TieBreaks, GoByLoadByClustersThatWaitOrByPriority) {
  using Gpcs = std::vector<std::uint32_t>;
  Tie tie;
  EXPECT_EQ(tie.chosen(TieBreak::load, 1), Gpcs{1});
  EXPECT_EQ(tie.chosen(TieBreak::load, 2), (Gpcs{1, 2}));
  EXPECT_EQ(tie.chosen(TieBreak::waiting, 1), Gpcs{2});
  EXPECT_EQ(tie.chosen(TieBreak::waiting, 2), (Gpcs{1, 2}));
  EXPECT_EQ(tie.chosen(TieBreak::priority, 1), Gpcs{0});
  EXPECT_EQ(tie.chosen(TieBreak::priority, 2), (Gpcs{0, 1}));
  tie.order = {3, 4, 0, 5, 1, 2};
  EXPECT_EQ(tie.chosen(TieBreak::priority, 1), Gpcs{1}) << "the GPC of SM 3";
  EXPECT_EQ(tie.chosen(TieBreak::priority, 2), (Gpcs{1, 2}));
  EXPECT_EQ(tie.chosen(TieBreak::waiting, 1), Gpcs{2});
  tie.waiting.clear();
  EXPECT_EQ(tie.chosen(TieBreak::waiting, 1), Gpcs{0}) << "none wait";
}

TEST(TieBreaks, CountWhatTheSamePlacementLetsWait) {
  Tie tie;
  tie.free = {5, 4, 4, 4, 4, 4};
  tie.waiting = {0, 0, 0, 0, 0, 1};
  EXPECT_EQ(tie.chosen(TieBreak::waiting, 2), (std::vector<std::uint32_t>{0, 1}))
      << "GPC 0 has the fastest SM; then all are equal, and a cluster waits in GPC 0 and in GPC 2";
}

// A cluster waits from its launch until all of its CTAs have started.
// proves: W-7i
TEST_F(DistributorTest, AClusterWaitsUntilItsCtasHaveStarted) {
  const auto sm_of_second = [&](std::uint32_t started) {
    make(grid_of_gpcs(2, 3, 1), options_of("ties=waiting"));
    sink_ = {};
    Grid& filler = add(6, kQuarter);
    distribute();
    for (int i = 0; i < 4; ++i) complete_one(filler);  // GPC 1 has an SM that is idle, and two that are not
    Grid& first = add(2, kQuarter, clusters_of(2));
    distribute();
    EXPECT_EQ(sink_.ctas.back().sm, 1u);
    distributor_->started_in_cluster(oldest_cluster(first), started);
    add(1, kQuarter, clusters_of(1));
    EXPECT_EQ(distribute(), 1u);
    return sink_.ctas.back().sm;
  };
  EXPECT_EQ(sm_of_second(0), 3u);
  EXPECT_EQ(sm_of_second(1), 3u);
  EXPECT_EQ(sm_of_second(2), 2u);
}

}  // namespace
}  // namespace raddle::machine::testing
