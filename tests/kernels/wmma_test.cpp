// wmma: every shape, type and layout, through memory with rows and columns that lie apart. Small integers, so
// that sums are exact in every format; tests/isa/matrix has the rest.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <random>

#include "kernel_test.h"

namespace {

struct WmmaCase {
  const char* shape;
  unsigned m, n, k;
  const char *ab, *c, *d;  ///< types
  const char* a_layout;
  const char *b_layout, *cd_layout;
  const char* between = "";  ///< wmma.mma's, before `.sync`
  unsigned registers[4];     ///< of A, B, C, D
};

unsigned wmma_bits(std::string_view type) {
  if (type == "b1") return 1;
  if (type == "s4" || type == "u4") return 4;
  if (type == "s8" || type == "u8") return 8;
  return type == "f64" ? 64 : type == "f16" || type == "bf16" ? 16 : 32;
}

/// An integer in a format that holds it exactly.
std::uint64_t wmma_encoded(int value, std::string_view type) {
  if (type == "f64") return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  const auto single = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == "f32" || type == "tf32") return single;
  if (type == "bf16") return single >> 16;
  if (type != "f16") return static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << wmma_bits(type)) - 1);
  if (value == 0) return 0;
  return (single >> 16 & 0x8000) | (((single >> 23 & 255) - 112) << 10) | (single >> 13 & 0x3ff);
}

/// A matrix and its image in memory, with a gap behind each row or column.
struct WmmaMatrix {
  unsigned rows, columns;
  std::string_view type;
  bool by_columns;
  std::vector<int> values;

  WmmaMatrix(unsigned rows_, unsigned columns_, std::string_view type_, std::string_view layout)
      : rows(rows_), columns(columns_), type(type_), by_columns(layout == "col"), values(rows * columns) {}
  int& at(unsigned row, unsigned column) { return values[row * columns + column]; }
  unsigned gap() const { return std::max(128 / wmma_bits(type), 8u); }  // 16 bytes, and the same in C and D
  unsigned stride() const { return (by_columns ? rows : columns) + gap(); }
  void fill(int least, int greatest, unsigned seed) {
    for (unsigned i = 0; i < values.size(); ++i)
      values[i] = least + static_cast<int>((i * 2654435761u + seed * 40503u) % 65537 %
                                           static_cast<unsigned>(greatest - least + 1));
  }
  std::vector<std::uint8_t> image() {
    const unsigned bits = wmma_bits(type), lines = by_columns ? columns : rows;
    std::vector<std::uint8_t> bytes(std::size_t{lines} * stride() * bits / 8, 0x5a);
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned column = 0; column < columns; ++column) {
        const std::uint64_t bit =
            std::uint64_t{by_columns ? column * stride() + row : row * stride() + column} * bits;
        const std::uint64_t value = wmma_encoded(at(row, column), type);
        for (unsigned b = 0; b < bits; ++b) {
          std::uint8_t& byte = bytes[(bit + b) / 8];
          byte =
              static_cast<std::uint8_t>((byte & ~(1u << (bit + b) % 8)) | (value >> b & 1) << (bit + b) % 8);
        }
      }
    return bytes;
  }
};

std::string wmma_list(char name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i ? ", " : "", name, i);
  return text + "}";
}

