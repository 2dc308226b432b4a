// Three worked examples with every placement written out: a lake filled CTA by CTA and level by level, a
// cluster that does not fit, nested clusters over four GPCs.
#include <gtest/gtest.h>

#include <vector>

#include "machine/distributor/policy.h"
#include "machine/distributor/worked_examples.h"
#include "naive_distributor.h"

namespace raddle::machine {
namespace {

class WorkedExample : public ::testing::Test {
 protected:
  std::unique_ptr<Policy> policy_ = std::move(*make_policy("lake"));
  Placement placement_;

  struct Heard : DecisionLog {
    void record(const Decision& decision) override {
      if (decision.kind != Decision::Kind::attempt) decisions.push_back(decision);
    }
    std::vector<Decision> decisions;
  };

  /// Places and takes the slots.
  void place(worked::State& state, std::uint64_t left, DecisionLog* log = nullptr) {
    policy_->place({state.shape, state.kind, state.free, state.load, {}, {}, left}, placement_, log);
    for (const std::uint32_t sm : placement_.sms) --state.free[sm], ++state.load[sm];
  }
  std::vector<Slots> masks() const {
    std::vector<Slots> masks;
    for (const SmMask& mask : placement_.masks)
      masks.emplace_back(placement_.sms.begin() + mask.first,
                         placement_.sms.begin() + mask.first + mask.count);
    return masks;
  }
};

/// 137 CTAs on `room_for_137`, highest level first. The last level has 25 SMs and gets 22 CTAs, from SM 0 on.
const std::vector<Slots>& levels_of_137() {
  static const Slots idle{0, 1, 2, 5, 7, 9, 13, 14, 15, 16, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};
  static const std::vector<Slots> levels{
      idle,                                                                                    // 8 free slots
      idle,                                                                                    // 7
      {0, 1, 2, 5, 7, 9, 12, 13, 14, 15, 16, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30},  // 6: and SM 12
      {0,  1,  2,  5,  7,  9,  10, 12, 13, 14, 15, 16,
       19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30},  // 5: and SM 10
      {0, 1, 2, 5, 7, 9, 10, 12, 13, 14, 15, 16, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30},  // 4
      {0, 1, 2, 5, 7, 9, 10, 11, 12, 13, 14, 15, 16, 19, 20, 21, 22, 23, 24, 25, 26, 27},  // 3: and SM 11
  };
  return levels;
}

/// Free slots after them.
const Slots kAfter137{2, 2, 2, 0, 0, 2, 0, 2, 0, 2, 2, 2, 2, 2, 2, 2,
                      2, 2, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 0};

TEST_F(WorkedExample, OneCtaAtATime) {
  worked::State state = worked::room_for_137();
  for (const Slots& level : levels_of_137())
    for (const std::uint32_t sm : level) {
      place(state, 1);
      ASSERT_EQ(placement_.sms, Slots{sm});
    }
  EXPECT_EQ(state.free, kAfter137);
}

// proves: W-5a, W-5b, W-11j
TEST_F(WorkedExample, ALevelAtATime) {
  worked::State state = worked::room_for_137();
  place(state, 137);
  EXPECT_EQ(placement_.launched, 137u);
  EXPECT_EQ(masks(), levels_of_137());
  EXPECT_EQ(placement_.steps, 6u);
  EXPECT_EQ(state.free, kAfter137);
}

// proves: W-10f, W-10h, W-11c
TEST_F(WorkedExample, AClusterThatDoesNotFitLaunchesNothingAndASmallerOneDoes) {
  worked::State state = worked::too_full_for_137();
  const Slots before = state.free;
  state.kind.depth = 1;
  state.kind.levels[0] = {Level::gpu, {137, 1, 1}};
  place(state, 1);
  EXPECT_TRUE(placement_.failed);
  EXPECT_TRUE(placement_.sms.empty());
  EXPECT_TRUE(placement_.masks.empty());
  EXPECT_EQ(state.free, before);

  state.kind.levels[0].extent[0] = 20;
  place(state, 1);
  EXPECT_FALSE(placement_.failed);
  EXPECT_EQ(masks(),
            (std::vector<Slots>{{0, 1, 2, 5, 7, 9, 13, 14, 15, 16, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28}}));
}

// proves: W-4e
TEST_F(WorkedExample, APlainGridFillsAllAndGoesOn) {
  worked::State state = worked::too_full_for_137();
  place(state, 137);
  EXPECT_EQ(placement_.launched, 117u);
  EXPECT_FALSE(placement_.failed);
  EXPECT_EQ(state.free, Slots(32, 0));
  EXPECT_EQ(
      masks(),
      (std::vector<Slots>{
          {0, 1, 2, 5, 7, 9, 13, 14, 15, 16, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30},
          {0, 1, 2, 5, 7, 9, 13, 14, 15, 16, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30},
          {0, 1, 2, 5, 7, 9, 12, 13, 14, 15, 16, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30},
          {0, 1, 2, 5, 7, 9, 10, 12, 13, 14, 15, 16, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30},
          {0, 1, 2, 5, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30},
      }));
  for (const std::uint32_t sm : {3, 3, 31, 12}) ++state.free[sm], --state.load[sm];
  place(state, 20);
  EXPECT_EQ(masks(), (std::vector<Slots>{{3}, {3, 12, 31}}));
}

/// The answers of one round: speeds by candidate, ~0u for fail.
Slots speeds(const Decision& decision) {
  Slots speeds;
  for (const Candidate& candidate : decision.candidates) speeds.push_back(candidate.speed.value_or(~0u));
  return speeds;
}
Slots chosen(const Decision& decision) {
  Slots domains;
  for (const Candidate& candidate : decision.candidates)
    if (candidate.chosen) domains.push_back(candidate.domain);
  return domains;
}

// proves: W-7d, W-7f, W-7g, W-7h, W-8c, W-11c, W-11d, W-11e, W-11f, W-11g
TEST_F(WorkedExample, NestedClustersOverFourGpcs) {
  constexpr std::uint32_t kFail = ~0u;
  worked::State state = worked::four_gpcs();
  Heard heard;
  place(state, 3, &heard);
  EXPECT_EQ(placement_.launched, 3u);
  EXPECT_FALSE(placement_.failed);
  // GPC 2 and GPC 3 get a cluster each in one round; the third goes to GPC 2, the lighter of two equals.
  EXPECT_EQ(
      masks(),
      (std::vector<Slots>{
          {16, 17}, {16}, {18, 19}, {18}, {24, 25}, {24}, {26, 27}, {26}, {20, 21}, {20}, {17}, {16, 17}}));
  std::vector<std::uint64_t> clusters;
  std::vector<bool> ends;
  for (const SmMask& mask : placement_.masks) clusters.push_back(mask.cluster), ends.push_back(mask.end);
  EXPECT_EQ(clusters, (std::vector<std::uint64_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(ends, (std::vector<bool>{false, false, false, true, false, false, false, true, false, false,
                                     false, true}));
  EXPECT_EQ(state.free, (Slots{4, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 1, 2,  //
                               1, 1, 2, 3, 2, 3, 2, 2, 2, 3, 2, 3, 1, 1, 0, 0}));

  std::vector<Decision> outer;
  for (const Decision& decision : heard.decisions)
    if (decision.level == 0) outer.push_back(decision);
  ASSERT_EQ(outer.size(), 2u);
  EXPECT_EQ(speeds(outer[0]), (Slots{kFail, 0, 2, 2})) << "GPC 0 has 7 slots for 6 CTAs and fails";
  EXPECT_EQ(chosen(outer[0]), (Slots{2, 3}));
  EXPECT_LT(outer[0].candidates[2].load, outer[0].candidates[3].load);
  EXPECT_EQ(speeds(outer[1]), (Slots{kFail, 0, 1, 1}));
  EXPECT_EQ(chosen(outer[1]), (Slots{2}));
  // Within a GPC the CPCs were asked: in the second round of GPC 2 its third CPC came first, then its first.
  ASSERT_EQ(heard.decisions.size(), 6u);
  EXPECT_EQ(speeds(heard.decisions[1]), (Slots{2, 2, 2, 0}));
  EXPECT_EQ(chosen(heard.decisions[1]), (Slots{8, 9}));
  EXPECT_EQ(speeds(heard.decisions[2]), (Slots{2, 2, kFail, kFail}));
  EXPECT_EQ(chosen(heard.decisions[4]), (Slots{10}));
  EXPECT_EQ(speeds(heard.decisions[5]), (Slots{1, 1, 1, 0}));
  EXPECT_EQ(chosen(heard.decisions[5]), (Slots{8}));
}

// proves: W-7d
TEST_F(WorkedExample, TheExactFitIsTakenWhenNothingElseIsLeft) {
  worked::State state = worked::four_gpcs();
  for (std::uint32_t sm = 16; sm < 32; ++sm) state.free[sm] = 0;
  place(state, 5);
  EXPECT_EQ(placement_.launched, 1u);
  EXPECT_TRUE(placement_.failed);
  EXPECT_EQ(masks(), (std::vector<Slots>{{12}, {12, 13}, {15}, {14, 15}}));
  EXPECT_EQ(state.free[0], 4u) << "what GPC 0 tried is gone";
}

}  // namespace
}  // namespace raddle::machine
