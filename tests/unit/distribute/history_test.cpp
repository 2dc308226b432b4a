// Histories: written and read, replayed, as table, timeline and page.
#include "distribute/history.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "distribute/replay.h"
#include "distribute/simulation.h"
#include "distribute/views.h"

namespace raddle::distribute {
namespace {

/// Two clusters of two and a plain grid on a small machine; the second cluster has to wait.
History sample(const std::string& policy = "lake") {
  const machine::MachineShape shape = *machine::preset_shape("tiny", 1);
  const Result<Load> load = parse_load(R"({"raddle": "load", "version": 1, "grids": [
    {"name": "plain", "grid": [3], "needs": {"threads": 1024}, "duration": {"list": [10, 30, 20]}},
    {"name": "<pairs>", "grid": [4], "needs": {"threads": 1024}, "clusters": [{"level": "gpc", "extent": [2]}], "duration": 8}]})",
                                       "x");
  EXPECT_TRUE(load.ok());
  History history;
  history.layout = layout_of(shape);
  history.policy = policy;
  EXPECT_TRUE(simulate(shape, *load, {policy, {}, true, &history}).ok());
  return history;
}

// proves: W-21a, W-21c, W-21e
TEST(History, HoldsEveryDecisionWithCandidatesAndState) {
  const History history = sample();
  std::uint64_t launched = 0, ended = 0, refused = 0, chosen = 0, drained = 0;
  for (const Step& step : history.steps) {
    const machine::Decision& decision = step.decision;
    if (decision.kind == machine::Decision::Kind::launch) {
      launched += decision.sms.size();
      EXPECT_EQ(decision.free.size(), 2u);
      for (const machine::Candidate& candidate : decision.candidates)
        chosen += candidate.chosen && candidate.speed.has_value();
    }
    if (decision.kind == machine::Decision::Kind::complete) ended += step.ctas.size();
    refused += decision.kind == machine::Decision::Kind::fail;
    drained += decision.kind == machine::Decision::Kind::cluster_complete;
  }
  EXPECT_EQ(launched, 7u);
  EXPECT_EQ(ended, 7u);
  EXPECT_GE(refused, 1u);
  EXPECT_EQ(chosen, 2u);
  EXPECT_EQ(drained, 2u);
}

TEST(History, KeepsOneRefusalOfAWaitingClusterUnlessAllAreWanted) {
  const auto refusals = [](bool all) {
    History history;
    history.all_refusals = all;
    machine::Decision decision;
    decision.kind = machine::Decision::Kind::fail;
    for (const std::uint64_t cluster : {4, 4, 4, 5, 5}) {
      decision.cluster = cluster;
      history.record(decision);
    }
    decision.grid = 1;  // another grid's cluster of the same number
    history.record(decision);
    return history.steps.size();
  };
  EXPECT_EQ(refusals(false), 3u);
  EXPECT_EQ(refusals(true), 6u);
}

TEST(History, ComesBackFromItsText) {
  const History history = sample();
  const std::string text = history_text(history) + history_text(history);
  const Result<std::vector<History>> again = parse_histories(text, "x");
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  ASSERT_EQ(again->size(), 2u);
  EXPECT_EQ(history_text((*again)[1]), history_text(history));
  EXPECT_EQ(decision_table((*again)[0]), decision_table(history));
}

// A recorder's clock and its source's clock may differ.
TEST(History, ComesBackThoughAStepIsEarlierThanItsGrid) {
  History history = sample();
  for (GridInfo& grid : history.grids) grid.arrival += 1000000;
  const Result<std::vector<History>> again = parse_histories(history_text(history), "x");
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(history_text(again->front()), history_text(history));
  EXPECT_EQ(decision_table(again->front()), decision_table(history));
}

