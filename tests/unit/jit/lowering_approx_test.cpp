// The approximate functions against double precision, within the error their rows state; and their special
// values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "isa/row.h"
#include "lowering_check.h"
#include "numerics/half.h"

namespace raddle::jit::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// f32 values spread over [low, high], with both ends.
Lanes spread(float low, float high, int count = 200000) {
  Lanes values;
  for (int i = 0; i <= count; ++i)
    values.push_back(to_bits(
        static_cast<float>(static_cast<double>(low) + (static_cast<double>(high) - low) * i / count)));
  return values;
}

/// Every 997th f32 bit pattern, so all exponents and both signs.
Lanes patterns() {
  Lanes values;
  for (std::uint64_t bits = 0; bits < 1ull << 32; bits += 9973) values.push_back(bits);
  return values;
}

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

void approximate(const std::string& opcode, double (*f)(double), Lanes values, double relative,
                 double absolute = 0) {
  bool ftz = opcode.find(".ftz") != std::string::npos;
  check({.opcode = opcode,
         .sources = {},
         .expected =
             [=](const std::uint64_t* in) {
               float x = from_bits<float>(in[0]);
               auto r = static_cast<float>(f(ftz ? flushed(x) : x));
               return to_bits(ftz ? flushed(r) : r);
             },
         .result = Type::f32,
         .relative_error = relative,
         .absolute_error = absolute,
         .values = {std::move(values)}});
}

double error_of(const std::string& opcode) { return (*isa::resolve(opcode))->row->text->error; }

// Below the smallest normal number the last bit weighs 2^-149: one of it is allowed on top of the relative
// error.
constexpr double kLastSubnormal = 0x1p-149;

TEST(LoweringApprox, ReciprocalsAndRoots) {
  auto reciprocal = [](double x) { return 1 / x; };
  auto root = [](double x) { return std::sqrt(x); };
  auto reciprocal_root = [](double x) { return 1 / std::sqrt(x); };
  for (std::string ftz : {"", ".ftz"}) {
    approximate("rcp.approx" + ftz + ".f32", reciprocal, patterns(), error_of("rcp.approx.f32"),
                kLastSubnormal);
    approximate("sqrt.approx" + ftz + ".f32", root, patterns(), error_of("sqrt.approx.f32"));
    approximate("rsqrt.approx" + ftz + ".f32", reciprocal_root, patterns(), error_of("rsqrt.approx.f32"));
    approximate("rcp.approx" + ftz + ".f32", reciprocal, spread(1, 2), error_of("rcp.approx.f32"));
    approximate("sqrt.approx" + ftz + ".f32", root, spread(1, 4), error_of("sqrt.approx.f32"));
    approximate("rsqrt.approx" + ftz + ".f32", reciprocal_root, spread(1, 4), error_of("rsqrt.approx.f32"));
  }
}

TEST(LoweringApprox, PowersAndLogarithms) {
  for (std::string ftz : {"", ".ftz"}) {
    double e = error_of("ex2.approx.f32"), l = error_of("lg2.approx.f32");
    auto power = [](double x) { return std::exp2(x); };
    auto logarithm = [](double x) { return std::log2(x); };
    approximate("ex2.approx" + ftz + ".f32", power, patterns(), e, kLastSubnormal);
    approximate("ex2.approx" + ftz + ".f32", power, spread(-150, 130), e,
                ftz.empty() ? kLastSubnormal : 0x1p-126);
    approximate("lg2.approx" + ftz + ".f32", logarithm, patterns(), l, 0);
    approximate("lg2.approx" + ftz + ".f32", logarithm, spread(0.5f, 2), 0, l);
  }
}

TEST(LoweringApprox, ExactPowersOfTwo) {
  Lanes integers, powers;
  for (int i = -149; i <= 127; ++i)
    integers.push_back(to_bits(static_cast<float>(i))), powers.push_back(to_bits(std::ldexp(1.0f, i)));
  EXPECT_EQ(run({.opcode = "ex2.approx.f32", .sources = {integers}}).destinations[0], powers);
  EXPECT_EQ(run({.opcode = "lg2.approx.f32", .sources = {powers}}).destinations[0], integers);
}

TEST(LoweringApprox, Trigonometry) {
  double e = error_of("sin.approx.f32");
  auto pi2 = static_cast<float>(2 * M_PI);
  approximate("sin.approx.f32", [](double x) { return std::sin(x); }, spread(-pi2, pi2), 0, e);
  approximate("cos.approx.ftz.f32", [](double x) { return std::cos(x); }, spread(-pi2, pi2), 0, e);
  approximate("sin.approx.f32", [](double x) { return std::sin(x); }, spread(-10000, 10000), 0, e);
}

TEST(LoweringApprox, HyperbolicTangent) {
  double e = error_of("tanh.approx.f32");
  approximate("tanh.approx.f32", [](double x) { return std::tanh(x); }, spread(-12, 12), e);
  approximate("tanh.approx.f32", [](double x) { return std::tanh(x); }, patterns(), e, kLastSubnormal);
}

