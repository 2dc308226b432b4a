// Numbers that differ from lane to lane by a pattern, through random instructions: the JIT computes many of
// them from one lane's number, and each engine must store what the interpreter stores.
#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "kernel_test.h"

namespace {

class LanePatterns : public KernelTest {};
ON_EVERY_ENGINE(LanePatterns);

constexpr unsigned kPrograms = 60;  ///< by RADDLE_TEST_SEED
constexpr unsigned kSteps = 24, kThreads = 96;

class Writer {
 public:
  /// @param flows  with branches, loops, guards and memory
  Writer(unsigned seed, bool flows) : random_(seed), flows_(flows) {}

  /// Each step's result is stored by thread.
  std::string kernel() {
    std::string body;
    for (unsigned step = 0; flows_ && step < kSteps; ++step)
      body += fmt::format("mov.u32 %r{}, {};\n", kFirst + step, step % 4 == 0 ? "%r0" : "0");
    for (unsigned step = 0; step < kSteps; ++step)
      body += (flows_ && below(2) ? statement(step) : instruction(step)) + "\n";
    for (unsigned step = 0; step < kSteps; ++step)
      body += fmt::format("st.global.u32 [%out+{}], %r{};\n", 4 * step, kFirst + step);
    return fmt::format(R"(.version 8.7
.target sm_90
.address_size 64
.visible .entry patterns(.param .u64 out, .param .u32 n, .param .u64 table)
{{
.reg .b32 %r<{}>, %i, %x, %y; .reg .b64 %out, %wide, %table, %at; .reg .pred %p, %q;
.shared .align 16 .b8 tile[512];
  ld.param.u64 %out, [out];
  ld.param.u64 %table, [table];
  mov.u32 %r0, %tid.x;
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %laneid;
  mul.wide.u32 %wide, %r0, {};
  add.u64 %out, %out, %wide;
{}  ret;
}}
)",
                       kFirst + kSteps, 4 * kSteps, body);
  }

