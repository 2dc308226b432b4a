// Everything that can keep a grid from its SMs at once, at random: task slots and turns, the preemptive mode,
// waiting parents, pools, shares of kinds of work, device contexts that are held, limits of spaces. Nothing
// is on an SM that has no room, each CTA runs once, and all grids finish.
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "distributor_fixture.h"

namespace raddle::machine::testing {
namespace {

constexpr std::uint32_t kContexts = 2, kSpaces = 3, kMostOnSm = 4;  // of kQuarter

/// A launched CTA that has not ended.
struct Live {
  Cta cta;
  CtaStanding standing = CtaStanding::resident;
};

class AllAtOnce final : public LaunchSink {
 public:
  AllAtOnce(std::uint32_t seed, const DistributorOptions& options)
      : random_(seed),
        shape_(grid_of_gpcs(2, 2)),
        distributor_(shape_, std::move(*make_policy("lake")), options) {}

  void launch(const LaunchMask& mask) override {
    Grid& grid = *mask.grid;
    expect(!held_[grid.context], "a grid of a context that is held launches");
    stopping_.erase(&grid);
    if (mask.back != nullptr) {
      const Cta cta{&grid, mask.back->index, mask.sms[0], mask.cluster};
      expect(parked_.erase({&grid, cta.index}) == 1, "a CTA comes back that was not parked");
      return come(cta);
    }
    for (const std::uint32_t sm : mask.sms) come({&grid, launched_[&grid]++, sm, mask.cluster});
  }
  void preempt(Grid& grid) override { stopping_.insert(&grid); }

  void happen() {
    switch (random_() % 12) {
      case 0:
      case 1:
        return add();
      case 2:
        return hold(static_cast<std::uint32_t>(random_() % kContexts), random_() % 2 == 0);
      case 3:
        return confine();
      case 4:
        return withdraw();
      case 5:
      case 6:
        return suspend();
      case 7:
        return resume_all();
      case 8:
        park_any();
        return;
      case 9:
        return complete_one();
      default:
        distributor_.distribute(*this);
        check();
    }
  }

  /// Nothing is held or confined any more.
  void finish() {
    for (std::uint32_t context = 0; context < kContexts; ++context) hold(context, false);
    for (std::uint64_t space = 1; space <= kSpaces; ++space) distributor_.confine(space, {});
    for (int round = 0; round < 3000 && !all_finished(); ++round) {
      distributor_.distribute(*this);
      check();
      while (park_any()) {
      }
      resume_all();
      complete_one();
    }
    for (const auto& grid : grids_) {
      expect(grid->finished(), "a grid does not finish");
      expect(grid->withdrawn || ended_[grid.get()] == grid->ctas, "not every CTA of a grid has ended");
    }
    for (const std::uint32_t ctas : distributor_.activity().ctas)
      expect(ctas == 0, "something is left on an SM");
  }
  const std::string& failure() const { return failure_; }

 private:
  void expect(bool holds, const char* what) {
    if (!holds && failure_.empty()) failure_ = what;
  }
  void come(const Cta& cta) {
    expect(++on_sm_[cta.sm] <= kMostOnSm, "an SM has more than fits");
    live_.push_back({cta});
  }
  void leave(const Cta& cta) { --on_sm_[cta.sm]; }
  std::optional<std::size_t> any(auto suits) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < live_.size(); ++i)
      if (suits(live_[i])) found.push_back(i);
    return found.empty() ? std::nullopt : std::optional(found[random_() % found.size()]);
  }
  Live take(std::size_t i) {
    const Live taken = live_[i];
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
    return taken;
  }

