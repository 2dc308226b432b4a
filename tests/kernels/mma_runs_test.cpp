// Products by mma.sync that follow each other, which compiled code makes together: the interpreter, which
// makes each by itself, says what is right. A kernel's only warp reads its matrices from `in`, register by
// register, and writes its sums to `out`.
#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "kernel_test.h"
#include "raddle/raddle.h"

namespace {

/// A spelling of mma with registers that hold numbers, not words: those of a lane's A and B.
struct Spelling {
  const char* name;
  const char* sum;     ///< type of D
  unsigned a, b;       ///< registers
  std::uint32_t kept;  ///< bits of a random word that leave exponents small
};
constexpr Spelling kSpellings[] = {
    {"m16n8k16.row.col.f32.bf16.bf16.f32", "f32", 4, 2, 0xbfffbfff},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", "f32", 2, 1, 0xbfffbfff},
    {"m16n8k16.row.col.f32.f16.f16.f32", "f32", 4, 2, 0xbfffbfff},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", "f32", 2, 1, 0xbfffffff},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", "f32", 4, 2, 0xbfffffff},
    {"m16n8k32.row.col.f32.e4m3.e5m2.f32", "f32", 4, 2, 0xbfbfbfbf},
    {"m16n8k32.row.col.s32.s8.s8.s32", "s32", 4, 2, ~0u},
    {"m16n8k32.row.col.s32.u8.u8.s32", "s32", 4, 2, ~0u},
    {"m16n8k32.row.col.s32.s8.u8.s32", "s32", 4, 2, ~0u},
    {"m16n8k16.row.col.s32.u8.s8.s32", "s32", 2, 1, ~0u},
};
constexpr Spelling kBf16 = kSpellings[0];
constexpr unsigned kMatrices = 4;  // of A and of B; of D as many as of both

/// A kernel's text piece by piece.
class Program {
 public:
  explicit Program(const Spelling& s) : s_(s) {}

  Program& load_a(unsigned n) { return load("a", n, s_.a, n * 4); }
  Program& load_b(unsigned n) { return load("b", n, s_.b, (kMatrices + n) * 4); }
  Program& load_all() {
    for (unsigned n = 0; n < kMatrices; ++n) load_a(n);
    for (unsigned n = 0; n < kMatrices; ++n) load_b(n);
    return *this;
  }
  /// d += a * b
  Program& mma(unsigned d, unsigned a, unsigned b) {
    const std::string sums = registers("d", d, 4);
    return text(fmt::format("mma.sync.aligned.{} {}, {}, {}, {};", s_.name, sums, registers("a", a, s_.a),
                            registers("b", b, s_.b), sums) +
                between_);
  }
  Program& text(const std::string& more) {
    body_ += "  " + more + "\n";
    return *this;
  }
  /// What stands after each mma from here on.
  Program& after_each(const std::string& text) {
    between_ = " " + text;
    return *this;
  }
  std::string whole() const {
    std::string all = fmt::format(
        ".version 8.4\n.target sm_89\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) "
        "{{\n"
        "  .reg .b64 %in, %out; .reg .b32 %id, %a<{0}>, %b<{0}>, %t; .reg .{1} %d<64>;\n"
        "  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %id, %tid.x;\n"
        "  mad.wide.u32 %in, %id, 4, %in; mad.wide.u32 %out, %id, 4, %out;\n",
        kMatrices * 4, s_.sum);
    for (unsigned i = 0; i < 64; ++i)
      all += fmt::format("  cvt{}.{}.s32 %d{}, {};\n", s_.sum[0] == 'f' ? ".rn" : "", s_.sum, i, i);
    all += body_;
    for (unsigned i = 0; i < 64; ++i)
      all += fmt::format("  st.global.{} [%out+{}], %d{};\n", s_.sum, i * 128, i);
    return all + "  ret;\n}\n";
  }

 private:
  std::string registers(const char* name, unsigned matrix, unsigned count) const {
    std::string all;
    for (unsigned i = 0; i < count; ++i)
      all += fmt::format("{}%{}{}", i == 0 ? "{" : ", ", name, matrix * 4 + i);
    return all + "}";
  }
  Program& load(const char* name, unsigned matrix, unsigned count, unsigned from) {
    for (unsigned i = 0; i < count; ++i)
      text(fmt::format("ld.global.b32 %{}{}, [%in+{}];", name, matrix * 4 + i, (from + i) * 128));
    return *this;
  }

  const Spelling& s_;
  std::string body_, between_;
};

/// Every A by every B in the order of A's, sixteen products; their sums are D 0 to 15.
Program& add_grid(Program& program) {
  for (unsigned n = 0; n < kMatrices * kMatrices; ++n) program.mma(n, n / kMatrices, n % kMatrices);
  return program;
}

