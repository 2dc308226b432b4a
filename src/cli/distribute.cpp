// `raddle distribute`: policies side by side on one load, and views of their decisions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/machine_options.h"
#include "distribute/example.h"
#include "distribute/history.h"
#include "distribute/load.h"
#include "distribute/report.h"
#include "distribute/simulation.h"
#include "distribute/views.h"
#include "machine/shape/shape_file.h"

namespace raddle::cli {
namespace {

using distribute::History;
using distribute::Outcome;

std::vector<std::string> wanted_policies(const std::string& text) {
  return text == "all" ? machine::policy_names() : parts_of(text);
}

/// The policies, or the placements, that stand side by side.
Result<std::vector<distribute::SimulationOptions>> wanted_runs(const DistributeOptions& options) {
  distribute::SimulationOptions common{.rasterise = options.rasterise, .tick = options.tick};
  TRY_ASSIGN(common.distributor, distributor_options(options.distributor));
  std::vector<distribute::SimulationOptions> runs;
  for (const std::string& policy : wanted_policies(options.policies)) {
    runs.push_back(common);
    runs.back().policy = policy;
  }
  if (options.placements.empty()) return runs;
  runs.clear();
  for (const std::string& placement : parts_of(options.placements)) {
    runs.push_back(common);
    TRY_ASSIGN(runs.back().placement, of_option("--placement", machine::find_placement(placement)));
  }
  return runs;
}

bool wants_history(const DistributeOptions& options) {
  return !options.decisions.empty() || !options.timeline.empty() || !options.html.empty();
}

Result<void> show(const DistributeOptions& options, const std::vector<History>& histories,
                  const std::string& title) {
  if (options.decisions == "table") {
    for (const History& history : histories) fmt::print("{}\n", distribute::decision_table(history));
  } else if (!options.decisions.empty()) {
    std::string text;
    for (const History& history : histories) text += distribute::history_text(history);
    TRY(write_file(options.decisions, text));
  }
  if (!options.timeline.empty()) TRY(write_file(options.timeline, distribute::timeline_text(histories)));
  if (!options.html.empty()) TRY(write_file(options.html, distribute::page_text(histories, title)));
  for (const History& history : histories)
    if (history.left_out != 0)
      fmt::print(stderr, "raddle: {}: {} of {} decisions are shown (--most-steps)\n", history.policy,
                 history.steps.size(), history.steps.size() + history.left_out);
  return {};
}

/// @returns the exit status
int print_outcomes(const DistributeOptions& options, const std::vector<Outcome>& outcomes,
                   const std::string& unit) {
  fmt::print("{}", options.json ? distribute::report_json(outcomes, unit)
                                : distribute::report_table(outcomes, unit));
  int status = kSuccess;
  for (const Outcome& outcome : outcomes) {
    fmt::print(stderr, "raddle: {}: {:.2f} million CTAs per second\n", outcome.policy,
               static_cast<double>(outcome.ctas) / std::max(outcome.seconds, 1e-9) / 1e6);
    if (outcome.stuck_grids == 0) continue;
    fmt::print(stderr, "raddle: {}: {} grids have clusters that this machine never holds: {}{}\n",
               outcome.policy, outcome.stuck_grids, fmt::join(outcome.stuck, ", "),
               outcome.stuck.size() < outcome.stuck_grids ? ", ..." : "");
    status = kInvalid;
  }
  return status;
}

Result<int> run_load(const DistributeOptions& options) {
  TRY_ASSIGN(const machine::MachineShape shape, machine::find_shape(options.shape));
  TRY_ASSIGN(std::vector<distribute::SimulationOptions> runs, wanted_runs(options));
  TRY_ASSIGN(const std::string text, read_file(options.trace));
  TRY_ASSIGN(const distribute::Load load, distribute::parse_load(text, options.trace));
  std::vector<Outcome> outcomes;
  std::vector<History> histories;
  for (distribute::SimulationOptions& run : runs) {
    History history;
    history.layout = distribute::layout_of(shape);
    history.unit = load.unit;
    history.limit = options.most_steps;
    history.all_refusals = options.all_refusals;
    const bool keep = wants_history(options);
    if (keep) run.log = &history;
    TRY_ASSIGN(Outcome outcome, distribute::simulate(shape, load, run));
    history.policy = outcome.policy;
    outcomes.push_back(std::move(outcome));
    if (keep) histories.push_back(std::move(history));
  }
  TRY(show(options, histories, options.trace));
  return print_outcomes(options, outcomes, load.unit);
}

Result<int> show_example(const DistributeOptions& options) {
  std::vector<History> histories;
  for (const std::string& policy : wanted_policies(options.policies)) {
    TRY_ASSIGN(History history, distribute::example_history(options.example, policy));
    histories.push_back(std::move(history));
  }
  DistributeOptions wanted = options;
  if (!wants_history(options)) wanted.decisions = "table";
  TRY(show(wanted, histories, "Worked example: " + options.example));
  return kSuccess;
}

Result<int> show_recorded(const DistributeOptions& options) {
  TRY_ASSIGN(const std::string text, read_file(options.show));
  TRY_ASSIGN(std::vector<History> histories, distribute::parse_histories(text, options.show));
  for (History& history : histories) {
    if (history.steps.size() <= options.most_steps) continue;
    history.left_out = history.steps.size() - options.most_steps;
    history.steps.resize(options.most_steps);
  }
  DistributeOptions wanted = options;
  if (!wants_history(options)) wanted.decisions = "table";
  TRY(show(wanted, histories, options.show));
  return kSuccess;
}

}  // namespace

int distribute(const DistributeOptions& options) {
  const Result<int> status = !options.example.empty() ? show_example(options)
                             : options.show.empty()   ? run_load(options)
                                                      : show_recorded(options);
  return status ? *status : report(status.error());
}

}  // namespace raddle::cli
