#include "graph/execution/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "graph/resources/ranges.h"

namespace raddle::graph {

Plan::Plan(Device& device, Modules& modules, Stream& bodies, std::shared_ptr<const Schedule> schedule,
           std::vector<DevicePtr> addresses)
    : schedule_(std::move(schedule)),
      addresses_(std::move(addresses)),
      images_(device),
      context_{device, modules, images_, schedule_->graph.get(), addresses_},
      bodies_(bodies),
      work_(device) {}

Result<std::unique_ptr<Plan>> Plan::make(Device& device, Modules& modules, Stream& bodies,
                                         std::shared_ptr<const Schedule> schedule,
                                         std::vector<DevicePtr> addresses) {
  std::unique_ptr<Plan> plan(new Plan(device, modules, bodies, std::move(schedule), std::move(addresses)));
  const auto nodes = static_cast<std::uint32_t>(plan->schedule().nodes.size());
  plan->waits_.resize(nodes);
  plan->made_.resize(nodes);
  for (const Barrier& barrier : plan->schedule().barriers())
    if (barrier.after.size() > 1 && barrier.before.size() > 1)
      plan->waiters_[barrier.after] = static_cast<std::uint32_t>(barrier.before.size());
  for (std::uint32_t node = 0; node < nodes; ++node) TRY(plan->add(node));
  plan->work_.prepare();
  return plan;
}

/// The last pieces of what the node waits for; one barrier instead of them, where others wait for the same.
Result<Plan::Dependencies> Plan::dependencies(std::uint32_t node) {
  std::vector<std::uint32_t> after;
  for (const Edge& edge : schedule_->edges_of(node)) after.push_back(edge.from);
  std::sort(after.begin(), after.end());
  if (const auto known = barriers_.find(after); known != barriers_.end())
    return Dependencies{{.node = known->second}};
  Dependencies result;
  for (const std::uint32_t each : after) result.push_back({.node = made_[each].back()});
  if (!waiters_.contains(after)) return result;
  TRY_ASSIGN(const std::uint32_t barrier, work_.add_empty(result));
  barriers_.emplace(std::move(after), barrier);
  return Dependencies{{.node = barrier}};
}

Result<void> Plan::add(std::uint32_t number) {
  const Node& node = schedule_->nodes[number];
  const PassInfo& pass = schedule_->graph->passes()[node.pass];
  TRY_ASSIGN(waits_[number], dependencies(number));
  PlanRecorder recorder(context_, pass, work_, waits_[number]);
  if (node.kind == NodeKind::pass) {
    if (auto added = add_pass(recorder, pass); !added.ok()) {
      Error error = added.error();
      if (error.where.line == 0)
        error = pass.line.error(error.code, fmt::format("pass '{}': {}", pass.name, error.message));
      return error;
    }
  }
  // Memory is coherent and its order one: actions are points in the order, as barriers are.
  is_mark_.push_back(recorder.nodes().empty());
  if (is_mark_.back()) TRY(recorder.mark());
  made_[number] = recorder.nodes();
  return {};
}

bool Plan::update(std::shared_ptr<const Schedule> schedule, std::vector<DevicePtr> addresses) {
  schedule_ = std::move(schedule);
  addresses_ = std::move(addresses);
  context_.graph = schedule_->graph.get();
  images_.clear();
  for (std::uint32_t number = 0; number < made_.size(); ++number) {
    const Node& node = schedule_->nodes[number];
    if (node.kind != NodeKind::pass) continue;
    const PassInfo& pass = context_.graph->passes()[node.pass];
    const std::span<const std::uint32_t> known =
        is_mark_[number] ? std::span<const std::uint32_t>() : made_[number];
    PlanRecorder recorder(context_, pass, work_, known);
    if (!add_pass(recorder, pass).ok() || !recorder.is_complete()) return false;
  }
  return true;
}

Result<void> Plan::add_pass(PlanRecorder& recorder, const PassInfo& pass) {
  for (const Command& command : pass.commands)
    TRY(std::visit([&](const auto& each) { return add(recorder, each, pass); }, command));
  return {};
}

Result<void> Plan::add(PlanRecorder& recorder, const Draw& draw, const PassInfo&) {
  return draw.record(recorder);
}
Result<void> Plan::add(PlanRecorder& recorder, const Call& call, const PassInfo&) {
  return recorder.call(call.function);
}
Result<void> Plan::add(PlanRecorder& recorder, const Clear& clear, const PassInfo&) {
  return fill(recorder, clear.view, 0, 1);
}
Result<void> Plan::add(PlanRecorder& recorder, const Fill& command, const PassInfo&) {
  return fill(recorder, command.view, command.word, command.word_bytes);
}
Result<void> Plan::add(PlanRecorder& recorder, const CacheAction& action, const PassInfo&) {
  return action.kind == CacheAction::Kind::prefetch ? prefetch(recorder, action.view) : Result<void>();
}
// Points in the order, which the pass's place in it is.
Result<void> Plan::add(PlanRecorder&, const LayoutChange&, const PassInfo&) { return {}; }
Result<void> Plan::add(PlanRecorder&, const Synchronise&, const PassInfo&) { return {}; }
Result<void> Plan::add(PlanRecorder&, const SubGraph&, const PassInfo&) {
  RADDLE_UNREACHABLE("sub-graphs are put in place before");
}

Result<void> Plan::add(PlanRecorder& recorder, const Dispatch& dispatch, const PassInfo&) {
  TRY_ASSIGN(const Kernel kernel, recorder.kernel(dispatch.kernel));
  std::vector<std::uint64_t> words(dispatch.arguments.size());  // addresses and handles
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Value& value = dispatch.arguments[i];
    if (const std::string* bytes = value.bytes()) {
      arguments.emplace_back(bytes->data(), bytes->size());
      continue;
    }
    if (const TextureOf* texture = value.texture()) {
      TRY_ASSIGN(const TextureHandle handle, recorder.texture(texture->view, texture->sampler));
      words[i] = handle.value;
    } else if (const SurfaceOf* surface = value.surface()) {
      TRY_ASSIGN(const SurfaceHandle handle, recorder.surface(surface->view));
      words[i] = handle.value;
    } else {
      TRY_ASSIGN(const DevicePtr address, recorder.address(*value.view()));
      words[i] = address.value;
    }
    arguments.emplace_back(&words[i], sizeof words[i]);
  }
  return recorder.launch(kernel, dispatch.config, arguments);
}

