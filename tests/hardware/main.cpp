// test_hardware: the instruction tests and probes of the driver API on whatever libcuda.so.1 the loader
// finds, judged by the interpreter; and the answers that real hardware gave, judged against that libcuda.
// tests/hardware/README.md.
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "hardware/api_probes.h"
#include "hardware/judge.h"
#include "hardware/worker_device.h"
#include "isa/row_files.h"
#include "isa/spellings.h"

namespace raddle::testing {
namespace {

constexpr int kSkipped = 77;  ///< exit status that tools/run_tests takes for "skipped"
constexpr const char* kHelp = R"(test_hardware [options]
  --record FILE     write down what went in and what came out of every kernel, and the API's results
  --golden DIR      ask the device what a GPU was asked, and compare with the answers kept there
  --every N         of those one in N, chosen by RADDLE_TEST_SEED
  --round-trip DIR  record one row's answers into a file there, judge them, then judge them with errors put in
  --chapter NAME (or api), --row ID, --limit N (spellings per row before sampling, default 4), --seed S
  --show N          failures printed per test (default 6)
)";

std::size_t shown = 6;  ///< failures of each test

struct Options {
  std::string record, golden, round_trip, chapter, row;
  unsigned every = 1;
  std::uint64_t sample_seed = 1;  ///< of the answers
  SpellingOptions spellings{.rounds = 1, .limit = 4};
};

bool read_options(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i], value = i + 1 < argc ? argv[++i] : "";
    if (name == "--record")
      o.record = value;
    else if (name == "--golden")
      o.golden = value.empty() ? RADDLE_GOLDEN : value;
    else if (name == "--every")
      o.every = static_cast<unsigned>(std::max(1, std::atoi(value.c_str())));
    else if (name == "--round-trip")
      o.round_trip = value;
    else if (name == "--chapter")
      o.chapter = value;
    else if (name == "--row")
      o.row = value;
    else if (name == "--limit")
      o.spellings.limit = static_cast<unsigned>(std::atoi(value.c_str()));
    else if (name == "--show")
      shown = std::strtoull(value.c_str(), nullptr, 0);
    else if (name == "--seed")
      o.spellings.seed = std::strtoull(value.c_str(), nullptr, 0);
    else
      return false;
  }
  return true;
}

void finish(const std::string& name, const Report& report, unsigned& failures) {
  for (std::size_t i = 0; i < report.messages.size() && i < shown; ++i)
    fmt::print("FAIL {}\n", report.messages[i]);
  fmt::print("{} - {} ({} checks)\n", report.failures != 0 ? "not ok" : "ok", name, report.checks);
  std::fflush(stdout);
  failures += report.failures;
}

/// A row's file and spellings on a device, judged by the interpreter and by the file's own expectations.
Report test_row(const Options& o, const isa::Row& row, const std::vector<NamedEngine>& engines) {
  Report report;
  auto file = read_test_file(test_file_of(RADDLE_ISA_TESTS, row));
  if (file.ok())
    test_row_file(*file, engines, report, &row);
  else
    report.fail(file.error().to_string());
  test_spellings(row, engines, o.spellings, report);
  return report;
}

/// The interpreter first, then the device.
std::vector<NamedEngine> interpreter_and(const std::string& name, std::shared_ptr<Device> device) {
  std::vector<NamedEngine> engines = std::move(*make_engines("interp"));
  engines.push_back({name, nullptr, std::move(device)});
  return engines;
}

unsigned test_rows(const Options& o, const std::string& name, std::shared_ptr<Device> device) {
  const std::vector<NamedEngine> engines = interpreter_and(name, std::move(device));
  unsigned failures = 0;
  for (const isa::Row& row : isa::rows()) {
    if (row.text->status != isa::Status::done || (!o.chapter.empty() && o.chapter != row.chapter) ||
        (!o.row.empty() && o.row != row.id))
      continue;
    if (std::string_view(row.chapter) == "texture" || std::string_view(row.chapter) == "surface") {
      fmt::print("ok - {}: {}/{} # SKIP its textures and surfaces are the harness's own\n", name, row.chapter,
                 row.id);
      continue;
    }
    finish(fmt::format("{}: {}/{}", name, row.chapter, row.id), test_row(o, row, engines), failures);
  }
  return failures;
}

/// In this process, so after all that runs in workers.
unsigned test_api(const Options& o, std::ostream* record) {
  if ((!o.chapter.empty() && o.chapter != "api") || !o.row.empty()) return 0;
  unsigned failures = 0;
  auto device = CudaDevice::open();
  if (!device.ok()) return fmt::print("not ok - api: {}\n", device.error().message), 1;
  for (const ApiProbe& probe : api_probes((*device)->api())) {
    const int result = probe.run();
    Report report;
    ++report.checks;
    if (result != probe.expected)
      report.fail(fmt::format("{} gives {}, documented is {}", probe.call, result, probe.expected));
    if (record != nullptr) *record << "api " << probe.call << " = " << result << '\n';
    finish("api: " + probe.call, report, failures);
  }
  return failures;
}

