// Floating-point lowerings against numerics, which rounds from the exact value by its own integer arithmetic.
#include <gtest/gtest.h>

#include <cmath>

#include "lowering_check.h"
#include "numerics/arithmetic.h"

namespace raddle::jit::testing {
namespace {

using numerics::Rounding;

/// Runs f(name suffix, type, tag) for f32 and f64.
template <typename F>
void for_floats(F f) {
  f(std::string("f32"), Type::f32, float{});
  f(std::string("f64"), Type::f64, double{});
}

template <typename T, typename F>
void binary(const std::string& opcode, Type t, F f) {
  check({.opcode = opcode,
         .sources = {t, t},
         .expected =
             [f](const std::uint64_t* in) { return to_bits(f(from_bits<T>(in[0]), from_bits<T>(in[1]))); },
         .result = t,
         .random_lanes = 2048});
}

template <typename T, typename F>
void unary(const std::string& opcode, Type t, F f) {
  check({.opcode = opcode,
         .sources = {t},
         .expected = [f](const std::uint64_t* in) { return to_bits(f(from_bits<T>(in[0]))); },
         .result = t,
         .random_lanes = 4096});
}

TEST(LoweringFloat, RoundedArithmetic) {
  for_floats([](const std::string& type, Type t, auto tag) {
    using T = decltype(tag);
    for (auto [mode, rounding] : kRoundings) {
      std::string suffix = std::string(".") + mode + "." + type;
      binary<T>("add" + suffix, t, [rounding](T a, T b) { return numerics::add(a, b, rounding); });
      binary<T>("sub" + suffix, t, [rounding](T a, T b) { return numerics::sub(a, b, rounding); });
      binary<T>("mul" + suffix, t, [rounding](T a, T b) { return numerics::mul(a, b, rounding); });
      binary<T>("div" + suffix, t, [rounding](T a, T b) { return numerics::div(a, b, rounding); });
      unary<T>("rcp" + suffix, t, [rounding](T a) { return numerics::rcp(a, rounding); });
      unary<T>("sqrt" + suffix, t, [rounding](T a) { return numerics::sqrt(a, rounding); });
    }
  });
}

TEST(LoweringFloat, RoundedMultiplyAdd) {
  for_floats([](const std::string& type, Type t, auto tag) {
    using T = decltype(tag);
    for (auto [mode, rounding] : kRoundings)
      check({.opcode = std::string("fma.") + mode + "." + type,
             .sources = {t, t, t},
             .expected =
                 [rounding](const std::uint64_t* in) {
                   return to_bits(numerics::fma(from_bits<T>(in[0]), from_bits<T>(in[1]), from_bits<T>(in[2]),
                                                rounding));
                 },
             .result = t,
             .random_lanes = 16384});
  });
}

/// Operands close to each other, where sums cancel and results lie near ties.
TEST(LoweringFloat, RoundedSumsThatCancel) {
  Lanes a, b, c;
  std::uint64_t state = 12345;
  auto random = [&] { return state = state * 6364136223846793005ull + 1442695040888963407ull, state >> 20; };
  for (int i = 0; i < 4096; ++i) {
    float x = std::ldexp(1.0f + static_cast<float>(random() % 8388608) * 0x1p-23f,
                         static_cast<int>(random() % 40) - 20);
    float y = std::ldexp(1.0f + static_cast<float>(random() % 8388608) * 0x1p-23f,
                         static_cast<int>(random() % 40) - 20);
    float z = -x * y;
    a.push_back(to_bits(x));
    b.push_back(to_bits(y));
    c.push_back(to_bits(random() % 2 ? z : std::nextafterf(z, 0)));
  }
  for (auto [mode, rounding] : kRoundings)
    check({.opcode = std::string("fma.") + mode + ".f32",
           .sources = {},
           .expected =
               [rounding](const std::uint64_t* in) {
                 return to_bits(numerics::fma(from_bits<float>(in[0]), from_bits<float>(in[1]),
                                              from_bits<float>(in[2]), rounding));
               },
           .result = Type::f32,
           .values = {a, b, c}});
}

TEST(LoweringFloat, FlushesAndSaturates) {
  auto flush = [](float x) { return numerics::flush(x); };
  binary<float>("add.ftz.f32", Type::f32,
                [&](float a, float b) { return flush(numerics::add(flush(a), flush(b))); });
  binary<float>("sub.rz.ftz.f32", Type::f32,
                [&](float a, float b) { return flush(numerics::sub(flush(a), flush(b), Rounding::rz)); });
  binary<float>("mul.ftz.sat.f32", Type::f32, [&](float a, float b) {
    return numerics::saturate(flush(numerics::mul(flush(a), flush(b))));
  });
  binary<float>("add.sat.f32", Type::f32,
                [&](float a, float b) { return numerics::saturate(numerics::add(a, b)); });
  unary<float>("abs.ftz.f32", Type::f32, [&](float a) { return std::fabs(flush(a)); });
  unary<float>("neg.ftz.f32", Type::f32, [&](float a) { return -flush(a); });
  unary<float>("neg.f32", Type::f32, [&](float a) { return -a; });
}

/// Where the processor flushes, arithmetic lowerings leave it to the processor; moves still flush themselves.
TEST(LoweringFloat, LeavesFlushingToTheProcessorWhereTold) {
  Call call{.opcode = "add.ftz.f32", .width = 16, .sources = {{1}, {1}}};
  std::string own = assembly(call);
  call.flushed_by_processor = true;
  std::string processors = assembly(call);
  EXPECT_LT(processors.size(), own.size());
  Results r =
      run({.opcode = "abs.ftz.f32", .width = 16, .sources = {{0x80000001}}, .flushed_by_processor = true});
  EXPECT_EQ(r.destinations[0][0], 0u);
}

TEST(LoweringFloat, MinimumAndMaximum) {
  for_floats([](const std::string& type, Type t, auto tag) {
    using T = decltype(tag);
    binary<T>("min." + type, t, [](T a, T b) { return numerics::min(a, b); });
    binary<T>("max." + type, t, [](T a, T b) { return numerics::max(a, b); });
  });
  using numerics::MinMax;
  binary<float>("min.NaN.f32", Type::f32,
                [](float a, float b) { return numerics::min(a, b, MinMax{.nan = true}); });
  binary<float>("max.xorsign.abs.f32", Type::f32,
                [](float a, float b) { return numerics::max(a, b, MinMax{.xorsign = true}); });
  binary<float>("min.NaN.xorsign.abs.f32", Type::f32,
                [](float a, float b) { return numerics::min(a, b, MinMax{.nan = true, .xorsign = true}); });
}

TEST(LoweringFloat, TestsAndSigns) {
  for_floats([](const std::string& type, Type t, auto tag) {
    using T = decltype(tag);
    auto test = [&](const std::string& property, auto f) {
      check({.opcode = "testp." + property + "." + type,
             .sources = {t},
             .expected = [f](const std::uint64_t* in) -> std::uint64_t {
               return f(std::fpclassify(from_bits<T>(in[0])));
             }});
    };
    test("finite", [](int c) { return c != FP_INFINITE && c != FP_NAN; });
    test("infinite", [](int c) { return c == FP_INFINITE; });
    test("number", [](int c) { return c != FP_NAN; });
    test("notanumber", [](int c) { return c == FP_NAN; });
    test("normal",
         [](int c) { return c == FP_NORMAL || c == FP_ZERO; });  // the manual counts zeros as normal
    test("subnormal", [](int c) { return c == FP_SUBNORMAL; });
    binary<T>("copysign." + type, t, [](T a, T b) { return std::copysign(b, a); });
  });
}

template <typename H, typename F>
void half_pair(const std::string& opcode, Type pair, unsigned sources, F f) {
  check({.opcode = opcode,
         .sources = std::vector<Type>(sources, pair),
         .expected =
             [f, sources](const std::uint64_t* in) {
               std::uint64_t d = 0;
               for (unsigned i = 0; i < 2; ++i) {
                 H x[3];
                 for (unsigned s = 0; s < sources; ++s) x[s] = H{static_cast<std::uint16_t>(in[s] >> 16 * i)};
                 d |= std::uint64_t{f(x).bits} << 16 * i;
               }
               return d;
             },
         .result = pair,
         .random_lanes = 8192});
}

template <typename H>
void half_arithmetic(const std::string& pair_name, Type pair) {
  half_pair<H>("add." + pair_name, pair, 2, [](H* x) { return numerics::add(x[0], x[1]); });
  half_pair<H>("sub." + pair_name, pair, 2, [](H* x) { return numerics::sub(x[0], x[1]); });
  half_pair<H>("mul." + pair_name, pair, 2, [](H* x) { return numerics::mul(x[0], x[1]); });
  half_pair<H>("fma.rn." + pair_name, pair, 3, [](H* x) { return numerics::fma(x[0], x[1], x[2]); });
  half_pair<H>("fma.rn.relu." + pair_name, pair, 3,
               [](H* x) { return numerics::relu(numerics::fma(x[0], x[1], x[2])); });
  half_pair<H>("min." + pair_name, pair, 2, [](H* x) { return numerics::min(x[0], x[1]); });
  half_pair<H>("max.NaN." + pair_name, pair, 2,
               [](H* x) { return numerics::max(x[0], x[1], {.nan = true}); });
  half_pair<H>("neg." + pair_name, pair, 1,
               [](H* x) { return numerics::with_sign(x[0], !numerics::sign_of(x[0])); });
  half_pair<H>("abs." + pair_name, pair, 1, [](H* x) { return numerics::with_sign(x[0], false); });
}

TEST(LoweringFloat, HalfPairs) {
  half_arithmetic<numerics::f16>("f16x2", Type::f16x2);
  half_arithmetic<numerics::bf16>("bf16x2", Type::bf16x2);
  half_pair<numerics::f16>("add.sat.f16x2", Type::f16x2, 2,
                           [](numerics::f16* x) { return numerics::saturate(numerics::add(x[0], x[1])); });
}

/// Products near a tie whose addend decides: 1 + 2^-11 exactly, plus or minus something tiny.
TEST(LoweringFloat, HalfFmaRoundsOnce) {
  Lanes a, b, c;
  for (std::uint64_t x = 0x3c00; x < 0x3c40; ++x)
    for (std::uint64_t y = 0x3c00; y < 0x3c40; ++y)
      for (std::uint64_t z : {0x0001ull, 0x8001ull, 0x0400ull, 0x8400ull})
        a.push_back(x), b.push_back(y), c.push_back(z);
  auto fma = [](auto tag) {
    using H = decltype(tag);
    return [](const std::uint64_t* in) {
      auto half = [&](int i) { return H{static_cast<std::uint16_t>(in[i])}; };
      return std::uint64_t{numerics::fma(half(0), half(1), half(2)).bits};
    };
  };
  check({.opcode = "fma.rn.f16",
         .sources = {},
         .expected = fma(numerics::f16{}),
         .result = Type::f16,
         .values = {a, b, c}});
  for (auto& v : a) v = (v & 0x3f) | 0x3f80;
  for (auto& v : b) v = (v & 0x3f) | 0x3f80;
  check({.opcode = "fma.rn.bf16",
         .sources = {},
         .expected = fma(numerics::bf16{}),
         .result = Type::bf16,
         .values = {a, b, c}});
}

}  // namespace
}  // namespace raddle::jit::testing
