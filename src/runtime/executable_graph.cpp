// Executable graphs: nodes with a task each, which run again at every launch. A launch holds the graph as it
// was when it was given; a change makes new tasks for what has changed, and the rest goes on being shared.
#include "raddle/executable_graph.h"

#include <algorithm>

#include "machine/tasks/task_graph.h"
#include "runtime/device_impl.h"

namespace raddle {

using machine::Task;
using machine::TaskGraph;

struct Condition::Impl {
  explicit Impl(Device::Impl& device)
      : condition(std::make_shared<machine::Condition>()),
        number(device.space->conditions().add(condition)) {}
  const std::shared_ptr<machine::Condition> condition;
  const std::uint64_t number;
};

Condition::Condition(Device& device) : impl_(std::make_shared<Impl>(Device::Impl::of(device))) {}
std::uint64_t Condition::handle() const { return impl_->number; }
void Condition::set(std::uint32_t value) { impl_->condition->value = value; }
std::uint32_t Condition::value() const { return impl_->condition->value; }

namespace {

/// Of a conditional node.
struct Choices {
  ExecutableGraph::Choice choice;
  std::shared_ptr<machine::Condition> condition;
  std::vector<ExecutableGraph> bodies;
};

struct NodeState {
  TaskGraph::Node node;
  bool is_enabled = true;
  std::unique_ptr<Choices> choices = nullptr;
};

machine::Conditional::Kind kind_of(ExecutableGraph::Choice choice) {
  switch (choice) {
    case ExecutableGraph::Choice::once:
      return machine::Conditional::Kind::once;
    case ExecutableGraph::Choice::repeated:
      return machine::Conditional::Kind::repeated;
    case ExecutableGraph::Choice::selected:
      break;
  }
  return machine::Conditional::Kind::selected;
}

/// Memory may have been freed since the node was made.
Result<void> check_memory(const machine::Work& work) {
  if (const auto* copy = std::get_if<machine::CopyWork>(&work); copy != nullptr && !copy->is_empty())
    return machine::check(*copy);
  if (const auto* fill = std::get_if<machine::FillWork>(&work); fill != nullptr && !fill->is_empty())
    return machine::check(*fill);
  return {};
}

}  // namespace

struct ExecutableGraph::Impl {
  explicit Impl(Device::Impl& on) : device(on) {}
  ~Impl() { device.tasks().release(last_launch); }

  Device::Impl& device;
  mutable std::mutex mutex;
  std::vector<NodeState> nodes;
  std::vector<TaskGraph::Start> starts;
  std::shared_ptr<TaskGraph> graph;       // of the nodes as they are; null: it has to be made
  std::uint64_t number = 0;               // by which kernels name it; 0: they cannot
  std::shared_ptr<TaskGraph> of_kernels;  // the same with tasks of its own, for launches by kernels
  Task* last_launch = nullptr;

