// The distributor alone: figures worked out by hand, and what must hold for every load, checked by an account
// kept here.
#include "distribute/simulation.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "distribute/history.h"
#include "distribute/replay.h"
#include "distribute/report.h"
#include "machine/shape/even_shape.h"

namespace raddle::distribute {
namespace {

using machine::Level;

LoadGrid grid_of(std::uint32_t ctas, std::uint32_t threads, std::uint64_t duration,
                 std::uint64_t arrival = 0) {
  LoadGrid grid;
  grid.arrival = arrival;
  grid.extent = {ctas, 1, 1};
  grid.needs.threads = threads;
  grid.needs.warps = (threads + 31) / 32;
  grid.durations.first = duration;
  return grid;
}

LoadGrid cluster_grid_of(std::uint32_t ctas, std::uint32_t cluster, std::uint32_t threads,
                         std::uint64_t duration, std::uint64_t arrival = 0) {
  LoadGrid grid = grid_of(ctas, threads, duration, arrival);
  grid.kind.depth = 1;
  grid.kind.levels[0] = {Level::gpc, {cluster, 1, 1}};
  return grid;
}

Outcome outcome_of(const machine::MachineShape& shape, const Load& load, const std::string& policy = "lake") {
  Result<Outcome> outcome = simulate(shape, load, {policy});
  EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  return outcome.ok() ? std::move(*outcome) : Outcome{};
}

TEST(Simulation, TwoWavesOfAPlainGrid) {
  Load load;
  load.grids = {grid_of(8, 1024, 10, 100)};  // 2 SMs of 2 slots
  const Outcome outcome = outcome_of(machine::machine_of(1, 1, 1, 2), load);
  EXPECT_EQ(outcome.makespan, 20u);
  EXPECT_EQ(outcome.ctas, 8u);
  EXPECT_DOUBLE_EQ(outcome.utilisation, 1);
  EXPECT_DOUBLE_EQ(outcome.sm_utilisation, 1);
  EXPECT_DOUBLE_EQ(outcome.waiting.mean(), 5);
  EXPECT_EQ(outcome.waiting.quantile(0.5), 0u);
  EXPECT_EQ(outcome.waiting.quantile(0.95), 10u);
  EXPECT_DOUBLE_EQ(outcome.fairness.index(), 1);
}

// Two kinds of work on four GPCs of two SMs of two slots, four CTAs to a GPC: 30 and 10 CTAs have three GPCs
// and one, and both end at 30; the one that is left has all.
// proves: A-21c, A-21d
TEST(Simulation, GpcsAreSetAsidePerKindOfWork) {
  Load load;
  load.grids = {grid_of(36, 1024, 10), grid_of(12, 1024, 10), grid_of(32, 1024, 10, 40)};
  load.grids[1].work_kind = 1;
  load.grids[2].work_kind = 1;
  SimulationOptions options;
  options.distributor.work_kinds = 2;
  const Result<Outcome> outcome = simulate(machine::machine_of(4, 1, 1, 2), load, options);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->makespan, 60u);
  EXPECT_EQ(outcome->kinds[0].ctas, 36u);
  EXPECT_EQ(outcome->kinds[1].ctas, 44u);
  EXPECT_DOUBLE_EQ(outcome->kinds[0].gpc_time, 3 * 30);
  EXPECT_DOUBLE_EQ(outcome->kinds[1].gpc_time, 1 * 30 + 4 * 20);
  const std::string table = report_table(std::span(&*outcome, 1), "ns");
  EXPECT_NE(table.find(" 1.5 (3-3)"), std::string::npos) << table;
  const auto json = nlohmann::json::parse(report_json(std::span(&*outcome, 1), "ns"));
  EXPECT_EQ(json["policies"][0]["shares"][1]["gpcs_most"], 4);
  EXPECT_EQ(json["policies"][0]["shares"][1]["gpcs_least"], 1);
  const auto again = parse_load(load_text(load), "test");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->grids[2].work_kind, 1u);
}

// The distributor that runs kernels, in made-up time: from 0 to 10 two CTAs of the low grid, from 10 to 30
// the high one's four, although it came at 1; then the low one's other two.
// proves: A-4e, A-4h
TEST(Simulation, AGridOfHigherPriorityTakesTheOnlySlot) {
  Load load;
  load.grids = {grid_of(4, 1024, 10), grid_of(4, 1024, 10, 1)};
  load.grids[0].priority = 1;
  SimulationOptions options;
  options.distributor.task_slots = 1;
  const Result<Outcome> outcome = simulate(machine::machine_of(1, 1, 1, 1), load, options);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->makespan, 40u);
  EXPECT_DOUBLE_EQ(outcome->waiting.mean(), (0 + 0 + 9 + 9 + 19 + 19 + 30 + 30) / 8.0);
}

