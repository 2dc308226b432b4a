// Arithmetic against the host's own float unit in each rounding mode, and 16-bit results against exact
// values.
#include "numerics/arithmetic.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <random>

#include "numerics/approximate.h"
#include "numerics/compare.h"
#include "numerics/convert.h"

#pragma STDC FENV_ACCESS ON

namespace raddle::numerics {
namespace {

struct Mode {
  Rounding rounding;
  int host;
};
constexpr Mode kModes[] = {{Rounding::rn, FE_TONEAREST},
                           {Rounding::rz, FE_TOWARDZERO},
                           {Rounding::rm, FE_DOWNWARD},
                           {Rounding::rp, FE_UPWARD}};

template <class T>
bool same(T a, T b) {
  return (is_nan(a) && is_nan(b)) || (a == b && sign_of(a) == sign_of(b));
}

std::vector<float> samples() {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1.0f,
                               -1.0f,
                               3.0f,
                               INFINITY,
                               -INFINITY,
                               NAN,
                               0x1p-149f,
                               -0x1p-149f,
                               0x1p-126f,
                               0x1.fffffep127f,
                               1.0f + 0x1p-23f,
                               0x1p-75f,
                               -0x1.8p20f};
  std::mt19937 random(7);
  for (int k = 0; k < 200; ++k) values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  return values;
}

template <class Operation, class Mine>
void against_host(Operation host, Mine mine) {
  auto values = samples();
  for (const Mode& m : kModes) {
    for (float a : values) {
      for (float b : values) {
        std::fesetround(m.host);
        volatile float x = a, y = b;
        volatile float wanted = host(x, y);
        std::fesetround(FE_TONEAREST);
        float got = mine(a, b, m.rounding);
        ASSERT_TRUE(same<float>(got, wanted))
            << a << " " << b << " mode " << m.host << " " << got << " " << wanted;
      }
    }
  }
}

TEST(Arithmetic, FloatAgreesWithTheHostInEveryMode) {
  against_host([](float a, float b) { return a + b; },
               [](float a, float b, Rounding r) { return add(a, b, r); });
  against_host([](float a, float b) { return a - b; },
               [](float a, float b, Rounding r) { return sub(a, b, r); });
  against_host([](float a, float b) { return a * b; },
               [](float a, float b, Rounding r) { return mul(a, b, r); });
  against_host([](float a, float b) { return a / b; },
               [](float a, float b, Rounding r) { return div(a, b, r); });
  against_host([](float a, float) { return std::sqrt(a); },
               [](float a, float, Rounding r) { return sqrt(a, r); });
  for (float c : {0.0f, -0.0f, 1.0f, -0x1p-149f, 0x1p100f, -0x1.234p-30f}) {
    against_host([c](float a, float b) { return std::fma(a, b, c); },
                 [c](float a, float b, Rounding r) { return fma(a, b, c, r); });
  }
}

TEST(Arithmetic, DoubleDirectedModesBracket) {
  EXPECT_LT(div(1.0, 3.0, Rounding::rm), div(1.0, 3.0, Rounding::rp));
  EXPECT_EQ(std::nextafter(div(1.0, 3.0, Rounding::rm), 1.0), div(1.0, 3.0, Rounding::rp));
  EXPECT_EQ(add(1.0, 0x1p-80, Rounding::rp), 1.0 + 0x1p-52);
  EXPECT_EQ(add(1.0, -0x1p-80, Rounding::rz), 1.0 - 0x1p-53);
  EXPECT_EQ(fma(0x1p-600, 0x1p-600, 1.0, Rounding::rp), 1.0 + 0x1p-52);
  EXPECT_EQ(sqrt(2.0, Rounding::rp), std::nextafter(sqrt(2.0, Rounding::rm), 2.0));
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(Arithmetic, HalfRoundsOnce) {
  // 1 + 2^-11 + 2^-24: a tie in f16 unless the last bit counts.
  EXPECT_EQ(fma(f16{0x3c00}, f16{0x3c00}, narrow<f16>(0x1p-11)).bits, 0x3c00);
  EXPECT_EQ(fma(narrow<f16>(0x1p-12), narrow<f16>(0x1p-12), narrow<f16>(1.0)).bits, 0x3c00);
  // bf16: (1 + 2^-7) * (1 + 2^-7) = 1 + 2^-6 + 2^-14; plus a tiny addend lost in f32 decides nothing here, a
  // tie does below.
  bf16 a = narrow<bf16>(1.0 + 0x1p-7);
  EXPECT_EQ(widen(mul(a, a)), 1.0 + 0x1p-6);
  // 1 + 2^-8 is a tie in bf16; 2^-40 above it must round up, though f32 cannot see it.
  EXPECT_EQ(widen(fma(narrow<bf16>(0x1p-20), narrow<bf16>(0x1p-20), narrow<bf16>(1.0))), 1.0);
  bf16 half_ulp = narrow<bf16>(0x1p-8);
  EXPECT_EQ(round_sum(1.0 + 0x1p-8, 0x1p-60, kBf16, Rounding::rn), 0x3f81u);
  EXPECT_EQ(round_sum(1.0 + 0x1p-8, -0x1p-60, kBf16, Rounding::rn), 0x3f80u);
  EXPECT_EQ(widen(add(narrow<bf16>(1.0), half_ulp)), 1.0);
}

TEST(Arithmetic, FlushAndSaturate) {
  EXPECT_TRUE(same(flush(-0x1p-149f), -0.0f));
  EXPECT_EQ(flush(0x1p-126f), 0x1p-126f);
  EXPECT_TRUE(same(saturate(NAN), 0.0f));
  EXPECT_TRUE(same(saturate(-0.0f), 0.0f));
  EXPECT_EQ(saturate(2.0f), 1.0f);
  EXPECT_EQ(saturate(0.25f), 0.25f);
}

TEST(Arithmetic, MinMaxFollowPtx) {
  EXPECT_EQ(min<float>(NAN, 3.0f), 3.0f);
  EXPECT_EQ(max<float>(3.0f, NAN), 3.0f);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(min<float>(NAN, NAN)), 0x7fffffffu);
  EXPECT_TRUE(is_nan(max<float>(3.0f, NAN, {.nan = true})));
  EXPECT_TRUE(same(min(0.0f, -0.0f), -0.0f));
  EXPECT_TRUE(same(max(-0.0f, 0.0f), 0.0f));
  EXPECT_EQ(min(-2.0f, 3.0f, {.xorsign = true}), -2.0f);
  EXPECT_EQ(max(-2.0f, -3.0f, {.xorsign = true}), 3.0f);
}

TEST(Convert, FloatToInteger) {
  auto to = [](double x, unsigned bits, bool is_signed, Rounding r = Rounding::rz, unsigned source = 32) {
    return to_integer(x, source, {bits, is_signed}, r);
  };
  EXPECT_EQ(to(-1.5, 32, true), ~std::uint64_t{0});
  EXPECT_EQ(to(1e20, 32, true), 0x7fffffffu);
  EXPECT_EQ(to(-5, 32, false), 0u);
  EXPECT_EQ(to(300, 8, false), 255u);
  EXPECT_EQ(to(-300, 8, true), static_cast<std::uint64_t>(-128));
  EXPECT_EQ(to(NAN, 32, true), 0u);
  EXPECT_EQ(to(NAN, 64, true), std::uint64_t{1} << 63);
  EXPECT_EQ(to(NAN, 64, false), std::uint64_t{1} << 63);
  EXPECT_EQ(to(NAN, 32, true, Rounding::rz, 64), ~std::uint64_t{0} << 31);
  EXPECT_EQ(to(NAN, 32, false, Rounding::rz, 64), 0x80000000u);
  EXPECT_EQ(to(0x1p64, 64, false), ~std::uint64_t{0});
  EXPECT_EQ(to(0x1p63, 64, true), ~std::uint64_t{0} >> 1);
  EXPECT_EQ(to(2.5, 32, true, Rounding::rn), 2u);
  EXPECT_EQ(to(3.5, 32, true, Rounding::rn), 4u);
  EXPECT_EQ(to(-2.5, 32, true, Rounding::rm), static_cast<std::uint64_t>(-3));
  EXPECT_EQ(to(2.1, 32, true, Rounding::rp), 3u);
}

TEST(Convert, RoundToIntegralAgreesWithTheHost) {
  std::mt19937_64 random(3);
  for (int k = 0; k < 100000; ++k) {
    double x = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                          -static_cast<int>(random() % 80));
    ASSERT_TRUE(same(round_to_integral(x, Rounding::rn), std::nearbyint(x))) << x;
  }
  for (double x : {-0.49999999999999994, 0.49999999999999994, -0.5, 0.5, -1.5, -0.0, 0x1p53 + 1}) {
    EXPECT_TRUE(same(round_to_integral(x, Rounding::rn), std::nearbyint(x))) << x;
  }
}

