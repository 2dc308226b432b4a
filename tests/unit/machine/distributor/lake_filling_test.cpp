// The lake-filling policy against a naive one, and what holds of every placement.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "machine/shape/even_shape.h"
#include "naive_distributor.h"
#include "random_load.h"

namespace raddle::machine {
namespace {

class LakeFilling : public ::testing::Test {
 protected:
  std::unique_ptr<Policy> policy_ = std::move(*make_policy("lake"));
  Placement placement_;

  void place(const RandomLoad& load) { policy_->place(load.snapshot(), placement_, nullptr); }
};

// proves: W-7a, W-7b, W-7c, W-7e, W-7g, W-7j, W-8a, W-8b, W-10c
TEST_F(LakeFilling, ChoosesAsTheNaiveDistributor) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    RandomLoad load(random);
    load.kind.mode = DistributionMode::load_balance;
    SCOPED_TRACE(i);
    place(load);
    check_invariants(load, placement_);
    if (HasFatalFailure()) return;
    const NaiveDistributor naive(load.shape, load.kind, load.load,
                                 load.order.empty() ? by_number(load.free.size()) : load.order);
    const auto domains = load.shape.domains(load.kind.levels[0].domain).size();
    const auto expected = naive.rounds(0, 0, static_cast<std::uint32_t>(domains),
                                       {.free = load.free, .ids = load.ids, .sms = {}}, load.left);
    ASSERT_EQ(placement_.sms, expected.sms);
    ASSERT_EQ(placement_.failed, placement_.launched < load.left);
  }
}

// proves: W-5j
TEST_F(LakeFilling, AClusterInADomainIsAGridOnAMachineOfItsSms) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    RandomLoad load(random);
    load.kind.mode = DistributionMode::load_balance;
    load.kind.depth = 1;
    load.order.clear();
    load.left = 1;
    place(load);
    if (placement_.launched == 0) continue;
    const Level level = load.kind.levels[0].domain;
    const Domain& domain = load.shape.domains(level)[load.shape.domain_of(level, placement_.sms[0])];
    const MachineShape alone = machine_of(1, 1, 1, domain.sm_count);
    const auto part = [&](const Slots& all) {
      return std::span(all).subspan(domain.first_sm, domain.sm_count);
    };
    Placement plain;
    policy_->place({alone, {}, part(load.free), part(load.load), {}, {}, placement_.sms.size()}, plain,
                   nullptr);
    for (std::uint32_t& sm : plain.sms) sm += domain.first_sm;
    ASSERT_EQ(plain.sms, placement_.sms);
    ASSERT_EQ(plain.masks.size(), placement_.masks.size());
    for (std::size_t mask = 0; mask < plain.masks.size(); ++mask)
      ASSERT_EQ(plain.masks[mask].count, placement_.masks[mask].count);
  }
}

/// What a cluster that does not fit tried on the shadow state is gone: the placement is as if the domains
/// that cannot take one had no free slots at all, and the policy answers the same when it is asked again.
// proves: W-8f, W-10f
TEST_F(LakeFilling, CancelledSpeculationLeavesNoTrace) {
  std::mt19937_64 random(3);
  int failing = 0;
  for (int i = 0; i < 2000; ++i) {
    RandomLoad load(random);
    load.ids.clear();
    place(load);
    const Placement first = placement_;
    RandomLoad closed = load;
    for (const Domain& domain : load.shape.domains(load.kind.levels[0].domain)) {
      RandomLoad only = load;  // this domain
      only.left = 1;
      for (std::uint32_t sm = 0; sm < only.free.size(); ++sm)
        if (sm < domain.first_sm || sm >= domain.first_sm + domain.sm_count) only.free[sm] = 0;
      place(only);
      if (placement_.launched != 0) continue;
      ++failing;
      std::fill_n(closed.free.begin() + domain.first_sm, domain.sm_count, 0);
    }
    // Loads break ties, and those of a domain without free slots break none.
    place(closed);
    ASSERT_EQ(placement_.sms, first.sms) << "case " << i;
    place(load);
    ASSERT_EQ(placement_.sms, first.sms);
    ASSERT_EQ(placement_.steps, first.steps);
  }
  EXPECT_GT(failing, 100);
}

/// Records a policy's decisions.
struct Heard : DecisionLog {
  void record(const Decision& decision) override { decisions.push_back(decision); }
  std::vector<Decision> decisions;
};

TEST_F(LakeFilling, TellsWhatItDecides) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 500; ++i) {
    RandomLoad load(random);
    if (i % 4 == 0) load.kind = {};
    place(load);
    const Placement silent = placement_;
    Heard heard;
    policy_->place(load.snapshot(), placement_, &heard);
    ASSERT_EQ(placement_.sms, silent.sms) << "listening changes nothing";
    Slots sms, free = load.free;
    ASSERT_EQ(placement_.steps, silent.steps);
    for (const Decision& decision : heard.decisions) {
      if (decision.kind == Decision::Kind::attempt) continue;  // passes_test.cpp
      if (!decision.sms.empty()) ASSERT_EQ(decision.first, sms.size());
      sms.insert(sms.end(), decision.sms.begin(), decision.sms.end());
      for (const std::uint32_t sm : decision.sms) --free[sm];
      if (!decision.sms.empty()) ASSERT_EQ(decision.free, free);
      std::optional<std::uint32_t> chosen, highest;
      for (const Candidate& candidate : decision.candidates) {
        if (candidate.chosen) chosen = candidate.speed;
        highest = std::max(highest, candidate.speed);
      }
      ASSERT_EQ(chosen, highest);
    }
    ASSERT_EQ(sms, placement_.sms);
    const bool fails = !heard.decisions.empty() && heard.decisions.back().kind == Decision::Kind::fail;
    ASSERT_EQ(fails, placement_.failed);
  }
}

}  // namespace
}  // namespace raddle::machine