// From 0 to 1 two CTAs of the low grid, to 21 the high one's four; the two go on to 30, then come the others.
// proves: A-4g
TEST(Simulation, InThePreemptiveModeItWaitsForNoCta) {
  Load load;
  load.grids = {grid_of(4, 1024, 10), grid_of(4, 1024, 10, 1)};
  load.grids[0].priority = 1;
  SimulationOptions options;
  options.distributor.task_slots = 1;
  options.distributor.preemptive = true;
  History history;
  history.layout = layout_of(machine::machine_of(1, 1, 1, 1));
  options.log = &history;
  const Result<Outcome> outcome = simulate(machine::machine_of(1, 1, 1, 1), load, options);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->makespan, 40u);
  EXPECT_EQ(outcome->ctas, 8u);
  EXPECT_DOUBLE_EQ(outcome->waiting.mean(), (0 + 0 + 0 + 0 + 10 + 10 + 30 + 30) / 8.0);
  EXPECT_DOUBLE_EQ(outcome->sm_utilisation, 1);
  std::map<std::string, std::vector<std::uint64_t>> times;  // by kind: when CTAs of the low grid moved
  for (const Step& step : history.steps)
    if (step.decision.grid == 0)
      times[std::string(kind_name(step.decision.kind))].push_back(step.decision.time);
  EXPECT_EQ(times["park"], (std::vector<std::uint64_t>{1, 1}));
  EXPECT_EQ(times["resume"], (std::vector<std::uint64_t>{21, 21}));
  EXPECT_EQ(times["complete"], (std::vector<std::uint64_t>{30, 30, 40, 40}));
  Replay replay(history);
  std::vector<Cell> changed;
  for (const Step& step : history.steps) {
    replay.apply(step, changed);
    EXPECT_EQ(changed.size(), step.decision.sms.size()) << kind_name(step.decision.kind);
  }
  EXPECT_EQ(replay.sms()[0].size(), 2u);
  for (const Cell& cell : replay.sms()[0]) EXPECT_FALSE(cell.used);
  const auto read = parse_histories(history_text(history), "text");
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(history_text(read->at(0)), history_text(history));
}

// Three grids of three spaces, each of which fits an SM, on four SMs.
// proves: A-17d, A-25a, A-25c
TEST(Simulation, DeepKeepsThreeSpacesApartAndWideMixesThem) {
  Load load;
  for (const std::uint64_t space : {1, 2, 3}) {
    load.grids.push_back(grid_of(4, 512, 10));
    load.grids.back().space = space;
  }
  const machine::MachineShape shape = machine::machine_of(1, 1, 2, 2);
  const auto outcome = [&](machine::PlacementMode mode) {
    return std::move(*simulate(shape, load, {.placement = mode}));
  };
  const Outcome deep = outcome(machine::PlacementMode::deep), wide = outcome(machine::PlacementMode::wide);
  EXPECT_EQ(std::tuple(deep.sms_used, deep.spaces_mean, deep.spaces_most), std::tuple(3u, 1.0, 1u));
  EXPECT_EQ(std::tuple(wide.sms_used, wide.spaces_mean, wide.spaces_most), std::tuple(4u, 3.0, 3u));
  EXPECT_EQ(std::tuple(deep.ctas, deep.makespan), std::tuple(wide.ctas, wide.makespan));
  load.grids[1].space = load.grids[2].space = 1;
  EXPECT_EQ(outcome(machine::PlacementMode::wide).spaces_most, 1u);
  const std::string report = report_table(std::vector{wide, deep}, "ns");
  EXPECT_NE(report.find("SMs that had a CTA                    4              3"), std::string::npos)
      << report;
  EXPECT_NE(report.find("spaces on an SM, most                 3              1"), std::string::npos)
      << report;
}

