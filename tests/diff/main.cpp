// test_diff: random programs on all engines, and the kept failures of tests/regress. Start at generator.h and
// oracle.h.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "diff/catalogue.h"
#include "diff/generator.h"
#include "diff/oracle.h"
#include "diff/shrink.h"

namespace raddle::diff {
namespace {

constexpr const char* kHelp = R"(test_diff [options]
  --profile NAME   straight, divergent or memory (default: all three in turn)
  --seed N         first seed (default: another for each RADDLE_TEST_SEED, 1 for 1)
  --count M        programs (default 100)
  --seconds S      stop after that time, whatever the count
  --minutes M      as --seconds; then the count is open
  --log FILE       append a line about the run to a table (tests/diff/LOG.md)
  --commit TEXT    what the line says was tested
  --engines LIST   interp, avx512, avx2, sse42, quick, quick_avx2, balanced, balanced_avx2, host, together; the first is the oracle (default: every)
  --in-turn        each program on the first two engines and one of the others in turn, by its seed; on every
                   one with RADDLE_TEST_EXHAUSTIVE=1 (./test --exhaustive)
  --print          only print the programs
  --skips          only list what no program contains, with the reasons
  --shrink         cut failing programs down and keep them in tests/regress
  --regress DIR    run the kept programs of a folder (or one file) instead
)";

struct Options {
  std::string profile, engines = "every", regress, log, commit;
  std::uint64_t seed = 0;  ///< 0: by RADDLE_TEST_SEED
  unsigned count = 100, seconds = 0;
  bool in_turn = false, print = false, shrink = false, skips = false;
};

bool read_options(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    auto number = [&] { return static_cast<unsigned>(std::atoi(value().c_str())); };
    if (name == "--profile")
      o.profile = value();
    else if (name == "--seed")
      o.seed = std::strtoull(value().c_str(), nullptr, 0);
    else if (name == "--count")
      o.count = number();
    else if (name == "--seconds")
      o.seconds = number();
    else if (name == "--minutes")
      o.seconds = 60 * number(), o.count = ~0u;
    else if (name == "--log")
      o.log = value();
    else if (name == "--commit")
      o.commit = value();
    else if (name == "--engines")
      o.engines = value();
    else if (name == "--regress")
      o.regress = value();
    else if (name == "--in-turn")
      o.in_turn = std::getenv("RADDLE_TEST_EXHAUSTIVE") == nullptr;
    else if (name == "--print")
      o.print = true;
    else if (name == "--skips")
      o.skips = true;
    else if (name == "--shrink")
      o.shrink = true;
    else
      return false;
  }
  return o.profile.empty() || o.profile == "straight" || o.profile == "divergent" || o.profile == "memory";
}

std::vector<Profile> profiles(const Options& o) {
  if (o.profile == "straight") return {Profile::straight};
  if (o.profile == "divergent") return {Profile::divergent};
  if (o.profile == "memory") return {Profile::memory};
  return {Profile::straight, Profile::divergent, Profile::memory};
}

/// Which engine (or oracle) a message is about: a shrunk program must fail for the same one.
std::string_view culprit(std::string_view problem) { return problem.substr(0, problem.find(':')); }

void keep_shrunk(const Program& program, const std::string& problem,
                 const std::vector<testing::NamedEngine>& engines) {
  Program small = shrink(program, [&](const Program& p) {
    std::string now = judge(render(p), engines);
    return !now.empty() && culprit(now) == culprit(problem);
  });
  std::string path = fmt::format("{}/{}_{}.ptx", RADDLE_REGRESS_DIR, program.profile, program.seed);
  std::string text = render(small);
  std::ofstream(path) << text;
  fmt::print("  shrunk to {} statements: {}: {}\n", statement_count(small.body), path, judge(text, engines));
}

