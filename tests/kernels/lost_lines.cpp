#include "lost_lines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <sstream>
#include <vector>

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

#if defined(__has_feature) && (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
constexpr bool kIsSlow = true;  // each run takes ten times as long
#else
constexpr bool kIsSlow = false;
#endif

bool tries_all() { return std::getenv("RADDLE_TEST_ALL") != nullptr && !kIsSlow; }

std::uint64_t first_seed() {
  const char* seed = std::getenv("RADDLE_TEST_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 0) : 1;
}

/// @returns under which asynchrony something was seen, and what; empty: nothing was
std::string found(const std::string& text, std::uint64_t seeds, const Try& problem) {
  const auto described = [&](const Asynchrony& asynchrony, const std::string& name) {
    const std::string seen = problem(text, asynchrony);
    return seen.empty() ? "" : name + ": " + seen.substr(0, seen.find(" in kernel"));
  };
  if (const std::string seen = described({Asynchrony::Mode::lazy}, "lazy"); !seen.empty()) return seen;
  const std::uint64_t first = first_seed();
  for (std::uint64_t seed = first; seed < first + seeds; ++seed)
    if (const std::string seen = described({Asynchrony::Mode::random, seed}, fmt::format("random:{}", seed));
        !seen.empty())
      return seen;
  return "";
}

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

void check(const std::string& text, std::size_t least, std::size_t every, const Try& problem) {
  constexpr std::uint64_t kSeeds = 1000, kFewSeeds = 10;
  EXPECT_EQ(found(text, tries_all() ? kSeeds : kFewSeeds, problem), "") << "as it is";
  const std::vector<Loss> losses = losses_of(split(text));
  EXPECT_GE(losses.size(), least);
  std::size_t turn = tries_all() ? 0 : first_seed();
  for (const Loss& loss : losses) {
    const bool may_go = *loss.reason != '\0';
    if (!tries_all() && !may_go && turn++ % every != 0) continue;
    const std::string seen = may_go ? "" : found(loss.text, kSeeds, problem);
    fmt::print("{:>4} {:<15} {:<57} {}\n", loss.line, loss.what, loss.instruction,
               may_go ? loss.reason : seen);
    if (may_go) continue;
    EXPECT_NE(seen, "") << "nothing shows that line " << loss.line << " is missing";
    EXPECT_EQ(seen.find("time limit"), std::string::npos) << seen;
  }
}

}  // namespace lost_lines