TEST(Simulation, FragmentationIsWhatAWaitingClusterCannotUse) {
  Load load;
  load.grids = {grid_of(3, 1024, 10),
                cluster_grid_of(2, 2, 1024, 10)};  // one slot of four is left for 10 of 20
  const Outcome outcome = outcome_of(machine::machine_of(1, 1, 1, 2), load);
  EXPECT_EQ(outcome.makespan, 20u);
  EXPECT_DOUBLE_EQ(outcome.fragmentation, 0.125);
  EXPECT_EQ(outcome.clusters, 1u);
  // Turnarounds 10 and 20, both could have been 10.
  EXPECT_DOUBLE_EQ(outcome.fairness.index(), 1.5 * 1.5 / (2 * 1.25));
}

TEST(Simulation, AClusterKeepsItsSlotsUntilItIsDrained) {
  Load load;
  load.flush = 5;
  machine::MachineShape shape = machine::machine_of(1, 1, 1, 2);
  shape.cluster_ids_per_gpc = 1;
  load.grids = {cluster_grid_of(4, 2, 1024, 10)};  // two clusters, room for both, an id for one
  EXPECT_EQ(outcome_of(shape, load).makespan, 30u);
  shape.cluster_ids_per_gpc = 2;
  EXPECT_EQ(outcome_of(shape, load).makespan, 15u);
}

TEST(Simulation, ADistributorThatLooksSeldomDecidesMoreAtOnce) {
  Load load;
  load.grids = {grid_of(2000, 256, 1, 3)};
  load.grids[0].durations = {Durations::Kind::uniform, 100, 300, 5};
  const machine::MachineShape shape = machine::machine_of(2, 1, 4, 2);
  SimulationOptions options;
  const Outcome exact = std::move(*simulate(shape, load, options));
  options.tick = 50;
  const Outcome coarse = std::move(*simulate(shape, load, options));
  EXPECT_EQ((3 + coarse.makespan) % 50, 0u);
  EXPECT_EQ(coarse.ctas, 2000u);
  EXPECT_LT(coarse.calls * 5, exact.calls);
  EXPECT_GE(coarse.makespan, exact.makespan);
}

