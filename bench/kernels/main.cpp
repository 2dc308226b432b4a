// bench_kernels: nine kernels on Raddle, PoCL and OpenMP in one run, each result checked against one
// reference. See bench/run. Exits 1 if a system computed a wrong result, 2 on a bad option.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "machine_load.h"
#include "parallel.h"
#include "prototype.h"
#include "report.h"
#include "system.h"

namespace bench {
namespace {

struct Options {
  bool quick = false;
  int runs = 7;
  std::string json;
  std::string systems = "raddle-jit,pocl,openmp";
  std::string kernels;  ///< comma-separated; empty: all
};

bool listed(const std::string& list, std::string_view name) {
  return ("," + list + ",").find("," + std::string(name) + ",") != std::string::npos;
}

using Clock = std::chrono::steady_clock;

/// One timed run, from a fresh state where the workload needs one. @returns seconds
Result<double> timed_run(System& system, Workload& workload) {
  if (workload.reset_each_run) {
    workload.reset();
    if (Result<void> sent = system.upload(); !sent.ok()) return sent.error();
  }
  const Clock::time_point start = Clock::now();
  if (Result<void> ran = system.run(); !ran.ok()) return ran.error();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Prepares a build of the system, runs it once (which warms it up) and checks its results.
Result<void> prepare_and_verify(System& system, Workload& workload, const std::string& variant) {
  if (Result<void> prepared = system.prepare(workload, variant); !prepared.ok()) return prepared;
  workload.reset();
  if (Result<void> sent = system.upload(); !sent.ok()) return sent;
  if (Result<void> ran = system.run(); !ran.ok()) return ran;
  if (Result<void> received = system.download(); !received.ok()) return received;
  return workload.verify();
}

/// The variant whose better of two runs is fastest; every variant's result is checked.
Result<std::string> choose_variant(System& system, Workload& workload) {
  std::string best;
  double best_seconds = 0;
  for (const std::string& variant : system.variants()) {
    if (Result<void> right = prepare_and_verify(system, workload, variant); !right.ok()) {
      return Error::make(right.error().code, "{}: {}", variant, right.error().message);
    }
    for (int i = 0; i < 2; ++i) {
      Result<double> seconds = timed_run(system, workload);
      if (!seconds.ok()) return seconds.error();
      if (best.empty() || *seconds < best_seconds) best_seconds = *seconds, best = variant;
    }
  }
  return best;
}

struct Candidate {
  std::string name;
  std::unique_ptr<System> system;
  std::string missing;  ///< why it is missing
};

/// A candidate's part in the measurement of one workload.
struct Entrant {
  System* system;
  Row row;
  std::vector<double> seconds;
  bool running = false;

  void fail(const Error& error) {
    running = false;
    row.state = error.code == raddle::ErrorCode::unsupported ? State::missing : State::wrong;
    row.remark = error.to_string();
  }
};

/// Threads of the system that ran last go to sleep (KMP_BLOCKTIME is 10 ms).
void let_threads_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

Entrant enter(const Candidate& candidate, Workload& workload) {
  Entrant entrant{candidate.system.get(), {}, {}};
  entrant.row = {std::string(workload.name), candidate.name, std::string(workload.unit), workload.headline};
  if (!candidate.system) {
    entrant.row.remark = candidate.missing;
    return entrant;
  }
  let_threads_sleep();
  Result<std::string> variant = choose_variant(*entrant.system, workload);
  if (!variant.ok()) return entrant.fail(variant.error()), entrant;
  if (Result<void> right = prepare_and_verify(*entrant.system, workload, *variant); !right.ok()) {
    return entrant.fail(right.error()), entrant;
  }
  entrant.running = true;
  return entrant;
}

void finish(Entrant& entrant, const Workload& workload) {
  if (entrant.running) {
    std::vector<double>& seconds = entrant.seconds;
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2];
    entrant.row.state = State::measured;
    entrant.row.value = workload.work / median;
    entrant.row.spread = (seconds.back() - seconds.front()) / median;
    entrant.row.runs = static_cast<int>(seconds.size());
    entrant.row.remark = entrant.system->remark();
  }
  if (entrant.system) entrant.system->release();
}

/// All systems on one workload, taking turns, so that a disturbance of the machine meets all alike.
std::vector<Row> measure(const std::vector<Candidate>& candidates, Workload& workload, int runs) {
  std::vector<Entrant> entrants;
  for (const Candidate& candidate : candidates) {
    fmt::print(stderr, "\r{:<60}", fmt::format("{} on {} ...", workload.name, candidate.name));
    entrants.push_back(enter(candidate, workload));
  }
  for (int run = 0; run < runs; ++run) {
    for (Entrant& entrant : entrants) {
      if (!entrant.running) continue;
      let_threads_sleep();
      Result<double> seconds = timed_run(*entrant.system, workload);
      if (seconds.ok()) {
        entrant.seconds.push_back(*seconds);
      } else {
        entrant.fail(seconds.error());
      }
    }
  }
  std::vector<Row> rows;
  for (Entrant& entrant : entrants) {
    finish(entrant, workload);
    rows.push_back(std::move(entrant.row));
  }
  return rows;
}

std::string machine_description() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

std::vector<Candidate> open_systems(const std::string& wanted) {
  const std::pair<const char*, std::function<Result<std::unique_ptr<System>>()>> makers[] = {
      {"raddle-jit", make_raddle_system},
      {"raddle-windowed", make_windowed_system},
      {"pocl", make_pocl_system},
      {"openmp", make_openmp_system}};
  std::vector<Candidate> candidates;
  for (const auto& [name, make] : makers) {
    if (!listed(wanted, name)) continue;
    Result<std::unique_ptr<System>> made = make();
    if (made.ok()) {
      candidates.push_back({name, std::move(*made), ""});
    } else {
      candidates.push_back({name, nullptr, made.error().to_string()});
    }
  }
  return candidates;
}

Row prototype_row(const Workload& workload, const Limits& limits) {
  Row row{std::string(workload.name), kPrototypeName, std::string(workload.unit), workload.headline};
  row.state = State::estimated;
  row.value = prototype_estimate(workload.kernel, limits);
  row.remark = kPrototypeRemark;
  return row;
}

Result<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (argument == "--quick") {
      options.quick = true;
      options.runs = std::min(options.runs, 5);
    } else if (argument == "--json") {
      options.json = value();
    } else if (argument == "--systems") {
      options.systems = value();
    } else if (argument == "--kernels") {
      options.kernels = value();
    } else if (argument == "--runs") {
      options.runs = std::atoi(value().c_str());
    } else if (argument == "--cores") {
      core_count() = static_cast<unsigned>(std::max(1, std::atoi(value().c_str())));
    } else {
      return Error::invalid(
          "unknown option {}; options: --quick --json FILE --systems raddle-jit,raddle-windowed,pocl,openmp "
          "--kernels NAME,... --runs N --cores N",
          argument);
    }
  }
  if (options.runs < 1) return Error::invalid("--runs wants a number above 0");
  return options;
}

