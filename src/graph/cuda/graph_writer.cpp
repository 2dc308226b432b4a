#include "graph/cuda/graph_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/resources/ranges.h"

namespace raddle::graph {

using Nodes = std::vector<void*>;

CudaObjects::~CudaObjects() {
  for (const auto& [program, module] : modules_) (void)calls.cuModuleUnload(module);
}

Result<void*> CudaObjects::function_of(const KernelCode& code) {
  void*& module = modules_[code.program()];
  if (module == nullptr) {
    const std::vector<std::string> texts = code.program()->texts();
    if (texts.size() != 1)
      return Error::make(ErrorCode::unsupported, "{} is a kernel of {} texts that were linked", code.name(),
                         texts.size());
    TRY(calls.check(calls.cuModuleLoadData(&module, texts[0].c_str()), "cuModuleLoadData"));
  }
  void* function = nullptr;
  TRY(calls.check(calls.cuModuleGetFunction(&function, module, code.name().c_str()), "cuModuleGetFunction"));
  return function;
}

namespace {

/// The nodes of one pass, one behind the other.
class PassWriter {
 public:
  PassWriter(CudaObjects& objects, HostFunctions& functions, const Schedule& schedule,
             std::span<const DevicePtr> addresses, void* graph, void* context, const PassInfo& pass,
             Nodes after)
      : objects_(objects),
        functions_(functions),
        schedule_(schedule),
        addresses_(addresses),
        graph_(graph),
        context_(context),
        pass_(pass),
        after_(std::move(after)) {}

  /// @returns what comes after the pass
  Result<Nodes> write() {
    for (const Command& command : pass_.commands) TRY(std::visit(*this, command));
    return has_node_ ? Result<Nodes>(after_) : mark();
  }
  /// Its end is an event from now on. @returns as write()
  Result<Nodes> record(void* event) {
    TRY(put("cuGraphAddEventRecordNode", [&](void** node) {
      return calls().cuGraphAddEventRecordNode(node, graph_, after_.data(), after_.size(), event);
    }));
    return after_;
  }
  /// The same for a point in the order.
  Result<Nodes> mark() {
    TRY(put("cuGraphAddEmptyNode", [&](void** node) {
      return calls().cuGraphAddEmptyNode(node, graph_, after_.data(), after_.size());
    }));
    return after_;
  }

  Result<void> operator()(const Dispatch& dispatch);
  Result<void> operator()(const Copy& copy);
  Result<void> operator()(const Fill& fill) { return fill_view(fill.view, fill.word, fill.word_bytes); }
  Result<void> operator()(const Clear& clear) { return fill_view(clear.view, 0, 1); }
  Result<void> operator()(const Call& call) {
    functions_.push_back(std::make_unique<std::function<void()>>(call.function));
    const cuda::HostParams params{[](void* function) { (*static_cast<std::function<void()>*>(function))(); },
                                  functions_.back().get()};
    return put("cuGraphAddHostNode", [&](void** node) {
      return calls().cuGraphAddHostNode(node, graph_, after_.data(), after_.size(), &params);
    });
  }
  // Points in the order, which the pass's place in it is.
  Result<void> operator()(const LayoutChange&) { return {}; }
  Result<void> operator()(const CacheAction&) { return {}; }
  Result<void> operator()(const Synchronise&) { return {}; }
  template <class Other>
  Result<void> operator()(const Other& other) {
    return refuse(fmt::format("a {}", command_name(Command(other))));
  }

 private:
  const cuda::Calls& calls() const { return objects_.calls; }
  Error refuse(const std::string& what) const {
    return pass_.line.error(ErrorCode::unsupported,
                            fmt::format("pass '{}': a CUDA graph cannot have {}", pass_.name, what));
  }
  template <class Add>
  Result<void> put(const char* call, const Add& add) {
    void* node = nullptr;
    if (auto added = calls().check(add(&node), call); !added.ok())
      return pass_.line.error(added.error().code,
                              fmt::format("pass '{}': {}", pass_.name, added.error().message));
    after_ = {node};
    has_node_ = true;
    return {};
  }
  Result<void> set(int attribute, const cuda::AttributeValue& value) {
    return calls().check(calls().cuGraphKernelNodeSetAttribute(after_.front(), attribute, &value),
                         "cuGraphKernelNodeSetAttribute");
  }
  std::uint64_t address_of(const View& view) const {
    std::vector<ByteRange> ranges;
    append_ranges(schedule_.graph->info(view.resource), view, ranges);
    return addresses_[view.resource.index].value + (ranges.empty() ? 0 : ranges.front().begin);
  }
  Result<void> fill_view(const View& view, std::uint64_t word, unsigned word_bytes);

