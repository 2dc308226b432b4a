// Rounding of every format: exhaustive over encodings for the 8- and 16-bit formats, against their own
// neighbours.
#include "numerics/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "numerics/half.h"

namespace raddle::numerics {
namespace {

constexpr Rounding kAll[] = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp, Rounding::rna};

std::uint64_t expected(std::uint64_t low, std::uint64_t high, int half, bool negative, Rounding r) {
  if (half == 0) return low;
  switch (r) {
    case Rounding::rz:
      return low;
    case Rounding::rm:
      return negative ? high : low;
    case Rounding::rp:
      return negative ? low : high;
    case Rounding::rna:
      return half >= 2 ? high : low;
    case Rounding::rn:
      return half > 2 || (half == 2 && (low & 1)) ? high : low;
  }
  return 0;
}

/// Walks neighbouring encodings: at the lower, below, at and above the midpoint, in every mode.
void check_neighbours(Format f, std::uint64_t step) {
  std::uint64_t sign = std::uint64_t{1} << (f.exponent_bits + f.mantissa_bits);
  for (std::uint64_t low = 0; low < largest_finite(f, false); low += step) {
    double a = to_double(low, f), b = to_double(low + 1, f), middle = (a + b) / 2;
    double points[] = {a, std::nextafter(a, b), middle, std::nextafter(middle, b), std::nextafter(b, a)};
    int halves[] = {0, 1, 2, 3, 3};
    for (int k = 0; k < 5; ++k) {
      for (Rounding r : kAll) {
        ASSERT_EQ(round_double(points[k], f, r), expected(low, low + 1, halves[k], false, r))
            << low << " " << k;
        ASSERT_EQ(round_double(-points[k], f, r), sign | expected(low, low + 1, halves[k], true, r)) << low;
      }
    }
  }
}

TEST(Format, RoundsBetweenNeighbours) {
  check_neighbours(kF16, 1);
  check_neighbours(kBf16, 1);
  check_neighbours(kE5m2, 1);
  check_neighbours(kE4m3, 1);
  check_neighbours(kTf32, 31);
  check_neighbours(kF32, 1000003);
}

TEST(Format, KnownValues) {
  EXPECT_EQ(to_double(0x3c00, kF16), 1.0);
  EXPECT_EQ(to_double(0x0001, kF16), 0x1p-24);
  EXPECT_EQ(to_double(0x7bff, kF16), 65504.0);
  EXPECT_EQ(to_double(0x3f80, kBf16), 1.0);
  EXPECT_EQ(to_double(0x7e, kE4m3), 448.0);
  EXPECT_EQ(to_double(0x7b, kE5m2), 57344.0);
  EXPECT_TRUE(std::isnan(to_double(0x7f, kE4m3)));
  EXPECT_EQ(to_tf32(1.0f + 0x1p-11f, Rounding::rna), std::bit_cast<std::uint32_t>(1.0f + 0x1p-10f));
}

TEST(Format, OverflowFollowsTheMode) {
  EXPECT_EQ(round_double(65519.9, kF16, Rounding::rn), 0x7bffu);
  EXPECT_EQ(round_double(65520.0, kF16, Rounding::rn), 0x7c00u);
  EXPECT_EQ(round_double(1e30, kF16, Rounding::rz), 0x7bffu);
  EXPECT_EQ(round_double(-1e30, kF16, Rounding::rp), 0xfbffu);
  EXPECT_EQ(round_double(-1e30, kF16, Rounding::rm), 0xfc00u);
  EXPECT_EQ(round_double(NAN, kF16, Rounding::rn), 0x7fffu);
  EXPECT_EQ(round_double(-INFINITY, kBf16, Rounding::rn), 0xff80u);
}

TEST(Format, EightBitSaturates) {
  EXPECT_EQ(to_e4m3(1e9), 0x7e);
  EXPECT_EQ(to_e4m3(-INFINITY), 0xfe);
  EXPECT_EQ(to_e4m3(NAN), 0x7f);
  EXPECT_EQ(to_e5m2(1e9), 0x7b);
  EXPECT_EQ(to_e5m2(-3.0, true), 0);
}

/// The nearest value of a list of all 8-bit encodings, of two equally near ones the even; by search alone.
std::uint8_t nearest_in_list(double x, Format f) {
  std::uint8_t best = 0;
  double least = HUGE_VAL;
  for (unsigned k = 0; k < 0x80; ++k) {
    double value = to_double(k, f);
    if (!std::isfinite(value)) continue;
    double distance = std::fabs(std::fabs(x) - value);
    if (distance < least || (distance == least && k % 2 == 0))
      best = static_cast<std::uint8_t>(k), least = distance;
  }
  return static_cast<std::uint8_t>(best | (std::signbit(x) ? 0x80 : 0));
}

// Every f16, and in double every value, midpoint and neighbour of a midpoint, with and without .relu.
TEST(Format, EightBitExhaustively) {
  auto check = [](double x) {
    ASSERT_EQ(to_e4m3(x), nearest_in_list(x, kE4m3)) << x;
    ASSERT_EQ(to_e5m2(x), nearest_in_list(x, kE5m2)) << x;
    ASSERT_EQ(to_e4m3(x, true), std::signbit(x) ? 0 : nearest_in_list(x, kE4m3)) << x;
    ASSERT_EQ(to_e5m2(x, true), std::signbit(x) ? 0 : nearest_in_list(x, kE5m2)) << x;
  };
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    double x = widen(f16{static_cast<std::uint16_t>(bits)});
    if (std::isfinite(x)) check(x);
  }
  for (Format f : {kE4m3, kE5m2}) {
    for (unsigned k = 0; k < largest_finite(f, false); ++k) {
      double middle = (to_double(k, f) + to_double(k + 1, f)) / 2;
      for (double x : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e9)}) check(x), check(-x);
    }
  }
}

TEST(Format, AgreesWithTheHostOnFloat) {
  std::mt19937_64 random(1);
  for (int k = 0; k < 200000; ++k) {
    auto x = std::bit_cast<double>(random());
    if (k % 2)
      x = std::ldexp(x < 0 ? -1.0 : 1.0, 0) *
          std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 300) - 200);
    if (std::isnan(x)) continue;
    ASSERT_EQ(narrow<float>(x), static_cast<float>(x)) << x;
    std::uint64_t n = random() >> (random() % 64);
    ASSERT_EQ(from_integer<float>(false, n, Rounding::rn), static_cast<float>(n));
    ASSERT_EQ(from_integer<double>(true, n, Rounding::rn), -static_cast<double>(n));
  }
}

}  // namespace
}  // namespace raddle::numerics