  void add() {
    Grid grid{.needs = kQuarter, .ctas = 1 + random_() % 40, .priority = static_cast<int>(random_() % 3)};
    grid.id = grids_.size() + 1;
    grid.space = 1 + random_() % kSpaces;
    grid.context = static_cast<std::uint32_t>(random_() % kContexts);
    grid.work_kind = static_cast<std::uint32_t>(random_() % 3);
    grids_.push_back(std::make_unique<Grid>(grid));
    distributor_.add(*grids_.back());
  }
  void hold(std::uint32_t context, bool on) {
    if (std::exchange(held_[context], on) != on) distributor_.hold(context, on);
  }
  void confine() {
    SmLimit limit;
    if (random_() % 2 == 0) limit.most = 1 + static_cast<std::uint32_t>(random_() % 8);
    distributor_.confine(1 + random_() % kSpaces, limit);
  }
  void withdraw() {
    if (grids_.empty()) return;
    Grid& grid = *grids_[random_() % grids_.size()];
    if (random_() % 4 != 0 || grid.finished() || grid.withdrawn) return;
    distributor_.withdraw(grid);
    while (!grid.parked.empty()) {
      parked_.erase({&grid, grid.parked.back().index});
      distributor_.drop(grid, grid.parked.back().index);
    }
  }
  void suspend() {
    const auto one = any([](const Live& live) { return live.standing == CtaStanding::resident; });
    if (!one) return;
    Live& live = live_[*one];
    leave(live.cta);
    live.standing = CtaStanding::suspended;
    distributor_.suspend(*live.cta.grid, live.cta.sm, live.cta.index);
  }
  void resume_all() {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      if (live_[i].standing == CtaStanding::resident) continue;
      const Cta cta = live_[i].cta;
      CtaStanding standing = live_[i].standing;
      const bool resumed = distributor_.resume(*cta.grid, cta.sm, cta.index, standing, *this);
      live_[i].standing = standing;
      expect(resumed == (standing == CtaStanding::resident), "who is back is resident");
      if (!resumed) continue;
      expect(++on_sm_[cta.sm] <= kMostOnSm, "an SM has more than fits");
      expect(!held_[cta.grid->context], "a CTA of a context that is held comes back");
    }
    check();
  }
  bool park_any() {
    const auto one = any([&](const Live& live) {
      return live.standing == CtaStanding::resident && stopping_.contains(live.cta.grid) &&
             live.cta.grid->preempted && !live.cta.grid->withdrawn;
    });
    if (!one) return false;
    const Cta cta = take(*one).cta;
    leave(cta);
    parked_.insert({cta.grid, cta.index});
    distributor_.park(*cta.grid, {.index = cta.index, .sm = cta.sm, .began = true});
    return true;
  }
  void complete_one() {
    const auto one = any(
        [](const Live& live) { return live.standing == CtaStanding::resident || live.cta.grid->withdrawn; });
    if (!one) return;
    const Live live = take(*one);
    if (live.standing == CtaStanding::resident) leave(live.cta);
    ++ended_[live.cta.grid];
    distributor_.complete(*live.cta.grid, live.cta.sm, 1, live.standing);
  }
  bool all_finished() const {
    return std::ranges::all_of(grids_, [](const auto& grid) { return grid->finished(); });
  }
  void check() {
    const Activity now = distributor_.activity();
    for (std::uint32_t sm = 0; sm < now.ctas.size(); ++sm)
      expect(now.ctas[sm] == on_sm_[sm], "the distributor counts other CTAs on an SM");
    expect(now.parked == parked_.size(), "the distributor counts other parked CTAs");
  }

  std::mt19937 random_;
  const MachineShape shape_;
  Distributor distributor_;
  std::vector<std::unique_ptr<Grid>> grids_;
  std::vector<Live> live_;
  std::set<std::pair<const Grid*, std::uint64_t>> parked_;
  std::set<const Grid*> stopping_;
  std::map<const Grid*, std::uint64_t> launched_, ended_;
  std::map<std::uint32_t, std::uint32_t> on_sm_;
  bool held_[kContexts] = {};
  std::string failure_;
};

DistributorOptions any_options(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto one_of = [&](std::initializer_list<std::uint32_t> values) {
    return values.begin()[random() % values.size()];
  };
  DistributorOptions options{.patience = one_of({0, 10, 30})};
  options.task_slots = one_of({0, 1, 2, 4});
  options.turn = one_of({0, 0, 8});
  options.preemptive = random() % 2 == 0;
  options.active_pool = one_of({0, 0, 1});
  options.pending_pool = options.active_pool != 0 ? one_of({0, 2, 3}) : 0;
  options.work_kinds = one_of({0, 0, 2, 3});
  options.share_every = 8;
  return options;
}

TEST(AllAtOnceTest, NothingKeepsAGridForEver) {
  const char* const wanted = std::getenv("RADDLE_TEST_SEED");
  const auto first = static_cast<std::uint32_t>(wanted == nullptr ? 1 : std::atoi(wanted)) * 1000;
  for (std::uint32_t seed = first; seed < first + 300; ++seed) {
    AllAtOnce run(seed, any_options(seed));
    for (int i = 0; i < 200; ++i) run.happen();
    run.finish();
    ASSERT_EQ(run.failure(), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace raddle::machine::testing
