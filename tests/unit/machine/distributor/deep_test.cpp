// Deep placement against a rule that is written down CTA by CTA: an SM of the space until it is full, the
// least loaded of several; then the one with most room.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <tuple>

#include "distributor_fixture.h"
#include "naive_distributor.h"
#include "random_load.h"

namespace raddle::machine {
namespace {

/// A state of load, and which of it is of the grid's space.
struct SharedLoad : RandomLoad {
  static constexpr std::uint64_t kSpace = 3;
  Slots own;
  std::vector<std::uint64_t> last;

  explicit SharedLoad(std::mt19937_64& random) : RandomLoad(random) {
    for (std::uint32_t sm = 0; sm < shape.sm_count(); ++sm) {
      own.push_back(random() % 3 == 0 ? load[sm] : 0);
      last.push_back(random() % 2 == 0 ? kNoSpace : 2 + random() % 3);
    }
  }
  Snapshot snapshot() const {
    Snapshot snapshot = RandomLoad::snapshot();
    snapshot.space = kSpace, snapshot.own = own, snapshot.last = last;
    return snapshot;
  }
};

/// The SMs that `ctas` CTAs go to, among those from `first` to before `end`, one after the other.
class OneByOne {
 public:
  explicit OneByOne(const SharedLoad& load)
      : free(load.free), load_(load.load), own_(load.own), last_(load.last), mode_(load.kind.mode) {
    order_ = load.order.empty() ? by_number(free.size()) : load.order;
  }

  /// @returns whether all fit
  bool place(std::uint64_t ctas, std::uint32_t first, std::uint32_t end) {
    Slots of_cluster(free.size(), 0);
    for (; ctas != 0; --ctas) {
      std::optional<std::uint32_t> best;
      for (const std::uint32_t sm : order_) {
        const bool is_multicast = mode_ == DistributionMode::multicast && of_cluster[sm] != 0;
        if (sm < first || sm >= end || free[sm] == 0 || is_multicast) continue;
        if (!best || is_better(sm, *best)) best = sm;
      }
      if (!best) return false;
      opened += own_[*best] == 0;
      --free[*best], ++load_[*best], ++own_[*best], ++of_cluster[*best];
    }
    return true;
  }

  Slots free;
  std::uint32_t opened = 0;

 private:
  bool is_better(std::uint32_t sm, std::uint32_t than) const {
    if ((own_[sm] != 0) != (own_[than] != 0)) return own_[sm] != 0;
    if (own_[sm] != 0) return load_[sm] < load_[than];
    const auto past = [&](std::uint32_t i) {
      return last_[i] == SharedLoad::kSpace ? 0 : last_[i] == kNoSpace ? 1 : 2;
    };
    return std::tuple(free[than], load_[sm], past(sm)) < std::tuple(free[sm], load_[than], past(than));
  }