class MmaRuns : public KernelTest {
 protected:
  /// @param words  of the matrices
  static std::vector<std::uint32_t> answer(raddle::Device& device, const std::string& text,
                                           const std::vector<std::uint32_t>& words) {
    const auto run = [&]() -> raddle::Result<std::vector<std::uint32_t>> {
      TRY_ASSIGN(auto in, device.buffer(words));
      TRY_ASSIGN(auto out, device.buffer(std::vector<std::uint32_t>(64 * 32)));
      TRY_ASSIGN(raddle::Module module, device.load(text));
      TRY_ASSIGN(raddle::Kernel kernel, module.kernel("k"));
      TRY_ASSIGN(raddle::Launch launch, kernel.launch({.grid = {1}, .block = {32}}, in, out));
      TRY(launch.wait());
      std::vector<std::uint32_t> found(out.size());
      TRY(out.read(found));
      return found;
    };
    auto found = run();
    EXPECT_TRUE(found.ok()) << found.error().to_string() << text;
    return found.ok() ? *found : std::vector<std::uint32_t>();
  }
  static std::vector<std::uint32_t> words_of(const Spelling& spelling) {
    const char* seed = std::getenv("RADDLE_TEST_SEED");
    std::mt19937 random(seed != nullptr ? static_cast<unsigned>(std::strtoul(seed, nullptr, 10)) : 1);
    std::vector<std::uint32_t> words(std::size_t{kMatrices} * 2 * 4 * 32);
    for (auto& word : words) word = static_cast<std::uint32_t>(random()) & spelling.kept;
    return words;
  }
  void expect_interpreters(const Program& program, const Spelling& spelling) {
    auto reference = raddle::Device::open({.engine = "interp"});
    ASSERT_TRUE(reference.ok());
    const auto words = words_of(spelling);
    EXPECT_EQ(answer(device(), program.whole(), words), answer(*reference, program.whole(), words))
        << program.whole();
  }
};
ON_EVERY_ENGINE(MmaRuns);

TEST_P(MmaRuns, OfEverySpellingAreProductsOneByOne) {
  for (const Spelling& spelling : kSpellings) {
    Program program(spelling);
    expect_interpreters(add_grid(program.load_all()), spelling);
  }
}

// Tiles of one D, and sums to which several products are added in turn.
TEST_P(MmaRuns, AddToTheirSumsInOrder) {
  for (const Spelling& spelling : {kSpellings[0], kSpellings[6]}) {
    Program odd(spelling);
    expect_interpreters(odd.load_all().mma(0, 0, 0).mma(1, 1, 0).mma(2, 0, 1).mma(3, 0, 2), spelling);
    Program twice(spelling);
    expect_interpreters(
        twice.load_all().mma(0, 0, 0).mma(1, 0, 1).mma(0, 1, 2).mma(1, 1, 3).mma(0, 2, 0).mma(2, 2, 1),
        spelling);
  }
}

// A B that changes is unpacked again: by a load, by arithmetic, in a loop.
TEST_P(MmaRuns, SeeBsThatChange) {
  for (const char* change : {"ld.global.b32 %b0, [%in+256];", "xor.b32 %b0, %b0, 0x00010001;"}) {
    Program program(kBf16);
    program.load_all().mma(0, 0, 0).mma(1, 0, 1).text(change).mma(2, 0, 0).mma(3, 0, 1);
    expect_interpreters(program, kBf16);
  }
  Program loop(kBf16);
  loop.load_all().text("mov.u32 %t, 0;\n  .reg .pred %more;\nAGAIN:").mma(0, 0, 0).mma(1, 0, 1);
  loop.text("ld.global.b32 %t, [%in];").mma(2, 1, 0).mma(3, 1, 1);
  loop.text("add.u32 %b0, %b0, 0x00010001; add.u32 %id, %id, 32; setp.lt.u32 %more, %id, 96;");
  expect_interpreters(loop.text("@%more bra AGAIN;"), kBf16);
}

// Loads go down to the products that need them, but not past what would change what they load.
TEST_P(MmaRuns, LoadWhatWasThereBefore) {
  for (const char* between : {"st.global.b32 [%in+1024], %id;", "bar.sync 0;", "add.u64 %in, %in, 128;",
                              "mov.b32 %t, %a8; st.global.b32 [%in+1152], %t;"}) {
    Program program(kBf16);
    program.load_a(0).load_a(1).load_a(2).load_b(0).load_b(1).load_b(2).load_b(3).text(between);
    for (unsigned n = 0; n < 12; ++n) program.mma(n, n / 4, n % 4);
    expect_interpreters(program, kBf16);
  }
}

// The host's own products of pairs, too, are the same whether they are made together or not.
TEST_P(MmaRuns, AreAsFastOnesAre) {
  options_.matrix_arithmetic = raddle::MatrixArithmetic::fast;
  Program together(kBf16), apart(kBf16);
  add_grid(together.load_all());
  add_grid(apart.load_all().after_each("bar.sync 0;"));
  const auto words = words_of(kBf16);
  testing::internal::CaptureStderr();
  const auto found = answer(device(), together.whole(), words),
             expected = answer(device(), apart.whole(), words);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(found, expected);
}

}  // namespace
