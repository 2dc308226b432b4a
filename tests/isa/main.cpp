// test_isa: decides whether instructions are right. Runs the files of tests/isa and every spelling of every
// row on all engines. See tests/isa/README.md; `test_isa --help` lists the options.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "isa/absent_lanes.h"
#include "isa/row_files.h"
#include "isa/spellings.h"

namespace raddle::testing {
namespace {

struct Options {
  std::string chapter, row, engines = "all", root = RADDLE_ISA_TESTS;
  SpellingOptions spellings{.limit = 0};  // 0: the default
  bool coverage = false, errors_only = false, files_only = false, no_files = false;
  unsigned shown = 6;  ///< failures printed per row
};

constexpr const char* kHelp = R"(test_isa [options]
  --chapter NAME    only the rows of src/isa/NAME ('errors': only the malformed files)
  --row ID          only this row
  --engines LIST    interp, avx512, avx2, sse42, quick, quick_avx2, quick_sse42, balanced, balanced_avx2, host; the first is the oracle (default: all)
  --rounds N        rounds of random operands per spelling (default 2)
  --limit N         spellings per row before sampling (default 15; 30 with --every-engine)
  --seed S          seed of the random operands, the samples and the engines' turns (default RADDLE_TEST_SEED, or 1)
  --show N          failures printed per row (default 6)
  --files           only the files, --spellings: only the generated tests
  --coverage        only check that every `done` row has a file
  --every-engine    everything on every engine, as RADDLE_TEST_EXHAUSTIVE=1 does (./test --exhaustive); else on the first
                    two and one of the others in turn
)";

bool read_options(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (name == "--chapter")
      o.chapter = value();
    else if (name == "--row")
      o.row = value();
    else if (name == "--engines")
      o.engines = value();
    else if (name == "--rounds")
      o.spellings.rounds = static_cast<unsigned>(std::atoi(value().c_str()));
    else if (name == "--limit")
      o.spellings.limit = static_cast<unsigned>(std::atoi(value().c_str()));
    else if (name == "--seed")
      o.spellings.seed = std::strtoull(value().c_str(), nullptr, 0);
    else if (name == "--show")
      o.shown = static_cast<unsigned>(std::atoi(value().c_str()));
    else if (name == "--files")
      o.files_only = true;
    else if (name == "--spellings")
      o.no_files = true;
    else if (name == "--coverage")
      o.coverage = true;
    else if (name == "--every-engine")
      o.spellings.every_engine = true;
    else
      return false;
  }
  return true;
}

constexpr int kSkipped = 77;  ///< exit status that tools/run_tests takes for "skipped"

/// Prints a row's failures and adds them up.
void finish_row(const Options& o, std::string_view name, Report& row, Report& total) {
  for (std::size_t i = 0; i < row.messages.size() && i < o.shown; ++i)
    fmt::print("FAIL {}\n", row.messages[i]);
  if (row.failures > o.shown) fmt::print("FAIL {}: {} failures in all\n", name, row.failures);
  total.checks += row.checks;
  total.failures += row.failures;
  total.run_lines += row.run_lines;
  total.spellings += row.spellings;
  total.rejects += row.rejects;
  total.errors += row.errors;
  fmt::print("{} - {}\n", row.failures ? "not ok" : "ok", name);  // TAP, which tools/run_tests counts
  std::fflush(stdout);
}

bool wanted(const Options& o, const isa::Row& row) {
  return row.text->status == isa::Status::done && (o.chapter.empty() || o.chapter == row.chapter) &&
         (o.row.empty() || o.row == row.id);
}

void check_coverage(const Options& o, Report& total) {
  for (const isa::Row& row : isa::rows()) {
    if (!wanted(o, row)) continue;
    ++total.checks;
    if (!std::filesystem::exists(test_file_of(o.root, row)))
      total.fail(fmt::format("{} is done, but {} is missing", row.id, test_file_of(o.root, row)));
  }
  for (const auto& message : total.messages) fmt::print("FAIL {}\n", message);
}

void test_row(const Options& o, const isa::Row& row, const std::vector<NamedEngine>& engines,
              Report& report) {
  const auto some =
      o.spellings.every_engine ? engines : engines_in_turn(engines, first_turn(row, o.spellings));
  if (!o.no_files) {
    auto file = read_test_file(test_file_of(o.root, row));
    if (file.ok())
      test_row_file(*file, some, report, &row);
    else
      report.fail(file.error().to_string());
  }
  if (o.files_only) return;
  test_spellings(row, engines, o.spellings, report);
  test_absent_lanes(row, some, report);
}

void test_errors(const Options& o, Report& total) {
  if (!std::filesystem::exists(o.root + "/errors")) return;
  for (const auto& entry : std::filesystem::directory_iterator(o.root + "/errors")) {
    if (entry.path().extension() != ".ptx" || (!o.row.empty() && entry.path().stem() != o.row)) continue;
    Report report;
    if (auto file = read_test_file(entry.path().string()); file.ok())
      test_error_file(*file, report);
    else
      report.fail(file.error().to_string());
    finish_row(o, entry.path().stem().string(), report, total);
  }
}

int run(const Options& o) {
  Report total;
  unsigned rows = 0;
  if (o.coverage) {
    check_coverage(o, total);
    fmt::print("coverage: {} rows, {} without a file\n", total.checks, total.failures);
    return total.failures != 0;
  }
  auto engines = make_engines(o.engines);
  if (!engines.ok()) return fmt::print("{}\n", engines.error().message), 2;
  for (const isa::Row& row : isa::rows()) {
    if (!wanted(o, row) || o.chapter == "errors") continue;
    Report report;
    ++rows;
    test_row(o, row, *engines, report);
    finish_row(o, row.id, report, total);
  }
  if (o.chapter.empty() || o.chapter == "errors") test_errors(o, total);
  std::string names;
  for (const auto& engine : *engines) names += (names.empty() ? "" : ", ") + engine.name;
  fmt::print(
      "{}: {} rows, {} spellings, {} run lines, {} rejects, {} error lines, {} checks on {}, seed {}: {} "
      "failures\n",
      o.chapter.empty() ? "all" : o.chapter, rows, total.spellings, total.run_lines, total.rejects,
      total.errors, total.checks, names, o.spellings.seed, total.failures);
  if (rows == 0 && total.errors == 0 && total.failures == 0) {
    fmt::print("no row of this chapter is executed yet\n");
    return kSkipped;
  }
  return total.failures != 0;
}

}  // namespace
}  // namespace raddle::testing

int main(int argc, char** argv) {
  raddle::testing::Options options;
  options.spellings.every_engine = std::getenv("RADDLE_TEST_EXHAUSTIVE") != nullptr;
  if (const char* seed = std::getenv("RADDLE_TEST_SEED"))
    options.spellings.seed = std::strtoull(seed, nullptr, 0);
  if (!raddle::testing::read_options(argc, argv, options))
    return std::fputs(raddle::testing::kHelp, stderr), 2;
  if (options.spellings.limit == 0) options.spellings.limit = options.spellings.every_engine ? 30 : 15;
  return raddle::testing::run(options);
}