TEST(History, SaysWhatIsWrongInAFile) {
  const std::string header = header_line(layout_of(*machine::preset_shape("tiny", 1)), "lake", "ns");
  const std::string grid = "{\"grid\":1,\"name\":\"a\",\"time\":0,\"extent\":[4,1,1],\"slots\":8}\n";
  const auto complaint = [](const std::string& text) {
    const auto read = parse_histories(text, "log");
    return read.ok() ? "" : read.error().to_string();
  };
  EXPECT_EQ(complaint(header + grid), "");
  const std::string step =
      "{\"step\":\"launch\",\"time\":1,\"sequence\":0,\"grid\":1,\"first\":0,\"cluster\":0";
  EXPECT_EQ(complaint(header + grid + step + ",\"sms\":[0,1]}\n"), "");
  EXPECT_NE(complaint("").find("no decisions"), std::string::npos);
  EXPECT_EQ(complaint(grid).substr(0, 5), "log:1");
  EXPECT_NE(complaint(header + grid + step + ",\"sms\":[0,2]}\n")
                .find("log:3: $.sms[1]: 2 is no whole number from 0 to 1"),
            std::string::npos);
  EXPECT_NE(complaint(header + grid + step + ",\"free\":[0]}\n").find("$.free: has 1 elements, must have 2"),
            std::string::npos);
  EXPECT_NE(complaint(header + grid + step + ",\"colour\":1}\n").find("no 'colour' is known"),
            std::string::npos);
  EXPECT_NE(complaint(header + step + "}\n").find("no grid 1 has arrived"), std::string::npos);
  EXPECT_EQ(complaint(header + grid + step).substr(0, 6), "log:3:");  // cut off
  EXPECT_NE(complaint("{\"raddle\":\"load\"}").find("must be 'decisions'"), std::string::npos);
}

TEST(Replay, GivesRowsBack) {
  const History history = sample();
  Replay replay(history);
  std::vector<Cell> changed;
  std::uint64_t resident = 0, most = 0;
  for (const Step& step : history.steps) {
    replay.apply(step, changed);
    resident += step.decision.kind == machine::Decision::Kind::launch ? changed.size() : -changed.size();
    most = std::max(most, resident);
    for (const Cell& cell : changed) EXPECT_LT(cell.row, 2u);
  }
  EXPECT_EQ(resident, 0u);
  EXPECT_EQ(most, 4u);
}

TEST(Replay, TakesTheOldestWhereTheLogDoesNotSayWhich) {
  History history = sample();
  for (Step& step : history.steps) step.ctas.clear();
  Replay replay(history);
  std::vector<Cell> changed;
  for (const Step& step : history.steps) replay.apply(step, changed);
  for (const auto& rows : replay.sms())
    for (const Cell& cell : rows) EXPECT_FALSE(cell.used);
}

// proves: W-21g
TEST(Views, TheTimelineHasASlicePerCtaAndArrowsPerCluster) {
  const std::vector<History> histories = {sample(), sample()};
  const nlohmann::json timeline = nlohmann::json::parse(timeline_text(histories), nullptr, false);
  ASSERT_TRUE(timeline.is_object());
  std::map<std::string, int> counts;
  std::map<std::tuple<int, int>, std::vector<std::pair<double, double>>> tracks;
  for (const auto& event : timeline["traceEvents"]) {
    ++counts[event["ph"].get<std::string>()];
    if (event["ph"] == "X")
      tracks[{event["pid"], event["tid"]}].emplace_back(
          event["ts"], event["ts"].get<double>() + event["dur"].get<double>());
  }
  EXPECT_EQ(counts["X"], 14);
  EXPECT_EQ(counts["s"], 4);
  EXPECT_EQ(counts["f"], 4);
  EXPECT_GE(counts["i"], 2);
  for (auto& [track, slices] : tracks) {  // viewers want none to overlap
    std::sort(slices.begin(), slices.end());
    for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_LE(slices[i - 1].second, slices[i].first + 1e-9);
  }
}

// proves: W-21f
TEST(Views, TheTableNamesWhatWasDecided) {
  const std::string table = decision_table(sample());
  EXPECT_NE(table.find("<pairs> cluster 1"), std::string::npos);
  EXPECT_NE(table.find("gpc 0:"), std::string::npos);
  EXPECT_NE(table.find("fail"), std::string::npos);
}

TEST(Views, ThePageHoldsItsDataAndNothingFromElsewhere) {
  const std::string page = page_text(std::vector<History>{sample()}, "a </script> title");
  EXPECT_EQ(page.find("a </script>"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
  EXPECT_EQ(page.find("/*data*/"), std::string::npos);
  const std::size_t begin = page.find("application/json\">") + 18;
  const nlohmann::json data =
      nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin), nullptr, false);
  ASSERT_TRUE(data.is_object());
  EXPECT_EQ(data["histories"][0]["grids"][1]["name"], "<pairs>");
  EXPECT_EQ(data["histories"][0]["gpc"], nlohmann::json::array({2}));
}

}  // namespace
}  // namespace raddle::distribute
