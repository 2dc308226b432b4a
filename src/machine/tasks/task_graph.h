// Tasks whose order is known before they run, as one piece of work (GraphWork): they are there before its
// start, and run again at each, so that a start takes no memory. What chooses while it runs which of its
// parts run is a conditional.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "machine/tasks/task_scheduler.h"

namespace raddle::machine {

/// A value that kernels set and that conditionals read (CUDA's conditional handle).
struct Condition {
  std::atomic<std::uint32_t> value{0};
};

class TaskGraph {
 public:
  struct Node {
    std::shared_ptr<Task> task;  ///< with its work and priority, of TaskScheduler::share
    std::vector<std::uint32_t> after, after_trigger, after_begin = {};  ///< indices; as of a Submission
  };
  /// A condition that has this value whenever the graph starts.
  struct Start {
    std::shared_ptr<Condition> condition;
    std::uint32_t value = 0;
  };
  /// The nodes form no cycle. @param number  by which its kernels name it; 0: they cannot
  explicit TaskGraph(std::span<const Node> nodes, std::vector<Start> starts = {}, std::uint64_t number = 0);

  std::uint64_t number() const { return number_; }
  /// A kernel launches it: once at a time, for its tasks are there once. @returns false: it has been launched
  /// before
  bool claim() { return !is_claimed_.exchange(true, std::memory_order_acq_rel); }
  void release() { is_claimed_.store(false, std::memory_order_release); }

  std::span<const std::shared_ptr<Task>> tasks() const { return tasks_; }
  std::span<const TaskScheduler::Submission> batch() const { return batch_; }
  void set_conditions() const {
    for (const Start& start : starts_) start.condition->value.store(start.value, std::memory_order_release);
  }

 private:
  std::vector<std::shared_ptr<Task>> tasks_;
  std::vector<Task*> before_;  // what the nodes wait for, one after the other: spans of `batch_`
  std::vector<TaskScheduler::Submission> batch_;
  std::vector<Start> starts_;
  const std::uint64_t number_;
  std::atomic<bool> is_claimed_{false};
};

/// Graphs of which a value chooses one when its turn comes.
struct Conditional {
  enum class Kind : std::uint8_t {
    once,      ///< the first if the value is not 0; else the second, if there is one
    repeated,  ///< the first, again and again, as long as the value is not 0
    selected,  ///< that of the value's number, if there is one
  };
  Kind kind = Kind::once;
  std::shared_ptr<const Condition> condition;
  std::vector<std::shared_ptr<TaskGraph>> bodies;

  /// Null: none runs.
  std::shared_ptr<TaskGraph> chosen() const;
};

}  // namespace raddle::machine
