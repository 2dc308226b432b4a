// Loads: reading, refusals and their messages, generators, the way back to text.
#include "distribute/load.h"

#include <gtest/gtest.h>

#include <cmath>

namespace raddle::distribute {
namespace {

std::string with_grid(const std::string& members) {
  return R"({"raddle": "load", "version": 1, "grids": [{"grid": [4, 2], "needs": {"threads": 64}, "duration": 5)" +
         members + "}]}";
}

std::string complaint(const std::string& text) {
  const Result<Load> load = parse_load(text, "load.json");
  return load.ok() ? "" : load.error().to_string();
}

TEST(Load, HasWhatTheFileSays) {
  const Result<Load> load =
      parse_load(R"({"raddle": "load", "version": 1, "unit": "cycles", "flush": 3, "grids": [
    {"name": "later", "arrival": 9, "grid": [18, 12, 1], "needs": {"threads": 100, "registers": 4096, "shared_bytes": 1024, "barriers": 2},
     "clusters": [{"level": "gpu", "extent": [2, 2, 1]}, {"level": "gpc", "extent": [3, 3]}], "mode": "multicast", "priority": -2,
     "cap_per_sm": 3, "cluster_memory": true, "duration": {"uniform": [5, 9], "seed": 7}},
    {"name": "first", "grid": [8], "needs": {"threads": 32, "warps": 2}, "duration": 1e3}]})",
                 "x");
  ASSERT_TRUE(load.ok()) << load.error().to_string();
  EXPECT_EQ(load->unit, "cycles");
  EXPECT_EQ(load->flush, 3u);
  ASSERT_EQ(load->grids.size(), 2u);
  const LoadGrid &first = load->grids[0], &later = load->grids[1];
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.ctas(), 8u);
  EXPECT_EQ(first.needs.warps, 2u);
  EXPECT_EQ(first.durations.of(7), 1000u);
  EXPECT_EQ(later.needs, (machine::CtaNeeds{100, 4, 2, 4096, 1024}));
  EXPECT_EQ(later.kind.depth, 2u);
  EXPECT_EQ(later.kind.ctas_per_cluster(), 36u);
  EXPECT_EQ(later.kind.levels[1].domain, machine::Level::gpc);
  EXPECT_EQ(later.kind.mode, machine::DistributionMode::multicast);
  EXPECT_EQ(later.priority, -2);
  EXPECT_EQ(later.cap_per_sm, 3u);
  EXPECT_TRUE(later.cluster_memory);
}

TEST(Load, ComesBackFromItsText) {
  const Result<Load> load = parse_load(R"({"raddle": "load", "version": 1, "flush": 3, "grids": [
    {"name": "a \"quoted\" name", "arrival": 9, "grid": [4], "needs": {"threads": 100}, "clusters": [{"level": "gpc", "extent": [2]}],
     "duration": {"list": [3, 1, 2]}}, {"grid": [8], "needs": {"threads": 32}, "mode": "multicast", "duration": {"normal": [50, 10]}}]})",
                                       "x");
  ASSERT_TRUE(load.ok()) << load.error().to_string();
  const std::string text = load_text(*load);
  const Result<Load> again = parse_load(text, "again");
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(load_text(*again), text);
  EXPECT_EQ(again->grids[1].name, "a \"quoted\" name");
  EXPECT_EQ(again->grids[1].durations.of(4), 1u);
}

TEST(Load, SaysWhereItIsWrong) {
  EXPECT_EQ(complaint(with_grid("")), "");
  const std::pair<const char*, const char*> wrong[] = {
      {R"(, "colour": 1)", "$.grids[0]: no 'colour' is known here; there are name, arrival,"},
      {R"(, "arrival": -1)", "$.grids[0].arrival: -1 is no whole number"},
      {R"(, "arrival": "soon")", "$.grids[0].arrival"},
      {R"(, "mode": "fast")", "$.grids[0].mode: 'fast' is no mode"},
      {R"(, "clusters": [{"level": "gpc", "extent": [3]}])",
       "$.grids[0].clusters[0].extent: clusters of 3 CTAs in x do not divide the grid's 4"},
      {R"(, "clusters": [{"level": "sm", "extent": [2]}])",
       "$.grids[0].clusters[0].level: 'sm' is no level for clusters"},
      {R"(, "clusters": [{"level": "gpc", "extent": [2]}, {"level": "gpc", "extent": [2]}])",
       "$.grids[0].clusters[1].level: must be a level inside"},
      {R"(, "clusters": [{"level": "gpc", "extent": []}])",
       "$.grids[0].clusters[0].extent: has 0 elements, must have 1 to 3"},
      {R"(, "cluster_memory": true)", "$.grids[0].cluster_memory: a plain grid has no clusters"},
      {R"(, "duration": 5)", "'duration' is given twice"},
      {R"(, "priority": 3000000000)", "$.grids[0].priority"},
  };
  for (const auto& [members, expected] : wrong)
    EXPECT_NE(complaint(with_grid(members)).find(expected), std::string::npos)
        << complaint(with_grid(members));
}

