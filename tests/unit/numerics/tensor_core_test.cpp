// Hopper's way of adding products (numerics/tensor_core.h): what tells it from a chain of fma, worked by
// hand.
#include "numerics/tensor_core.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace raddle::numerics {
namespace {

float sum_of(Format format, float start, std::vector<float> a, std::vector<float> b) {
  return tensor_core_sum(hopper_tensor_core(format), start, a, b);
}

TEST(TensorCore, SummandsAreCutOffBelowTheLargest) {
  // 25 bits below 2^0: 2^-25 counts, 2^-26 does not, however many there are.
  EXPECT_EQ(sum_of(kF16, 0, {1, -1, 0x1p-12f}, {1, 1, 0x1p-13f}), 0x1p-25f);
  EXPECT_EQ(sum_of(kF16, 0, {1, -1, 0x1p-13f, 0x1p-13f}, {1, 1, 0x1p-13f, 0x1p-13f}), 0);
  // Both would count alone.
  EXPECT_EQ(sum_of(kF16, 0, {0x1p-13f, 0x1p-13f}, {0x1p-13f, 0x1p-13f}), 0x1p-25f);
}

TEST(TensorCore, TheSumBeforeIsOneOfTheSummands) {
  EXPECT_EQ(sum_of(kF16, 1, {0x1p-13f, -1}, {0x1p-13f, 1}), 0);
  EXPECT_EQ(sum_of(kF16, 0x1p-26f, {1, -1}, {1, 1}), 0);
}

TEST(TensorCore, ResultsAreCutOffAndNotRounded) {
  // 1 + 3 * 2^-24 lies nearer to 1 + 2^-22.
  EXPECT_EQ(sum_of(kBf16, 1, {0x1.8p-12f}, {0x1p-11f}), 1 + 0x1p-23f);
  EXPECT_EQ(sum_of(kBf16, -1, {-0x1.8p-12f}, {0x1p-11f}), -1 - 0x1p-23f);
}

TEST(TensorCore, SixteenProductsOfHalvesAreOneTurnAndEightOfTf32) {
  // The small product comes after the large ones have gone: in the next turn it counts.
  for (const auto& [format, products] : {std::pair{kF16, 16u}, {kBf16, 16u}, {kTf32, 8u}}) {
    std::vector<float> a(products + 1, 0), b(products + 1, 1);
    a[0] = 0x1p12f, a[1] = -0x1p12f, a[products - 1] = 0x1p-14f;
    EXPECT_EQ(sum_of(format, 0, a, b), 0);
    std::swap(a[products - 1], a[products]);
    EXPECT_EQ(sum_of(format, 0, a, b), 0x1p-14f);
  }
}

TEST(TensorCore, BytesKeepThirteenBits) {
  for (const Format format : {kE4m3, kE5m2}) {
    EXPECT_EQ(sum_of(format, 1, {0x1p-6f}, {0x1p-7f}), 1 + 0x1p-13f);
    EXPECT_EQ(sum_of(format, 1, {0x1p-6f}, {0x1p-8f}), 1);
    EXPECT_EQ(sum_of(format, 1 + 0x1p-20f, {0}, {0}), 1);
  }
}

TEST(TensorCore, ProductsAreNotNormalised) {
  // 1.5 * 1.5 = 2.25 has the exponent 0 of its factors, so 2^-25 is not lost; a sum of 2.25 has the exponent
  // 1.
  EXPECT_EQ(sum_of(kF16, 0, {1.5f, -1.5f, 0x1p-12f}, {1.5f, 1.5f, 0x1p-13f}), 0x1p-25f);
  EXPECT_EQ(sum_of(kF16, 2.25f, {-1.5f, 0x1p-12f}, {1.5f, 0x1p-13f}), 0);
}

TEST(TensorCore, WhatIsNotFiniteGoesOn) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sum_of(kF16, 1, {kInfinity}, {2}), kInfinity);
  EXPECT_EQ(sum_of(kF16, -kInfinity, {1}, {2}), -kInfinity);
  EXPECT_TRUE(std::isnan(sum_of(kF16, -kInfinity, {kInfinity}, {2})));
  EXPECT_TRUE(std::isnan(sum_of(kF16, 0, {kInfinity}, {0})));
  EXPECT_TRUE(std::isnan(sum_of(kF16, 0, {kInfinity, -kInfinity}, {1, 1})));
  EXPECT_EQ(sum_of(kBf16, 0x1.fffffep127f, {0x1p127f}, {1}), kInfinity);
  EXPECT_FALSE(std::signbit(sum_of(kF16, -0.0f, {-0.0f}, {1})));
}

}  // namespace
}  // namespace raddle::numerics