TEST(LoweringApprox, Quotients) {
  for (std::string opcode : {"div.approx.ftz.f32", "div.approx.f32", "div.full.f32", "div.full.ftz.f32"}) {
    Lanes a, b;
    std::uint64_t state = 7;
    for (int i = 0; i < 50000; ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      std::uint64_t exponents = state >> 50;  // both operands and the quotient in the normal range
      a.push_back((state >> 8 & 0x807fffff) | (70 + exponents % 100) << 23);
      b.push_back((state >> 19 & 0x807fffff) | (70 + exponents / 100 % 100) << 23);
    }
    check({.opcode = opcode,
           .sources = {},
           .expected =
               [](const std::uint64_t* in) {
                 return to_bits(from_bits<float>(in[0]) / from_bits<float>(in[1]));
               },
           .result = Type::f32,
           .relative_error = error_of(opcode),
           .values = {a, b}});
  }
}

TEST(LoweringApprox, SpecialValues) {
  auto expect = [](const std::string& opcode, std::vector<std::pair<float, float>> table) {
    Lanes in, out;
    for (auto [x, y] : table) in.push_back(to_bits(x)), out.push_back(to_bits(y));
    check(
        {.opcode = opcode,
         .sources = {},
         .expected =
             [&](const std::uint64_t* x) { return out[std::find(in.begin(), in.end(), x[0]) - in.begin()]; },
         .result = Type::f32,
         .values = {in}});
  };
  for (std::string ftz : {"", ".ftz"}) {
    expect("rcp.approx" + ftz + ".f32",
           {{-kInfinity, -0.0f}, {-0.0f, -kInfinity}, {0.0f, kInfinity}, {kInfinity, 0.0f}, {kNan, kNan}});
    expect(
        "sqrt.approx" + ftz + ".f32",
        {{-kInfinity, kNan}, {-1, kNan}, {-0.0f, -0.0f}, {0.0f, 0.0f}, {kInfinity, kInfinity}, {kNan, kNan}});
    expect("rsqrt.approx" + ftz + ".f32", {{-kInfinity, kNan},
                                           {-1, kNan},
                                           {-0.0f, -kInfinity},
                                           {0.0f, kInfinity},
                                           {kInfinity, 0.0f},
                                           {kNan, kNan}});
    expect("lg2.approx" + ftz + ".f32", {{-kInfinity, kNan},
                                         {-1, kNan},
                                         {-0.0f, -kInfinity},
                                         {0.0f, -kInfinity},
                                         {1, 0.0f},
                                         {kInfinity, kInfinity},
                                         {kNan, kNan}});
    expect("ex2.approx" + ftz + ".f32",
           {{-kInfinity, 0.0f}, {-0.0f, 1}, {0.0f, 1}, {0x1p-140f, 1}, {kInfinity, kInfinity}, {kNan, kNan}});
    expect("sin.approx" + ftz + ".f32",
           {{-kInfinity, kNan}, {-0.0f, -0.0f}, {0.0f, 0.0f}, {kInfinity, kNan}, {kNan, kNan}});
    expect("cos.approx" + ftz + ".f32",
           {{-kInfinity, kNan}, {-0.0f, 1}, {0.0f, 1}, {kInfinity, kNan}, {kNan, kNan}});
  }
  expect("lg2.approx.ftz.f32", {{-0x1p-140f, -kInfinity}, {0x1p-140f, -kInfinity}});
  expect("lg2.approx.f32", {{-0x1p-140f, kNan}, {0x1p-140f, -140}});
  expect("tanh.approx.f32", {{-kInfinity, -1}, {-0.0f, -0.0f}, {0.0f, 0.0f}, {kInfinity, 1}, {kNan, kNan}});
}

TEST(LoweringApprox, SixteenBitFormats) {
  Lanes all(65536);
  for (std::uint64_t i = 0; i < all.size(); ++i) all[i] = i;
  auto expected = [](Type t, double (*f)(double)) {
    return [=](const std::uint64_t* in) {
      auto format = t == Type::f16 ? numerics::kF16 : numerics::kBf16;
      return numerics::round_double(f(numerics::to_double(in[0], format)), format, numerics::Rounding::rn);
    };
  };
  auto power = [](double x) { return std::exp2(x); };
  auto tanh = [](double x) { return std::tanh(x); };
  check({.opcode = "ex2.approx.f16",
         .sources = {},
         .expected = expected(Type::f16, power),
         .result = Type::f16,
         .relative_error = 0x1p-9,
         .absolute_error = 0x1p-24,
         .values = {all}});
  check({.opcode = "ex2.approx.ftz.bf16",
         .sources = {},
         .expected = expected(Type::bf16, power),
         .result = Type::bf16,
         .relative_error = 0x1p-7,
         .absolute_error = 0x1p-126,
         .values = {all}});
  check({.opcode = "tanh.approx.f16",
         .sources = {},
         .expected = expected(Type::f16, tanh),
         .result = Type::f16,
         .absolute_error = 0x1p-10,
         .values = {all}});
  check({.opcode = "tanh.approx.bf16",
         .sources = {},
         .expected = expected(Type::bf16, tanh),
         .result = Type::bf16,
         .absolute_error = 0x1p-8,
         .values = {all}});
}

}  // namespace
}  // namespace raddle::jit::testing
