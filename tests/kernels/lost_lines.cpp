#include "lost_lines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <regex>
#include <sstream>
#include <vector>

#include "sanitized.h"

namespace lost_lines {
namespace {

using raddle::Asynchrony;
using Lines = std::vector<std::string>;

/// A kernel without one thing that it needs.
struct Loss {
  std::size_t line = 0;  ///< in the text
  std::string what;
  std::string instruction;
  std::string text;         ///< without it
  const char* reason = "";  ///< why it may go; empty: it may not
};

/// What instructions are lost, and what stands in their place: what follows must find its operands.
struct Losable {
  const char* what;
  std::regex pattern;
  const char* instead;
};

const std::vector<Losable>& losable() {
  static const std::vector<Losable> all = {
      {"wait for phase", std::regex(R"(mbarrier\.(try|test)_wait\S*\s+(\S+),.*)"), "setp.eq.u32 $2, 0, 0;"},
      {"expected bytes", std::regex(R"(mbarrier\.arrive\.expect_tx(\S*\s+\S+,\s*\[[^\]]*\]),.*)"),
       "mbarrier.arrive$1;"},
      {"expected bytes", std::regex(R"(mbarrier\.expect_tx\b.*)"), ""},
      {"arrival", std::regex(R"(mbarrier\.arrive.*)"), ""},
      {"change of phase", std::regex(R"(xor\.b32\s+(\S+),\s*(\S+),.*)"), "mov.b32 $1, $2;"},
      {"fence", std::regex(R"(fence\..*)"), ""},
      {"barrier", std::regex(R"((bar|barrier)\..*)"), ""},
      {"commit", std::regex(R"(cp\.async\.bulk\.commit_group.*)"), ""},
      {"wait for group", std::regex(R"(cp\.async\.bulk\.wait_group.*)"), ""},
      {"fence", std::regex(R"(wgmma\.fence.*)"), ""},
      {"commit", std::regex(R"(wgmma\.commit_group.*)"), ""},
      {"wait for group", std::regex(R"(wgmma\.wait_group.*)"), ""},
  };
  return all;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

Lines split(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Between it and mbarrier.init there are only fences.
bool is_fence_of_init(const Lines& lines, std::size_t fence) {
  static const std::regex kOrdering(R"(\s*(@\S+\s+)?(mbarrier|bar|barrier|cp)\..*)");
  for (std::size_t i = fence; i-- > 0;)
    if (std::regex_match(lines[i], kOrdering)) return lines[i].find("mbarrier.init") != std::string::npos;
  return false;
}

const char* reason_to_go(const Lines& lines, std::size_t i, const std::string& code) {
  if (code.starts_with("fence.") && is_fence_of_init(lines, i))
    return "copies see an mbarrier without it, as libcu++ wants";
  if (code.starts_with("bar.warp.sync")) return "orders the lanes of a warp alone";
  return "";
}

std::vector<Loss> losses_of(const Lines& lines) {
  static const std::regex kIndentOrComment(R"(^\s+|\s*//.*$)");
  std::vector<Loss> losses;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string code = std::regex_replace(lines[i], kIndentOrComment, "");
    for (const Losable& each : losable()) {
      if (!std::regex_match(code, each.pattern)) continue;
      Lines changed = lines;
      changed[i] = std::regex_replace(code, each.pattern, each.instead);
      losses.push_back({i + 1, each.what, code.substr(0, code.find_first_of(" \t;")), joined(changed),
                        reason_to_go(lines, i, code)});
    }
  }
  return losses;
}

bool tries_all() { return std::getenv("RADDLE_TEST_ALL") != nullptr && !raddle::kSanitized; }

std::uint64_t first_seed() {
  const char* seed = std::getenv("RADDLE_TEST_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 0) : 1;
}

/// What a kernel does wrong under one asynchrony.
struct Outcome {
  std::string under;  ///< which; empty: nothing was found under any
  std::string wrong;  ///< empty: nothing
  std::string told;   ///< on stderr

  /// By a fault, or beside the wrong result.
  bool is_named() const {
    return told.find("is missing") != std::string::npos || wrong.find(" in kernel") != std::string::npos;
  }
  std::string to_string() const {
    return under.empty() ? "" : fmt::format("{}: {}", under, wrong.substr(0, wrong.find(" in kernel")));
  }
};

Outcome outcome(const std::string& text, const Asynchrony& asynchrony, const Try& problem) {
  testing::internal::CaptureStderr();
  Outcome seen;
  seen.under = asynchrony.mode == Asynchrony::Mode::lazy ? "lazy" : fmt::format("random:{}", asynchrony.seed);
  seen.wrong = problem(text, asynchrony);
  seen.told = testing::internal::GetCapturedStderr();
  return seen;
}

/// The first one that is wanted, of so many seeds from a first one on.
Outcome found(const std::string& text, std::uint64_t first, std::uint64_t seeds, const Try& problem,
              const std::function<bool(const Outcome&)>& wanted) {
  if (Outcome seen = outcome(text, {Asynchrony::Mode::lazy}, problem); wanted(seen)) return seen;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed)
    if (Outcome seen = outcome(text, {Asynchrony::Mode::random, seed}, problem); wanted(seen)) return seen;
  return {};
}

bool is_exhaustive() { return std::getenv("RADDLE_TEST_EXHAUSTIVE") != nullptr; }

/// Of how many lines one is tried.
std::size_t one_of(std::size_t every) {
  constexpr std::size_t kMostDays = 4;  // that ./test --all takes for all
  if (!tries_all()) return every;
  return is_exhaustive() ? 1 : std::min(every, kMostDays);
}

constexpr std::uint64_t kSeeds = 1000;

/// With how many seeds a text that lacks nothing is tried: most of the time that ./test --all takes for it.
std::uint64_t seeds_of_whole() {
  constexpr std::uint64_t kFewSeeds = 10, kManySeeds = 50;
  return !tries_all() ? kFewSeeds : is_exhaustive() ? kSeeds : kManySeeds;
}

bool is_wrong(const Outcome& seen) { return !seen.wrong.empty(); }

}  // namespace

std::string only(const std::string& text, const std::string& kernel) {
  Lines lines = split(text);
  bool wanted = true;
  for (std::string& line : lines) {
    if (line.find(".entry ") != std::string::npos)
      wanted = line.find(".entry " + kernel + "(") != std::string::npos;
    if (!wanted) line.clear();
  }
  return joined(lines);
}

void check(const std::string& text, std::size_t least, std::size_t every, bool names, const Try& problem) {
  const std::uint64_t seeds = seeds_of_whole();  // others every day
  const Outcome whole = found(text, first_seed() * seeds, seeds, problem, [&](const Outcome& seen) {
    return is_wrong(seen) || (names && !seen.told.empty());
  });
  EXPECT_EQ(whole.to_string() + whole.told, "") << "as it is";
  const std::vector<Loss> losses = losses_of(split(text));
  EXPECT_GE(losses.size(), least);
  const std::size_t one_in = one_of(every);
  std::size_t turn = first_seed();
  for (const Loss& loss : losses) {
    const bool may_go = *loss.reason != '\0';
    if (!may_go && turn++ % one_in != 0) continue;
    const Outcome seen = may_go ? Outcome() : found(loss.text, first_seed(), kSeeds, problem, is_wrong);
    const bool is_wait = std::string_view(loss.what).starts_with("wait");
    const Outcome named = names && is_wait && !may_go
                              ? found(loss.text, first_seed(), kSeeds, problem, &Outcome::is_named)
                              : Outcome();
    fmt::print("{:>4} {:<15} {:<57} {}\n{}", loss.line, loss.what, loss.instruction,
               may_go ? loss.reason : seen.to_string(), named.told);
    if (may_go) continue;
    EXPECT_NE(seen.wrong, "") << "nothing shows that line " << loss.line << " is missing";
    EXPECT_EQ(seen.wrong.find("time limit"), std::string::npos) << seen.wrong;
    if (names && is_wait) EXPECT_TRUE(named.is_named()) << "nothing names what line " << loss.line << " did";
  }
}

}  // namespace lost_lines
