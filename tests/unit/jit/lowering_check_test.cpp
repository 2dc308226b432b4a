// See lowering_check.h; and the checks of the checker.
#include "lowering_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "numerics/half.h"

namespace raddle::jit::testing {
namespace {

double number_of(std::uint64_t bits, Type t) {
  switch (t) {
    case Type::f16:
      return numerics::widen(numerics::f16{static_cast<std::uint16_t>(bits)});
    case Type::bf16:
      return numerics::widen(numerics::bf16{static_cast<std::uint16_t>(bits)});
    case Type::f32:
      return from_bits<float>(bits);
    default:
      return from_bits<double>(bits);
  }
}

bool near(double actual, double expected, const Check& c) {
  if (actual == expected) return true;
  if (std::isinf(actual) || std::isinf(expected)) return false;
  return std::abs(actual - expected) <= std::max(c.absolute_error, c.relative_error * std::abs(expected));
}

bool same(std::uint64_t actual, std::uint64_t expected, const Check& c) {
  const Type type = isa::element_type(c.result);
  const unsigned count = isa::element_count(c.result);
  if (!isa::is_float(type)) return actual == expected;
  unsigned bits = isa::bit_size(type);
  std::uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t a = actual >> (i * bits) & mask, b = expected >> (i * bits) & mask;
    double x = number_of(a, type), y = number_of(b, type);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (a == b) continue;
    bool approximate = c.relative_error > 0 || c.absolute_error > 0;
    if (!approximate || std::isnan(x) || std::isnan(y) || !near(x, y, c)) return false;
  }
  return true;
}

Lanes float_edges(unsigned exponent_bits, unsigned fraction_bits) {
  Lanes values;
  std::uint64_t top = (1ull << exponent_bits) - 1, bias = top >> 1, one = 1ull << fraction_bits;
  std::uint64_t sign = 1ull << (exponent_bits + fraction_bits);
  for (std::uint64_t exponent : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, bias - 1, bias,
                                 bias + 1, bias + 7, top - 1, top})
    for (std::uint64_t fraction : {std::uint64_t{0}, std::uint64_t{1}, one / 2, one - 1}) {
      values.push_back(exponent << fraction_bits | fraction);
      values.push_back(sign | exponent << fraction_bits | fraction);
    }
  return values;
}

Lanes integer_edges(unsigned bits) {
  Lanes values;
  std::uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1, top = 1ull << (bits - 1);
  for (std::uint64_t v : {0ull, 1ull, 2ull, 3ull, 7ull, 31ull, 32ull, 33ull, 63ull, 64ull, 100ull, 255ull,
                          256ull, 0x1234567ull})
    for (std::uint64_t w : {v, ~v, top + v, top - v}) values.push_back(w & mask);
  return values;
}

std::uint64_t random_value(Type t, std::mt19937_64& random) {
  unsigned bits = isa::bit_size(t);
  std::uint64_t v = random();
  if (bits <= 1) return v & 1;
  if (isa::is_integer(t) || isa::type_class(t) == isa::TypeClass::bits)
    v >>= random() % bits;  // small numbers often
  return bits == 64 ? v : v & ((1ull << bits) - 1);
}

std::string describe(const Check& c, const Variant& v, const std::vector<Lanes>& sources, std::size_t lane) {
  std::string text = c.opcode + " (" + v.name + ") of";
  char buffer[32];
  for (auto& s : sources) {
    std::snprintf(buffer, sizeof buffer, " 0x%llx", static_cast<unsigned long long>(s[lane]));
    text += buffer;
  }
  return text;
}