int run(const Options& options) {
  Report report;
  report.machine = machine_description();
  if (const char* commit = std::getenv("RADDLE_COMMIT")) report.commit = commit;
  report.cores = core_count();
  report.quick = options.quick;
  std::vector<Candidate> candidates = open_systems(options.systems);
  for (const Candidate& candidate : candidates) report.systems.push_back(candidate.name);
  const MachineLoad load;
  if (listed(options.systems, "raddle-jit")) report.systems.push_back(kPrototypeName);
  report.limits = measure_limits(options.quick);
  for (const Kernel kernel : all_kernels()) {
    if (!options.kernels.empty() && !listed(options.kernels, kernel_name(kernel))) continue;
    const std::unique_ptr<Workload> workload = make_workload(kernel, options.quick);
    for (Row& row : measure(candidates, *workload, options.runs)) report.rows.push_back(std::move(row));
    if (listed(options.systems, "raddle-jit")) report.rows.push_back(prototype_row(*workload, report.limits));
  }
  fmt::print(stderr, "\r{:<60}\r", "");
  report.other_cores = load.other_cores();
  report.print();
  if (!options.json.empty()) {
    if (raddle::Result<void> written = report.write_json(options.json); !written.ok()) {
      fmt::print(stderr, "bench_kernels: {}\n", written.error().to_string());
      return 2;
    }
  }
  return report.any_wrong() ? 1 : 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Result<bench::Options> options = bench::parse(argc, argv);
  if (!options.ok()) {
    fmt::print(stderr, "bench_kernels: {}\n", options.error().message);
    return 2;
  }
  return bench::run(*options);
}
