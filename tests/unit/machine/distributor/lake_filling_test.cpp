// The lake-filling policy against a naive one, and what holds of every placement.
#include <gtest/gtest.h>

#include <random>

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

// proves: W-7
// proves: W-8
TEST_F(LakeFilling, ChoosesAsTheNaiveDistributor) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    const RandomLoad load(random);
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

}  // namespace
}  // namespace raddle::machine