/// One row of the table of tests/diff/LOG.md.
void append_log(const Options& o, const std::vector<testing::NamedEngine>& engines, unsigned programs,
                unsigned failures, double seconds) {
  std::string names;
  for (const auto& engine : engines) names += (names.empty() ? "" : ", ") + engine.name;
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d %H:%M", std::gmtime(&now));
  std::ofstream(o.log, std::ios::app) << fmt::format("| {} | {} | {} | {} | {:.0f} | {} | {} |\n", date,
                                                     o.commit, o.seed, programs, seconds, names, failures);
}

int run_random(const Options& o, const std::vector<testing::NamedEngine>& engines) {
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  unsigned done = 0, failures = 0;
  for (std::uint64_t seed = o.seed; done < o.count && (o.seconds == 0 || elapsed() < o.seconds); ++seed)
    for (Profile profile : profiles(o)) {
      if (done == o.count) break;
      Program program = generate(profile, seed);
      std::string text = render(program);
      ++done;
      if (o.print) {
        fmt::print("{}\n", text);
        continue;
      }
      std::string problem = judge(text, o.in_turn ? testing::engines_in_turn(engines, seed) : engines);
      if (problem.empty()) continue;
      ++failures;
      fmt::print("FAIL --profile {} --seed {} --count 1: {}\n", program.profile, seed, problem);
      std::fflush(stdout);
      if (o.shrink) keep_shrunk(program, problem, engines);
    }
  if (!o.print)
    fmt::print(
        "diff: {} programs from seed {}, {} engines, {} differ, {:.1f} s; {} reasons to skip (--skips)\n",
        done, o.seed, engines.size(), failures, elapsed(), catalogue().skipped.size());
  if (!o.log.empty()) append_log(o, engines, done, failures, elapsed());
  return failures == 0 && done > 0 ? 0 : 1;
}

int run_kept(const Options& o, const std::vector<testing::NamedEngine>& engines) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(o.regress)) {
    for (const auto& entry : std::filesystem::directory_iterator(o.regress))
      if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  } else {
    files.push_back(o.regress);
  }
  std::sort(files.begin(), files.end());
  unsigned failures = 0;
  for (const auto& path : files) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    std::string problem = judge(text.str(), engines);
    if (problem.empty()) continue;
    ++failures;
    fmt::print("FAIL {}: {}\n", path.filename().string(), problem);
  }
  fmt::print("regress: {} programs, {} engines, {} differ\n", files.size(), engines.size(), failures);
  return failures ? 1 : 0;
}

/// Rows and spellings without statements; "not done" rows are only counted.
int list_skips() {
  unsigned rows = 0, spellings = 0, missing = 0;
  for (const Skip& skip : catalogue().skipped) {
    if (skip.reason == "not done") {
      ++missing;
      continue;
    }
    ++(skip.spellings == 0 ? rows : spellings);
    fmt::print("{}: {}: {}\n", skip.row,
               skip.spellings == 0 ? "all" : fmt::format("{} sampled spellings", skip.spellings),
               skip.reason);
  }
  fmt::print("skipped: {} rows, parts of {} rows; {} rows are not done\n", rows, spellings, missing);
  return 0;
}

int run(int argc, char** argv) {
  Options o;
  if (!read_options(argc, argv, o)) {
    fmt::print(stderr, "{}", kHelp);
    return 2;
  }
  if (o.skips) return list_skips();
  if (o.seed == 0) {
    const char* day = std::getenv("RADDLE_TEST_SEED");
    o.seed = 1 + (day ? std::strtoull(day, nullptr, 0) - 1 : 0) * o.count;
  }
  auto engines = testing::make_engines(o.engines);
  if (!engines.ok()) {
    fmt::print(stderr, "{}\n", engines.error().message);
    return 2;
  }
  return o.regress.empty() ? run_random(o, *engines) : run_kept(o, *engines);
}

}  // namespace
}  // namespace raddle::diff

int main(int argc, char** argv) { return raddle::diff::run(argc, argv); }
