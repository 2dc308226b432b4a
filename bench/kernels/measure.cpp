#include "measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace bench {
namespace {

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

/// Prepares the variant whose better of two runs is fastest; every variant's result is checked.
Result<void> choose_variant(System& system, Workload& workload) {
  const std::vector<std::string> variants = system.variants();
  if (variants.size() == 1) return prepare_and_verify(system, workload, variants.front());
  std::string best;
  double best_seconds = 0;
  for (const std::string& variant : variants) {
    if (Result<void> right = prepare_and_verify(system, workload, variant); !right.ok()) {
      return Error::make(right.error().code, "{}: {}", variant, right.error().message);
    }
    for (int i = 0; i < 2; ++i) {
      Result<double> seconds = timed_run(system, workload);
      if (!seconds.ok()) return seconds.error();
      if (best.empty() || *seconds < best_seconds) best_seconds = *seconds, best = variant;
    }
  }
  return prepare_and_verify(system, workload, best);
}

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
  Entrant entrant{candidate.system.get(), row_of(workload, candidate.name), {}};
  if (!candidate.system) {
    entrant.row.remark = candidate.missing;
    return entrant;
  }
  if (std::string reason = entrant.system->why_not(workload.kernel); !reason.empty()) {
    entrant.row.state = State::none;
    entrant.row.remark = std::move(reason);
    return entrant;
  }
  let_threads_sleep();
  if (Result<void> chosen = choose_variant(*entrant.system, workload); !chosen.ok()) {
    entrant.fail(chosen.error());
  } else {
    entrant.running = true;
  }
  return entrant;
}

void finish(Entrant& entrant, const Workload& workload) {
  if (entrant.running) {
    std::vector<double>& seconds = entrant.seconds;
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2];
    entrant.row.state = State::measured;
    entrant.row.value = workload.work.amount / median;
    entrant.row.spread = (seconds.back() - seconds.front()) / median;
    entrant.row.runs = static_cast<int>(seconds.size());
    entrant.row.remark = entrant.system->remark();
  }
  if (entrant.system) entrant.system->release();
}

}  // namespace

std::vector<Candidate> open_systems(const std::vector<std::string>& names) {
  std::vector<Candidate> candidates;
  for (const std::string& name : names) {
    Result<std::unique_ptr<System>> made = make_system(name);
    if (made.ok()) {
      candidates.push_back({name, std::move(*made), ""});
    } else {
      candidates.push_back({name, nullptr, made.error().to_string()});
    }
  }
  return candidates;
}

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

}  // namespace bench
