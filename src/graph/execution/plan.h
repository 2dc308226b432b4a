// A schedule as work of a device: an executable graph, made once and launched for each run.
#pragma once

#include <atomic>
#include <mutex>

#include "graph/execution/backend.h"
#include "graph/execution/recorders.h"

namespace raddle::graph {

class Plan {
 public:
  /// @param keep  the graph, as long as the plan is
  /// @errors of commands: with the program's line
  static Result<std::unique_ptr<Plan>> make(Device& device, Modules& modules, Stream& bodies,
                                            std::shared_ptr<const Schedule> schedule,
                                            std::vector<DevicePtr> addresses);
  /// The same work for another graph of the same structure: kernels, arguments and addresses change, and no
  /// memory is taken. @returns false: its work is of other kinds; the plan is then of no more use
  bool update(std::shared_ptr<const Schedule> schedule, std::vector<DevicePtr> addresses);
  /// Runs it and waits. @errors kernel_fault; what a body answered
  Result<void> run(Stream& stream);
  /// Of each node of the schedule in the last run.
  std::vector<MeasuredTimes> times() const;

  const Schedule& schedule() const { return *schedule_; }
  const std::vector<DevicePtr>& addresses() const { return addresses_; }

 private:
  Plan(Device& device, Modules& modules, Stream& bodies, std::shared_ptr<const Schedule> schedule,
       std::vector<DevicePtr> addresses);
  using Dependencies = std::vector<ExecutableGraph::Dependency>;

  Result<void> add(std::uint32_t node);
  Result<Dependencies> dependencies(std::uint32_t node);
  Result<void> add_pass(PlanRecorder& recorder, const PassInfo& pass);
  // One for each kind of command.
  Result<void> add(PlanRecorder& recorder, const Dispatch& dispatch, const PassInfo& pass);
  Result<void> add(PlanRecorder& recorder, const Draw& draw, const PassInfo& pass);
  Result<void> add(PlanRecorder& recorder, const Copy& copy, const PassInfo& pass);
  Result<void> add(PlanRecorder& recorder, const Clear& clear, const PassInfo& pass);
  Result<void> add(PlanRecorder& recorder, const Fill& command, const PassInfo& pass);
  Result<void> add(PlanRecorder& recorder, const LayoutChange& change, const PassInfo& pass);
  Result<void> add(PlanRecorder& recorder, const CacheAction& action, const PassInfo& pass);
  Result<void> add(PlanRecorder& recorder, const Synchronise& point, const PassInfo& pass);
  Result<void> add(PlanRecorder& recorder, const Call& call, const PassInfo& pass);
  Result<void> add(PlanRecorder& recorder, const Body& body, const PassInfo& pass);
  Result<void> add(PlanRecorder& recorder, const SubGraph& graph, const PassInfo& pass);
  Result<void> fill(PlanRecorder& recorder, const View& view, std::uint64_t word, unsigned word_bytes);
  Result<void> prefetch(PlanRecorder& recorder, const View& view);
  void fail(Error error);

  std::shared_ptr<const Schedule> schedule_;
  std::vector<DevicePtr> addresses_;
  Images images_;
  RunContext context_;
  Stream& bodies_;
  ExecutableGraph work_;
  std::vector<Dependencies> waits_;               // by node of the schedule: what its first piece waits for
  std::vector<std::vector<std::uint32_t>> made_;  // likewise: its pieces of work
  std::vector<bool> is_mark_;                     // likewise: it has none, and a mark stands for it
  std::map<std::vector<std::uint32_t>, std::uint32_t> barriers_;  // for several nodes that wait for the same
  std::map<std::vector<std::uint32_t>, std::uint32_t> waiters_;   // how many do
  std::mutex mutex_;
  std::optional<Error> error_;  // of the run
};

}  // namespace raddle::graph