std::string wmma_kernel(const WmmaCase& c, std::string_view name) {
  const std::string_view ab = c.ab;
  const bool is_half = ab == "f16";
  const std::string types =
      is_half ? fmt::format("{}.{}", c.d, c.c) : fmt::format("{}.{}.{}.{}", c.d, c.ab, c.ab, c.c);
  const char* bits = ab == "f64" ? "b64" : "b32";
  return fmt::format(
      R"(.visible .entry {name}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd, .param .u32 sa, .param .u32 sb, .param .u32 sc) {{
  .reg .b64 %pa, %pb, %pc, %pd;
  .reg .b32 %sa, %sb, %sc;
  .reg .{bits} %a<8>, %b<8>, %c<8>, %d<8>;
  ld.param.u64 %pa, [pa];
  ld.param.u64 %pb, [pb];
  ld.param.u64 %pc, [pc];
  ld.param.u64 %pd, [pd];
  ld.param.u32 %sa, [sa];
  ld.param.u32 %sb, [sb];
  ld.param.u32 %sc, [sc];
  wmma.load.a.sync.aligned.{al}.{shape}.global.{ab} {a}, [%pa], %sa;
  wmma.load.b.sync.aligned.{bl}.{shape}.{ab} {b}, [%pb], %sb;
  wmma.load.c.sync.aligned.{cl}.{shape}.global.{ct} {cr}, [%pc], %sc;
  wmma.mma{between}.sync.aligned.{al}.{bl}.{shape}.{types} {d}, {a}, {b}, {cr};
  wmma.store.d.sync.aligned.{cl}.{shape}.{dt} [%pd], {d}, %sc;
  ret;
}}
)",
      fmt::arg("name", name), fmt::arg("bits", bits), fmt::arg("al", c.a_layout), fmt::arg("bl", c.b_layout),
      fmt::arg("cl", c.cd_layout), fmt::arg("shape", c.shape), fmt::arg("ab", c.ab), fmt::arg("ct", c.c),
      fmt::arg("dt", c.d), fmt::arg("between", c.between), fmt::arg("types", types),
      fmt::arg("a", wmma_list('a', c.registers[0])), fmt::arg("b", wmma_list('b', c.registers[1])),
      fmt::arg("cr", wmma_list('c', c.registers[2])), fmt::arg("d", wmma_list('d', c.registers[3])));
}

std::vector<WmmaCase> wmma_cases() {
  std::vector<WmmaCase> all;
  const char* layouts[] = {"row", "col"};
  struct Shape {
    const char* name;
    unsigned m, n;
    unsigned bf16[2], bytes[2];
  };
  constexpr Shape kShapes[] = {{"m16n16k16", 16, 16, {4, 4}, {2, 2}},
                               {"m8n32k16", 8, 32, {2, 8}, {1, 4}},
                               {"m32n8k16", 32, 8, {8, 2}, {4, 1}}};
  for (const char* al : layouts)
    for (const char* bl : layouts) {
      const char* cl = layouts[al == bl];
      for (const Shape& s : kShapes) {
        for (const char* c : {"f16", "f32"})
          for (const char* d : {"f16", "f32"})
            if ((c == std::string("f16")) == (al == bl) || c != d)
              all.push_back({s.name,
                             s.m,
                             s.n,
                             16,
                             "f16",
                             c,
                             d,
                             al,
                             bl,
                             cl,
                             "",
                             {8, 8, c == std::string("f16") ? 4u : 8u, d == std::string("f16") ? 4u : 8u}});
        all.push_back(
            {s.name, s.m, s.n, 16, "bf16", "f32", "f32", al, bl, cl, "", {s.bf16[0], s.bf16[1], 8, 8}});
        all.push_back({s.name,
                       s.m,
                       s.n,
                       16,
                       cl == al ? "s8" : "u8",
                       "s32",
                       "s32",
                       al,
                       bl,
                       cl,
                       "",
                       {s.bytes[0], s.bytes[1], 8, 8}});
      }
      all.push_back({"m16n16k8", 16, 16, 8, "tf32", "f32", "f32", al, bl, cl, "", {4, 4, 8, 8}});
      all.push_back({"m8n8k4", 8, 8, 4, "f64", "f64", "f64", al, bl, cl, "", {1, 1, 2, 2}});
    }
  for (const char* cl : layouts) {
    for (const char* ab : {"s4", "u4"})
      all.push_back({"m8n8k32", 8, 8, 32, ab, "s32", "s32", "row", "col", cl, "", {1, 1, 2, 2}});
    for (const char* operation : {".xor.popc", ".and.popc"})
      all.push_back({"m8n8k128", 8, 8, 128, "b1", "s32", "s32", "row", "col", cl, operation, {1, 1, 2, 2}});
  }
  return all;
}

class Wmma : public KernelTest {};
ON_EVERY_ENGINE(Wmma);