TEST(Load, DurationsAndNeedsAreChecked) {
  const auto grid = [](const char* extent, const char* needs, const char* duration) {
    return complaint(fmt::format(
        R"({{"raddle": "load", "version": 1, "grids": [{{"grid": {}, "needs": {}, "duration": {}}}]}})",
        extent, needs, duration));
  };
  EXPECT_EQ(grid("[1]", R"({"threads": 1})", "1"), "");
  EXPECT_NE(grid("[1]", R"({"threads": 1})", "0").find("$.grids[0].duration: 0 is no whole number"),
            std::string::npos);
  EXPECT_NE(grid("[1]", R"({"threads": 1})", R"({"uniform": [5, 4]})").find("$.grids[0].duration.uniform[1]"),
            std::string::npos);
  EXPECT_NE(grid("[1]", R"({"threads": 1})", R"({"uniform": [5, 6], "list": [1]})")
                .find("$.grids[0].duration: must"),
            std::string::npos);
  EXPECT_NE(grid("[1]", R"({"threads": 1})", R"({"list": []})").find("$.grids[0].duration.list"),
            std::string::npos);
  EXPECT_NE(grid("[1]", R"({"threads": 1})", R"({"list": [1], "seed": 1})").find("needs no seed"),
            std::string::npos);
  EXPECT_NE(grid("[1]", R"({"threads": 0})", "1").find("$.grids[0].needs.threads"), std::string::npos);
  EXPECT_NE(grid("[1]", "{}", "1").find("$.grids[0].needs: 'threads' is missing"), std::string::npos);
  EXPECT_NE(
      grid("[2000000000, 2000000000, 2000000000]", R"({"threads": 1})", "1").find("more than 2^40 CTAs"),
      std::string::npos);
  EXPECT_NE(complaint("[]").find("$"), std::string::npos);
  EXPECT_NE(
      complaint(R"({"raddle": "decisions", "version": 1})").find("$.raddle: is 'decisions', must be 'load'"),
      std::string::npos);
  EXPECT_NE(complaint(R"({"raddle": "load", "version": 2})").find("$.version"), std::string::npos);
  EXPECT_NE(complaint(R"({"raddle": "load", "version": 1})").find("has no grids"), std::string::npos);
  EXPECT_EQ(complaint("{\"raddle\": \n oops}").substr(0, 12), "load.json:2:");
}

std::string generator(const std::string& arrivals, int count) {
  return fmt::format(
      R"({{"raddle": "load", "version": 1, "generators": [{{"name": "g", "seed": 5, "start": 100, "count": {}, "arrivals": {},
    "mix": [{{"weight": 3, "grid": {{"name": "small", "grid": [4], "needs": {{"threads": 64}}, "duration": {{"exponential": 100}}}}}},
            {{"grid": {{"grid": [64], "needs": {{"threads": 256}}, "duration": 7}}}}]}}]}})",
      count, arrivals);
}

TEST(Load, GeneratorsDrawArrivalsAndGridsFromTheirSeed) {
  const Result<Load> even = parse_load(generator(R"({"every": 10})", 4000), "x");
  ASSERT_TRUE(even.ok()) << even.error().to_string();
  ASSERT_EQ(even->grids.size(), 4000u);
  EXPECT_EQ(even->grids[0].arrival, 100u);
  EXPECT_EQ(even->grids[3999].arrival, 100u + 39990);
  std::uint64_t small = 0;
  for (const LoadGrid& grid : even->grids) small += grid.ctas() == 4;
  EXPECT_NEAR(static_cast<double>(small), 3000, 120);  // weight 3 of 4
  const Result<Load> poisson = parse_load(generator(R"({"poisson": 50})", 4000), "x");
  ASSERT_TRUE(poisson.ok());
  EXPECT_NEAR(static_cast<double>(poisson->grids.back().arrival), 4000 * 50, 8000);
  EXPECT_EQ(load_text(*poisson), load_text(*parse_load(generator(R"({"poisson": 50})", 4000), "x")));
  const Result<Load> shorter = parse_load(generator(R"({"poisson": 50})", 10), "x");
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(grid_text(shorter->grids[i]), grid_text(poisson->grids[i]));
  EXPECT_NE(complaint(generator(R"({"poisson": 0})", 1)).find("$.generators[0].arrivals.poisson"),
            std::string::npos);
  EXPECT_NE(complaint(generator(R"({"every": 1, "poisson": 1})", 1)).find("must have one of"),
            std::string::npos);
  EXPECT_NE(complaint(generator(R"({"every": 1000000000000000})", 100)).find("its last grid arrives after"),
            std::string::npos);
}

TEST(Durations, HaveTheirDistribution) {
  const auto mean_and_deviation = [](const Durations& durations) {
    double sum = 0, squares = 0;
    constexpr int kCount = 20000;
    for (int i = 0; i < kCount; ++i) {
      const double value = static_cast<double>(durations.of(static_cast<std::uint64_t>(i)));
      sum += value, squares += value * value;
    }
    return std::pair(sum / kCount, std::sqrt(squares / kCount - sum / kCount * sum / kCount));
  };
  const auto [uniform, uniform_spread] = mean_and_deviation({Durations::Kind::uniform, 100, 300, 3});
  EXPECT_NEAR(uniform, 200, 2);
  EXPECT_NEAR(uniform_spread, 200 / std::sqrt(12.0), 2);
  const auto [exponential, exponential_spread] =
      mean_and_deviation({Durations::Kind::exponential, 1000, 0, 3});
  EXPECT_NEAR(exponential, 1000, 30);
  EXPECT_NEAR(exponential_spread, 1000, 40);
  const auto [normal, normal_spread] = mean_and_deviation({Durations::Kind::normal, 1000, 100, 3});
  EXPECT_NEAR(normal, 1000, 4);
  EXPECT_NEAR(normal_spread, 100, 4);
  const Durations uniform_once{Durations::Kind::uniform, 100, 300, 3},
      other_seed{Durations::Kind::uniform, 100, 300, 4};
  EXPECT_EQ(uniform_once.of(5), uniform_once.of(5));
  EXPECT_NE(uniform_once.of(5), other_seed.of(5));
}

}  // namespace
}  // namespace raddle::distribute