 private:
  static constexpr unsigned kFirst = 3;  // register of the first result

  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }
  template <std::size_t count>
  const char* one_of(const char* const (&texts)[count]) {
    return texts[below(count)];
  }
  std::string constant() {
    static constexpr const char* kConstants[] = {
        "1",   "2",  "3",  "4",   "7",     "15",    "31",    "32",         "60",         "64",
        "255", "-1", "-4", "-64", "65520", "65535", "65536", "2147483632", "-2147483648"};
    return one_of(kConstants);
  }
  /// With flow also the step's own, of the turn before.
  std::string earlier(unsigned step) { return fmt::format("%r{}", below(kFirst + step + (flows_ ? 1 : 0))); }
  std::string operand(unsigned step) { return below(5) < 2 ? constant() : earlier(step); }

  std::string comparison(unsigned step) {
    static constexpr const char* kRelations[] = {"lt.s32", "le.s32", "gt.u32", "ge.u32",
                                                 "eq.s32", "ne.s32", "lo.u32"};
    return fmt::format("setp.{} %q, {}, {};", one_of(kRelations), earlier(step), operand(step));
  }

  std::string statement(unsigned step) {
    const std::string d = fmt::format("%r{}", kFirst + step), a = earlier(step);
    switch (below(6)) {
      case 0:
        return fmt::format("{} @{}%q add.u32 {}, {}, {};", comparison(step), below(2) ? "!" : "", d, a,
                           operand(step));
      case 1:
        return fmt::format("{} @%q bra L{};\n{}\nL{}:", comparison(step), step, instruction(step), step);
      case 2: {
        const std::string limit = below(2) ? "3" : "%y";
        return fmt::format(
            "and.b32 %y, {}, 3; mov.u32 %i, 0;\nL{}:\n{}\nadd.u32 %i, %i, 1; setp.lt.u32 %q, %i, {}; @%q bra "
            "L{};",
            a, step, instruction(step), limit, step);
      }
      case 3:  // the table has 256 words
        return fmt::format(
            "and.b32 %x, {}, {}; mul.wide.u32 %at, %x, 4; add.u64 %at, %table, %at; ld.global.u32 {}, "
            "[%at{}];",
            a, below(2) ? 127 : 124, d, below(2) ? "+4" : "");
      case 4:
        return fmt::format(
            "and.b32 %x, {}, 252; mov.u32 %y, tile; add.u32 %y, %y, %x; bar.sync 0; mad.lo.u32 %x, %r0, 4, "
            "%y; "
            "sub.u32 %x, %x, %y; add.u32 %x, %x, {}; mov.u32 %i, tile; mad.lo.u32 %i, %r0, 4, %i; "
            "st.shared.u32 [%i], %x; bar.sync 0; ld.shared.u32 {}, [%y];",
            a, a, d);
      default:
        return fmt::format(
            "and.b32 %x, {}, 60; shl.b32 %x, %x, 2; cvt.u64.u32 %at, %x; add.u64 %at, %at, %table; "
            "ld.global.v4.u32 {{%i, {}, %x, %y}}, [%at]; xor.b32 {}, {}, %y;",
            a, d, d, d);
    }
  }

  std::string instruction(unsigned step) {
    const std::string d = fmt::format("%r{}", kFirst + step), a = earlier(step), b = operand(step),
                      c = operand(step);
    switch (below(8)) {
      case 0: {
        static constexpr const char* kTwo[] = {"add.u32", "add.s32",    "sub.u32",      "mul.lo.u32",
                                               "and.b32", "or.b32",     "xor.b32",      "min.s32",
                                               "max.u32", "mul.hi.u32", "mul24.lo.u32", "sub.s32"};
        return fmt::format("{} {}, {}, {};", one_of(kTwo), d, a, b);
      }
      case 1: {
        static constexpr const char* kShifts[] = {"shl.b32", "shr.u32", "shr.s32"};
        return fmt::format("{} {}, {}, {};", one_of(kShifts), d, a,
                           below(8) == 0 ? earlier(step) : std::to_string(below(34)));
      }
      case 2: {
        static constexpr const char* kThree[] = {"mad.lo.u32", "mad.lo.s32", "mad24.lo.s32", "mad.hi.s32"};
        return fmt::format("{} {}, {}, {}, {};", one_of(kThree), d, a, b, c);
      }
      case 3: {
        static constexpr const char* kPacked[] = {"add.u16x2", "add.s16x2", "min.u16x2", "max.s16x2"};
        return fmt::format("{} {}, {}, {};", one_of(kPacked), d, a, earlier(step));
      }
      case 4:
        return below(2)
                   ? fmt::format("bfe.u32 {}, {}, {}, {};", d, a, below(32), below(32))
                   : fmt::format("bfi.b32 {}, {}, {}, {}, {};", d, a, earlier(step), below(32), below(32));
      case 5:
        return below(2) ? fmt::format("lop3.b32 {}, {}, {}, {}, {};", d, a, b, c, below(256))
                        : fmt::format("prmt.b32 {}, {}, {}, {};", d, a, b, below(65536));
      case 6: {
        static constexpr const char* kRelations[] = {"lt.s32", "le.s32", "gt.u32", "eq.s32", "lo.u32"};
        return fmt::format("setp.{} %p, {}, {}; selp.b32 {}, {}, {}, %p;", one_of(kRelations), a, b, d, a, c);
      }
      default: {
        static constexpr const char* kWide[] = {"mul.wide.s32 %wide, {0}, {1};",
                                                "mul.wide.u32 %wide, {0}, {1};", "cvt.s64.s32 %wide, {0};",
                                                "cvt.u64.u32 %wide, {0};"};
        static constexpr const char* kNarrow[] = {"cvt.u32.u64 {}, %wide;",
                                                  "shr.u64 %wide, %wide, 3; cvt.u32.u64 {}, %wide;",
                                                  "{{ .reg .b32 %low; mov.b64 {{%low, {}}}, %wide; }}"};
        return fmt::format(fmt::runtime(one_of(kWide)), a, b) + " " +
               fmt::format(fmt::runtime(one_of(kNarrow)), d);
      }
    }
  }

  std::mt19937_64 random_;
  bool flows_;
};

std::vector<std::uint32_t> results(raddle::Device& device, const std::string& text) {
  std::vector<std::uint32_t> values(kThreads * kSteps);
  auto module = device.load(text, "patterns");
  if (!module.ok()) return ADD_FAILURE() << module.error().to_string() << text, values;
  std::vector<std::uint32_t> words(256);
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i % 3 == 0 ? i : i * 2654435761u;
  auto out = device.buffer(values), table = device.buffer(words);
  auto launch = module->kernel("patterns")->launch({.grid = {1}, .block = {kThreads}}, *out, 12345u, *table);
  if (!launch.ok()) return ADD_FAILURE() << launch.error().to_string(), values;
  EXPECT_TRUE(launch->wait().ok());
  EXPECT_TRUE(out->read(values).ok());
  return values;
}

TEST_P(LanePatterns, AreTheInterpreters) {
  auto options = options_;
  options.engine = "interp";
  auto interpreter = raddle::Device::open(options);
  ASSERT_TRUE(interpreter.ok()) << interpreter.error().to_string();
  const char* given = std::getenv("RADDLE_TEST_SEED");
  const unsigned first = given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) * kPrograms : 0;
  for (unsigned seed = first; seed < first + kPrograms; ++seed) {
    const std::string text = Writer(seed, seed % 2 != 0).kernel();
    ASSERT_EQ(results(device(), text), results(*interpreter, text)) << "seed " << seed << "\n" << text;
  }
}