TEST_P(Wmma, MultipliesInEveryShapeTypeAndLayout) {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  const auto cases = wmma_cases();
  for (std::size_t i = 0; i < cases.size(); ++i) text += wmma_kernel(cases[i], fmt::format("k{}", i));
  load_text(text);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const WmmaCase& c = cases[i];
    const std::string_view ab = c.ab;
    const bool is_bit = ab == "b1", is_unsigned = ab[0] == 'u', is_integer = is_unsigned || ab[0] == 's';
    const int greatest = is_bit ? 1 : !is_integer ? 4 : (1 << (wmma_bits(ab) - !is_unsigned)) - 1;
    const int least = is_bit || is_unsigned ? 0 : !is_integer ? -4 : -greatest - 1;
    WmmaMatrix a(c.m, c.k, ab, c.a_layout), b(c.k, c.n, ab, c.b_layout), start(c.m, c.n, c.c, c.cd_layout),
        sum(c.m, c.n, c.d, c.cd_layout);
    a.fill(least, greatest, 1);
    b.fill(least, greatest, 2);
    start.fill(-100, 100, 3);
    for (unsigned row = 0; row < c.m; ++row)
      for (unsigned column = 0; column < c.n; ++column) {
        int total = start.at(row, column);
        for (unsigned k = 0; k < c.k; ++k) {
          const int x = a.at(row, k), y = b.at(k, column);
          total += !is_bit ? x * y : std::string_view(c.between).starts_with(".xor") ? x ^ y : x & y;
        }
        sum.at(row, column) = total;
      }
    const auto expected = sum.image();
    auto in_a = buffer(a.image()), in_b = buffer(b.image()), in_c = buffer(start.image());
    auto out = buffer(std::vector<std::uint8_t>(expected.size(), 0x5a));
    run(*module().kernel(fmt::format("k{}", i)), {.grid = {1}, .block = {32}}, in_a, in_b, in_c, out,
        a.stride(), b.stride(), start.stride());
    EXPECT_EQ(contents(out), expected) << c.shape << " " << c.ab << " " << c.c << " " << c.d << " "
                                       << c.a_layout << " " << c.b_layout << " " << c.cd_layout << c.between;
  }
}

TEST_P(Wmma, ElementsThatLieAcrossLinesAreAlignedAsElements) {
  const WmmaCase c{"m16n16k16", 16, 16, 16, "f16", "f32", "f32", "col", "row", "row", "", {8, 8, 8, 8}};
  load_text(".version 8.0\n.target sm_90\n.address_size 64\n" + wmma_kernel(c, "k"));
  WmmaMatrix a(16, 16, "f16", "col"), b(16, 16, "f16", "row"), sum(16, 16, "f32", "row");
  a.fill(-4, 4, 1);
  for (unsigned n = 0; n < 16; ++n) b.at(n, n) = 1;
  for (unsigned n = 0; n < 256; ++n) sum.values[n] = a.values[n];
  auto bytes = a.image();
  bytes.insert(bytes.begin(), 2, 0);
  auto in_a = buffer(bytes), in_b = buffer(b.image());
  auto in_c = buffer(std::vector<float>(512, 0.0f));
  auto out = buffer(std::vector<std::uint8_t>(sum.image().size(), 0x5a));
  run(*module().kernel("k"), {.grid = {1}, .block = {32}}, in_a.address() + 2, in_b, in_c, out, a.stride(),
      b.stride(), sum.stride());
  EXPECT_EQ(contents(out), sum.image());
}

/// A kernel of 40 products, each of matrices loaded anew or again, that adds to one of the last sums.
/// Registers of their own for each, as compilers write them. All in a loop of two turns, of which the second
/// begins with a sum of the first. What it stores are the last sums.
class ProductsInChains {
 public:
  static constexpr unsigned kSide = 16, kTiles = 6, kProducts = 40, kStored = 4, kCarried = 20;