  Slots load_, own_, order_;
  std::vector<std::uint64_t> last_;
  DistributionMode mode_;
};

Slots after(const SharedLoad& load, const Placement& placement, std::size_t ctas) {
  Slots free = load.free;
  for (std::size_t i = 0; i < ctas; ++i) --free[placement.sms[i]];
  return free;
}

// proves: A-14a, A-14b, A-14c, A-14d
TEST(Deep, PlacesAsOneCtaAfterTheOther) {
  std::mt19937_64 random(3);
  const auto policy = std::move(*make_policy("deep"));
  Placement placement;
  for (int i = 0; i < 4000; ++i) {
    SharedLoad load(random);
    load.kind = {};
    load.left = 1 + random() % 60;
    policy->place(load.snapshot(), placement, nullptr);
    check_invariants(load, placement);
    OneByOne rule(load);
    rule.place(load.left, 0, load.shape.sm_count());
    ASSERT_EQ(after(load, placement, placement.sms.size()), rule.free) << "case " << i;
  }
}

// Each cluster goes to a domain in which it opens the fewest SMs, and there as CTAs of a plain grid.
// proves: A-14a
TEST(Deep, AClusterOpensAsFewSmsAsItCan) {
  std::mt19937_64 random(4);
  const auto policy = std::move(*make_policy("deep"));
  Placement placement;
  int opened_some = 0;
  for (int i = 0; i < 3000; ++i) {
    SharedLoad load(random);
    load.ids.clear();
    const auto mode = load.kind.mode;
    load.kind = {.depth = 1, .mode = mode};
    load.kind.levels[0] = {random() % 2 == 0 ? Level::gpc : Level::cpc,
                           {static_cast<std::uint32_t>(1 + random() % 5), 1, 1}};
    policy->place(load.snapshot(), placement, nullptr);
    check_invariants(load, placement);
    const std::uint64_t size = load.kind.ctas_per_cluster();
    OneByOne state(load);
    for (std::uint64_t cluster = 0; cluster < placement.launched; ++cluster) {
      const std::uint32_t chosen =
          load.shape.domain_of(load.kind.levels[0].domain, placement.sms[cluster * size]);
      const std::span<const Domain> domains = load.shape.domains(load.kind.levels[0].domain);
      std::uint32_t fewest = ~0u;
      std::optional<OneByOne> here;
      for (std::uint32_t d = 0; d < domains.size(); ++d) {
        OneByOne tried = state;
        tried.opened = 0;
        if (!tried.place(size, domains[d].first_sm, domains[d].first_sm + domains[d].sm_count)) continue;
        fewest = std::min(fewest, tried.opened);
        if (d == chosen) here = tried;
      }
      ASSERT_TRUE(here) << "case " << i;
      ASSERT_EQ(here->opened, fewest) << "case " << i << ", cluster " << cluster;
      ASSERT_EQ(here->free, after(load, placement, (cluster + 1) * size)) << "case " << i;
      opened_some += here->opened != 0;
      state = *here;
    }
  }
  EXPECT_GT(opened_some, 100);
}

class DeepSpaces : public testing::DistributorTest {
 protected:
  void make_deep(MachineShape shape) {
    shape_ = std::move(shape);
    distributor_ = std::make_unique<Distributor>(shape_, std::move(*make_policy("deep")));
  }
  Grid& add(std::uint64_t space, std::uint64_t ctas, CtaNeeds needs = testing::kQuarter) {
    return DistributorTest::add({.needs = needs, .ctas = ctas, .space = space});
  }
  /// Of the CTAs that are resident, by launch.
  Slots sms() const {
    Slots sms;
    for (const testing::Cta& cta : sink_.ctas) sms.push_back(cta.sm);
    return sms;
  }
};

// proves: A-14b, A-14c
TEST_F(DeepSpaces, AnSmIsUsedUntilItIsFull) {
  make_deep(testing::grid_of_gpcs(2, 2));
  add(1, 3);
  add(2, 2);
  add(1, 2);
  distribute();
  EXPECT_EQ(sms(), (Slots{0, 0, 0, 1, 1, 0, 2})) << "SM 1 has room, but is another space's";
}

// The needs of the task decide whether an SM is full.
// proves: A-14a, A-14c
TEST_F(DeepSpaces, ASmMayHaveRoomForOneGridAndNotForAnother) {
  make_deep(testing::grid_of_gpcs(1, 2));
  add(1, 3);
  add(1, 1, {.threads = 1024, .warps = 32});
  add(1, 1);
  distribute();
  EXPECT_EQ(sms(), (Slots{0, 0, 0, 1, 1})) << "both have room for the last, SM 1 has less work";
}

// proves: A-14d
TEST_F(DeepSpaces, OfItsSmsTheLeastLoadedIsTaken) {
  make_deep(testing::grid_of_gpcs(1, 2));
  Grid& first = add(1, 8);
  distribute();
  for (int i = 0; i < 3; ++i) complete_one(first);  // three of SM 0's or SM 1's, whose CTAs alternate
  const Slots before = sms();
  const auto on = [](const Slots& sms, std::uint32_t sm) { return std::ranges::count(sms, sm); };
  ASSERT_EQ(on(before, 0) + on(before, 1), 5);
  add(1, 1);
  distribute();
  EXPECT_EQ(on(sms(), 0), 3);
  EXPECT_EQ(on(sms(), 1), 3);
}

// Its pages may still be known there.
TEST_F(DeepSpaces, ASpaceThatHasNothingResidentComesBackToItsSm) {
  make_deep(testing::grid_of_gpcs(1, 2));
  Grid &one = add(1, 1), &two = add(2, 1);
  distribute();
  EXPECT_EQ(sms(), (Slots{0, 1}));
  complete_all(one), complete_all(two);
  add(2, 1), add(3, 1), add(1, 1);
  distribute();
  EXPECT_EQ(sms(), (Slots{1, 2, 0})) << "and a new one takes an SM that nobody has used";
}

}  // namespace
}  // namespace raddle::machine
