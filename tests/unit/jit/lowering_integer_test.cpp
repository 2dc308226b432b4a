// Integer lowerings against plain C++.
#include <gtest/gtest.h>

#include <algorithm>

#include "lowering_check.h"

namespace raddle::jit::testing {
namespace {

using s128 = __int128;
using u128 = unsigned __int128;

/// Calls f with each integer type's name, enumerator and a value of its C++ type.
template <typename F>
void for_integers(F f) {
  f("u16", Type::u16, std::uint16_t{});
  f("u32", Type::u32, std::uint32_t{});
  f("u64", Type::u64, std::uint64_t{});
  f("s16", Type::s16, std::int16_t{});
  f("s32", Type::s32, std::int32_t{});
  f("s64", Type::s64, std::int64_t{});
}

template <typename T, typename F>
void binary_integers(const std::string& opcode, Type t, F f) {
  check({.opcode = opcode, .sources = {t, t}, .expected = [f](const std::uint64_t* in) {
           return to_bits(static_cast<T>(f(s128{from_bits<T>(in[0])}, s128{from_bits<T>(in[1])})));
         }});
}

TEST(LoweringInteger, Arithmetic) {
  for_integers([](const std::string& name, Type t, auto tag) {
    using T = decltype(tag);
    binary_integers<T>("add." + name, t, [](s128 a, s128 b) { return a + b; });
    binary_integers<T>("sub." + name, t, [](s128 a, s128 b) { return a - b; });
    binary_integers<T>("min." + name, t, [](s128 a, s128 b) { return std::min(a, b); });
    binary_integers<T>("max." + name, t, [](s128 a, s128 b) { return std::max(a, b); });
    binary_integers<T>("mul.lo." + name, t, [](s128 a, s128 b) {
      return static_cast<s128>(static_cast<u128>(a) * static_cast<u128>(b));
    });
    binary_integers<T>("mul.hi." + name, t, [](s128 a, s128 b) {
      if constexpr (std::is_signed_v<T>)
        return (a * b) >> (8 * sizeof(T));
      else
        return static_cast<s128>((static_cast<u128>(a) * static_cast<u128>(b)) >> (8 * sizeof(T)));
    });
  });
  auto clamp = [](s128 v) { return std::clamp<s128>(v, INT32_MIN, INT32_MAX); };
  binary_integers<std::int32_t>("add.sat.s32", Type::s32, [&](s128 a, s128 b) { return clamp(a + b); });
  binary_integers<std::int32_t>("sub.sat.s32", Type::s32, [&](s128 a, s128 b) { return clamp(a - b); });
}

TEST(LoweringInteger, Division) {
  for_integers([](const std::string& name, Type t, auto tag) {
    using T = decltype(tag);
    binary_integers<T>("div." + name, t, [](s128 a, s128 b) { return b == 0 ? s128{-1} : a / b; });
    binary_integers<T>("rem." + name, t, [](s128 a, s128 b) { return b == 0 ? s128{-1} : a % b; });
  });
}

TEST(LoweringInteger, DivisionByConstant) {
  for (std::uint64_t divisor : {0ull, 1ull, 3ull, 7ull, 10ull, 0x80000000ull, 0xffffffffull}) {
    Lanes dividends = edge_values(Type::s32), divisors(dividends.size(), divisor);
    check({.opcode = "div.s32",
           .sources = {},
           .expected =
               [](const std::uint64_t* in) {
                 s128 a = from_bits<std::int32_t>(in[0]), b = from_bits<std::int32_t>(in[1]);
                 return to_bits(static_cast<std::int32_t>(b == 0 ? s128{-1} : a / b));
               },
           .constants = {1},
           .values = {dividends, divisors}});
  }
}

TEST(LoweringInteger, MultiplyAdd) {
  for_integers([](const std::string& name, Type t, auto tag) {
    using T = decltype(tag);
    check({.opcode = "mad.lo." + name, .sources = {t, t, t}, .expected = [](const std::uint64_t* in) {
             return to_bits(static_cast<T>(in[0] * in[1] + in[2]));
           }});
    check({.opcode = "sad." + name, .sources = {t, t, t}, .expected = [](const std::uint64_t* in) {
             s128 a = from_bits<T>(in[0]), b = from_bits<T>(in[1]), c = from_bits<T>(in[2]);
             return to_bits(static_cast<T>(c + (a < b ? b - a : a - b)));
           }});
    if constexpr (sizeof(T) < 8) {
      Type wide = isa::widened(t);
      check({.opcode = "mul.wide." + name, .sources = {t, t}, .expected = [wide](const std::uint64_t* in) {
               auto p = static_cast<std::uint64_t>(s128{from_bits<T>(in[0])} * s128{from_bits<T>(in[1])});
               return isa::bit_size(wide) == 32 ? p & 0xffffffff : p;
             }});
      check({.opcode = "mad.wide." + name,
             .sources = {t, t, wide},
             .expected = [wide](const std::uint64_t* in) {
               auto p =
                   static_cast<std::uint64_t>(s128{from_bits<T>(in[0])} * s128{from_bits<T>(in[1])}) + in[2];
               return isa::bit_size(wide) == 32 ? p & 0xffffffff : p;
             }});
    }
  });
  check({.opcode = "mad.hi.sat.s32",
         .sources = {Type::s32, Type::s32, Type::s32},
         .expected = [](const std::uint64_t* in) {
           s128 p = (s128{from_bits<std::int32_t>(in[0])} * from_bits<std::int32_t>(in[1])) >> 32;
           return to_bits(static_cast<std::int32_t>(
               std::clamp<s128>(p + from_bits<std::int32_t>(in[2]), INT32_MIN, INT32_MAX)));
         }});
  check(
      {.opcode = "mul24.hi.s32", .sources = {Type::s32, Type::s32}, .expected = [](const std::uint64_t* in) {
         auto low = [](std::uint64_t v) {
           return static_cast<std::int64_t>(static_cast<std::int32_t>(v << 8) >> 8);
         };
         return to_bits(static_cast<std::int32_t>((low(in[0]) * low(in[1])) >> 16));
       }});
}

TEST(LoweringInteger, BitFields) {
  for (auto [name, t] :
       {std::pair{"u32", Type::u32}, {"s32", Type::s32}, {"u64", Type::u64}, {"s64", Type::s64}}) {
    unsigned width = isa::bit_size(t);
    bool is_signed = isa::is_signed(t);
    check({.opcode = std::string("bfe.") + name,
           .sources = {t, Type::u32, Type::u32},
           .expected =
               [=](const std::uint64_t* in) {
                 const std::uint64_t bounds = width == 64 ? 0xffffffff : 255, msb = width - 1;
                 const std::uint64_t position = in[1] & bounds, length = in[2] & bounds;
                 bool sign = is_signed && length != 0 && (in[0] >> std::min(position + length - 1, msb) & 1);
                 std::uint64_t d = 0;
                 for (unsigned i = 0; i < width; ++i) {
                   bool bit = i < length && position + i <= msb ? in[0] >> (position + i) & 1 : sign;
                   d |= std::uint64_t{bit} << i;
                 }
                 return d;
               },
           .random_lanes = 2048});
    check({.opcode = std::string("bfind.") + name,
           .sources = {t},
           .expected = [=](const std::uint64_t* in) -> std::uint64_t {
             bool flip = is_signed && (in[0] >> (width - 1) & 1);
             for (unsigned i = width; i-- > 0;)
               if (((in[0] >> i & 1) != 0) != flip) return i;
             return 0xffffffff;
           }});
  }
  check({.opcode = "bfi.b32",
         .sources = {Type::b32, Type::b32, Type::u32, Type::u32},
         .expected =
             [](const std::uint64_t* in) {
               std::uint64_t f = in[1];
               unsigned position = in[2] & 255, length = in[3] & 255;
               for (unsigned i = 0; i < length && position + i < 32; ++i)
                 f = (f & ~(1ull << (position + i))) | (in[0] >> i & 1) << (position + i);
               return f;
             },
         .random_lanes = 4096});
}

TEST(LoweringInteger, Counting) {
  check({.opcode = "popc.b32",
         .sources = {Type::b32},
         .expected = [](const std::uint64_t* in) -> std::uint64_t { return std::popcount(in[0]); }});
  check({.opcode = "popc.b64",
         .sources = {Type::b64},
         .expected = [](const std::uint64_t* in) -> std::uint64_t { return std::popcount(in[0]); }});
  check({.opcode = "clz.b32",
         .sources = {Type::b32},
         .expected = [](const std::uint64_t* in) -> std::uint64_t { return std::countl_zero(in[0]) - 32; }});
  check({.opcode = "clz.b64",
         .sources = {Type::b64},
         .expected = [](const std::uint64_t* in) -> std::uint64_t { return std::countl_zero(in[0]); }});
  check({.opcode = "brev.b32", .sources = {Type::b32}, .expected = [](const std::uint64_t* in) {
           std::uint64_t d = 0;
           for (unsigned i = 0; i < 32; ++i) d |= (in[0] >> i & 1) << (31 - i);
           return d;
         }});
  check({.opcode = "fns.b32",
         .sources = {Type::b32, Type::b32, Type::s32},
         .expected = [](const std::uint64_t* in) -> std::uint64_t {
           std::int64_t offset = from_bits<std::int32_t>(in[2]), at = static_cast<std::int64_t>(in[1]);
           if (offset == 0) return at < 32 && (in[0] >> at & 1) ? static_cast<std::uint64_t>(at) : 0xffffffff;
           for (std::int64_t left = std::abs(offset); at >= 0 && at < 32; at += offset > 0 ? 1 : -1)
             if ((in[0] >> at & 1) && --left == 0) return static_cast<std::uint64_t>(at);
           return 0xffffffff;
         },
         .random_lanes = 8192});
}

TEST(LoweringInteger, MasksAndDotProducts) {
  for (bool wrap : {false, true}) {
    std::string mode = wrap ? "wrap" : "clamp";
    auto limit = [wrap](std::uint64_t v) { return wrap ? v & 31 : std::min<std::uint64_t>(v, 32); };
    check({.opcode = "bmsk." + mode + ".b32",
           .sources = {Type::u32, Type::u32},
           .expected = [=](const std::uint64_t* in) {
             std::uint64_t a = limit(in[0]), b = limit(in[1]);
             return (((1ull << b) - 1) << a) & 0xffffffff;
           }});
    check({.opcode = "szext." + mode + ".s32",
           .sources = {Type::s32, Type::u32},
           .expected = [=](const std::uint64_t* in) {
             std::uint64_t n = limit(in[1]);
             if (n == 0) return std::uint64_t{0};
             return static_cast<std::uint64_t>(static_cast<std::int64_t>(in[0] << (64 - n)) >> (64 - n)) &
                    0xffffffff;
           }});
  }
  check({.opcode = "dp4a.s32.u32",
         .sources = {Type::b32, Type::b32, Type::b32},
         .expected = [](const std::uint64_t* in) {
           std::int64_t sum = static_cast<std::int64_t>(in[2]);
           for (int i = 0; i < 4; ++i)
             sum += std::int64_t{static_cast<std::int8_t>(in[0] >> 8 * i)} *
                    static_cast<std::uint8_t>(in[1] >> 8 * i);
           return static_cast<std::uint64_t>(sum) & 0xffffffff;
         }});
  check({.opcode = "dp2a.hi.u32.s32",
         .sources = {Type::b32, Type::b32, Type::b32},
         .expected = [](const std::uint64_t* in) {
           std::int64_t sum = static_cast<std::int64_t>(in[2]);
           for (int i = 0; i < 2; ++i)
             sum += std::int64_t{static_cast<std::uint16_t>(in[0] >> 16 * i)} *
                    static_cast<std::int8_t>(in[1] >> (16 + 8 * i));
           return static_cast<std::uint64_t>(sum) & 0xffffffff;
         }});
}

TEST(LoweringInteger, PackedPairs) {
  auto pairs = [](const std::string& opcode, bool is_signed, auto f) {
    check({.opcode = opcode, .sources = {Type::b32, Type::b32}, .expected = [=](const std::uint64_t* in) {
             std::uint64_t d = 0;
             for (int i = 0; i < 2; ++i) {
               int a = static_cast<std::uint16_t>(in[0] >> 16 * i),
                   b = static_cast<std::uint16_t>(in[1] >> 16 * i);
               if (is_signed) a = static_cast<std::int16_t>(a), b = static_cast<std::int16_t>(b);
               d |= std::uint64_t{static_cast<std::uint16_t>(f(a, b))} << 16 * i;
             }
             return d;
           }});
  };
  pairs("add.u16x2", false, [](int a, int b) { return a + b; });
  pairs("min.u16x2", false, [](int a, int b) { return std::min(a, b); });
  pairs("max.relu.s16x2", true, [](int a, int b) { return std::max({a, b, 0}); });
  pairs("min.relu.s16x2", true, [](int a, int b) { return std::max(std::min(a, b), 0); });
}

TEST(LoweringInteger, Carries) {
  for (auto [name, t] : {std::pair{"u32", Type::u32}, {"s64", Type::s64}}) {
    u128 mask = (u128{1} << isa::bit_size(t)) - 1;
    for (bool subtract : {false, true})
      for (unsigned in_carry : {0u, 1u}) {
        Lanes a, b;
        for (auto x : edge_values(t))
          for (auto y : edge_values(t)) a.push_back(x), b.push_back(y);
        std::string opcode = std::string(subtract ? "subc.cc." : "addc.cc.") + name;
        Results r = run({.opcode = opcode, .width = 16, .sources = {a, b, Lanes(a.size(), in_carry)}});
        for (std::size_t i = 0; i < a.size(); ++i) {
          u128 wide = u128{a[i]} + (subtract ? ~b[i] & static_cast<std::uint64_t>(mask) : b[i]) + in_carry;
          ASSERT_EQ(r.destinations[0][i], static_cast<std::uint64_t>(wide & mask)) << opcode;
          ASSERT_EQ(r.carry[i], static_cast<std::uint64_t>((wide & ~mask) != 0))
              << opcode << " " << a[i] << " " << b[i];
        }
      }
  }
}

}  // namespace
}  // namespace raddle::jit::testing
