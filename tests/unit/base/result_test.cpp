// Result, TRY and Error: how bad input travels.
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace raddle {
namespace {

Result<int> positive(int value) {
  if (value <= 0) return Error::invalid("{} is not positive", value);
  return value;
}

Result<int> doubled(int value) {
  TRY_ASSIGN(int checked, positive(value));
  return 2 * checked;
}

Result<void> check(int value) {
  TRY(positive(value));
  return {};
}

TEST(Result, CarriesAValue) {
  auto result = doubled(21);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, 42);
}

TEST(Result, CarriesAnError) {
  auto result = doubled(-1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::invalid);
  EXPECT_EQ(result.error().message, "-1 is not positive");
}

TEST(Result, TryReturnsTheErrorOfAnyResult) {
  EXPECT_TRUE(check(1).ok());
  EXPECT_EQ(check(0).error().message, "0 is not positive");
}

TEST(Result, MovesWhatItHolds) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(Error, SaysWhereAsCompilersDo) {
  Error error = Error::unsupported("wgmma");
  EXPECT_EQ(error.to_string(), "wgmma");
  error.where = {"kernel.ptx", 0, 0};
  EXPECT_EQ(error.to_string(), "kernel.ptx: wgmma");
  error.where.line = 12;
  EXPECT_EQ(error.to_string(), "kernel.ptx:12: wgmma");
  error.where = {"kernel.ptx", 12, 5};
  EXPECT_EQ(error.to_string(), "kernel.ptx:12:5: wgmma");
}

}  // namespace
}  // namespace raddle
