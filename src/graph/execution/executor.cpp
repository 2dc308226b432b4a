#include "raddle/graph/executor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "graph/cuda/gpu_backend.h"
#include "graph/execution/device_backend.h"
#include "graph/execution/storage.h"
#include "graph/feedback/estimate.h"
#include "graph/feedback/score.h"

namespace raddle::graph {

struct Executor::Impl {
  ExecutorOptions options;
  Target target;
  History history;
  std::uint64_t saved_changes = 0;
  Scheduler scheduler;
  std::unique_ptr<Backend> backend;
  Storage storage;

  Impl(ExecutorOptions how, Target what, std::unique_ptr<Backend> where)
      : options(std::move(how)),
        target(std::move(what)),
        scheduler(target, options.scheduler, &history),
        backend(std::move(where)),
        storage(backend->memory()) {}
  ~Impl() {
    if (!options.history.empty() && history.changes() != saved_changes) (void)history.save(options.history);
  }

  static Result<Executor> make(ExecutorOptions options, Target target, std::unique_ptr<Backend> backend) {
    auto impl = std::make_unique<Impl>(std::move(options), std::move(target), std::move(backend));
    const std::string& file = impl->options.history;
    if (!file.empty() && ::access(file.c_str(), F_OK) == 0) TRY(impl->history.load(file));
    impl->saved_changes = impl->history.changes();
    return Executor(std::move(impl));
  }

  /// On the thread that calls, or as a task of the device.
  Result<void> on_side(Side side, const std::function<Result<void>()>& function) {
    if (side == Side::host) return function();
    Result<void> result;
    TRY(backend->call([&] { result = function(); }));
    return result;
  }

  Result<RunReport> run(const Graph& graph) {
    std::shared_ptr<const Schedule> schedule;
    TRY(on_side(options.sides.scheduler, [&] { return make_schedule(graph, schedule); }));
    return run(std::move(schedule));
  }

  Result<void> make_schedule(const Graph& graph, std::shared_ptr<const Schedule>& schedule) {
    scheduler.set_memory(free_memory());
    TRY_ASSIGN(schedule, scheduler.schedule(graph));
    return {};
  }

  /// What the device has left now, and what it has given for transient resources already.
  std::uint64_t free_memory() const {
    return std::min(target.memory_bytes, backend->memory().free_bytes() + storage.transient_bytes());
  }

  Result<RunReport> run(const GraphProgram& program) {
    const Sides& sides = options.sides;
    if (sides.as_one && sides.program != sides.scheduler)
      return Error::invalid("program and scheduler are one unit only on one side");
    Graph graph;
    std::shared_ptr<const Schedule> schedule;
    if (sides.as_one) {
      TRY(on_side(sides.program, [&]() -> Result<void> {
        TRY(program(graph));
        return make_schedule(graph, schedule);
      }));
    } else {
      TRY(on_side(sides.program, [&] { return program(graph); }));
      TRY(on_side(sides.scheduler, [&] { return make_schedule(graph, schedule); }));
    }
    Result<RunReport> report = run(schedule);
    if (report.ok()) keep_graph(*report, std::move(graph));
    return report;
  }

  /// The report's schedule may name a graph that goes.
  static void keep_graph(RunReport& report, Graph graph) {
    auto kept = std::make_shared<Schedule>(*report.schedule);
    if (kept->graph.use_count() == 0) kept->graph = std::make_shared<const Graph>(std::move(graph));
    report.schedule = std::move(kept);
  }

  Result<RunReport> run(std::shared_ptr<const Schedule> schedule) {
    TRY_ASSIGN(std::vector<DevicePtr> addresses, storage.addresses(*schedule));
    TRY_ASSIGN(const std::vector<MeasuredTimes> measured, backend->run(schedule, std::move(addresses)));
    storage.turn(*schedule->graph);
    return measure(measured, std::move(schedule));
  }

  RunReport measure(const std::vector<MeasuredTimes>& measured, std::shared_ptr<const Schedule> schedule) {
    RunReport report;
    for (const MeasuredTimes& times : measured) report.times.push_back({times.begin, times.end});
    const Graph& graph = *schedule->graph;
    for (std::size_t i = 0; i < report.times.size(); ++i) {
      const Node& node = schedule->nodes[i];
      const PassInfo& pass = graph.passes()[node.pass];
      const double nanoseconds = report.times[i].end - report.times[i].begin;
      if (node.kind != NodeKind::pass || pass.commands.empty() || nanoseconds <= 0) continue;
      const std::uint64_t key = History::key(graph, pass);
      history.record(key, history.find(key) ? std::string() : History::describe(graph, pass),
                     {nanoseconds, measured[i].occupancy,
                      static_cast<double>(accessed_bytes(graph, pass)) / nanoseconds});
    }
    report.score = score_of(*schedule, report.times);
    history.record(report.score);
    report.schedule = std::move(schedule);
    return report;
  }
};

Executor::Executor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;

Result<Executor> Executor::open(Device& device, ExecutorOptions options) {
  TRY_ASSIGN(Target target, Target::of(device, options.target));
  TRY_ASSIGN(std::unique_ptr<Backend> backend, make_device_backend(device));
  return Impl::make(std::move(options), std::move(target), std::move(backend));
}

Result<Executor> Executor::open_gpu(ExecutorOptions options, const std::string& driver) {
  options.target = Target::Kind::gpu;
  TRY_ASSIGN(std::unique_ptr<cuda::GpuBackend> backend, cuda::GpuBackend::open(driver));
  Target target = backend->target();
  return Impl::make(std::move(options), std::move(target), std::move(backend));
}

void Executor::bind(const std::string& name, DevicePtr address) { impl_->storage.bind(name, address); }
Result<DevicePtr> Executor::provide(const std::string& name, std::uint64_t bytes) {
  return impl_->storage.provide(name, bytes);
}

namespace {
Result<DevicePtr> part_of(const Storage& storage, const std::string& name, std::uint64_t begin,
                          std::uint64_t bytes) {
  TRY_ASSIGN(const Storage::Place place, storage.find(name));
  if (place.bytes != 0 && (begin > place.bytes || bytes > place.bytes - begin))
    return Error::invalid("bytes {} to {} of '{}', which has {}", begin, begin + bytes, name, place.bytes);
  return place.address + begin;
}
}  // namespace

Result<void> Executor::read(const std::string& name, std::uint64_t begin, void* to, std::uint64_t bytes) {
  TRY_ASSIGN(const DevicePtr from, part_of(impl_->storage, name, begin, bytes));
  return impl_->backend->memory().read(to, from, bytes);
}

Result<void> Executor::write(const std::string& name, std::uint64_t begin, const void* from,
                             std::uint64_t bytes) {
  TRY_ASSIGN(const DevicePtr to, part_of(impl_->storage, name, begin, bytes));
  return impl_->backend->memory().write(to, from, bytes);
}

Result<RunReport> Executor::run(const Graph& graph) { return impl_->run(graph); }
Result<RunReport> Executor::run(const GraphProgram& program) { return impl_->run(program); }
Result<std::shared_ptr<const Schedule>> Executor::schedule(const Graph& graph) {
  return impl_->scheduler.schedule(graph);
}
const Target& Executor::target() const { return impl_->target; }
const History& Executor::history() const { return impl_->history; }
std::uint64_t Executor::plans() const { return impl_->backend->plans(); }
Result<void> Executor::save_history() const {
  if (impl_->options.history.empty()) return Error::invalid("no file for the history was named");
  return impl_->history.save(impl_->options.history);
}

}  // namespace raddle::graph