TEST(Simulation, WhatDoesNotFitIsSaid) {
  Load load;
  load.grids = {grid_of(8, 1025, 10)};
  const Result<Outcome> too_large = simulate(machine::machine_of(1, 1, 1, 2), load, {});
  ASSERT_FALSE(too_large.ok());
  EXPECT_NE(too_large.error().message.find("1025 threads"), std::string::npos);
  load.grids = {grid_of(8, 64, 10)};
  const Result<Outcome> unknown = simulate(machine::machine_of(1, 1, 1, 2), load, {"wishful"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("lake"), std::string::npos);
  load.grids = {cluster_grid_of(10, 5, 1024, 10), grid_of(4, 1024, 10)};  // a GPC holds 4
  load.grids[0].name = "large";
  const Outcome stuck = outcome_of(machine::machine_of(1, 1, 1, 2), load);
  EXPECT_EQ(stuck.stuck_grids, 1u);
  EXPECT_EQ(stuck.stuck, std::vector<std::string>{"large"});
  EXPECT_EQ(stuck.grids, 1u);
}

// proves: W-22e, W-22f, W-22g, W-22h
TEST(Simulation, FillingAMachineTakesASelectionStepPerLevel) {
  Load load;
  load.grids = {grid_of(1024, 256, 10)};
  const machine::MachineShape shape = machine::machine_of(8, 1, 8, 2);  // 128 SMs of 8 slots
  const Outcome outcome = outcome_of(shape, load);
  EXPECT_LE(outcome.steps, 8u);
  EXPECT_LE(outcome.masks, 8u);
  EXPECT_EQ(outcome.ctas, 1024u);
  EXPECT_EQ(outcome.mask_bits, outcome.masks * (kMessageHeaderBits + 128));
  EXPECT_EQ(outcome.single_bits, 1024 * (kMessageHeaderBits + 7));
  EXPECT_GE(outcome.decompositions, 1023u);  // of the very first CTA there is nothing to decompose
  EXPECT_LE(outcome.decompositions, 1024u);
  const auto report = nlohmann::json::parse(report_json(std::span(&outcome, 1), "ns"))["policies"][0];
  EXPECT_EQ(report["steps"], outcome.steps);
  EXPECT_EQ(report["single_steps"], 1024);
  EXPECT_EQ(report["decompositions"], outcome.decompositions);
  EXPECT_EQ(report["mask_bits"], outcome.mask_bits);
  EXPECT_EQ(report["single_bits"], outcome.single_bits);
}

/// Keeps account of every SM from the simulation's messages alone.
class Account : public SimulationObserver {
 public:
  Account(const machine::MachineShape& shape, const Load& load)
      : shape_(shape), load_(load), used_(shape.sm_count()) {}
  void started(std::uint64_t grid, std::uint64_t cta, std::uint32_t sm, std::uint64_t time,
               std::uint64_t end) override {
    EXPECT_GE(time, load_.grids[grid].arrival);
    const auto parked = parked_.find({grid, cta});
    if (parked == parked_.end()) {
      EXPECT_EQ(end - time, load_.grids[grid].durations.of(cta));
      EXPECT_TRUE(seen_.emplace(grid, cta).second) << "started twice";
    } else {
      EXPECT_EQ(parked->second, std::pair(sm, end - time)) << "it goes on elsewhere, or not where it was";
      parked_.erase(parked);
    }
    EXPECT_TRUE(running_.emplace(std::pair(grid, cta), std::pair(sm, end)).second);
    add(sm, load_.grids[grid].needs, 1);
    check(used_[sm]);
  }
  void ended(std::uint64_t grid, std::uint64_t cta, std::uint32_t sm, std::uint64_t time) override {
    const auto found = running_.find({grid, cta});
    ASSERT_NE(found, running_.end()) << "ended without a start";
    EXPECT_EQ(found->second, std::pair(sm, time));
    running_.erase(found);
    add(sm, load_.grids[grid].needs, -1);
  }
  void parked(std::uint64_t grid, std::uint64_t cta, std::uint32_t sm, std::uint64_t time) override {
    const auto found = running_.find({grid, cta});
    ASSERT_NE(found, running_.end()) << "parked without a start";
    EXPECT_EQ(found->second.first, sm);
    parked_[{grid, cta}] = {sm, found->second.second - time};
    running_.erase(found);
    add(sm, load_.grids[grid].needs, -1);
    ++parks;
  }
  std::uint64_t parks = 0;
  void finish() const {
    EXPECT_TRUE(parked_.empty());
    std::uint64_t all = 0;
    for (const LoadGrid& grid : load_.grids) all += grid.ctas();
    EXPECT_EQ(seen_.size(), all);
    EXPECT_TRUE(running_.empty());
  }

 private:
  struct Used {
    std::int64_t ctas = 0, threads = 0, warps = 0, barriers = 0, registers = 0, shared = 0;
  };
  void add(std::uint32_t sm, const machine::CtaNeeds& needs, std::int64_t n) {
    Used& used = used_[sm];
    used.ctas += n, used.threads += n * needs.threads, used.warps += n * needs.warps,
        used.barriers += n * needs.barriers;
    used.registers += n * static_cast<std::int64_t>(needs.registers),
        used.shared += n * static_cast<std::int64_t>(needs.shared_bytes);
  }
  void check(const Used& used) const {
    const machine::SmLimits& sm = shape_.sm;
    EXPECT_TRUE(used.ctas <= sm.cta_slots && used.threads <= sm.threads && used.warps <= sm.warps &&
                used.barriers <= sm.barriers && used.registers <= sm.registers &&
                used.shared <= sm.shared_bytes);
  }
  const machine::MachineShape& shape_;
  const Load& load_;
  std::vector<Used> used_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::pair<std::uint32_t, std::uint64_t>> running_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::pair<std::uint32_t, std::uint64_t>> parked_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;
};

Load random_load(std::uint64_t seed) {
  Load load;
  std::uint64_t draws = 0, time = 0;
  const auto draw = [&](std::uint64_t below) { return mixed(seed, draws++) % below; };
  load.flush = draw(3) * 7;
  const std::uint64_t grids = 5 + draw(20);
  for (std::uint64_t i = 0; i < grids; ++i) {
    const auto threads = static_cast<std::uint32_t>(32 * (1 + draw(16)));
    const auto clusters = static_cast<std::uint32_t>(1 + draw(40)),
               size = static_cast<std::uint32_t>(1 + draw(8));
    LoadGrid grid = draw(2) ? grid_of(clusters * size, threads, 1, time)
                            : cluster_grid_of(clusters * size, size, threads, 1, time);
    if (draw(4) == 0 && size <= 4) grid.kind.mode = machine::DistributionMode::multicast;
    grid.needs.registers = 1024 * draw(8);
    grid.needs.shared_bytes = 4096 * draw(6);
    grid.priority = static_cast<int>(draw(3)) - 1;
    grid.durations = {Durations::Kind(draw(4)), 1 + draw(50), 0, draw(1000)};
    grid.durations.second = grid.durations.first + draw(50);
    load.grids.push_back(grid);
    time += draw(3) ? draw(60) : 0;
  }
  return load;
}

// proves: W-22b
TEST(Simulation, EveryCtaStartsAndEndsOnceAndNoSmHoldsTooMuch) {
  const machine::MachineShape shapes[] = {machine::machine_of(2, 2, 2, 2), machine::machine_of(1, 1, 4, 1),
                                          *machine::preset_shape("h200", 1)};
  std::uint64_t seed = 1;
  for (const machine::MachineShape& shape : shapes) {
    for (const std::string& policy : machine::policy_names()) {
      for (int i = 0; i < 12; ++i, ++seed) {
        const Load load = random_load(seed);
        Account account(shape, load);
        const Result<Outcome> outcome = simulate(shape, load, {policy, {}, true, nullptr, &account});
        ASSERT_TRUE(outcome.ok()) << outcome.error().to_string();
        ASSERT_EQ(outcome->stuck_grids, 0u) << policy << ", seed " << seed;
        account.finish();
        ASSERT_FALSE(HasFailure()) << policy << " on " << shape.name << ", seed " << seed;
        EXPECT_LE(outcome->utilisation, 1.0);
        EXPECT_LE(outcome->fairness.index(), 1.0 + 1e-9);
      }
    }
  }
}

// The same in the preemptive mode, with few slots.
// proves: A-4g
TEST(Simulation, EveryCtaStartsAndEndsOnceThoughItStopsInItsMiddle) {
  const machine::MachineShape shape = machine::machine_of(2, 2, 2, 2);
  std::uint64_t parks = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Load load = random_load(seed);
    Account account(shape, load);
    SimulationOptions options{.observer = &account};
    options.distributor.task_slots = 1 + static_cast<std::uint32_t>(seed % 3);
    options.distributor.preemptive = true;
    options.distributor.active_pool = static_cast<std::uint32_t>(seed / 3 % 3);
    const Result<Outcome> outcome = simulate(shape, load, options);
    ASSERT_TRUE(outcome.ok()) << outcome.error().to_string();
    ASSERT_EQ(outcome->stuck_grids, 0u) << seed;
    account.finish();
    ASSERT_FALSE(HasFailure()) << seed;
    EXPECT_LE(outcome->utilisation, 1.0);
    parks += account.parks;
  }
  EXPECT_GT(parks, 100u);
}

