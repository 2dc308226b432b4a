// Deterministic mutations of real inputs: whatever a text has become, parsing it ends with a module or with
// errors that have a place, and what was accepted survives analysis and printing. A failing case prints its
// seed.
#include <cstdlib>

#include "ptx/cfg.h"
#include "ptx/layout.h"
#include "ptx_test.h"
#include "unit/source_directory.h"

namespace raddle::ptx::test {
namespace {

/// xorshift64*: the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : next() % n; }

 private:
  std::uint64_t state_;
};

constexpr std::string_view kFragments[] = {"{",
                                           "}",
                                           "(",
                                           ")",
                                           ";",
                                           ",",
                                           "[",
                                           "]",
                                           "<",
                                           ">",
                                           ":",
                                           "@",
                                           "!",
                                           ".",
                                           "|",
                                           "\"",
                                           "/*",
                                           "//",
                                           "%r1",
                                           "%rd1",
                                           "%p1",
                                           "0f3f800000",
                                           "18446744073709551615",
                                           "-9223372036854775808",
                                           ".reg .b32 %r<4000000000>;",
                                           ".shared",
                                           ".param .b32 x;",
                                           ".v4",
                                           "bra L;",
                                           "L:",
                                           "call f, (x);",
                                           "{ .reg .pred p;",
                                           "= {1, {2}}",
                                           "0xff(",
                                           "generic(",
                                           ".align 65536",
                                           "[4294967295]",
                                           ".entry k() {",
                                           ".func f();",
                                           ".alias a, b;",
                                           "mov.u32",
                                           ".branchtargets",
                                           "\0\0",
                                           "1?2:3",
                                           "%tid.x",
                                           ".section .debug_str {"};

std::string mutate(std::string text, Random& random) {
  const std::size_t count = 1 + random.below(4);
  for (std::size_t i = 0; i < count && !text.empty(); ++i) {
    const std::size_t at = random.below(text.size());
    const std::size_t length = random.below(std::min<std::size_t>(text.size() - at, 40)) + 1;
    switch (random.below(7)) {
      case 0:
        text[at] = static_cast<char>(random.next());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, kFragments[random.below(std::size(kFragments))]);
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        text.insert(random.below(text.size()), text.substr(at, length));
        break;
      case 5:
        std::swap(text[at], text[random.below(text.size())]);
        break;
      default:
        text.replace(at, length, kFragments[random.below(std::size(kFragments))]);
        break;
    }
  }
  return text;
}

void exercise(const std::string& text) {
  std::vector<Error> errors;
  const auto module = parse(text, "mutant", &errors);
  ASSERT_EQ(module.ok(), errors.empty());
  for (const Error& e : errors) {
    ASSERT_GT(e.where.line, 0u) << e.message;
    ASSERT_GT(e.where.column, 0u) << e.message;
    ASSERT_FALSE(e.message.empty());
  }
  if (!module.ok()) return;
  for (FunctionId f = 0; f < module->functions.size(); ++f) {
    analyze(*module, f);
    frame_layout(*module, f);
  }
  const std::string printed = print(*module);
  const auto again = parse(printed, "printed", &errors);
  ASSERT_TRUE(again.ok()) << errors.front().to_string() << "\n" << printed;
  ASSERT_EQ(print(*again), printed);
}

TEST(Mutations, NeverCrashOrHang) {
  constexpr std::uint64_t kPerFile = 250;
  const char* only = std::getenv("RADDLE_SEED");
  std::vector<std::string> texts;
  for (const auto& path : input_files()) texts.push_back(read_file(path));
  ASSERT_FALSE(texts.empty());
  for (std::uint64_t seed = 0; seed < kPerFile * texts.size(); ++seed) {
    if (only && seed != std::strtoull(only, nullptr, 10)) continue;
    Random random(seed);
    exercise(mutate(texts[seed % texts.size()], random));
    if (HasFatalFailure()) FAIL() << "replay with RADDLE_SEED=" << seed;
  }
}

TEST(Mutations, RandomBytes) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::string text(random.below(400), ' ');
    for (char& c : text) c = static_cast<char>(random.next());
    exercise(text);
    exercise(".version 9.0 .target sm_90 .entry k() { " + text);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(Mutations, EveryTruncation) {
  const std::string text =
      read_file(std::filesystem::path(source_directory()) / "tests/data/ptx/variables.ptx");
  for (std::size_t n = 0; n < text.size(); ++n) {
    exercise(text.substr(0, n));
    if (HasFatalFailure()) FAIL() << "cut at " << n;
  }
}

}  // namespace
}  // namespace raddle::ptx::test
