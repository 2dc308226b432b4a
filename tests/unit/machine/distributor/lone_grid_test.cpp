// A grid that is alone on the machine stays out of the live model until somebody looks: nobody can tell. The
// same events on two distributors, of whose policies one says that it goes by free slots alone.
#include "machine/distributor/lone_grid.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "distributor_fixture.h"

namespace raddle::machine {
namespace {

/// Counts how often it is asked, and keeps or hides what makes lone grids possible.
class AskedPolicy final : public Policy {
 public:
  AskedPolicy(bool goes_by_free_slots, std::uint64_t& asked)
      : own_(std::move(*make_policy("lake"))), says_(goes_by_free_slots), asked_(asked) {}
  std::string_view name() const override { return own_->name(); }
  bool refills_by_number() const override { return own_->refills_by_number(); }
  bool goes_by_free_slots() const override { return says_ && own_->goes_by_free_slots(); }
  void place(const Snapshot& snapshot, Placement& placement, DecisionLog* log) override {
    ++asked_;
    own_->place(snapshot, placement, log);
  }

 private:
  std::unique_ptr<Policy> own_;
  const bool says_;
  std::uint64_t& asked_;
};

/// One of the two.
struct Side {
  Side(const MachineShape& shape, bool goes_by_free_slots)
      : distributor(shape, std::make_unique<AskedPolicy>(goes_by_free_slots, asked)) {}
  Grid& add(const Grid& grid) {
    grids.push_back(std::make_unique<Grid>(grid));
    grids.back()->id = grids.size();
    distributor.add(*grids.back());
    return *grids.back();
  }
  /// The run of resident CTAs that begins with one of them, as long as SMs follow one another.
  void complete_run(std::size_t first, std::size_t most) {
    const testing::Cta one = sink.ctas[first];
    SmRun run{one.sm, 1, 0};
    const auto goes_on = [&] {
      return first < sink.ctas.size() && run.count < most && sink.ctas[first].grid == one.grid &&
             sink.ctas[first].sm == one.sm + run.count;
    };
    while (goes_on()) {
      sink.ctas.erase(sink.ctas.begin() + static_cast<std::ptrdiff_t>(first));
      ++run.count;
    }
    distributor.complete(*one.grid, run);
  }

  /// All that is resident ends, if it is one whole grid, and another one comes. @returns whether it was
  /// handed the other's place
  bool follow(const Grid& grid) {
    if (sink.ctas.empty()) return false;
    Grid& ended = *sink.ctas[0].grid;
    const bool is_whole = ended.outstanding == ended.ctas && sink.ctas.size() == ended.ctas;
    if (!is_whole) return false;
    grids.push_back(std::make_unique<Grid>(grid));
    Grid& next = *grids.back();
    next.id = grids.size();
    if (distributor.succeed_alone(ended, next)) {
      for (testing::Cta& cta : sink.ctas) cta.grid = &next;
      return true;
    }
    while (!sink.ctas.empty()) complete_run(0, ~std::size_t{0});
    distributor.add(next);
    distributor.distribute(sink);
    return false;
  }