  CudaObjects& objects_;
  HostFunctions& functions_;
  const Schedule& schedule_;
  std::span<const DevicePtr> addresses_;
  void *const graph_, *const context_;
  const PassInfo& pass_;
  Nodes after_;
  bool has_node_ = false;
};

Result<void> PassWriter::operator()(const Dispatch& dispatch) {
  const LaunchConfig& config = dispatch.config;
  if (!config.clusters.empty() || config.cluster_memory)
    return refuse("clusters of clusters, or memory of clusters");
  if (config.part) return refuse("a part of a grid (schedule it without splitting)");
  TRY_ASSIGN(void* const function, objects_.function_of(dispatch.kernel));
  std::vector<std::uint64_t> words(dispatch.arguments.size());
  std::vector<void*> arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Value& value = dispatch.arguments[i];
    if (value.texture() != nullptr || value.surface() != nullptr)
      return refuse("textures and surfaces of resources");
    if (value.bytes() == nullptr) words[i] = address_of(*value.view());
    arguments.push_back(value.bytes() == nullptr ? static_cast<void*>(&words[i])
                                                 : const_cast<char*>(value.bytes()->data()));
  }
  arguments.push_back(nullptr);
  const cuda::KernelParams params{function,
                                  {config.grid.x, config.grid.y, config.grid.z},
                                  {config.block.x, config.block.y, config.block.z},
                                  static_cast<unsigned>(config.shared_bytes),
                                  arguments.data(),
                                  nullptr,
                                  nullptr,
                                  nullptr};
  TRY(put("cuGraphAddKernelNode", [&](void** node) {
    return calls().cuGraphAddKernelNode_v2(node, graph_, after_.data(), after_.size(), &params);
  }));
  if (config.cluster.x != 0)
    TRY(set(cuda::kClusterDimension, {.extents = {config.cluster.x, config.cluster.y, config.cluster.z}}));
  if (config.cooperative) TRY(set(cuda::kCooperative, {.number = 1}));
  if (config.priority) TRY(set(cuda::kPriority, {.number = *config.priority}));
  return {};
}

Result<void> PassWriter::operator()(const Copy& copy) {
  for (const CopyPiece& piece : pieces_of(*schedule_.graph, copy)) {
    cuda::CopyParams params{};
    params.to.memory = params.from.memory = cuda::kDeviceMemory;
    params.to.device = addresses_[copy.to.resource.index].value + piece.to;
    params.from.device = addresses_[copy.from.resource.index].value + piece.from;
    params.width = piece.bytes, params.height = params.depth = 1;
    TRY(put("cuGraphAddMemcpyNode", [&](void** node) {
      return calls().cuGraphAddMemcpyNode(node, graph_, after_.data(), after_.size(), &params, context_);
    }));
  }
  return {};
}

Result<void> PassWriter::fill_view(const View& view, std::uint64_t word, unsigned word_bytes) {
  if (word_bytes == 8 && word >> 32 != (word & 0xffffffff)) return refuse("fills with words of eight bytes");
  const unsigned element = std::min(word_bytes, 4u);
  std::vector<ByteRange> ranges;
  append_ranges(schedule_.graph->info(view.resource), view, ranges);
  for (const ByteRange& range : ranges) {
    const cuda::FillParams params{addresses_[view.resource.index].value + range.begin,
                                  0,
                                  static_cast<unsigned>(word),
                                  element,
                                  (range.end - range.begin) / element,
                                  1};
    TRY(put("cuGraphAddMemsetNode", [&](void** node) {
      return calls().cuGraphAddMemsetNode(node, graph_, after_.data(), after_.size(), &params, context_);
    }));
  }
  return {};
}

/// Writes all nodes of a schedule into a CUgraph.
class ScheduleWriter {
 public:
  ScheduleWriter(CudaObjects& objects, HostFunctions& functions, const Schedule& schedule,
                 std::span<const DevicePtr> addresses, const RunEvents* events)
      : objects_(objects),
        functions_(functions),
        schedule_(schedule),
        addresses_(addresses),
        events_(events),
        ends_(schedule.nodes.size()) {}

  Result<void> write(void* graph) {
    graph_ = graph;
    const cuda::Calls& calls = objects_.calls;
    TRY(calls.check(calls.cuCtxGetCurrent(&context_), "cuCtxGetCurrent"));
    if (events_ != nullptr) {
      start_.resize(1);
      TRY(calls.check(calls.cuGraphAddEventRecordNode(&start_[0], graph_, nullptr, 0, events_->start),
                      "cuGraphAddEventRecordNode"));
    }
    for (std::uint32_t node = 0; node < ends_.size(); ++node) TRY(write(node));
    return {};
  }

 private:
  Result<void> write(std::uint32_t number) {
    Nodes after;
    for (const Edge& edge : schedule_.edges_of(number))
      for (void* const end : ends_[edge.from])
        if (std::ranges::find(after, end) == after.end()) after.push_back(end);
    if (after.empty()) after = start_;
    const Node& node = schedule_.nodes[number];
    const PassInfo& pass = schedule_.graph->passes()[node.pass];
    PassWriter writer(objects_, functions_, schedule_, addresses_, graph_, context_, pass, std::move(after));
    TRY_ASSIGN(ends_[number], node.kind == NodeKind::pass ? writer.write() : writer.mark());
    if (events_ == nullptr) return {};
    TRY_ASSIGN(ends_[number], writer.record(events_->ends[number]));
    return {};
  }

  CudaObjects& objects_;
  HostFunctions& functions_;
  const Schedule& schedule_;
  const std::span<const DevicePtr> addresses_;
  const RunEvents* const events_;
  void *graph_ = nullptr, *context_ = nullptr;
  Nodes start_;              // before all others
  std::vector<Nodes> ends_;  // by node of the schedule: what comes after it
};

}  // namespace

Result<void*> write_graph(CudaObjects& objects, HostFunctions& functions, const Schedule& schedule,
                          std::span<const DevicePtr> addresses, const RunEvents* events) {
  const cuda::Calls& calls = objects.calls;
  void* graph = nullptr;
  TRY(calls.check(calls.cuGraphCreate(&graph, 0), "cuGraphCreate"));
  if (Result<void> written = ScheduleWriter(objects, functions, schedule, addresses, events).write(graph);
      !written.ok()) {
    (void)calls.cuGraphDestroy(graph);
    return written.error();
  }
  return graph;
}

}  // namespace raddle::graph
