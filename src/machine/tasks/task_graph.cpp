// See task_graph.h.
#include "machine/tasks/task_graph.h"

#include <utility>

#include "machine/tasks/children.h"

namespace raddle::machine {

TaskGraph::TaskGraph(std::span<const Node> nodes, std::vector<Start> starts, std::uint64_t number)
    : starts_(std::move(starts)), number_(number) {
  std::size_t edges = 0;
  for (const Node& node : nodes)
    edges += node.after.size() + node.after_trigger.size() + node.after_begin.size();
  tasks_.reserve(nodes.size());
  for (const Node& node : nodes) tasks_.push_back(node.task);
  before_.reserve(edges);  // never moved: spans point into it
  const auto span_of = [&](const std::vector<std::uint32_t>& indices) {
    const std::size_t first = before_.size();
    for (const std::uint32_t index : indices) before_.push_back(tasks_[index].get());
    return std::span<Task* const>(before_).subspan(first);
  };
  batch_.reserve(nodes.size());
  for (const Node& node : nodes) {
    const auto after = span_of(node.after), trigger = span_of(node.after_trigger),
               begin = span_of(node.after_begin);
    batch_.push_back({node.task.get(), after, trigger, begin});
  }
}

std::shared_ptr<TaskGraph> Conditional::chosen() const {
  const std::uint32_t value = condition->value.load(std::memory_order_acquire);
  const std::size_t index = kind == Kind::selected ? value
                            : value != 0           ? 0
                            : kind == Kind::once   ? 1
                                                   : bodies.size();
  return index < bodies.size() ? bodies[index] : nullptr;
}

// The parts are complete, or have never run, and nobody else looks at them: a graph is started again when it
// is over.
void TaskScheduler::start(Task& launch) {
  const GraphWork& work = *std::get_if<GraphWork>(&launch.work);
  const TaskGraph& graph = *work.graph;
  graph.set_conditions();
  for (const auto& task : graph.tasks()) {
    task->renew();
    task->parent = &launch;
  }
  for (const auto& [node, point] : work.points) point->parent = &launch;  // reached when the launch is over
  const auto parts = static_cast<std::uint32_t>(graph.tasks().size() + work.points.size());
  launch.references.fetch_add(parts, std::memory_order_relaxed);
  launch.unfinished.fetch_add(parts, std::memory_order_relaxed);
  if (work.waits.empty() && work.points.empty()) return submit(graph.batch());
  std::vector<Submission> batch(graph.batch().begin(), graph.batch().end());
  std::vector<std::vector<Task*>> lists;
  lists.reserve(work.waits.size() + work.points.size());
  for (const auto& [node, before] : work.waits) {
    std::vector<Task*>& after = lists.emplace_back(batch[node].after.begin(), batch[node].after.end());
    after.push_back(before.get());
    batch[node].after = after;
  }
  for (const auto& [node, point] : work.points)
    batch.push_back({point.get(), lists.emplace_back(1, graph.tasks()[node].get())});
  submit(batch);
}

// A launch that runs begins no tail while this one's part is not over; so the tail is seen.
void TaskScheduler::add_part(Task& whole, Task& part, bool is_tail) {
  retain(whole);
  part.parent = &whole;
  part.priority = whole.priority;
  if (is_tail) {
    Children& family = whole.family();
    const std::lock_guard lock(family.mutex);
    retain(part);
    family.tail.push_back(&part);
    return;
  }
  whole.unfinished.fetch_add(1, std::memory_order_relaxed);
  submit(part, {});
}

void TaskScheduler::pass_over(Task& launch) {
  for (const auto& [node, point] : std::get_if<GraphWork>(&launch.work)->points) submit(*point, {});
}

std::shared_ptr<Task> TaskScheduler::share(Task* task) {
  return {task, [this](Task* unused) { release(unused); }};
}

}  // namespace raddle::machine
