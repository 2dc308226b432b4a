// The two passes, by what a policy tells of them: pass I tries clusters on the shadow state and leaves no
// trace, pass II repeats what was chosen and keeps it.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "machine/shape/even_shape.h"
#include "naive_distributor.h"
#include "random_load.h"

namespace raddle::machine {
namespace {

struct HeardPasses : DecisionLog {
  void record(const Decision& decision) override { decisions.push_back(decision); }
  std::vector<Decision> decisions;
};

/// The slots left for a grid without those placed.
Slots less(Slots free, const Slots& sms) {
  for (const std::uint32_t sm : sms) --free[sm];
  return free;
}

/// Follows one placement, decision by decision, with a shadow state of its own.
class Follower {
 public:
  explicit Follower(const RandomLoad& load)
      : shadow(load.free), size_(load.kind.ctas_per_cluster()), depth_(load.kind.depth) {}

  void follow(const Decision& decision) {
    if (decision.kind == Decision::Kind::attempt) return attempt(decision);
    if (decision.kind != Decision::Kind::launch) return;
    if (decision.level == 0)
      for (const Candidate& candidate : decision.candidates)
        if (candidate.chosen) choose(candidate);
    if (decision.level == 0) asked_.clear();
    shadow = less(shadow, decision.sms);
    if (decision.level + 1 == depth_) EXPECT_EQ(decision.free, shadow);
  }

  Slots shadow, kept;  // kept: the try of pass I that pass II must repeat
  std::size_t attempts = 0, failed = 0;

 private:
  void attempt(const Decision& decision) {
    ASSERT_EQ(decision.candidates.size(), 1u);
    const Candidate& asked = decision.candidates[0];
    EXPECT_TRUE(asked_.insert(asked.domain).second) << "once in an iteration";
    EXPECT_EQ(decision.sms.size(), asked.speed ? size_ : 0) << "every constituent, or none";
    EXPECT_EQ(decision.free, less(shadow, decision.sms))
        << "the registers hold what is tried, and nothing else";
    tried_[asked.domain] = decision;
    ++attempts, failed += !asked.speed;
  }
  void choose(const Candidate& candidate) {
    const Decision& attempt = tried_[candidate.domain];
    ASSERT_EQ(attempt.sms.size(), size_) << "pass I has succeeded there";
    EXPECT_EQ(attempt.candidates[0].speed, candidate.speed);
    kept.insert(kept.end(), attempt.sms.begin(), attempt.sms.end());
  }

  const std::uint64_t size_;
  const unsigned depth_;
  std::map<std::uint32_t, Decision> tried_;  // by domain: the last attempt
  std::set<std::uint32_t> asked_;            // domains, since the last round of launches
};

// proves: W-8e, W-9d, W-10a, W-10b, W-10c, W-10d, W-10e, W-11a, W-11b, W-21e
TEST(Passes, TheSecondRepeatsWhatTheFirstTriedAndKeepsIt) {
  std::mt19937_64 random(5);
  std::size_t attempts = 0, failed = 0;
  for (int i = 0; i < 600; ++i) {
    SCOPED_TRACE(i);
    RandomLoad load(random);
    HeardPasses heard;
    Placement placement;
    (*make_policy("lake"))->place(load.snapshot(), placement, &heard);
    Follower follower(load);
    for (const Decision& decision : heard.decisions) {
      follower.follow(decision);
      if (::testing::Test::HasFailure()) return;
    }
    ASSERT_EQ(follower.kept, placement.sms);
    ASSERT_EQ(follower.shadow, less(load.free, placement.sms));
    attempts += follower.attempts, failed += follower.failed;
  }
  EXPECT_GT(attempts, 2000u);
  EXPECT_GT(failed, 200u);
}

// A GPC cluster counts its CPC clusters: with one too few it is cancelled and launches nothing.
// proves: W-10d, W-10e, W-10f
TEST(Passes, AllConstituentsCountOrNothingIsLaunched) {
  const MachineShape shape = machine_of(1, 3, 1, 2);
  GridKind kind;
  kind.depth = 2;
  kind.levels[0] = {Level::gpc, {3, 1, 1}};
  kind.levels[1] = {Level::cpc, {2, 1, 1}};
  const Slots load(6, 0);
  for (const bool last_fits : {true, false}) {
    const Slots free{1, 1, 1, 1, 1, last_fits ? 1u : 0u};
    HeardPasses heard;
    Placement placement;
    (*make_policy("lake"))->place({shape, kind, free, load, {}, {}, 2}, placement, &heard);
    EXPECT_EQ(placement.launched, last_fits ? 1u : 0u);
    EXPECT_EQ(placement.sms, last_fits ? (Slots{0, 1, 2, 3, 4, 5}) : Slots{});
    EXPECT_EQ(placement.masks.size(), last_fits ? 3u : 0u);
    EXPECT_TRUE(placement.failed);
    ASSERT_FALSE(heard.decisions.empty());
    EXPECT_EQ(heard.decisions[0].kind, Decision::Kind::attempt);
    EXPECT_EQ(heard.decisions[0].sms, placement.sms);
    EXPECT_EQ(heard.decisions.back().free, less(free, placement.sms));
  }
}

/// Speeds of the parts of each outermost cluster, round by round.
// proves: W-8c, W-8d
TEST(Passes, TheSlowestPartOfAClusterIsTheLast) {
  std::mt19937_64 random(6);
  int clusters = 0;
  for (int i = 0; i < 400; ++i) {
    RandomLoad load(random);
    load.kind = {};
    load.kind.depth = 2;
    load.kind.levels[0] = {Level::gpc, {1 + static_cast<std::uint32_t>(random() % 4), 1, 1}};
    load.kind.levels[1] = {Level::cpc, {1 + static_cast<std::uint32_t>(random() % 3), 1, 1}};
    load.ids.clear();
    load.left = 1;
    HeardPasses heard;
    Placement placement;
    (*make_policy("lake"))->place(load.snapshot(), placement, &heard);
    if (placement.launched == 0) continue;
    std::uint32_t speed = 0, slowest = ~0u, last = ~0u;
    for (const Decision& decision : heard.decisions)
      for (const Candidate& candidate : decision.candidates) {
        if (!candidate.chosen) continue;
        if (decision.level == 0) speed = *candidate.speed;
        if (decision.level == 1) last = *candidate.speed, slowest = std::min(slowest, last);
      }
    ASSERT_EQ(last, slowest) << i;
    ASSERT_EQ(last, speed) << i;
    ++clusters;
  }
  EXPECT_GT(clusters, 100);
}

}  // namespace
}  // namespace raddle::machine
