// Events of a live machine, told by hand: the load and the decisions that they give.
#include "distribute/live_recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "distribute/figures.h"
#include "distribute/simulation.h"

namespace raddle::distribute {
namespace {

class LiveRecording : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) / fmt::format("live_recorder_{}", getpid());
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path(const char* name) const { return directory_ / name; }
  static machine::Grid grid_of(std::uint64_t id, std::uint32_t ctas) {
    machine::Grid grid;
    grid.id = id;
    grid.ctas = ctas;
    grid.needs.threads = 64, grid.needs.warps = 2;
    return grid;
  }
  const machine::MachineShape shape_ = *machine::preset_shape("tiny", 1);
  std::filesystem::path directory_;
};

// proves: W-22c
TEST_F(LiveRecording, AGridBecomesALoadWithItsDurations) {
  auto recorder = std::move(*LiveRecorder::open(
      shape_, "lake",
      {.load = path("load.json"), .decisions = path("log.jsonl"), .figures = path("figures.json")}));
  machine::Grid first = grid_of(1, 3), second = grid_of(2, 2);
  first.space = 5, second.space = 6;
  const std::uint32_t extents[2][3] = {{3, 1, 1}, {1, 2, 1}};
  recorder->added(first, extents[0], "one", 1000);
  recorder->ended(first, 2, 0, {1010, 1040});
  recorder->added(second, extents[1], "two", 1100);
  recorder->ended(first, 0, 1, {1020, 1035, 5});  // its second CTA never ends
  recorder->ended(second, 0, 1, {1110, 1130});
  machine::Decision decision;
  decision.grid = 2;
  decision.sms = {0, 1};
  decision.free = {3, 4};
  recorder->decisions()->record(decision);
  recorder.reset();

  const Result<Load> load = parse_load(*read_file(path("load.json")), "load.json");
  ASSERT_TRUE(load.ok()) << load.error().to_string();
  ASSERT_EQ(load->grids.size(), 2u);
  EXPECT_EQ(load->grids[0].name, "one");
  EXPECT_EQ(*load->grids[0].durations.list,
            (std::vector<std::uint64_t>{10, 20, 30}));  // the mean for unknown durations
  EXPECT_EQ(load->grids[1].arrival, 100u);
  EXPECT_EQ(load->grids[1].extent[1], 2u);
  EXPECT_EQ(load->grids[1].needs, second.needs);
  const Result<Outcome> outcome = simulate(shape_, *load, {});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->ctas, 5u);

  EXPECT_EQ(load->grids[1].space, 6u);
  const auto figures = parse_figures(*read_file(path("figures.json")), "figures.json");
  ASSERT_TRUE(figures.ok()) << figures.error().to_string();
  std::vector<double> values;
  for (const RunFigure& figure : *figures) values.push_back(figure.value);
  EXPECT_EQ(values, (std::vector<double>{3, 120, 2, 1.5, 2}));

  const auto histories = parse_histories(*read_file(path("log.jsonl")), "log.jsonl");
  ASSERT_TRUE(histories.ok()) << histories.error().to_string();
  ASSERT_EQ(histories->front().grids.size(), 2u);
  EXPECT_EQ(histories->front().steps.at(0).decision.sms, decision.sms);
}

