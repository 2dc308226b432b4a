// Stream capture: what is given to a stream becomes nodes of a graph, each behind those that the stream's
// work would wait for. Other streams join a capture by waiting for an event that was recorded in it.
#pragma once

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "driver/graph/graph.h"
#include "driver/launch_attributes.h"
#include "driver/objects.h"

namespace raddle::driver {

/// Under the lock of graphs.
struct Capture {
  unsigned long long id = 0;
  CUstreamCaptureMode mode = CAPTURE_GLOBAL;
  std::thread::id thread;             ///< which began it
  Stream* origin = nullptr;           ///< in which it was begun
  std::shared_ptr<Graph> graph;       ///< what has been captured
  bool is_given = false;              ///< the graph is the program's, which had it before
  bool is_valid = true;               ///< no call has broken it
  std::set<Stream*> streams;          ///< whose work is captured
  std::vector<CaptureEdge> departed;  ///< the last nodes of streams that have been destroyed
};

/// Whether a capture adds nodes to it. Under the lock of graphs.
bool is_being_captured(const Graph& graph);
/// A call about an event of a capture breaks that, if it goes on.
void break_capture_of(const Event& event);

/// Work that a stream is given while it is captured becomes a node. CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
Status capture(Stream& stream, NodeWork work);
Status capture_launch(Stream& stream, const std::shared_ptr<Function>& function, const CUlaunchConfig& given,
                      const LaunchAttributes& wanted, std::span<const Argument> arguments);
/// Memory of the graph. @param address  receives it. CUDA_ERROR_OUT_OF_MEMORY, as above
Status capture_allocation(Stream& stream, const std::shared_ptr<Context>& context,
                          const CUmemPoolProps& props, std::size_t bytes, CUdeviceptr* address);
/// CUDA_ERROR_INVALID_VALUE: no memory of a graph
Status capture_free(Stream& stream, CUdeviceptr address);
/// The events of a launch that has just been captured. Either may be null.
Status capture_launch_events(Stream& stream, Event* at_begin, Event* at_trigger);
/// An event that is recorded in a captured stream: it stands for a point of the capture.
Status capture_record(Stream& stream, Event& event);
/// A stream waits for an event that was recorded in a capture: it joins that. If the stream is captured and
/// the event is no part of that: CUDA_ERROR_STREAM_CAPTURE_ISOLATION
Status capture_wait(Stream& stream, Event& event);

/// A call that cannot be captured: breaks the capture. CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
Status refuse_capture(Stream& stream);
/// What the legacy stream does would wait for streams that are captured. CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
Status check_legacy(Context& context);
/// Calls that may wait for a device or change what kernels see, while captures go on that this thread has to
/// mind (cuThreadExchangeStreamCaptureMode). CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; those captures are broken
Status check_unsafe_call();
/// A stream goes: what was captured of it stays, but a capture that it began ends.
void end_capture_of(Stream& stream);

}  // namespace raddle::driver
