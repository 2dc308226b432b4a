// `raddle graph run` and `raddle graph show`: task graphs of a program in Lua.
#include "raddle/graph.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/launch.h"
#include "cli/machine_options.h"

namespace raddle::cli {
namespace {

Result<std::map<std::string, std::string>> parameters_of(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> parameters;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error::invalid("--param {}: NAME=VALUE is wanted", text);
    parameters[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return parameters;
}

void print_report(const std::vector<graph::RunReport>& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const graph::RunReport& run = runs[i];
    const graph::Schedule& schedule = *run.schedule;
    fmt::print(stderr,
               "raddle: graph {}: {} passes on {}, policy {}: estimated {}, measured {}, one by one {}; peak "
               "{} of {} bytes\n",
               i + 1, schedule.nodes.size(), schedule.target, schedule.policy,
               time_text(schedule.nanoseconds * 1e-9), time_text(run.score.nanoseconds * 1e-9),
               time_text(run.score.serial * 1e-9), schedule.peak_bytes, schedule.plain_bytes);
  }
}

Result<int> run_graph(const GraphOptions& options, std::string& text) {
  TRY_ASSIGN(text, read_file(options.file));
  graph::LuaOptions lua;
  TRY_ASSIGN(lua.parameters, parameters_of(options.parameters));
  lua.directory = std::filesystem::path(options.file).parent_path().string();
  lua.most_instructions = options.most_instructions;
  lua.dry = options.dry;
  graph::ExecutorOptions how{.history = options.history};
  TRY_ASSIGN(how.target, of_option("--target", graph::Target::parse(options.target)));
  how.scheduler.policy = options.policy;
  how.scheduler.seed = options.seed;
  how.scheduler.memory_limit = options.memory_limit;
  how.scheduler.working_set = options.working_set;
  MachineOptions machine = options.machine;
  if (how.target == graph::Target::Kind::host) machine.shape = "host";
  TRY_ASSIGN(DeviceOptions wanted, device_options(machine));
  const bool on_gpu = how.target == graph::Target::Kind::gpu;
  std::optional<Device> device;
  if (!on_gpu) {
    TRY_ASSIGN(device, Device::open(wanted));
  }
  TRY_ASSIGN(graph::Executor executor,
             on_gpu ? graph::Executor::open_gpu(how) : graph::Executor::open(*device, how));
  TRY_ASSIGN(const graph::LuaReport report, graph::run_lua(executor, text, options.file, lua));
  if (options.report) print_report(report.runs);
  if (!options.page.empty()) {
    TRY(write_file(options.page, graph::page_of(report.runs, options.file)));
    fmt::print(stderr, "raddle: {}: {} graphs\n", options.page, report.runs.size());
  }
  if (!options.dot.empty() && !report.runs.empty())
    TRY(write_file(options.dot, graph::graphviz(*report.runs.back().schedule)));
  if (!options.history.empty()) TRY(executor.save_history());
  return kSuccess;
}

}  // namespace

int graph(const GraphOptions& options) {
  std::string text;
  const Result<int> status = run_graph(options, text);
  return status ? *status : report(status.error(), text);
}

}  // namespace raddle::cli