void compare_lanes(const Check& c, const Variant& v, const std::vector<Lanes>& sources, const Lanes& actual,
                   const std::function<std::uint64_t(const std::uint64_t*)>& expected, unsigned& failures) {
  std::vector<std::uint64_t> operands(sources.size());
  for (std::size_t lane = 0; lane < actual.size() && failures < 5; ++lane) {
    for (std::size_t s = 0; s < sources.size(); ++s)
      operands[s] = std::count(c.constants.begin(), c.constants.end(), static_cast<int>(s))
                        ? sources[s][0]
                        : sources[s][lane];
    std::uint64_t wanted = expected(operands.data());
    if (same(actual[lane], wanted, c)) continue;
    ++failures;
    ADD_FAILURE() << describe(c, v, sources, lane) << std::hex << ": 0x" << actual[lane] << ", expected 0x"
                  << wanted;
  }
}

/// All pairs (or triples, thinned) of edge values, then random ones.
std::vector<Lanes> operands_of(const Check& c) {
  if (!c.values.empty()) return c.values;
  std::mt19937_64 random(std::hash<std::string>{}(c.opcode));
  std::vector<Lanes> edges, lanes(c.sources.size());
  for (Type t : c.sources) edges.push_back(edge_values(t));
  std::size_t first = edges[0].size(), second = edges.size() > 1 ? edges[1].size() : 1;
  for (std::size_t i = 0; i < first; ++i)
    for (std::size_t j = 0; j < second; ++j) {
      lanes[0].push_back(edges[0][i]);
      if (edges.size() > 1) lanes[1].push_back(edges[1][j]);
      for (std::size_t s = 2; s < edges.size(); ++s) lanes[s].push_back(edges[s][random() % edges[s].size()]);
    }
  for (unsigned i = 0; i < c.random_lanes; ++i)
    for (std::size_t s = 0; s < c.sources.size(); ++s)
      lanes[s].push_back(random() % 4 ? random_value(c.sources[s], random)
                                      : edges[s][random() % edges[s].size()]);
  return lanes;
}

}  // namespace

Lanes edge_values(Type t) {
  switch (t) {
    case Type::pred:
      return {0, 1};
    case Type::f16:
      return float_edges(5, 10);
    case Type::bf16:
      return float_edges(8, 7);
    case Type::f32:
      return float_edges(8, 23);
    case Type::f64:
      return float_edges(11, 52);
    case Type::f16x2:
    case Type::bf16x2: {
      Lanes half = edge_values(t == Type::f16x2 ? Type::f16 : Type::bf16), pairs;
      for (std::size_t i = 0; i < half.size(); ++i)
        pairs.push_back(half[i] | half[(i * 7 + 3) % half.size()] << 16);
      return pairs;
    }
    default:
      return integer_edges(isa::bit_size(t));
  }
}

void check(const Check& c) {
  static unsigned turn = 0;
  std::vector<Variant> all = variants();
  std::vector<Variant> chosen = {
      {16, Features::avx512, "avx512 x16"}, {0, Features::baseline, "baseline x0"}, all[turn++ % all.size()]};
  std::vector<Lanes> sources = operands_of(c);
  unsigned failures = 0;
  for (const Variant& v : chosen) {
    Results r = run({.opcode = c.opcode,
                     .width = v.width,
                     .features = v.features,
                     .sources = sources,
                     .constants = c.constants});
    compare_lanes(c, v, sources, r.destinations[0], c.expected, failures);
    if (c.second) compare_lanes(c, v, sources, r.destinations[1], c.second, failures);
  }
}

// The checker must see a wrong result, a wrong NaN and an error beyond the bound.
TEST(LoweringCheck, TellsResultsApart) {
  Check exact{.opcode = "", .sources = {}, .expected = {}, .result = Type::f32};
  EXPECT_TRUE(same(0x7fc00000, 0xffffffff, exact));
  EXPECT_FALSE(same(0x7fc00000, 0x7f800000, exact));
  EXPECT_FALSE(same(0x00000000, 0x80000000, exact));
  Check loose = exact;
  loose.relative_error = 0x1p-22;
  EXPECT_TRUE(same(to_bits(1.0f), to_bits(1.0f + 0x1p-23f), loose));
  EXPECT_FALSE(same(to_bits(1.0f), to_bits(1.0f + 0x1p-20f), loose));
}

}  // namespace raddle::jit::testing
