// cvt, comparisons, logic and byte permutation against numerics and plain C++.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lowering_check.h"
#include "numerics/arithmetic.h"
#include "numerics/convert.h"

namespace raddle::jit::testing {
namespace {

using numerics::Rounding;

constexpr std::pair<const char*, Type> kIntegers[] = {
    {"u8", Type::u8},   {"s8", Type::s8},   {"u16", Type::u16}, {"s16", Type::s16},
    {"u32", Type::u32}, {"s32", Type::s32}, {"u64", Type::u64}, {"s64", Type::s64}};
constexpr std::pair<const char*, Type> kFloats[] = {
    {"f16", Type::f16}, {"bf16", Type::bf16}, {"f32", Type::f32}, {"f64", Type::f64}};

numerics::Format format_of(Type t) {
  return t == Type::f16    ? numerics::kF16
         : t == Type::bf16 ? numerics::kBf16
         : t == Type::f32  ? numerics::kF32
                           : numerics::kF64;
}
double value_of(std::uint64_t bits, Type t) { return numerics::to_double(bits, format_of(t)); }
std::uint64_t mask_of(Type t) { return ~0ull >> (64 - isa::bit_size(t)); }
std::uint64_t extend(std::uint64_t bits, Type t) {
  unsigned unused = 64 - isa::bit_size(t);
  return isa::is_signed(t) ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused)
                           : bits;
}

/// Every value of `from` is one of `to`.
bool holds_all_of(Type to, Type from) {
  if (isa::is_signed(from) == isa::is_signed(to)) return isa::bit_size(from) <= isa::bit_size(to);
  return !isa::is_signed(from) && isa::bit_size(from) < isa::bit_size(to);
}

TEST(LoweringConvert, BetweenIntegers) {
  for (auto [to_name, to] : kIntegers)
    for (auto [from_name, from] : kIntegers)
      for (bool saturates : {false, true}) {
        std::string opcode = std::string("cvt.") + (saturates ? "sat." : "") + to_name + "." + from_name;
        if (saturates && holds_all_of(to, from)) {  // nothing to clamp: no such instruction
          EXPECT_FALSE(isa::resolve(opcode).ok()) << opcode;
          continue;
        }
        check({.opcode = opcode,
               .sources = {from},
               .expected =
                   [=](const std::uint64_t* in) {
                     std::uint64_t v = extend(in[0], from);
                     numerics::IntegerShape from_shape{isa::bit_size(from), isa::is_signed(from)},
                         to_shape{isa::bit_size(to), isa::is_signed(to)};
                     if (saturates) v = numerics::clamp_integer(v, from_shape, to_shape);
                     return v & mask_of(to);
                   },
               .random_lanes = 64});
      }
}

TEST(LoweringConvert, FloatToInteger) {
  for (auto [to_name, to] : kIntegers)
    for (auto [from_name, from] : kFloats)
      for (auto [mode, rounding] : kRoundings) {
        std::string opcode = std::string("cvt.") + mode + "i." + to_name + "." + from_name;
        check({.opcode = opcode,
               .sources = {from},
               .expected =
                   [=](const std::uint64_t* in) {
                     numerics::IntegerShape shape{isa::bit_size(to), isa::is_signed(to)};
                     return numerics::to_integer(value_of(in[0], from), isa::bit_size(from), shape,
                                                 rounding) &
                            mask_of(to);
                   },
               .random_lanes = 512});
      }
}

TEST(LoweringConvert, IntegerToFloat) {
  for (auto [to_name, to] : kFloats)
    for (auto [from_name, from] : kIntegers)
      for (auto [mode, rounding] : kRoundings) {
        std::string opcode = std::string("cvt.") + mode + "." + to_name + "." + from_name;
        check({.opcode = opcode,
               .sources = {from},
               .expected =
                   [=](const std::uint64_t* in) {
                     std::uint64_t v = extend(in[0], from);
                     bool negative = isa::is_signed(from) && v >> 63;
                     return numerics::round_integer(negative, negative ? 0 - v : v, format_of(to), rounding);
                   },
               .result = to,
               .random_lanes = 1024});
      }
}

TEST(LoweringConvert, BetweenFloats) {
  for (auto [to_name, to] : kFloats)
    for (auto [from_name, from] : kFloats) {
      if (to == from) continue;
      bool narrows =
          isa::bit_size(to) < isa::bit_size(from) || (isa::bit_size(to) == 16 && isa::bit_size(from) == 16);
      for (auto [mode, rounding] : kRoundings) {
        if (!narrows && rounding != Rounding::rn) continue;
        std::string opcode =
            std::string("cvt.") + (narrows ? std::string(mode) + "." : "") + to_name + "." + from_name;
        if (!isa::resolve(opcode).ok()) continue;  // bf16 from f32 knows rn and rz alone
        check({.opcode = opcode,
               .sources = {from},
               .expected =
                   [=](const std::uint64_t* in) {
                     return numerics::round_double(value_of(in[0], from), format_of(to), rounding);
                   },
               .result = to,
               .random_lanes = 4096});
      }
    }
}

Lanes all_16_bit() {
  Lanes values(65536);
  for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = i;
  return values;
}

TEST(LoweringConvert, EverySixteenBitFloat) {
  for (auto [name, t] : {std::pair{"f16", Type::f16}, {"bf16", Type::bf16}}) {
    check({.opcode = std::string("cvt.f32.") + name,
           .sources = {},
           .expected =
               [t](const std::uint64_t* in) {
                 return numerics::round_double(value_of(in[0], t), numerics::kF32, Rounding::rn);
               },
           .result = Type::f32,
           .values = {all_16_bit()}});
    for (auto [mode, rounding] : kRoundings)
      check({.opcode = std::string("cvt.") + mode + "i." + name + "." + name,
             .sources = {},
             .expected =
                 [=](const std::uint64_t* in) {
                   return numerics::round_double(numerics::round_to_integral(value_of(in[0], t), rounding),
                                                 format_of(t), Rounding::rn);
                 },
             .result = t,
             .values = {all_16_bit()}});
  }
}

/// f32 on, just above and just below every f16 and the middle between two.
TEST(LoweringConvert, TiesOfF16) {
  Lanes values;
  for (std::uint64_t h = 0; h < 0x7c00; ++h) {
    auto low = static_cast<float>(value_of(h, Type::f16));
    float high = h == 0x7bff ? 65536.0f : static_cast<float>(value_of(h + 1, Type::f16));
    float middle = (low + high) / 2;
    for (float v : {middle, std::nextafterf(middle, 0), std::nextafterf(middle, 1e9f)})
      values.push_back(to_bits(v)), values.push_back(to_bits(-v));
  }
  for (auto [mode, rounding] : kRoundings)
    check({.opcode = std::string("cvt.") + mode + ".f16.f32",
           .sources = {},
           .expected =
               [=](const std::uint64_t* in) {
                 return numerics::round_double(from_bits<float>(in[0]), numerics::kF16, rounding);
               },
           .result = Type::f16,
           .values = {values}});
}

TEST(LoweringConvert, PairsSaturationAndTf32) {
  check({.opcode = "cvt.rn.f16x2.f32",
         .sources = {Type::f32, Type::f32},
         .expected =
             [](const std::uint64_t* in) {
               auto half = [&](int i) {
                 return numerics::round_double(from_bits<float>(in[i]), numerics::kF16, Rounding::rn);
               };
               return half(0) << 16 | half(1);
             },
         .result = Type::f16x2});
  check({.opcode = "cvt.rn.relu.bf16x2.f32",
         .sources = {Type::f32, Type::f32},
         .expected =
             [](const std::uint64_t* in) {
               auto half = [&](int i) {
                 numerics::bf16 h{static_cast<std::uint16_t>(
                     numerics::round_double(from_bits<float>(in[i]), numerics::kBf16, Rounding::rn))};
                 return std::uint64_t{numerics::relu(h).bits};
               };
               return half(0) << 16 | half(1);
             },
         .result = Type::bf16x2});
  for (auto [mode, rounding] : {std::pair{"rna", Rounding::rna}, {"rn", Rounding::rn}, {"rz", Rounding::rz}})
    check({.opcode = std::string("cvt.") + mode + ".tf32.f32",
           .sources = {Type::f32},
           .expected =
               [=](const std::uint64_t* in) {
                 return std::uint64_t{numerics::to_tf32(from_bits<float>(in[0]), rounding)};
               },
           .result = Type::f32,
           .random_lanes = 8192});
  check({.opcode = "cvt.sat.f32.f32", .sources = {Type::f32}, .expected = [](const std::uint64_t* in) {
           return to_bits(numerics::saturate(from_bits<float>(in[0])));
         }});
  check({.opcode = "cvt.pack.sat.s8.s32.b32",
         .sources = {Type::s32, Type::s32, Type::b32},
         .expected = [](const std::uint64_t* in) {
           auto clamp = [&](int i) {
             return static_cast<std::uint8_t>(std::clamp(from_bits<std::int32_t>(in[i]), -128, 127));
           };
           return (in[2] << 16 | std::uint64_t{clamp(0)} << 8 | clamp(1)) & 0xffffffff;
         }});
}

TEST(LoweringCompare, Floats) {
  auto compare = [](const std::string& name, auto f) {
    check({.opcode = "setp." + name + ".f32",
           .sources = {Type::f32, Type::f32},
           .expected = [f](const std::uint64_t* in) -> std::uint64_t {
             return f(from_bits<float>(in[0]), from_bits<float>(in[1]));
           },
           .second = [f](const std::uint64_t* in) -> std::uint64_t {
             return !f(from_bits<float>(in[0]), from_bits<float>(in[1]));
           }});
  };
  auto unordered = [](float a, float b) { return std::isnan(a) || std::isnan(b); };
  compare("eq", [](float a, float b) { return a == b; });
  compare("ne", [=](float a, float b) { return a != b && !unordered(a, b); });
  compare("lt", [](float a, float b) { return a < b; });
  compare("ge", [](float a, float b) { return a >= b; });
  compare("equ", [=](float a, float b) { return a == b || unordered(a, b); });
  compare("neu", [=](float a, float b) { return a != b; });
  compare("gtu", [=](float a, float b) { return a > b || unordered(a, b); });
  compare("leu", [=](float a, float b) { return a <= b || unordered(a, b); });
  compare("num", [=](float a, float b) { return !unordered(a, b); });
  compare("nan", [=](float a, float b) { return unordered(a, b); });
}

TEST(LoweringCompare, IntegersAndCombinations) {
  check({.opcode = "setp.lo.u32",
         .sources = {Type::u32, Type::u32},
         .expected = [](const std::uint64_t* in) -> std::uint64_t { return in[0] < in[1]; }});
  check({.opcode = "setp.hs.u64",
         .sources = {Type::u64, Type::u64},
         .expected = [](const std::uint64_t* in) -> std::uint64_t { return in[0] >= in[1]; }});
  check({.opcode = "setp.gt.s16",
         .sources = {Type::s16, Type::s16},
         .expected = [](const std::uint64_t* in) -> std::uint64_t {
           return from_bits<std::int16_t>(in[0]) > from_bits<std::int16_t>(in[1]);
         }});
  check({.opcode = "setp.lt.and.s32",
         .sources = {Type::s32, Type::s32, Type::pred},
         .expected = [](const std::uint64_t* in) -> std::uint64_t {
           return from_bits<std::int32_t>(in[0]) < from_bits<std::int32_t>(in[1]) && in[2];
         },
         .second = [](const std::uint64_t* in) -> std::uint64_t {
           return from_bits<std::int32_t>(in[0]) >= from_bits<std::int32_t>(in[1]) && in[2];
         }});
  check({.opcode = "set.le.xor.f32.s32",
         .sources = {Type::s32, Type::s32, Type::pred},
         .expected = [](const std::uint64_t* in) {
           bool holds = from_bits<std::int32_t>(in[0]) <= from_bits<std::int32_t>(in[1]);
           return to_bits(holds != (in[2] != 0) ? 1.0f : 0.0f);
         }});
  check({.opcode = "slct.u64.f32",
         .sources = {Type::u64, Type::u64, Type::f32},
         .expected = [](const std::uint64_t* in) { return from_bits<float>(in[2]) >= 0 ? in[0] : in[1]; }});
  check({.opcode = "selp.f64",
         .sources = {Type::f64, Type::f64, Type::pred},
         .expected = [](const std::uint64_t* in) { return in[2] ? in[0] : in[1]; }});
}

TEST(LoweringCompare, HalfPairs) {
  auto value = [](std::uint64_t bits, int i) { return value_of(bits >> 16 * i & 0xffff, Type::f16); };
  check({.opcode = "setp.lt.f16x2",
         .sources = {Type::f16x2, Type::f16x2},
         .expected = [=](const std::uint64_t* in) -> std::uint64_t {
           return value(in[0], 0) < value(in[1], 0);
         },
         .second = [=](const std::uint64_t* in) -> std::uint64_t {
           return value(in[0], 1) < value(in[1], 1);
         }});
  check({.opcode = "set.gt.f16x2.f16x2",
         .sources = {Type::f16x2, Type::f16x2},
         .expected = [=](const std::uint64_t* in) {
           return (value(in[0], 0) > value(in[1], 0) ? 0x3c00ull : 0) |
                  (value(in[0], 1) > value(in[1], 1) ? 0x3c000000ull : 0);
         }});
  check({.opcode = "set.equ.u32.f16x2",
         .sources = {Type::f16x2, Type::f16x2},
         .expected = [=](const std::uint64_t* in) {
           auto equal = [&](int i) {
             return !(value(in[0], i) < value(in[1], i)) && !(value(in[0], i) > value(in[1], i));
           };
           return (equal(0) ? 0xffffull : 0) | (equal(1) ? 0xffff0000ull : 0);
         }});
}

TEST(LoweringLogic, EveryTableOfLop3) {
  Lanes a{0xf0f0a5a5}, b{0xcccc1234}, c{0xaaaa0ff0};
  for (unsigned table = 0; table < 256; table += 1) {
    Results r = run({.opcode = "lop3.b32", .width = 4, .sources = {a, b, c, {table}}, .constants = {3}});
    std::uint64_t expected = 0;
    for (unsigned i = 0; i < 32; ++i)
      expected |= std::uint64_t{table >> ((a[0] >> i & 1) << 2 | (b[0] >> i & 1) << 1 | (c[0] >> i & 1)) & 1}
                  << i;
    EXPECT_EQ(r.destinations[0][0], expected) << "table " << table;
  }
}

TEST(LoweringLogic, Shifts) {
  check({.opcode = "shl.b32", .sources = {Type::b32, Type::u32}, .expected = [](const std::uint64_t* in) {
           return in[1] < 32 ? in[0] << in[1] & 0xffffffff : 0;
         }});
  check({.opcode = "shl.b16", .sources = {Type::b16, Type::u32}, .expected = [](const std::uint64_t* in) {
           return in[1] < 16 ? in[0] << in[1] & 0xffff : 0;
         }});
  check({.opcode = "shr.u64", .sources = {Type::u64, Type::u32}, .expected = [](const std::uint64_t* in) {
           return in[1] < 64 ? in[0] >> in[1] : 0;
         }});
  check({.opcode = "shr.s16", .sources = {Type::s16, Type::u32}, .expected = [](const std::uint64_t* in) {
           return to_bits(static_cast<std::int16_t>(from_bits<std::int16_t>(in[0]) >>
                                                    std::min<std::uint64_t>(in[1], 15)));
         }});
  for (bool wrap : {false, true}) {
    auto amount = [wrap](std::uint64_t c) { return wrap ? c & 31 : std::min<std::uint64_t>(c, 32); };
    std::string mode = wrap ? "wrap" : "clamp";
    check({.opcode = "shf.l." + mode + ".b32",
           .sources = {Type::b32, Type::b32, Type::u32},
           .expected = [=](const std::uint64_t* in) {
             return ((in[1] << 32 | in[0]) << amount(in[2])) >> 32;
           }});
    check({.opcode = "shf.r." + mode + ".b32",
           .sources = {Type::b32, Type::b32, Type::u32},
           .expected = [=](const std::uint64_t* in) {
             return ((in[1] << 32 | in[0]) >> amount(in[2])) & 0xffffffff;
           }});
  }
}

std::uint64_t permuted(std::uint64_t a, std::uint64_t b, std::uint64_t selector) {
  std::uint64_t both = b << 32 | a, d = 0;
  for (int i = 0; i < 4; ++i) {
    std::uint64_t nibble = selector >> 4 * i & 15, byte = both >> 8 * (nibble & 7) & 255;
    if (nibble & 8) byte = byte & 0x80 ? 255 : 0;
    d |= byte << 8 * i;
  }
  return d;
}

TEST(LoweringLogic, Prmt) {
  auto expected = [](const std::uint64_t* in) { return permuted(in[0], in[1], in[2]); };
  check({.opcode = "prmt.b32",
         .sources = {Type::b32, Type::b32, Type::b32},
         .expected = expected,
         .random_lanes = 8192});
  for (std::uint64_t selector :
       {0x3210ull, 0x7654ull, 0x5410ull, 0x7632ull, 0x0123ull, 0x8888ull, 0x9f27ull, 0x4440ull}) {
    Lanes a = edge_values(Type::b32), b(a.rbegin(), a.rend());
    check({.opcode = "prmt.b32",
           .sources = {},
           .expected = expected,
           .constants = {2},
           .values = {a, b, Lanes(a.size(), selector)}});
  }
  check({.opcode = "prmt.b32.f4e",
         .sources = {Type::b32, Type::b32, Type::b32},
         .expected = [](const std::uint64_t* in) {
           return permuted(in[0], in[1], 0x3210 + 0x1111 * (in[2] & 3));
         }});
  check({.opcode = "prmt.b32.rc16",
         .sources = {Type::b32, Type::b32, Type::b32},
         .expected = [](const std::uint64_t* in) {
           return permuted(in[0], in[1], in[2] & 1 ? 0x3232 : 0x1010);
         }});
}

}  // namespace
}  // namespace raddle::jit::testing
