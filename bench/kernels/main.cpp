// bench_kernels: kernels on Raddle and its rivals in one run, each result checked against one reference. See
// bench/run. Exits 1 if a system computed a wrong result, 2 on a bad option or file, 3 if kernels fell
// (--against).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "machine_load.h"
#include "measure.h"
#include "names.h"
#include "options.h"
#include "parallel.h"
#include "prototype.h"

namespace bench {
namespace {

/// Model names of virtual machines often name a whole series; family and model tell its members apart.
std::string machine_description() {
  std::ifstream file("/proc/cpuinfo");
  std::string name = "unknown CPU", family, model;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::string value = line.size() > line.find(':') + 2 ? line.substr(line.find(':') + 2) : "";
    if (line.starts_with("model name")) name = value;
    if (line.starts_with("cpu family")) family = value;
    if (line.starts_with("model\t")) model = value;
  }
  return family.empty() ? name : fmt::format("{} (family {}, model {})", name, family, model);
}

Row prototype_row(const Workload& workload, double value) {
  Row row = row_of(workload, kPrototypeName);
  row.state = State::estimated;
  row.value = value;
  row.remark = kPrototypeRemark;
  return row;
}

Report measure_all(const Options& options) {
  Report report;
  report.machine = machine_description();
  if (const char* commit = std::getenv("RADDLE_COMMIT")) report.commit = commit;
  report.cores = core_count();
  report.quick = options.quick;
  report.systems = options.systems;
  const std::vector<Candidate> candidates = open_systems(options.systems);
  const bool with_prototype = options.systems.front() == "raddle-jit" && options.against.empty();
  if (with_prototype) report.systems.push_back(kPrototypeName);
  const MachineLoad load;
  report.limits = measure_limits(options.quick);
  for (const Kernel kernel : options.kernels) {
    const std::unique_ptr<Workload> workload = make_workload(kernel, options.quick);
    for (Row& row : measure(candidates, *workload, options.runs)) report.rows.push_back(std::move(row));
    const double estimate = prototype_estimate(kernel, report.limits);
    if (with_prototype && estimate > 0) report.rows.push_back(prototype_row(*workload, estimate));
  }
  fmt::print(stderr, "\r{:<60}\r", "");
  report.other_cores = load.other_cores();
  return report;
}

/// A kernel falls if it fell three times out of three: suspects run again, limits with them.
/// @returns the exit status
int guard(const Options& options, const Shares& before, const Report& first) {
  std::vector<Shares> runs = {first.shares()};
  if (Result<void> comparable = check_comparable(before, runs.front()); !comparable.ok()) {
    fmt::print(stderr, "bench_kernels: {}: {}\n", options.against, comparable.error().message);
    return 2;
  }
  Options again = options;
  std::vector<Fall> fallen = falls_in_all(before, runs, options.factor);
  for (; !fallen.empty() && runs.size() < 3; fallen = falls_in_all(before, runs, options.factor)) {
    std::erase_if(again.kernels, [&](Kernel kernel) {
      return std::none_of(fallen.begin(), fallen.end(),
                          [&](const Fall& fall) { return fall.kernel == kernel_name(kernel); });
    });
    runs.push_back(measure_all(again).shares());
  }
  for (const Fall& fall : fallen) fmt::print("fell three times out of three: {}\n", describe(fall));
  if (fallen.empty())
    fmt::print("no kernel fell below {} of its share in {}\n", options.factor, options.against);
  return fallen.empty() ? 0 : 3;
}

Result<int> run(const Options& options) {
  Shares before;
  if (!options.against.empty()) {
    TRY_ASSIGN(before, read_shares(options.against));
  }
  const Report report = measure_all(options);
  report.print();
  if (!options.json.empty()) TRY(report.write_json(options.json));
  if (report.any_wrong()) return 1;
  return options.against.empty() ? 0 : guard(options, before, report);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  raddle::Result<bench::Options> options = bench::parse_options(argc, argv);
  raddle::Result<int> status = options.ok() ? bench::run(*options) : raddle::Result<int>(options.error());
  if (status.ok()) return *status;
  fmt::print(stderr, "bench_kernels: {}\n", status.error().to_string());
  return 2;
}
