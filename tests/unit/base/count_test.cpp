// Numbers as people write them: all of the text, in range, or an error that quotes it.
#include "base/count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace raddle {
namespace {

using testing::HasSubstr;

TEST(Count, ReadsDecimalsHexadecimalsAndUnits) {
  const std::pair<const char*, std::uint64_t> known[] = {{"0", 0},
                                                         {"1000", 1000},
                                                         {"010", 10},
                                                         {"0x3e8", 1000},
                                                         {"64K", 64 << 10},
                                                         {"64k", 64 << 10},
                                                         {"1M", 1 << 20},
                                                         {"2G", 2ull << 30},
                                                         {"0x10K", 16 << 10},
                                                         {"18446744073709551615", ~0ull},
                                                         {"17179869183G", 17179869183ull << 30}};
  for (const auto& [text, count] : known) {
    const auto read = parse_count(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(*read, count) << text;
  }
}

TEST(Count, WhatIsNoCountIsQuoted) {
  for (const char* text :
       {"", "x", "-1", "+1", " 1", "1 ", "1x", "1T", "1KK", "K", "0x", "0xg", "1.5", "1e3"}) {
    const auto read = parse_count(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.error().message, HasSubstr(fmt::format("'{}' is no count", text)));
  }
}

TEST(Count, WhatDoesNotFitNeitherWrapsNorSaturates) {
  for (const char* text : {"18446744073709551616", "99999999999999999999", "17179869184G",
                           "0x10000000000000000", "18446744073709551615K"}) {
    const auto read = parse_count(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.error().message, HasSubstr(fmt::format("{} is out of range", text)));
  }
  EXPECT_FALSE(parse_count("0", 1, 8).ok());
  EXPECT_FALSE(parse_count("9", 1, 8).ok());
  EXPECT_FALSE(parse_count("1K", 1, 1023).ok());
  EXPECT_EQ(*parse_count("8", 1, 8), 8u);
  EXPECT_THAT(parse_count("9", 1, 8).error().message, HasSubstr("from 1 to 8"));
}

TEST(Count, IsWrittenAsItIsRead) {
  for (const std::uint64_t count : {0ull, 1ull, 1000ull, 1024ull, 65536ull, 1ull << 40, ~0ull})
    EXPECT_EQ(*parse_count(format_count(count)), count);
}

TEST(Real, ReadsDecimalsAndChecksTheRange) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(*parse_real("0.5", 0, 1), 0.5);
  EXPECT_EQ(*parse_real("-1e-3", -1, 1), -1e-3);
  EXPECT_EQ(*parse_real("+2", 0, 2), 2);
  EXPECT_EQ(*parse_real("-0x1p-3", -1, 1), -0.125);
  EXPECT_EQ(*parse_real("-inf", -kInfinity, kInfinity), -kInfinity);
  for (const char* text :
       {"", "x", "+-1", "--1", "1x", " 1", "0x", "-", "1e999", "-1e999", "nan", "-nan", "0x1p9999"})
    EXPECT_FALSE(parse_real(text, -kInfinity, kInfinity).ok()) << text;
  for (const char* text : {"-0.1", "1.1", "inf", "-inf"}) EXPECT_FALSE(parse_real(text, 0, 1).ok()) << text;
}

}  // namespace
}  // namespace raddle
