// How far from the best possible balance the lake-filling distributor ends: every way of placing clusters on
// small machines is tried, and the fullest SM compared.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "machine/distributor/policy.h"
#include "machine/distributor/worked_examples.h"
#include "naive_distributor.h"

namespace raddle::machine {
namespace {

/// Squares of the CTAs on each SM, summed: least where they are spread most evenly.
std::uint64_t unevenness(const Slots& resident) {
  std::uint64_t sum = 0;
  for (const std::uint32_t ctas : resident) sum += std::uint64_t{ctas} * ctas;
  return sum;
}

struct Best {
  std::uint64_t unevenness = ~0ull;
  std::uint32_t fullest = ~0u;
};

/// Tries all ways to place clusters, each within one GPC of `sms` SMs.
class Exhaustive {
 public:
  Exhaustive(std::uint32_t slots, std::uint32_t sms) : slots_(slots), sms_(sms) {}
  Best search(Slots resident, std::uint32_t clusters, std::uint32_t size) {
    size_ = size;
    place_cluster(resident, clusters);
    return best_;
  }

 private:
  void place_cluster(Slots& resident, std::uint32_t left) {
    if (left == 0) {
      best_.unevenness = std::min(best_.unevenness, unevenness(resident));
      best_.fullest = std::min(best_.fullest, *std::max_element(resident.begin(), resident.end()));
      return;
    }
    if (!seen_[left].insert(resident).second) return;
    for (std::uint32_t gpc = 0; gpc < resident.size(); gpc += sms_)
      place_ctas(resident, gpc, gpc, size_, left);
  }
  /// The CTAs of a cluster are alike: SMs in order of number.
  void place_ctas(Slots& resident, std::uint32_t gpc, std::uint32_t from, std::uint32_t ctas,
                  std::uint32_t left) {
    if (ctas == 0) return place_cluster(resident, left - 1);
    for (std::uint32_t sm = from; sm < gpc + sms_; ++sm) {
      if (resident[sm] == slots_) continue;
      ++resident[sm];
      place_ctas(resident, gpc, sm, ctas - 1, left);
      --resident[sm];
    }
  }

  const std::uint32_t slots_, sms_;
  std::uint32_t size_ = 0;
  Best best_;
  std::map<std::uint32_t, std::set<Slots>> seen_;
};

/// A state of a machine of three GPCs of three SMs, and clusters that fit it.
struct Case {
  worked::State state;
  Slots resident;
  std::uint32_t clusters, size;
};

class Balance : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kSlots = 4, kSms = 3;

  std::optional<Case> random_case(std::mt19937_64& random) {
    GridKind kind;
    kind.depth = 1;
    const std::uint32_t size = 1 + random() % 4, clusters = 1 + random() % 4;
    kind.levels[0] = {Level::gpc, {size, 1, 1}};
    Slots free;
    for (int sm = 0; sm < 9; ++sm) free.push_back(random() % (kSlots + 1));
    worked::State state = worked::state_of(machine_of(3, 1, 1, kSms), kSlots, kind, free);
    std::uint32_t fit = 0;
    for (std::uint32_t gpc = 0; gpc < 9; gpc += kSms)
      fit += (free[gpc] + free[gpc + 1] + free[gpc + 2]) / size;
    if (fit < clusters) return {};
    return Case{state, state.load, clusters, size};
  }
  Slots after(std::string_view name, const Case& here) {
    const auto policy = std::move(*make_policy(name));
    Placement placement;
    policy->place(
        {here.state.shape, here.state.kind, here.state.free, here.state.load, {}, {}, here.clusters},
        placement, nullptr);
    Slots resident = here.resident;
    for (const std::uint32_t sm : placement.sms) ++resident[sm];
    return resident;
  }
};

TEST_F(Balance, IsCloseToTheOptimum) {
  struct Gap {
    std::uint64_t cases = 0, optimal = 0, fullest_sum = 0, worst = 0;
    double excess = 0;
  };
  std::map<std::string, Gap> gaps;
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto here = random_case(random);
    if (!here) continue;
    const Best best = Exhaustive(kSlots, kSms).search(here->resident, here->clusters, here->size);
    for (const char* name : {"lake", "round_robin", "first_fit"}) {
      const Slots resident = after(name, *here);
      Gap& gap = gaps[name];
      const std::uint32_t fullest = *std::max_element(resident.begin(), resident.end());
      ASSERT_GE(unevenness(resident), best.unevenness);
      ASSERT_GE(fullest, best.fullest);
      ++gap.cases;
      gap.optimal += unevenness(resident) == best.unevenness ? 1 : 0;
      gap.excess += static_cast<double>(unevenness(resident)) / static_cast<double>(best.unevenness) - 1;
      gap.worst = std::max<std::uint64_t>(gap.worst, fullest - best.fullest);
      gap.fullest_sum += fullest - best.fullest;
    }
  }
  for (const auto& [name, gap] : gaps)
    std::printf(
        "%-12s %llu cases: optimal in %.1f %%, uneven by %.2f %% more than the optimum, fullest SM by "
        "%.3f CTAs (at worst %llu)\n",
        name.c_str(), static_cast<unsigned long long>(gap.cases),
        100.0 * static_cast<double>(gap.optimal) / static_cast<double>(gap.cases),
        100.0 * gap.excess / static_cast<double>(gap.cases),
        static_cast<double>(gap.fullest_sum) / static_cast<double>(gap.cases),
        static_cast<unsigned long long>(gap.worst));
  const Gap& lake = gaps["lake"];
  EXPECT_GT(lake.cases, 1000u);
  EXPECT_EQ(lake.worst, 0u);
  EXPECT_LT(lake.excess, 0.01 * static_cast<double>(lake.cases));
  EXPECT_LT(lake.excess, gaps["round_robin"].excess);
  EXPECT_LT(gaps["round_robin"].excess, gaps["first_fit"].excess);
}

}  // namespace
}  // namespace raddle::machine
