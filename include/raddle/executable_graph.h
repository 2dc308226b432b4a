// Work of a device whose order is known before it runs: made once, launched any number of times, without
// taking memory then. CUDA's executable graphs are these, and what the command scheduler makes of a task
// graph.
//
//   raddle::ExecutableGraph graph(device);
//   auto fill = graph.add_launch(first, {.grid = {4}, .block = {256}}, {data}).value();
//   auto sum = graph.add_launch(second, {.grid = {1}, .block = {256}}, {data, result}, {{fill}}).value();
//   graph.launch(device.default_stream());
//
// What is added or changed counts for the launches that follow, not for those that were given already.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "raddle/raddle.h"

namespace raddle {

/// A value that conditional nodes look at and that kernels set (CUDA's conditional handle). Copies name the
/// same one.
class Condition {
 public:
  explicit Condition(Device& device);
  /// By which kernels of the device set it: cudaGraphSetConditional.
  std::uint64_t handle() const;
  void set(std::uint32_t value);
  std::uint32_t value() const;

  struct Impl;

 private:
  friend class ExecutableGraph;
  std::shared_ptr<Impl> impl_;
};

class ExecutableGraph {
 public:
  using Node = std::uint32_t;  ///< in the order in which they were added
  /// What a node waits for.
  struct Dependency {
    enum class Until : std::uint8_t {
      end,  ///< that node is complete
      trigger,  ///< it lets dependent launches begin (griddepcontrol.launch_dependents); its end comes before the node's
      begin,  ///< all its blocks have begun (LaunchConfig::tells_begin)
    };
    Node node = 0;
    Until until = Until::end;
  };
  using After = std::span<const Dependency>;

  explicit ExecutableGraph(Device& device);
  /// A launch that goes on is finished; nothing waits for it here.
  ~ExecutableGraph();
  ExecutableGraph(ExecutableGraph&&) noexcept;
  ExecutableGraph& operator=(ExecutableGraph&&) noexcept;

  // Nodes. Each comes after nodes that were added before it. @errors invalid: it names others
  /// `stream` and `begins_early` of the configuration count for nothing. @errors as Kernel::launch
  Result<Node> add_launch(const Kernel& kernel, const LaunchConfig& config,
                          std::span<const Argument> arguments, After after = {});
  /// @errors invalid: the memory is not there; likewise below
  Result<Node> add_copy(const BoxCopy& copy, After after = {});
  Result<Node> add_fill(const RowFill& fill, After after = {});
  /// Called from the device's callback thread.
  Result<Node> add_call(std::function<void()> function, After after = {});
  Result<Node> add_wait(const WordCondition& condition, After after = {});
  Result<Node> add_empty(After after = {});
  enum class Choice : std::uint8_t {
    once,      ///< the first body if the value is not 0, else the second if there is one
    repeated,  ///< the first body as long as the value is not 0
    selected,  ///< the body of the value's number, if there is one
  };
  /// Graphs of which the value chooses one when the node's turn comes. @errors invalid: a body of another
  /// device; unsupported: a device that a server runs
  Result<Node> add_conditional(Choice choice, const Condition& condition, std::vector<ExecutableGraph> bodies,
                               After after = {});
  /// A condition has this value whenever this graph starts.
  void start_with(const Condition& condition, std::uint32_t value);

  std::size_t size() const;  ///< nodes
  /// Of a conditional node, to change its nodes. Whatever it is the body of has to be launched, not it.
  ExecutableGraph& body(Node conditional, std::size_t index);

  // Changes of nodes of the same kind. @errors as of those that add them; the node stays as it was then
  Result<void> set_launch(Node node, const Kernel& kernel, const LaunchConfig& config,
                          std::span<const Argument> arguments);
  Result<void> set_copy(Node node, const BoxCopy& copy);
  Result<void> set_fill(Node node, const RowFill& fill);
  Result<void> set_call(Node node, std::function<void()> function);
  Result<void> set_wait(Node node, const WordCondition& condition);
  /// A node that is not enabled does nothing, in its place in the order. Nodes are enabled when they are
  /// added.
  void set_enabled(Node node, bool enabled);
  bool is_enabled(Node node) const;

  /// In one launch alone, a node comes after an event of the device too.
  struct Wait {
    Node node = 0;
    Event event;
  };
  /// Starts it behind what is in the stream, and behind its own launch before. Returns at once.
  /// @param points  nodes whose end is wanted as an event; of this graph itself
  /// @returns these events. @errors invalid: memory that a copy or fill names is not there any more;
  /// kernel_fault: sticky
  Result<std::vector<Event>> launch(Stream& stream, std::span<const Node> points = {},
                                    std::span<const Wait> waits = {});
  /// Takes what memory launches need, now instead of at the first one.
  void prepare();
  /// Kernels that run in graphs of the device may launch it by this number (cudaGraphLaunch), as it was when
  /// it was last prepared or launched. @errors unsupported: a device that a server runs
  Result<void> let_kernels_launch(std::uint64_t number);

  /// Of a node in the last launch, once that is over, in nanoseconds of the steady clock; 0: unknown. A
  /// launch begins with its first block; other work has no known begin.
  struct Times {
    std::uint64_t begin_ns = 0, end_ns = 0;
    /// Of a launch: the most of its blocks that were on SMs at once, as a part of those that fit the machine
    /// alone. 0: unknown.
    double occupancy = 0;
  };
  Times times(Node node) const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace raddle