  std::uint64_t asked = 0;
  testing::KeepingSink sink;
  std::vector<std::unique_ptr<Grid>> grids;
  Distributor distributor;
};

/// What the i-th CTA that a side has launched is, by numbers.
std::vector<std::array<std::uint64_t, 3>> resident(const Side& side) {
  std::vector<std::array<std::uint64_t, 3>> all;
  for (const testing::Cta& cta : side.sink.ctas) all.push_back({cta.grid->id, cta.index, cta.sm});
  return all;
}

constexpr CtaNeeds kTwoToAnSm{.threads = 1024, .warps = 32};

TEST(LoneGrids, NobodyCanTell) {
  EXPECT_TRUE(rc::check("the same events, the same placements", [] {
    const MachineShape shape = testing::grid_of_gpcs(2, 2);
    Side lone(shape, true), plain(shape, false);
    const auto events = *rc::gen::container<std::vector<std::array<std::uint16_t, 2>>>(
        rc::gen::container<std::array<std::uint16_t, 2>>(rc::gen::arbitrary<std::uint16_t>()));
    for (const auto& [what, how] : events) {
      for (Side* side : {&lone, &plain}) {
        if (what % 8 < 3)
          side->add({.needs = how % 3 == 0 ? kTwoToAnSm : testing::kQuarter,
                     .ctas = 1u + how % 7 * 2,
                     .priority = how / 8 % 2,
                     .space = how / 16 % 3 == 0 ? 2u : 1u});
        else if (what % 8 < 7 && !side->sink.ctas.empty())
          side->complete_run(how % side->sink.ctas.size(), 1 + what / 8 % 9);
        else if (what % 64 == 7)
          side->distributor.enable(how % 4, how / 4 % 4 != 0);
        else if (side->follow({.needs = how % 3 == 0 ? kTwoToAnSm : testing::kQuarter,
                               .ctas = 1u + how % 7 * 2,
                               .priority = how / 8 % 2,
                               .space = how / 16 % 3 == 0 ? 2u : 1u}))
          EXPECT_EQ(side, &lone);
        if (what / 64 % 4 != 0) side->distributor.distribute(side->sink);
      }
      RC_ASSERT(resident(lone) == resident(plain));
      if (what / 256 % 4 == 0)
        RC_ASSERT(lone.distributor.activity().ctas == plain.distributor.activity().ctas);
    }
  }));
}

TEST(LoneGrids, TheNextOneLikeItAsksNobody) {
  const MachineShape shape = testing::grid_of_gpcs(2, 2);
  Side side(shape, true);
  for (int i = 0; i < 10; ++i) {
    Grid& grid = side.add({.needs = testing::kQuarter, .ctas = 6, .space = 1});
    ASSERT_EQ(side.distributor.distribute(side.sink), 6u);
    EXPECT_EQ(side.asked, 1u) << "launch " << i;
    while (!side.sink.ctas.empty()) side.complete_run(0, 8);
    EXPECT_TRUE(grid.finished());
  }
  side.add({.needs = testing::kQuarter, .ctas = 7, .space = 1});
  side.distributor.distribute(side.sink);
  EXPECT_EQ(side.asked, 2u) << "another number of CTAs";
}

TEST(LoneGrids, TheNextOneLikeItTakesItsPlace) {
  const MachineShape shape = testing::grid_of_gpcs(2, 2);
  Side side(shape, true);
  const Grid six{.needs = testing::kQuarter, .ctas = 6, .space = 1};
  Grid* last = &side.add(six);
  side.distributor.distribute(side.sink);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(side.follow(six));
    EXPECT_TRUE(last->finished());
    last = side.grids.back().get();
    EXPECT_FALSE(last->finished());
    EXPECT_TRUE(last->none_left());
  }
  EXPECT_EQ(side.distributor.activity().ctas, (std::vector<std::uint32_t>{1, 1, 1, 1, 1, 1, 0, 0}));
  EXPECT_FALSE(side.follow(six)) << "somebody has looked";
  EXPECT_TRUE(side.follow(six)) << "its place is known again";
  Grid other = six;
  other.ctas = 7;
  EXPECT_FALSE(side.follow(other));
  Grid larger = other;
  larger.needs = kTwoToAnSm;
  EXPECT_FALSE(side.follow(larger)) << "of other needs, by which SMs have other room";
  while (!side.sink.ctas.empty()) side.complete_run(0, 8);
  side.add(six);
  side.distributor.distribute(side.sink);
  side.add(six);
  EXPECT_FALSE(side.follow(six)) << "another one waits";
  EXPECT_EQ(side.sink.ctas.size(), 12u);
}

TEST(LoneGrids, WhoLooksSeesWhatIsLeftOfIt) {
  const MachineShape shape = testing::grid_of_gpcs(2, 2);
  Side side(shape, true);
  side.add({.needs = testing::kQuarter, .ctas = 8, .space = 1});
  side.distributor.distribute(side.sink);
  side.complete_run(2, 3);
  EXPECT_EQ(side.distributor.activity().ctas, (std::vector<std::uint32_t>{1, 1, 0, 0, 0, 1, 1, 1}));
  side.add({.needs = testing::kQuarter, .ctas = 27, .space = 1});
  EXPECT_EQ(side.distributor.distribute(side.sink), 27u) << "all that is left";
  side.add({.needs = testing::kQuarter, .ctas = 1, .space = 1});
  EXPECT_EQ(side.distributor.distribute(side.sink), 0u) << "the machine is full";
}

}  // namespace
}  // namespace raddle::machine