  Result<Node> add(std::shared_ptr<Task> task, After after, std::unique_ptr<Choices> choices = nullptr);
  std::shared_ptr<Task> task_of(machine::Work work) {
    Task* const task = device.tasks().acquire();
    task->work = std::move(work);
    return device.tasks().share(task);
  }
  Result<std::shared_ptr<Task>> task_of(const Kernel& kernel, const LaunchConfig& config,
                                        std::span<const Argument> arguments);
  Result<void> replace(Node node, std::shared_ptr<Task> task);
  bool has_changed() const;
  std::shared_ptr<TaskGraph> made();
  Result<void> check_memory() const;
};

Result<ExecutableGraph::Node> ExecutableGraph::Impl::add(std::shared_ptr<Task> task, After after,
                                                         std::unique_ptr<Choices> choices) {
  const std::lock_guard lock(mutex);
  NodeState state{.node = {std::move(task), {}, {}, {}}, .choices = std::move(choices)};
  for (const auto& [before, until] : after) {
    if (before >= nodes.size())
      return Error::invalid("node {} of a graph cannot come after node {}, which is not before it",
                            nodes.size(), before);
    auto& list = until == Dependency::Until::end       ? state.node.after
                 : until == Dependency::Until::trigger ? state.node.after_trigger
                                                       : state.node.after_begin;
    list.push_back(before);
  }
  nodes.push_back(std::move(state));
  graph = nullptr;
  return static_cast<Node>(nodes.size() - 1);
}

Result<std::shared_ptr<Task>> ExecutableGraph::Impl::task_of(const Kernel& kernel, const LaunchConfig& config,
                                                             std::span<const Argument> arguments) {
  if (kernel.impl_->module->device != &device)
    return Error::invalid("{} is a kernel of another device than the graph", kernel.info().name);
  const detail::CompiledKernel* code = nullptr;
  TRY_ASSIGN(Task* const task, kernel.impl_->make_task(config, arguments, code));
  task->priority = config.priority.value_or(0);
  return device.tasks().share(task);
}

Result<void> ExecutableGraph::Impl::replace(Node node, std::shared_ptr<Task> task) {
  const std::lock_guard lock(mutex);
  if (node >= nodes.size())
    return Error::invalid("the graph has {} nodes, and none of number {}", nodes.size(), node);
  NodeState& state = nodes[node];
  if (state.node.task->work.index() != task->work.index())
    return Error::invalid("node {} of the graph does another kind of work", node);
  state.node.task = std::move(task);
  graph = nullptr;
  return {};
}

bool ExecutableGraph::Impl::has_changed() const {
  return graph == nullptr || std::ranges::any_of(nodes, [](const NodeState& state) {
           return state.choices != nullptr &&
                  std::ranges::any_of(state.choices->bodies, [](const ExecutableGraph& body) {
                    const std::lock_guard lock(body.impl_->mutex);
                    return body.impl_->has_changed();
                  });
         });
}

/// The graph of the nodes as they are. The lock is held.
std::shared_ptr<TaskGraph> ExecutableGraph::Impl::made() {
  if (!has_changed()) return graph;
  std::vector<TaskGraph::Node> order;
  order.reserve(nodes.size());
  for (NodeState& state : nodes) {
    if (state.choices != nullptr) {
      auto conditional = std::make_shared<machine::Conditional>();
      conditional->kind = kind_of(state.choices->choice);
      conditional->condition = state.choices->condition;
      for (ExecutableGraph& body : state.choices->bodies) {
        const std::lock_guard lock(body.impl_->mutex);
        conditional->bodies.push_back(body.impl_->made());
      }
      state.node.task = task_of(machine::ConditionalWork{std::move(conditional)});
    }
    order.push_back(state.node);
    if (!state.is_enabled) order.back().task = task_of(machine::MarkerWork{});
  }
  graph = std::make_shared<TaskGraph>(order, starts, number);
  if (number != 0) {
    for (TaskGraph::Node& node : order) {
      Task* const copy = device.tasks().acquire();
      copy->copy_work(*node.task);
      node.task = device.tasks().share(copy);
    }
    of_kernels = std::make_shared<TaskGraph>(order, starts, number);
    device.space->graphs().put(number, of_kernels);
  }
  return graph;
}

Result<void> ExecutableGraph::Impl::check_memory() const {
  for (const NodeState& state : nodes) {
    if (!state.is_enabled) continue;
    TRY(raddle::check_memory(state.node.task->work));
    if (state.choices == nullptr) continue;
    for (const ExecutableGraph& body : state.choices->bodies) TRY(body.impl_->check_memory());
  }
  return {};
}

ExecutableGraph::ExecutableGraph(Device& device) : impl_(std::make_unique<Impl>(Device::Impl::of(device))) {}
ExecutableGraph::~ExecutableGraph() = default;
ExecutableGraph::ExecutableGraph(ExecutableGraph&&) noexcept = default;
ExecutableGraph& ExecutableGraph::operator=(ExecutableGraph&&) noexcept = default;

Result<ExecutableGraph::Node> ExecutableGraph::add_launch(const Kernel& kernel, const LaunchConfig& config,
                                                          std::span<const Argument> arguments, After after) {
  TRY_ASSIGN(auto task, impl_->task_of(kernel, config, arguments));
  return impl_->add(std::move(task), after);
}

Result<ExecutableGraph::Node> ExecutableGraph::add_copy(const BoxCopy& copy, After after) {
  machine::CopyWork work = work_of(copy);
  TRY(check_memory(work));
  return impl_->add(impl_->task_of(std::move(work)), after);
}

Result<ExecutableGraph::Node> ExecutableGraph::add_fill(const RowFill& fill, After after) {
  machine::FillWork work = work_of(fill, impl_->device);
  TRY(check_memory(work));
  return impl_->add(impl_->task_of(std::move(work)), after);
}

Result<ExecutableGraph::Node> ExecutableGraph::add_call(std::function<void()> function, After after) {
  return impl_->add(impl_->task_of(machine::CallWork{std::move(function)}), after);
}

Result<ExecutableGraph::Node> ExecutableGraph::add_wait(const WordCondition& condition, After after) {
  return impl_->add(impl_->task_of(machine::WaitWork{condition}), after);
}

Result<ExecutableGraph::Node> ExecutableGraph::add_empty(After after) {
  return impl_->add(impl_->task_of(machine::MarkerWork{}), after);
}

Result<ExecutableGraph::Node> ExecutableGraph::add_conditional(Choice choice, const Condition& condition,
                                                               std::vector<ExecutableGraph> bodies,
                                                               After after) {
  if (impl_->device.server != nullptr)
    return Error::make(ErrorCode::unsupported,
                       "conditional nodes of graphs are not there on a device that a server runs");
  for (const ExecutableGraph& body : bodies)
    if (&body.impl_->device != &impl_->device)
      return Error::invalid("a body of a conditional node is a graph of another device");
  auto choices = std::make_unique<Choices>(choice, condition.impl_->condition, std::move(bodies));
  return impl_->add(impl_->task_of(machine::ConditionalWork{}), after, std::move(choices));
}

void ExecutableGraph::start_with(const Condition& condition, std::uint32_t value) {
  const std::lock_guard lock(impl_->mutex);
  impl_->starts.push_back({condition.impl_->condition, value});
  impl_->graph = nullptr;
}

std::size_t ExecutableGraph::size() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->nodes.size();
}

