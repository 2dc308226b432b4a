// Runs graphs on a device, or on a real GPU: schedules them, places their memory, measures, and remembers.
#pragma once

#include <memory>
#include <string>

#include "raddle/graph/program.h"
#include "raddle/graph/scheduler.h"

namespace raddle::graph {

struct ExecutorOptions {
  SchedulerOptions scheduler;
  Target::Kind target = Target::Kind::device;
  Sides sides;
  std::string history;  ///< a file in which measurements are kept between processes; empty: none
};

/// When a node of the schedule ran, in nanoseconds from the first begin of the run.
struct NodeTimes {
  double begin = 0, end = 0;
};

struct RunReport {
  std::shared_ptr<const Schedule> schedule;
  std::vector<NodeTimes> times;  ///< by node of the schedule
  RunScore score;
};

/// For one thread at a time.
class Executor {
 public:
  /// @param device  outlives the executor
  /// @errors as Target::of; of the history's file: invalid (that it is not there is none)
  static Result<Executor> open(Device& device, ExecutorOptions options = {});
  /// On the first GPU of this machine, by its driver. Draws, bodies, textures and surfaces are refused, and
  /// all that stands on the device's side; launches are not split.
  /// @param driver  its library; empty: RADDLE_GPU_DRIVER, or where distributions put NVIDIA's
  /// @errors not_found: no driver, or no GPU; of the history's file, likewise
  static Result<Executor> open_gpu(ExecutorOptions options = {}, const std::string& driver = "");
  ~Executor();
  Executor(Executor&&) noexcept;

  /// The memory of a graph's bound resource, by name. @errors invalid, at run(): less memory than the
  /// resource has
  void bind(const std::string& name, DevicePtr address);
  /// Memory of the executor's, all zero at first, for a bound resource; kept until the executor goes.
  /// @errors invalid: known with another size; out_of_memory
  Result<DevicePtr> provide(const std::string& name, std::uint64_t bytes);
  /// Into a bound resource, before the next run. @errors as read()
  Result<void> write(const std::string& name, std::uint64_t begin, const void* from, std::uint64_t bytes);
  /// Of a bound resource, or of the last value of a temporal one: bytes from `begin` on. After all runs so
  /// far (G-3e). @errors not_found; invalid: beyond its end
  Result<void> read(const std::string& name, std::uint64_t begin, void* to, std::uint64_t bytes);

  /// Waits for the end. @errors as Scheduler::schedule; not_found: a bound resource without memory;
  /// kernel_fault; what a body answers
  Result<RunReport> run(const Graph& graph);
  /// Runs the program on its side, then the graph that it made.
  Result<RunReport> run(const GraphProgram& program);
  /// The schedule alone. The graph must outlive it.
  Result<std::shared_ptr<const Schedule>> schedule(const Graph& graph);

  const Target& target() const;
  const History& history() const;
  /// Plans of work that were made so far: runs of equal graphs need no new one.
  std::uint64_t plans() const;
  Result<void> save_history() const;  ///< now, instead of at the end. @errors io

  struct Impl;

 private:
  explicit Executor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace raddle::graph
