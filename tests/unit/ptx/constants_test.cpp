// Constant expressions, read as initial values of 64-bit variables.
#include <bit>
#include <cstring>

#include "ptx_test.h"

namespace raddle::ptx::test {
namespace {

std::uint64_t evaluate(std::string_view expression, std::string_view type = "u64") {
  const Module m = must_parse(module_text(fmt::format(".global .{} x = {};", type, expression)));
  std::uint64_t bits = 0;
  if (m.variables.empty() || m.variables[0].initial.size() > 8) return 0xdead;
  std::memcpy(&bits, m.variables[0].initial.data(), m.variables[0].initial.size());
  return bits;
}

std::uint64_t negative(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// proves: K-17a
TEST(Constants, Precedence) {
  EXPECT_EQ(evaluate("1 + 2 * 3"), 7u);
  EXPECT_EQ(evaluate("(1 + 2) * 3"), 9u);
  EXPECT_EQ(evaluate("10 - 3 - 2"), 5u);
  EXPECT_EQ(evaluate("1 << 4 | 3"), 19u);
  EXPECT_EQ(evaluate("7 & 3 == 3"), 1u);
  EXPECT_EQ(evaluate("6 ^ 3 & 1"), 7u);
  EXPECT_EQ(evaluate("1 || 0 && 0"), 1u);
  EXPECT_EQ(evaluate("100 / 7 % 4"), 2u);
  EXPECT_EQ(evaluate("- - 5"), 5u);
  EXPECT_EQ(evaluate("!0 + ~0"), 0u);
  EXPECT_EQ(evaluate("WARP_SZ * 2"), 64u);
}

TEST(Constants, Ternary) {
  EXPECT_EQ(evaluate("1 ? 2 : 3"), 2u);
  EXPECT_EQ(evaluate("0 ? 2 : 0 ? 4 : 5"), 5u);
  EXPECT_EQ(evaluate("2 > 1 ? 10 + 1 : 0"), 11u);
}

TEST(Constants, SignednessFollowsC) {
  EXPECT_EQ(evaluate("-7 / 2"), negative(-3));
  EXPECT_EQ(evaluate("-7 % 3"), negative(-1));
  EXPECT_EQ(evaluate("-8 >> 1"), negative(-4));
  EXPECT_EQ(evaluate("(.u64) -8 >> 1"), 0x7ffffffffffffffcu);
  EXPECT_EQ(evaluate("-1 < 0"), 1u);
  EXPECT_EQ(evaluate("-1 < 0U"), 0u);
  EXPECT_EQ(evaluate("(.s64) 0xffffffffffffffff < 0"), 1u);
  EXPECT_EQ(evaluate("1 << 64"), 0u);
  EXPECT_EQ(evaluate("-9223372036854775807 - 1"), 1ull << 63);
  EXPECT_EQ(evaluate("(-9223372036854775807 - 1) / -1"), 1ull << 63);
}

TEST(Constants, Floats) {
  EXPECT_EQ(evaluate("1.5 + 0.25 * 2.0", "f64"), std::bit_cast<std::uint64_t>(2.0));
  EXPECT_EQ(evaluate("-1.0", "f32"), 0xbf800000u);
  EXPECT_EQ(evaluate("0f7fffffff", "f32"), 0x7fffffffu) << "NaN payloads are kept";
  EXPECT_EQ(evaluate("0f3f800000", "f64"), std::bit_cast<std::uint64_t>(1.0));
  EXPECT_EQ(evaluate("(.s64) 3.9"), 3u);
  EXPECT_EQ(evaluate("0f40000000", "b32"), 0x40000000u);
  EXPECT_EQ(evaluate("0x3c00", "b16"), 0x3c00u);
}

TEST(Constants, CutToTheElementsSize) {
  EXPECT_EQ(evaluate("-1", "u16"), 0xffffu);
  EXPECT_EQ(evaluate("0x123456789", "u32"), 0x23456789u);
}

TEST(Constants, Errors) {
  const auto error = [](std::string_view e) {
    return errors_of(module_text(fmt::format(".global .u64 x = {};", e)));
  };
  EXPECT_EQ(error("1 / 0"), "4:20: division by zero in a constant expression\n");
  EXPECT_EQ(error("1 +"), "4:21: expected a constant, found ';'\n");
  EXPECT_EQ(error("(1 + 2"), "4:24: expected ')' to close the constant expression, found ';'\n");
  EXPECT_EQ(error("~1.0"), "4:18: '~' needs an integer\n");
  EXPECT_EQ(error("1.0"), "4:18: a floating-point constant where an integer is needed\n");
}

TEST(Constants, DeepNestingIsAnErrorNotACrash) {
  for (const char* opening : {"(", "-", "(.s64)", "1?", "1?2:", "1+("}) {
    std::string nested;
    for (int i = 0; i < 100000; ++i) nested += opening;
    EXPECT_NE(errors_of(module_text(".global .u64 x = " + nested + "1;")).find("nested too deeply"),
              std::string::npos)
        << opening;
  }
}

}  // namespace
}  // namespace raddle::ptx::test