ExecutableGraph& ExecutableGraph::body(Node conditional, std::size_t index) {
  return impl_->nodes[conditional].choices->bodies[index];
}

Result<void> ExecutableGraph::set_launch(Node node, const Kernel& kernel, const LaunchConfig& config,
                                         std::span<const Argument> arguments) {
  TRY_ASSIGN(auto task, impl_->task_of(kernel, config, arguments));
  return impl_->replace(node, std::move(task));
}

Result<void> ExecutableGraph::set_copy(Node node, const BoxCopy& copy) {
  machine::CopyWork work = work_of(copy);
  TRY(check_memory(work));
  return impl_->replace(node, impl_->task_of(std::move(work)));
}

Result<void> ExecutableGraph::set_fill(Node node, const RowFill& fill) {
  machine::FillWork work = work_of(fill, impl_->device);
  TRY(check_memory(work));
  return impl_->replace(node, impl_->task_of(std::move(work)));
}

Result<void> ExecutableGraph::set_call(Node node, std::function<void()> function) {
  return impl_->replace(node, impl_->task_of(machine::CallWork{std::move(function)}));
}

Result<void> ExecutableGraph::set_wait(Node node, const WordCondition& condition) {
  return impl_->replace(node, impl_->task_of(machine::WaitWork{condition}));
}

void ExecutableGraph::set_enabled(Node node, bool enabled) {
  const std::lock_guard lock(impl_->mutex);
  if (std::exchange(impl_->nodes[node].is_enabled, enabled) != enabled) impl_->graph = nullptr;
}

bool ExecutableGraph::is_enabled(Node node) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->nodes[node].is_enabled;
}

void ExecutableGraph::prepare() {
  const std::lock_guard lock(impl_->mutex);
  impl_->made();
}

Result<void> ExecutableGraph::let_kernels_launch(std::uint64_t number) {
  if (impl_->device.server != nullptr)
    return Error::make(ErrorCode::unsupported, "kernels cannot launch graphs on a device that a server runs");
  const std::lock_guard lock(impl_->mutex);
  impl_->number = number;
  impl_->graph = nullptr;
  impl_->made();
  return {};
}

Result<std::vector<Event>> ExecutableGraph::launch(Stream& stream, std::span<const Node> points,
                                                   std::span<const Wait> waits) {
  Device::Impl& device = impl_->device;
  machine::TaskScheduler& tasks = device.tasks();
  if (&stream.impl_->device != &device)
    return Error::invalid("a graph is launched into a stream of another device");
  TRY(device.status());
  const std::lock_guard lock(impl_->mutex);
  TRY(impl_->check_memory());
  machine::GraphWork work{impl_->made()};
  std::vector<Event> events;
  for (const Node point : points) {
    Task* const marker = tasks.acquire();
    tasks.retain(*marker);
    work.points.push_back({point, tasks.share(marker)});
    events.push_back(Event(std::make_unique<Event::Impl>(device, *marker)));
  }
  for (const auto& [node, event] : waits) {
    tasks.retain(event.impl_->marker);
    work.waits.push_back({node, tasks.share(&event.impl_->marker)});
  }
  Task* const launch = tasks.acquire();  // its reference goes to last_launch
  launch->work = std::move(work);
  stream.impl_->submit(*launch, {.also = impl_->last_launch});
  tasks.release(std::exchange(impl_->last_launch, launch));
  return events;
}

namespace {
double occupancy_of(const Task& task, const machine::Machine& machine) {
  if (!task.is_grid() || task.started_ns.load(std::memory_order_relaxed) == 0) return 0;
  const machine::MachineShape& shape = machine.shape();
  const std::uint32_t per_sm = machine::slots_per_sm(shape.sm, machine::needs_of(task.grid(), shape.sm));
  const std::uint64_t most = std::uint64_t{per_sm} * shape.sm_count();
  return most == 0 ? 0 : static_cast<double>(task.distribution.most_resident) / static_cast<double>(most);
}
}  // namespace

ExecutableGraph::Times ExecutableGraph::times(Node node) const {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->last_launch == nullptr || !impl_->last_launch->done()) return {};
  const Task& task = *impl_->nodes[node].node.task;
  if (!task.done()) return {};  // it has been changed since
  return {task.started_ns.load(std::memory_order_relaxed), task.finished_ns,
          occupancy_of(task, impl_->device.machine())};
}

}  // namespace raddle