int test_device(const Options& o) {
  auto device = WorkerDevice::open();
  if (!device.ok()) return fmt::print("{}\n", device.error().message), kSkipped;
  std::shared_ptr<WorkerDevice> cuda = std::move(*device);
  const CudaIdentity& identity = cuda->identity();
  fmt::print("# {}, capability {}, driver {}\n", identity.device, identity.capability, identity.driver);
  if (o.record.empty()) return (test_rows(o, "device", cuda) + test_api(o, nullptr)) != 0;
  std::ofstream file(o.record);
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  file << fmt::format("head device: {}\nhead capability: {}\nhead driver: {}\nhead date: {}\n",
                      identity.device, identity.capability, identity.driver, date);
  const unsigned failures =
      test_rows(o, "device", std::make_shared<RecordingDevice>(cuda, file)) + test_api(o, &file);
  if (!file.flush()) return fmt::print("cannot write {}\n", o.record), 1;
  return failures != 0;
}

/// The API's results as recorded, against the documented ones that Raddle is held to.
unsigned judge_api(const Answers& answers) {
  unsigned failures = 0;
  Report report;
  static const CudaApi nothing{};
  for (const ApiProbe& probe : api_probes(nothing)) {
    const auto found = answers.api.find(probe.call);
    if (found == answers.api.end()) continue;
    ++report.checks;
    if (found->second != probe.expected)
      report.fail(fmt::format("{} gave {}, expected here is {}", probe.call, found->second, probe.expected));
  }
  finish("golden: api", report, failures);
  return failures;
}

unsigned judge_kernels(const Options& o, const Answers& answers, Device& device, KeptDifferences& kept) {
  unsigned failures = 0;
  for (const auto& [chapter, found] : judge(answers, device, kept, {o.every, o.sample_seed}))
    finish(fmt::format("golden: {}, {} kept differences, {} approximate", chapter, found.kept,
                       found.approximate),
           found.report, failures);
  return failures;
}

/// A line that none of the answers needs any more.
unsigned judge_kept(const KeptDifferences& kept) {
  unsigned failures = 0;
  Report stale;
  for (const auto& line : kept.lines) {
    ++stale.checks;
    if (line.differing == 0)
      stale.fail(fmt::format("{} of {} answers differ now: {}", line.differing, line.asked, line.what));
  }
  finish("golden: the kept differences are there", stale, failures);
  return failures;
}

int test_golden(const Options& o) {
  auto device = WorkerDevice::open();
  if (!device.ok()) return fmt::print("{}\n", device.error().message), kSkipped;
  auto kept = KeptDifferences::read(std::filesystem::path(o.golden) / "kept");
  if (!kept.ok()) return fmt::print("not ok - {}\n", kept.error().to_string()), 1;
  unsigned files = 0, failures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(o.golden)) {
    if (!entry.path().string().ends_with(".answers.zst")) continue;
    ++files;
    auto answers = Answers::read(entry.path().string());
    if (!answers.ok()) return fmt::print("not ok - {}\n", answers.error().to_string()), 1;
    fmt::print("# {}: {}, driver {}, {}\n", entry.path().filename().string(), answers->head["device"],
               answers->head["driver"], answers->head["date"]);
    failures += judge_kernels(o, *answers, **device, *kept) + judge_api(*answers);
  }
  if (o.every == 1) failures += judge_kept(*kept);
  if (files == 0) fmt::print("not ok - golden: no answers in {}\n", o.golden);
  return failures != 0 || files == 0;
}

/// What is recorded is found again and judged well; what is changed in it is found out.
int test_round_trip(const Options& o) {
  auto device = WorkerDevice::open();
  if (!device.ok()) return fmt::print("{}\n", device.error().message), kSkipped;
  std::shared_ptr<WorkerDevice> cuda = std::move(*device);
  std::filesystem::create_directories(o.round_trip);
  const std::string path = o.round_trip + "/round_trip.answers";
  unsigned failures = 0;
  for (const isa::Row& row : isa::rows()) {
    const std::string_view id = row.id;
    if (id != "bfe" && id != "lop3" && id != "ld") continue;
    std::ofstream file(path);
    finish(fmt::format("recorded: {}", id),
           test_row(o, row, interpreter_and("recorded", std::make_shared<RecordingDevice>(cuda, file))),
           failures);
    file.close();
    auto answers = Answers::read(path);
    if (!answers.ok()) return fmt::print("not ok - {}\n", answers.error().to_string()), 1;
    KeptDifferences none;
    Report judged = judge(*answers, *cuda, none, {})[row.chapter].report;
    if (judged.checks == 0) judged.fail("nothing was judged");
    finish(fmt::format("judged: {}", id), judged, failures);
    for (auto& [key, answer] : answers->kernels)
      for (std::string& output : answer.outputs)
        if (!output.empty()) output[0] = static_cast<char>(output[0] ^ 0x10);
    const Report changed = judge(*answers, *cuda, none, {})[row.chapter].report;
    Report verdict;
    ++verdict.checks;
    if (changed.failures == 0) verdict.fail("changed answers were taken for right");
    finish(fmt::format("found out: {}", id), verdict, failures);
  }
  return failures != 0;
}

}  // namespace
}  // namespace raddle::testing

int main(int argc, char** argv) {
  raddle::testing::Options options;
  if (const char* seed = std::getenv("RADDLE_TEST_SEED"))
    options.sample_seed = std::strtoull(seed, nullptr, 0);
  if (!raddle::testing::read_options(argc, argv, options))
    return std::fputs(raddle::testing::kHelp, stderr), 2;
  if (!options.round_trip.empty()) return raddle::testing::test_round_trip(options);
  return options.golden.empty() ? raddle::testing::test_device(options)
                                : raddle::testing::test_golden(options);
}