TEST(Simulation, TheSameLoadGivesTheSameBytes) {
  const machine::MachineShape shape = *machine::preset_shape("h200", 1);
  for (const std::string& policy : machine::policy_names()) {
    const Load load = random_load(99);
    std::string texts[2];
    for (std::string& text : texts) {
      History history;
      history.layout = layout_of(shape);
      const Result<Outcome> outcome = simulate(shape, load, {policy, {}, true, &history});
      ASSERT_TRUE(outcome.ok());
      text = history_text(history) + report_json(std::span(&*outcome, 1), load.unit) +
             report_table(std::span(&*outcome, 1), load.unit);
    }
    EXPECT_EQ(texts[0], texts[1]) << policy;
  }
}

TEST(Simulation, ALogChangesNothing) {
  const machine::MachineShape shape = machine::machine_of(2, 2, 2, 2);
  for (std::uint64_t seed = 1; seed < 10; ++seed) {
    const Load load = random_load(seed);
    History history;
    history.layout = layout_of(shape);
    const Result<Outcome> with = simulate(shape, load, {"lake", {}, true, &history}),
                          without = simulate(shape, load, {"lake"});
    ASSERT_TRUE(with.ok() && without.ok());
    EXPECT_EQ(with->makespan, without->makespan) << seed;
    EXPECT_EQ(with->masks, without->masks) << seed;
  }
}

TEST(Histogram, IsExactForSmallValuesAndCloseForLarge) {
  Histogram histogram;
  for (std::uint64_t i = 1; i <= 200; ++i) histogram.add(i, 1);
  EXPECT_EQ(histogram.quantile(0.95), 190u);
  EXPECT_EQ(histogram.most(), 200u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 100.5);
  for (const std::uint64_t value :
       {255ull, 256ull, 257ull, 511ull, 512ull, 123456789ull, 1ull << 40, ~0ull}) {
    Histogram one;
    one.add(value, 3);
    EXPECT_LE(one.quantile(0.5), value);
    EXPECT_GE(one.quantile(0.5), value - value / 128);
  }
}

}  // namespace
}  // namespace raddle::distribute