TEST(Convert, IntegerClamp) {
  IntegerShape s32{32, true}, u8{8, false}, s8{8, true}, u64{64, false};
  EXPECT_EQ(clamp_integer(static_cast<std::uint64_t>(-5), s32, u8), 0u);
  EXPECT_EQ(clamp_integer(300, s32, u8), 255u);
  EXPECT_EQ(clamp_integer(static_cast<std::uint64_t>(-300), s32, s8), static_cast<std::uint64_t>(-128));
  EXPECT_EQ(clamp_integer(~std::uint64_t{0}, u64, s32), 0x7fffffffu);
}

TEST(Approximate, SpecialValues) {
  EXPECT_TRUE(same(ex2_approx(-INFINITY), 0.0f));
  EXPECT_EQ(lg2_approx(-0.0f), -INFINITY);
  EXPECT_TRUE(std::isnan(lg2_approx(-1.0f)));
  EXPECT_TRUE(std::isnan(sin_approx(INFINITY)));
  EXPECT_EQ(rcp_approx(-0.0f), -INFINITY);
  EXPECT_EQ(rsqrt_approx(-0.0f), -INFINITY);
  EXPECT_EQ(tanh_approx(-INFINITY), -1.0f);
  EXPECT_TRUE(same(div_approx(1.0f, -0x1.8p126f), -0.0f));
  EXPECT_TRUE(std::isnan(div_approx(INFINITY, 0x1.8p126f)));
  EXPECT_EQ(div_approx(1.0f, 4.0f), 0.25f);
  EXPECT_EQ(rcp_approx_f64(2.0), 0.5);
}

TEST(Compare, UnorderedForms) {
  double nan = NAN;
  EXPECT_FALSE(compare(Compare::ne, nan, 1));
  EXPECT_TRUE(compare(Compare::neu, nan, 1));
  EXPECT_TRUE(compare(Compare::leu, nan, 1));
  EXPECT_TRUE(compare(Compare::nan, 1, nan));
  EXPECT_FALSE(compare(Compare::num, nan, 1));
}

}  // namespace
}  // namespace raddle::numerics
