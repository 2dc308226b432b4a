// See include/raddle/graph/cuda_export.h. A pass becomes a chain of nodes behind what it waits for in the
// schedule.
#include "raddle/graph/cuda_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "graph/cuda/calls.h"
#include "graph/resources/ranges.h"

namespace raddle::graph {

using Nodes = std::vector<void*>;

struct CudaExport::Impl {
  explicit Impl(const cuda::Calls& found) : calls(found) {}
  ~Impl() {
    for (const auto& [program, module] : modules) (void)calls.cuModuleUnload(module);
    for (const unsigned long long address : memory) (void)calls.cuMemFree_v2(address);
  }

  const cuda::Calls calls;
  std::map<std::string, std::uint64_t> bound;
  std::map<std::shared_ptr<const Program>, void*> modules;
  std::vector<unsigned long long> memory;
  std::vector<std::unique_ptr<std::function<void()>>> functions;  ///< that host nodes call

  Result<void*> function_of(const KernelCode& code);
  Result<std::vector<std::uint64_t>> addresses(const Schedule& schedule);
};

Result<void*> CudaExport::Impl::function_of(const KernelCode& code) {
  void*& module = modules[code.program()];
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

Result<std::vector<std::uint64_t>> CudaExport::Impl::addresses(const Schedule& schedule) {
  const auto resources = schedule.graph->resources();
  std::vector<std::uint64_t> places(resources.size());
  unsigned long long transient = 0;
  if (schedule.peak_bytes != 0) {
    TRY(calls.check(calls.cuMemAlloc_v2(&transient, schedule.peak_bytes), "cuMemAlloc"));
    memory.push_back(transient);
  }
  for (const Placement& placement : schedule.placements)
    places[placement.resource] = transient + placement.offset;
  for (const PassInfo& pass : schedule.graph->passes()) {
    for (const Access& access : pass.accesses) {
      const ResourceInfo& info = resources[access.view.resource.index];
      if (info.origin == Origin::transient) continue;
      if (info.origin == Origin::temporal)
        return info.line.error(
            ErrorCode::unsupported,
            fmt::format("'{}' is temporal: a CUDA graph has the same memory in each run", info.name));
      const auto found = bound.find(info.name);
      if (found == bound.end())
        return info.line.error(ErrorCode::not_found, fmt::format("no memory is bound to '{}'", info.name));
      places[access.view.resource.index] = found->second;
    }
  }
  return places;
}

namespace {

/// The nodes of one pass, one behind the other.
class PassWriter {
 public:
  PassWriter(CudaExport::Impl& impl, const Schedule& schedule, std::span<const std::uint64_t> addresses,
             void* graph, void* context, const PassInfo& pass, Nodes after)
      : impl_(impl),
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
    impl_.functions.push_back(std::make_unique<std::function<void()>>(call.function));
    const cuda::HostParams params{[](void* function) { (*static_cast<std::function<void()>*>(function))(); },
                                  impl_.functions.back().get()};
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
  const cuda::Calls& calls() const { return impl_.calls; }
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
    return addresses_[view.resource.index] + (ranges.empty() ? 0 : ranges.front().begin);
  }
  Result<void> fill_view(const View& view, std::uint64_t word, unsigned word_bytes);

  CudaExport::Impl& impl_;
  const Schedule& schedule_;
  std::span<const std::uint64_t> addresses_;
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
  TRY_ASSIGN(void* const function, impl_.function_of(dispatch.kernel));
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
    params.to.device = addresses_[copy.to.resource.index] + piece.to;
    params.from.device = addresses_[copy.from.resource.index] + piece.from;
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
    const cuda::FillParams params{
        addresses_[view.resource.index] + range.begin, 0, static_cast<unsigned>(word), element,
        (range.end - range.begin) / element,           1};
    TRY(put("cuGraphAddMemsetNode", [&](void** node) {
      return calls().cuGraphAddMemsetNode(node, graph_, after_.data(), after_.size(), &params, context_);
    }));
  }
  return {};
}

}  // namespace

CudaExport::CudaExport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CudaExport::~CudaExport() = default;
CudaExport::CudaExport(CudaExport&&) noexcept = default;
CudaExport& CudaExport::operator=(CudaExport&&) noexcept = default;

Result<CudaExport> CudaExport::open(const std::string& library) {
  TRY_ASSIGN(const cuda::Calls calls, cuda::Calls::of(library));
  return CudaExport(std::make_unique<Impl>(calls));
}

void CudaExport::bind(const std::string& name, std::uint64_t address) { impl_->bound[name] = address; }

Result<void*> CudaExport::make(const Schedule& schedule) {
  const cuda::Calls& calls = impl_->calls;
  TRY_ASSIGN(const auto addresses, impl_->addresses(schedule));
  void *graph = nullptr, *context = nullptr;
  TRY(calls.check(calls.cuCtxGetCurrent(&context), "cuCtxGetCurrent"));
  TRY(calls.check(calls.cuGraphCreate(&graph, 0), "cuGraphCreate"));
  std::vector<Nodes> ends(schedule.nodes.size());
  for (std::uint32_t number = 0; number < ends.size(); ++number) {
    Nodes after;
    for (const Edge& edge : schedule.edges_of(number))
      for (void* const end : ends[edge.from])
        if (std::ranges::find(after, end) == after.end()) after.push_back(end);
    const Node& node = schedule.nodes[number];
    const PassInfo& pass = schedule.graph->passes()[node.pass];
    PassWriter writer(*impl_, schedule, addresses, graph, context, pass, std::move(after));
    Result<Nodes> written = node.kind == NodeKind::pass ? writer.write() : writer.mark();
    if (!written.ok()) {
      (void)calls.cuGraphDestroy(graph);
      return written.error();
    }
    ends[number] = std::move(*written);
  }
  return graph;
}

}  // namespace raddle::graph