Result<void> Plan::add(PlanRecorder& recorder, const Copy& copy, const PassInfo&) {
  const DevicePtr to_base = addresses_[copy.to.resource.index],
                  from_base = addresses_[copy.from.resource.index];
  for (const CopyPiece& piece : pieces_of(*schedule_->graph, copy))
    TRY(recorder.copy({.to = {&context_.device, to_base.value + piece.to},
                       .from = {&context_.device, from_base.value + piece.from},
                       .width = piece.bytes}));
  return {};
}

Result<void> Plan::fill(PlanRecorder& recorder, const View& view, std::uint64_t word, unsigned word_bytes) {
  std::vector<ByteRange> ranges;
  append_ranges(schedule_->graph->info(view.resource), view, ranges);
  for (const ByteRange& range : ranges)
    TRY(recorder.fill({.to = addresses_[view.resource.index] + range.begin,
                       .word = word,
                       .word_bytes = word_bytes,
                       .width = (range.end - range.begin) / word_bytes}));
  return {};
}

/// Reads the bytes, so that they are in the caches of the host's cores.
Result<void> Plan::prefetch(PlanRecorder& recorder, const View& view) {
  std::vector<ByteRange> ranges;
  append_ranges(schedule_->graph->info(view.resource), view, ranges);
  for (const ByteRange& range : ranges) {
    const auto scratch = std::make_shared<std::vector<std::byte>>(range.end - range.begin);
    TRY(recorder.copy({.to = {nullptr, reinterpret_cast<std::uint64_t>(scratch->data())},
                       .from = {&context_.device, addresses_[view.resource.index].value + range.begin},
                       .width = scratch->size(),
                       .holds = scratch}));
  }
  return {};
}

Result<void> Plan::add(PlanRecorder& recorder, const Body& body, const PassInfo& pass) {
  return recorder.call([this, &body, &pass] {
    {
      std::lock_guard lock(mutex_);
      if (error_) return;  // the run has ended
    }
    StreamRecorder direct(context_, pass, bodies_);
    Result<void> result = body.run(direct);
    if (Result<void> ended = bodies_.synchronize(); result.ok() && !ended.ok()) result = ended;
    if (result.ok()) return;
    Error error = result.error();
    if (error.where.line == 0)
      error = pass.line.error(error.code, fmt::format("pass '{}': {}", pass.name, error.message));
    fail(std::move(error));
  });
}

void Plan::fail(Error error) {
  std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

Result<void> Plan::run(Stream& stream) {
  error_.reset();
  TRY(work_.launch(stream));
  TRY(stream.synchronize());
  if (error_) return *error_;
  return {};
}

std::vector<MeasuredTimes> Plan::times() const {
  std::vector<MeasuredTimes> times(made_.size());
  double first = 0;
  for (std::size_t i = 0; i < made_.size(); ++i) {
    MeasuredTimes& node = times[i];
    for (const std::uint32_t work : made_[i]) {
      const ExecutableGraph::Times found = work_.times(work);
      if (work == made_[i].front()) node.begin = static_cast<double>(found.begin_ns);
      node.end = static_cast<double>(found.end_ns);
      node.occupancy = std::max(node.occupancy, found.occupancy);
    }
    // Work without a known begin begins when what it waits for has ended.
    if (node.begin == 0)
      for (const ExecutableGraph::Dependency& wait : waits_[i])
        node.begin = std::max(node.begin, static_cast<double>(work_.times(wait.node).end_ns));
    if (node.begin != 0 && (first == 0 || node.begin < first)) first = node.begin;
  }
  if (first == 0)
    for (const MeasuredTimes& each : times) first = first == 0 ? each.end : std::min(first, each.end);
  for (MeasuredTimes& each : times) {
    each.begin = each.begin == 0 ? 0 : each.begin - first;
    each.end = std::max(each.end - first, each.begin);
  }
  return times;
}

}  // namespace raddle::graph