// A queue task arrives with its first entries, and grows by the others.
TEST_F(LiveRecording, AGridThatGrowsDoesSoInTheLoad) {
  auto recorder = std::move(*LiveRecorder::open(shape_, "lake", {.load = path("load.json")}));
  machine::Grid empty = grid_of(1, 0), some = grid_of(2, 2);
  empty.open = some.open = true;
  const std::uint32_t row[3] = {0x7fffffff, 1, 1};
  recorder->added(empty, row, "empty", 1000);
  recorder->added(some, row, "some", 1000);
  const auto grow = [&](machine::Grid& grid, std::uint64_t ctas, std::uint64_t now) {
    recorder->grew(grid, ctas, now);
    grid.ctas += ctas;
  };
  grow(some, 3, 1200);
  grow(empty, 1, 1300);
  grow(empty, 4, 1400);
  for (std::uint64_t cta = 0; cta < 5; ++cta) {
    recorder->ended(empty, cta, 0, {2000, 2010 + cta});
    recorder->ended(some, cta, 0, {2000, 2100});
  }
  machine::Grid never = grid_of(3, 0);
  never.open = true;
  recorder->added(never, row, "never", 3000);
  recorder.reset();
  const Result<Load> load = parse_load(*read_file(path("load.json")), "load.json");
  ASSERT_TRUE(load.ok()) << load.error().to_string();
  ASSERT_EQ(load->grids.size(), 2u);
  EXPECT_EQ(load->grids[0].ctas(), 2u);
  EXPECT_EQ(load->grids[0].grows, (std::vector<Growth>{{200, 3}}));
  EXPECT_EQ(load->grids[1].arrival, 300u);
  EXPECT_EQ(load->grids[1].ctas(), 1u);
  EXPECT_EQ(load->grids[1].grows, (std::vector<Growth>{{400, 4}}));
  EXPECT_EQ(*load->grids[1].durations.list, (std::vector<std::uint64_t>{10, 11, 12, 13, 14}));
  const Result<Outcome> outcome = simulate(shape_, *load, {.rasterise = true});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->ctas, 10u);
  EXPECT_EQ(outcome->stuck_grids, 0u);
  EXPECT_EQ(outcome->makespan, 414u) << "entry 4 comes at 400 and takes 14";
}

TEST(Figures, StandSideBySideWhereverTheyWereMeasured) {
  const MeasuredRun runs[] = {{"wide", {{"CTAs", 12}, {"TLB misses", 7}}},
                              {"deep", {{"CTAs", 12}, {"more", 0.5}}}};
  EXPECT_EQ(comparison_table(runs),
            "                                   wide           deep\n"
            "CTAs                                 12             12\n"
            "TLB misses                            7              -\n"
            "more                                  -            0.5\n");
  const auto again = parse_figures(figures_text(runs[1].figures), "x");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->at(1).name, "more");
  EXPECT_FALSE(parse_figures(R"({"raddle": "figures", "figures": [{"name": "x", "value": "y"}]})", "x").ok());
}

TEST_F(LiveRecording, ALargeGridKeepsMeanAndDeviation) {
  auto recorder = std::move(*LiveRecorder::open(shape_, "lake", {.load = path("load.json")}));
  const machine::Grid grid = grid_of(1, LiveRecorder::kMostListed + 1);
  const std::uint32_t extent[3] = {static_cast<std::uint32_t>(grid.ctas), 1, 1};
  recorder->added(grid, extent, "large", 0);
  for (std::uint64_t i = 0; i < 100; ++i) recorder->ended(grid, i, 0, {0, i % 2 ? 90u : 110u});
  EXPECT_EQ(recorder->decisions(), nullptr);
  recorder.reset();
  const Result<Load> load = parse_load(*read_file(path("load.json")), "load.json");
  ASSERT_TRUE(load.ok());
  EXPECT_EQ(load->grids[0].durations.kind, Durations::Kind::normal);
  EXPECT_EQ(load->grids[0].durations.first, 100u);
  EXPECT_EQ(load->grids[0].durations.second, 10u);
}

TEST_F(LiveRecording, TheEnvironmentAsksForIt) {
  unsetenv("RADDLE_RECORD"), unsetenv("RADDLE_DECISIONS"), unsetenv("RADDLE_FIGURES");
  EXPECT_EQ(*LiveRecorder::from_environment(shape_, "lake"), nullptr);
  setenv("RADDLE_RECORD", path("load.json").c_str(), 1);
  auto first = std::move(*LiveRecorder::from_environment(shape_, "lake"));
  auto second = std::move(*LiveRecorder::from_environment(shape_, "lake"));
  EXPECT_NE(first, nullptr);
  first.reset(), second.reset();
  EXPECT_TRUE(std::filesystem::exists(path("load.json.2")));
  setenv("RADDLE_RECORD", path("no/such/directory/load.json").c_str(), 1);
  EXPECT_FALSE(LiveRecorder::from_environment(shape_, "lake").ok());
  unsetenv("RADDLE_RECORD");
}

}  // namespace
}  // namespace raddle::distribute