constexpr const char* kFrame = R"(.version 8.7
.target sm_90
.address_size 64
.visible .entry one(.param .u64 out)
{{ .reg .pred %p; .reg .b32 %t, %a, %b, %c; .reg .b64 %out, %wide; .shared .align 4 .b8 tile[4096];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  {}
  mul.wide.u32 %wide, %t, 4;
  add.u64 %out, %out, %wide;
  st.global.u32 [%out], %c;
  ret; }})";

class OneWarp : public LanePatterns {
 protected:
  /// What each lane leaves in %c.
  std::vector<std::uint32_t> of(const char* body) {
    load_text(fmt::format(kFrame, body));
    auto out = buffer(std::vector<std::uint32_t>(32));
    run(*module().kernel("one"), {.grid = {1}, .block = {32}}, out);
    return contents(out);
  }
};
ON_EVERY_ENGINE(OneWarp);

TEST_P(OneWarp, HalvesCarryNothing) {
  const auto found = of("add.u32 %a, %t, 65520; mov.u32 %b, 1; add.u16x2 %c, %a, %b;");
  for (std::uint32_t t = 0; t < 32; ++t) {
    const std::uint32_t sum = 65520 + t;
    EXPECT_EQ(found[t], (sum & 0xffff0000) | ((sum + 1) & 0xffff)) << t;
  }
}

TEST_P(OneWarp, LanesFurtherApartThanAllNumbersWrap) {
  const std::vector<std::uint32_t> none(32);
  EXPECT_EQ(of("shl.b32 %a, %t, 29; cvt.u64.u32 %wide, %a; mov.b64 {%b, %c}, %wide;"), none);
  const auto found =
      of("mov.u32 %a, tile; st.shared.u32 [%a], 7; bar.sync 0; mul.lo.u32 %b, %t, 1073741824; "
         "mul.lo.u32 %b, %b, 4; add.u32 %b, %b, %a; ld.shared.u32 %c, [%b];");
  EXPECT_EQ(found, std::vector<std::uint32_t>(32, 7));
}

// Of each four lanes the first goes to the tile.
TEST_P(OneWarp, SharedAddressesWrap) {
  const auto found =
      of("mov.u32 %a, tile; st.shared.u32 [%a], 7; bar.sync 0; shl.b32 %b, %t, 30; add.u32 %b, %b, %a; "
         "and.b32 %c, %t, 3; setp.eq.u32 %p, %c, 0; mov.u32 %c, 7; @%p ld.shared.u32 %c, [%b];");
  EXPECT_EQ(found, std::vector<std::uint32_t>(32, 7));
}

// Register and constant add up modulo 2^32, whatever the register: below zero for some lanes or all, beyond
// 2^31, further from the tile than what is added to addresses of 64 bits (exec::kSharedNear).
TEST_P(OneWarp, SharedAddressesFarFromTheirRegister) {
  std::vector<std::uint32_t> want(32);
  for (std::uint32_t t = 0; t < 32; ++t) want[t] = t * 5 + 3;
  for (const std::int64_t by : {1100ll, 1ll << 20, 1ll << 28, (1ll << 28) + 4, 1ll << 30, (1ll << 31) - 4,
                                -1100ll, -(1ll << 28), -(1ll << 28) - 4, -(1ll << 30), -(1ll << 31)})
    for (const char* lane :
         {"shl.b32 %b, %t, 2;", "xor.b32 %b, %t, 5; shl.b32 %b, %b, 2;", "mov.u32 %b, 0;"}) {
      const bool is_uniform = lane[0] == 'm', is_gather = lane[0] == 'x';
      const std::string body = fmt::format(
          "mov.u32 %a, tile; mad.lo.u32 %b, %t, 4, %a; mad.lo.u32 %c, %t, 5, 3; st.shared.u32 [%b], %c; "
          "bar.sync 0; {} add.u32 %b, %b, %a; sub.u32 %b, %b, {}; ld.shared.u32 %c, [%b+{}];",
          lane, by, by);
      std::vector<std::uint32_t> expected = want;
      for (std::uint32_t t = 0; t < 32; ++t) expected[t] = want[is_uniform ? 0 : is_gather ? t ^ 5 : t];
      EXPECT_EQ(of(body.c_str()), expected) << body;
    }
}

TEST_P(OneWarp, SharedAddressesOutsideFault) {
  load_text(fmt::format(kFrame,
                        "mov.u32 %a, tile; shl.b32 %b, %t, 31; add.u32 %b, %b, %a; ld.shared.u32 %c, [%b];"));
  auto out = buffer(std::vector<std::uint32_t>(32));
  const auto report = try_run(*module().kernel("one"), {.grid = {1}, .block = {32}}, out);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().to_string().find("of the block's shared memory"), std::string::npos)
      << report.error().to_string();
}

}  // namespace
