// The guard against slower kernels, on made-up results: what falls, what does not, and what cannot be
// compared.
#include "kernels/against.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "kernels/report.h"

namespace bench {
namespace {

Shares shares(std::map<std::string, double> by_kernel) { return {true, 2, std::move(by_kernel)}; }

std::vector<std::string> names(const std::vector<Fall>& fallen) {
  std::vector<std::string> all;
  for (const Fall& fall : fallen) all.push_back(fall.kernel);
  return all;
}

using Names = std::vector<std::string>;

TEST(Against, AFifthLessIsAFall) {
  const Shares before = shares({{"a", 0.5}, {"b", 0.5}, {"c", 0.5}, {"d", 0.5}});
  const Shares now = shares({{"a", 0.39}, {"b", 0.41}, {"c", 0.9}, {"d", 0.4}});
  EXPECT_EQ(names(falls(before, now, 0.8)), Names{"a"});
  EXPECT_EQ(names(falls(before, now, 0.9)), (Names{"a", "b", "d"}));
  EXPECT_EQ(names(falls(before, now, 0.7)), Names{});
}

TEST(Against, KernelsOfOneRunOnlyDoNotCount) {
  const Shares before = shares({{"gone", 0.5}, {"without figure", 0}}),
               now = shares({{"new", 0.1}, {"without figure", 0.1}});
  EXPECT_EQ(names(falls(before, now, 0.8)), Names{});
}

TEST(Against, AKernelWithoutFigureFell) {
  const Shares before = shares({{"a", 0.5}, {"b", 0.5}});
  EXPECT_EQ(names(falls(before, shares({{"a", 0}, {"b", std::nan("")}}), 0.8)), (Names{"a", "b"}));
}

TEST(Against, FallsCountThreeTimesOutOfThree) {
  const Shares before = shares({{"a", 0.5}, {"b", 0.5}, {"c", 0.5}});
  const Shares first = shares({{"a", 0.3}, {"b", 0.3}, {"c", 0.5}});
  const Shares low = shares({{"a", 0.2}, {"b", 0.3}}), mixed = shares({{"a", 0.25}, {"b", 0.5}});
  EXPECT_EQ(names(falls_in_all(before, {first}, 0.8)), (Names{"a", "b"}));
  EXPECT_EQ(names(falls_in_all(before, {first, low}, 0.8)), (Names{"a", "b"}));
  const std::vector<Fall> third = falls_in_all(before, {first, low, mixed}, 0.8);
  ASSERT_EQ(names(third), Names{"a"});
  EXPECT_EQ(third[0].before, 0.5);
  EXPECT_EQ(third[0].now, 0.25);  // the last run's
  // Well once is well, whatever came after.
  EXPECT_EQ(names(falls_in_all(before, {first, mixed, low}, 0.8)), Names{"a"});
  EXPECT_EQ(names(falls_in_all(before, {first, shares({{"a", 0.5}, {"b", 0.5}}), low}, 0.8)), Names{});
  EXPECT_EQ(names(falls_in_all(before, {first, low, shares({{"c", 0.1}})}, 0.8)),
            Names{});  // c was well at first
}

TEST(Against, RunsOfOtherSizesDoNotCompare) {
  const Shares before = shares({{"a", 0.5}, {"b", 0}});
  EXPECT_TRUE(check_comparable(before, before).ok());
  Shares other = before;
  other.quick = false;
  EXPECT_EQ(check_comparable(before, other).error().message,
            "the results are of quick sizes, this run is of full ones");
  other = before;
  other.cores = 4;
  EXPECT_EQ(check_comparable(before, other).error().message, "the results are of 2 cores, this run is of 4");
  EXPECT_FALSE(check_comparable(before, shares({{"b", 0.5}, {"c", 0.5}})).ok());  // b had no figure
}

TEST(Against, FallsAreDescribed) {
  EXPECT_EQ(describe({"saxpy", 0.5, 0.25}), "saxpy: 0.250 of its limit, 0.50 of the 0.500 before");
  EXPECT_EQ(describe({"saxpy", 0.5, 0}), "saxpy: no figure, where it had 0.500 of its limit");
}

class Results : public testing::Test {
 protected:
  ~Results() override { std::filesystem::remove(path); }
  void write(const std::string& text) { std::ofstream(path) << text; }
  std::string complaint() {
    const raddle::Result<Shares> read = read_shares(path);
    return read.ok() ? "" : read.error().to_string();
  }
  std::string path = testing::TempDir() + "against_" + std::to_string(getpid()) + ".json";
};

TEST_F(Results, WhatAReportWritesIsRead) {
  Report report;
  report.cores = 2;
  report.quick = true;
  report.limits.update_gb_per_second = 40;
  report.limits.copy_gb_per_second = 20;
  Row row{"saxpy", "raddle-jit", "GB/s"};
  row.state = State::measured, row.limit = Limit::update, row.limit_work = 1, row.value = 30;
  report.rows.push_back(row);
  row.kernel = "radix_sort", row.limit = Limit::copy, row.limit_work = 0.068, row.value = 50;
  report.rows.push_back(row);
  row.kernel = "fft", row.state = State::wrong;
  report.rows.push_back(row);
  row.kernel = "scan", row.system = "openmp", row.state = State::measured;
  report.rows.push_back(row);
  ASSERT_TRUE(report.write_json(path).ok());
  const raddle::Result<Shares> read = read_shares(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->quick);
  EXPECT_EQ(read->cores, 2u);
  const std::map<std::string, double> want = {{"fft", 0}, {"radix_sort", 0.17}, {"saxpy", 0.75}};
  EXPECT_EQ(read->by_kernel, want);
  EXPECT_EQ(report.shares().by_kernel.size(), 3u);
  EXPECT_DOUBLE_EQ(report.shares().by_kernel.at("radix_sort"), 0.17);
}

TEST_F(Results, WhatIsNoneSaysSo) {
  EXPECT_EQ(complaint(), "cannot read " + path);
  write("no JSON");
  EXPECT_NE(complaint().find(path + ":1:"), std::string::npos) << complaint();
  write(R"({"quick": true, "cores": 2})");
  EXPECT_NE(complaint().find("rows"), std::string::npos) << complaint();
  write(R"({"quick": true, "cores": 2, "rows": [{"kernel": "saxpy", "system": "raddle-jit", "value": 1}]})");
  EXPECT_EQ(complaint(), path + ": $.rows[0]: no share of a limit: an older bench/run wrote these results");
  write(R"({"quick": true, "cores": 2, "rows": [{"kernel": "saxpy", "system": "openmp", "value": 1}]})");
  EXPECT_EQ(complaint(), "");
}

}  // namespace
}  // namespace bench