  explicit ProductsInChains(unsigned seed) : draw_(seed) {
    for (auto* tiles : {&a_, &b_})
      for (unsigned n = 0; n < kTiles; ++n) {
        tiles->emplace_back(kSide, kSide, "f16", tiles == &a_ ? "row" : "col");
        tiles->back().fill(-1, 1, draw_() % 1000);
      }
    for (unsigned n = 0; n < kProducts; ++n) add(n);
    for (unsigned turn = 0; turn < 2; ++turn)
      for (unsigned n = 0; n < kProducts; ++n) multiply(n);
    for (unsigned n = 0; n < kStored; ++n)
      body_ += fmt::format("  wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%out+{}], {};\n",
                           n * kSide * kSide * 4, registers('d', kProducts - kStored + n));
  }
  std::string text() const {
    return fmt::format(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry chains(.param .u64 pa, .param .u64 pb, .param .u64 pout) {{
  .reg .b64 %pa, %pb, %out;
  .reg .u32 %turn;
  .reg .pred %again;
{}  ld.param.u64 %pa, [pa];
  ld.param.u64 %pb, [pb];
  ld.param.u64 %out, [pout];
  mov.u32 %turn, 0;
turn:
{}  add.u32 %turn, %turn, 1;
  setp.lt.u32 %again, %turn, 2;
  @%again bra turn;
  ret;
}}
)",
                       declarations_, body_);
  }
  std::vector<std::uint8_t> tiles(char name) {
    std::vector<std::uint8_t> all;
    for (WmmaMatrix& tile : name == 'a' ? a_ : b_) {
      const auto image = tile.image();
      all.insert(all.end(), image.begin(), image.end());
    }
    return all;
  }
  std::vector<float> stored() const {
    std::vector<float> all;
    for (unsigned n = kProducts - kStored; n < kProducts; ++n)
      all.insert(all.end(), sums_[n].begin(), sums_[n].end());
    return all;
  }

 private:
  std::string registers(char name, unsigned number) {
    std::string text = "{";
    for (unsigned i = 0; i < 8; ++i) text += fmt::format("{}%{}{}_{}", i ? ", " : "", name, number, i);
    return text + "}";
  }
  void declare(char name, unsigned number, const char* type) {
    for (unsigned i = 0; i < 8; ++i)
      declarations_ += fmt::format("  .reg .{} %{}{}_{};\n", type, name, number, i);
  }
  /// @returns the number of its registers: those of a load before, or of one that this adds
  unsigned loaded(char name, unsigned tile) {
    auto& last = name == 'a' ? last_a_ : last_b_;
    if (last.contains(tile) && draw_() % 3 != 0) return last[tile];
    const unsigned number = ++loads_;
    declare(name, number, "b32");
    body_ += fmt::format("  wmma.load.{0}.sync.aligned.{1}.m16n16k16.global.f16 {2}, [%p{0}+{3}], {4};\n",
                         name, name == 'a' ? "row" : "col", registers(name, number),
                         tile * a_[0].stride() * kSide * 2, a_[0].stride());
    return last[tile] = number;
  }
  void add(unsigned n) {
    const unsigned a = draw_() % kTiles, b = draw_() % kTiles;
    const std::string of_a = registers('a', loaded('a', a)), of_b = registers('b', loaded('b', b));
    declare('d', n, "f32");
    std::string start = "{0f00000000";
    for (unsigned i = 1; i < 8; ++i) start += ", 0f00000000";
    start += "}";
    std::optional<unsigned> from;
    if (n >= kStored) from = n - 1 - draw_() % kStored;  // it may be added to twice
    if (n == 0) from = kCarried;
    if (from) start = registers('d', *from);
    steps_.push_back({a, b, from});
    if (n % 8 == 7) body_ += "  bar.sync 0;\n";
    body_ += fmt::format("  wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {}, {}, {}, {};\n",
                         registers('d', n), of_a, of_b, start);
  }
  void multiply(unsigned n) {
    const Step& step = steps_[n];
    std::vector<float> sum = step.start ? sums_[*step.start] : std::vector<float>(kSide * kSide);
    for (unsigned row = 0; row < kSide; ++row)
      for (unsigned column = 0; column < kSide; ++column)
        for (unsigned k = 0; k < kSide; ++k)
          sum[row * kSide + column] += static_cast<float>(a_[step.a].at(row, k) * b_[step.b].at(k, column));
    sums_[n] = std::move(sum);
  }

  struct Step {
    unsigned a, b;
    std::optional<unsigned> start;  ///< the product that it adds to; none: zeros
  };

  std::minstd_rand draw_;
  std::vector<WmmaMatrix> a_, b_;
  std::vector<Step> steps_;
  std::vector<std::vector<float>> sums_ =
      std::vector<std::vector<float>>(kProducts, std::vector<float>(kSide* kSide));
  std::map<unsigned, unsigned> last_a_, last_b_;
  unsigned loads_ = 0;
  std::string declarations_, body_;
};

TEST_P(Wmma, ProductsAddToOneAnother) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    ProductsInChains chains(seed);
    load_text(chains.text());
    auto a = buffer(chains.tiles('a')), b = buffer(chains.tiles('b'));
    const std::vector<float> want = chains.stored();
    auto out = buffer(std::vector<float>(want.size(), -1.0f));
    run(*module().kernel("chains"), {.grid = {2}, .block = {64}}, a, b, out);
    EXPECT_EQ(contents(out), want) << "seed " << seed;
  }
}

}  // namespace
