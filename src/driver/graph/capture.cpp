// See capture.h.
#include "driver/graph/capture.h"

#include <algorithm>
#include <atomic>

#include "driver/entry.h"
#include "driver/launch_attributes.h"
#include "driver/process.h"

namespace raddle::driver {
namespace {

/// The captures that go on. Never destroyed, as Process.
std::set<Capture*>& captures() {
  static std::set<Capture*>& known = *new std::set<Capture*>;
  return known;
}
/// How many: most programs capture nothing, and their calls need not look.
std::atomic<unsigned> capture_count{0};

CUstreamCaptureMode& mode_of_thread() {
  thread_local CUstreamCaptureMode mode = CAPTURE_GLOBAL;
  return mode;
}

void leave(Stream& stream) {
  stream.has_capture = false;
  stream.capture = nullptr;
  stream.frontier.clear();
}

void join(Stream& stream, const std::shared_ptr<Capture>& capture) {
  stream.capture = capture;
  stream.has_capture = true;
  capture->streams.insert(&stream);
}

void end(const std::shared_ptr<Capture>& capture) {
  for (Stream* const stream : capture->streams) leave(*stream);
  captures().erase(capture.get());
  capture_count = static_cast<unsigned>(captures().size());
}

void merge(std::vector<CaptureEdge>& frontier, std::span<const CaptureEdge> more) {
  for (const CaptureEdge& edge : more)
    if (std::ranges::find(frontier, edge.node, &CaptureEdge::node) == frontier.end())
      frontier.push_back(edge);
}

/// Without nodes that the program has destroyed since.
std::vector<GraphNode::Edge> edges_of(std::span<const CaptureEdge> frontier) {
  std::vector<GraphNode::Edge> edges;
  for (const auto& [handle, data] : frontier)
    if (const auto node = Process::instance().graph_nodes.find(handle)) edges.push_back({node.get(), data});
  return edges;
}

/// Ports are for kernels: other work comes after the end of what it would begin with.
void complete_edges(std::vector<GraphNode::Edge>& edges, bool to_kernel) {
  for (GraphNode::Edge& edge : edges)
    if (!to_kernel && edge.data.type == DEPENDENCY_PROGRAMMATIC) edge.data = {};
}

Status add(Stream& stream, NodeWork work, std::vector<GraphNode::Edge> edges) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;  // another thread has ended it
  if (!capture->is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  complete_edges(edges, std::holds_alternative<KernelNode>(work));
  TRY_ASSIGN(const auto node, capture->graph->add(std::move(work), edges));
  stream.frontier = {{node->handle, {}}};
  return CUDA_SUCCESS;
}

}  // namespace

Status capture(Stream& stream, NodeWork work) {
  const auto lock = lock_graphs();
  return add(stream, std::move(work), edges_of(stream.frontier));
}

Status capture_launch(Stream& stream, const std::shared_ptr<Function>& function, const CUlaunchConfig& given,
                      const LaunchAttributes& wanted, std::span<const Argument> arguments) {
  const auto lock = lock_graphs();
  auto copies = std::make_shared<KernelArguments>(function->kernel().info(), arguments);
  KernelNode node{function, {}, std::move(copies), {}};
  node.params = {
      {function->handle, given.gridDimX, given.gridDimY, given.gridDimZ, given.blockDimX, given.blockDimY,
       given.blockDimZ, given.sharedMemBytes, node.arguments->pointers.data(), nullptr},
      nullptr,
      function->module->context->handle};
  for (unsigned i = 0; i < given.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = given.attrs[i];
    // Edges say these.
    const bool is_edge = attribute.id == LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION ||
                         attribute.id == LAUNCH_PROGRAMMATIC_EVENT ||
                         attribute.id == LAUNCH_LAUNCH_COMPLETION_EVENT;
    if (!is_edge) node.attributes.emplace(attribute.id, attribute);
  }
  CUlaunchAttribute priority{LAUNCH_PRIORITY};
  const int level = wanted.priority.value_or(stream.priority);
  std::copy_n(reinterpret_cast<const char*>(&level), sizeof level, priority.value);
  if (level != 0) node.attributes.emplace(LAUNCH_PRIORITY, priority);
  std::vector<GraphNode::Edge> edges = edges_of(stream.frontier);
  if (wanted.begins_early)
    for (GraphNode::Edge& edge : edges)
      if (std::holds_alternative<KernelNode>(edge.node->work))
        edge.data = {PORT_PROGRAMMATIC, 0, DEPENDENCY_PROGRAMMATIC, {}};
  return add(stream, std::move(node), std::move(edges));
}

Status capture_allocation(Stream& stream, const std::shared_ptr<Context>& context,
                          const CUmemPoolProps& props, std::size_t bytes, CUdeviceptr* address) {
  const auto lock = lock_graphs();
  if (stream.capture == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  const auto edges = edges_of(stream.frontier);
  TRY_ASSIGN(auto memory, take_memory(*stream.capture->graph, edges, context, props, bytes));
  *address = memory->address;
  return add(stream, AllocationNode{std::move(memory), props, {}}, edges);
}

Status capture_free(Stream& stream, CUdeviceptr address) {
  const auto lock = lock_graphs();
  auto memory = GraphMemory::find(address);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(stream, FreeNode{std::move(memory)}, edges_of(stream.frontier));
}

Status capture_launch_events(Stream& stream, Event* at_begin, Event* at_trigger) {
  const auto lock = lock_graphs();
  if (stream.capture == nullptr || stream.frontier.empty()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  const CUgraphNode node = stream.frontier.front().node;
  for (const auto& [event, port] :
       {std::pair{at_begin, PORT_LAUNCH_ORDER}, std::pair{at_trigger, PORT_PROGRAMMATIC}}) {
    if (event == nullptr) continue;
    event->capture = stream.capture;
    event->captured = {
        {node, {port, 0, port == PORT_PROGRAMMATIC ? DEPENDENCY_PROGRAMMATIC : DEPENDENCY_DEFAULT, {}}}};
    event->is_captured = true;
  }
  return CUDA_SUCCESS;
}

Status capture_record(Stream& stream, Event& event) {
  const auto lock = lock_graphs();
  if (stream.capture == nullptr || !stream.capture->is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  event.capture = stream.capture;
  event.captured = stream.frontier;
  event.is_captured = true;
  return CUDA_SUCCESS;
}

Status capture_wait(Stream& stream, Event& event) {
  const auto lock = lock_graphs();
  const std::shared_ptr<Capture> of_event = event.is_captured ? event.capture : nullptr;
  const bool goes_on = of_event != nullptr && captures().contains(of_event.get());
  if (stream.capture == nullptr) {
    if (!goes_on) return CUDA_SUCCESS;  // what was captured is not this stream's to wait for
    if (stream.is_legacy) {
      of_event->is_valid = false;
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    join(stream, of_event);
  } else if (of_event != stream.capture) {
    stream.capture->is_valid = false;
    if (!goes_on) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    of_event->is_valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (!stream.capture->is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  merge(stream.frontier, event.captured);
  return CUDA_SUCCESS;
}

Status refuse_capture(Stream& stream) {
  const auto lock = lock_graphs();
  if (stream.capture != nullptr) stream.capture->is_valid = false;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

Status check_legacy(Context& context) {
  if (capture_count.load(std::memory_order_relaxed) == 0) return CUDA_SUCCESS;
  const auto lock = lock_graphs();
  Status status = CUDA_SUCCESS;
  for (Capture* const capture : captures())
    for (const Stream* stream : capture->streams)
      if (stream->context == &context && stream->is_blocking())
        capture->is_valid = false, status = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  return status;
}

Status check_unsafe_call() {
  if (capture_count.load(std::memory_order_relaxed) == 0 || mode_of_thread() == CAPTURE_RELAXED)
    return CUDA_SUCCESS;
  const auto lock = lock_graphs();
  Status status = CUDA_SUCCESS;
  for (Capture* const capture : captures()) {
    const bool is_own = capture->thread == std::this_thread::get_id();
    const bool matters = is_own ? capture->mode != CAPTURE_RELAXED
                                : capture->mode == CAPTURE_GLOBAL && mode_of_thread() == CAPTURE_GLOBAL;
    if (matters) capture->is_valid = false, status = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return status;
}

bool is_being_captured(const Graph& graph) {
  return std::ranges::any_of(captures(), [&](const Capture* each) { return each->graph.get() == &graph; });
}

void break_capture_of(const Event& event) {
  const auto lock = lock_graphs();
  if (event.capture != nullptr) event.capture->is_valid = false;
}

void end_capture_of(Stream& stream) {
  if (!stream.is_capturing()) return;
  const auto lock = lock_graphs();
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return;
  if (capture->origin == &stream) return end(capture);
  capture->streams.erase(&stream);
  capture->departed.insert(capture->departed.end(), stream.frontier.begin(), stream.frontier.end());
  leave(stream);
}

namespace entry {
namespace {

Status begin(Here, const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode,
             std::shared_ptr<Graph> graph, std::vector<CaptureEdge> frontier) {
  static unsigned long long last_id = 0;  // under the lock of graphs
  if (mode < CAPTURE_GLOBAL || mode > CAPTURE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = ++last_id;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream.get();
  capture->is_given = graph != nullptr;
  capture->graph = graph != nullptr ? std::move(graph) : make_graph();
  captures().insert(capture.get());
  capture_count = static_cast<unsigned>(captures().size());
  join(*stream, capture);
  stream->frontier = std::move(frontier);
  return CUDA_SUCCESS;
}

/// Whether all that was captured comes before the end of the stream that began it.
bool is_joined(const Capture& capture) {
  const std::vector<GraphNode::Edge> end = edges_of(capture.origin->frontier);
  std::vector<CaptureEdge> all = capture.departed;
  for (const Stream* const stream : capture.streams)
    all.insert(all.end(), stream->frontier.begin(), stream->frontier.end());
  return std::ranges::all_of(edges_of(all), [&](const GraphNode::Edge& last) {
    return std::ranges::any_of(
        end, [&](const GraphNode::Edge& edge) { return Graph::leads_to(*last.node, *edge.node); });
  });
}

/// The nodes that calls name, as what follows waits for.
Answer<std::vector<CaptureEdge>> frontier_of(const Graph& graph, const CUgraphNode* nodes,
                                             const CUgraphEdgeData* data, std::size_t count) {
  TRY_ASSIGN(const auto edges, edges_of(graph, nodes, data, count));
  std::vector<CaptureEdge> frontier;
  for (const auto& [node, edge] : edges) frontier.push_back({node->handle, edge});
  return frontier;
}

}  // namespace

Status cuStreamBeginCapture(Here context, In<Stream> stream) {
  return cuStreamBeginCapture_v2(context, stream, CAPTURE_GLOBAL);
}

Status cuStreamBeginCapture_v2(Here context, In<Stream> stream, CUstreamCaptureMode mode) {
  const auto lock = lock_graphs();
  return begin(context, stream, mode, nullptr, {});
}

Status cuStreamBeginCaptureToGraph(Here context, In<Stream> stream, In<Graph> graph,
                                   const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                                   std::size_t count, CUstreamCaptureMode mode) {
  const auto lock = lock_graphs();
  TRY_ASSIGN(auto frontier, frontier_of(*graph, dependencies, data, count));
  return begin(context, stream, mode, graph, std::move(frontier));
}

// Who captures into a graph of its own has it.
Status cuStreamEndCapture(Here, In<Stream> stream, CUgraph* graph) {
  const auto lock = lock_graphs();
  if (graph != nullptr) *graph = nullptr;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream.get()) {
    capture->is_valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  // Another thread ends it all the same, as one that nobody wants the graph of: so on an H200.
  const bool is_elsewhere = capture->mode != CAPTURE_RELAXED && capture->thread != std::this_thread::get_id();
  const Status status = is_elsewhere           ? CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
                        : !capture->is_valid   ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                        : !is_joined(*capture) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                               : CUDA_SUCCESS;
  end(capture);
  if (status.ok() && graph != nullptr) *graph = capture->graph->handle;
  if ((!status.ok() || graph == nullptr) && !capture->is_given) end_handles(*capture->graph);
  return status;
}

// A stream that is captured is asked about it, though nothing else may be done with it.
Status cuStreamIsCapturing(Here context, In<Stream> stream, CUstreamCaptureStatus* status) {
  const auto lock = lock_graphs();
  if (stream->is_legacy) TRY(check_legacy(*context));
  const Capture* const capture = stream->capture.get();
  *status = capture == nullptr ? CAPTURE_NONE : capture->is_valid ? CAPTURE_ACTIVE : CAPTURE_INVALIDATED;
  return CUDA_SUCCESS;
}

Status cuStreamGetCaptureInfo(Here context, In<Stream> stream, CUstreamCaptureStatus* status,
                              unsigned long long* id) {
  return cuStreamGetCaptureInfo_v2(context, stream, status, id, nullptr, nullptr, nullptr);
}

Status cuStreamGetCaptureInfo_v2(Here context, In<Stream> stream, CUstreamCaptureStatus* status,
                                 unsigned long long* id, CUgraph* graph, const CUgraphNode** dependencies,
                                 std::size_t* count) {
  return cuStreamGetCaptureInfo_v3(context, stream, status, id, graph, dependencies, nullptr, count);
}

// What it points to stays until the thread asks again.
Status cuStreamGetCaptureInfo_v3(Here context, In<Stream> stream, CUstreamCaptureStatus* status,
                                 unsigned long long* id, CUgraph* graph, const CUgraphNode** dependencies,
                                 const CUgraphEdgeData** data, std::size_t* count) {
  thread_local std::vector<CUgraphNode> nodes;
  thread_local std::vector<CUgraphEdgeData> edges;
  const auto lock = lock_graphs();
  TRY(cuStreamIsCapturing(context, stream, status));
  if (*status != CAPTURE_ACTIVE) return CUDA_SUCCESS;
  nodes.clear(), edges.clear();
  bool is_plain = true;
  for (const auto& [node, edge] : stream->frontier) {
    nodes.push_back(node), edges.push_back(edge);
    is_plain = is_plain && edge == CUgraphEdgeData{};
  }
  if (data == nullptr && dependencies != nullptr && !is_plain) return CUDA_ERROR_LOSSY_QUERY;
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = stream->capture->graph->handle;
  if (dependencies != nullptr) *dependencies = nodes.data();
  if (data != nullptr) *data = edges.data();
  if (count != nullptr) *count = nodes.size();
  return CUDA_SUCCESS;
}

Status cuStreamUpdateCaptureDependencies(Here context, In<Stream> stream, CUgraphNode* nodes,
                                         std::size_t count, unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(context, stream, nodes, nullptr, count, flags);
}

Status cuStreamUpdateCaptureDependencies_v2(Here, In<Stream> stream, CUgraphNode* nodes,
                                            const CUgraphEdgeData* data, std::size_t count, unsigned flags) {
  const auto lock = lock_graphs();
  if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (!stream->capture->is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (flags > CAPTURE_SET_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(auto frontier, frontier_of(*stream->capture->graph, nodes, data, count));
  if (flags == CAPTURE_SET_DEPENDENCIES)
    stream->frontier = std::move(frontier);
  else
    merge(stream->frontier, frontier);
  return CUDA_SUCCESS;
}

Status cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (*mode < CAPTURE_GLOBAL || *mode > CAPTURE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, mode_of_thread());
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
