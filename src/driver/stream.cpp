// Streams and events, and the rules of the legacy stream: work in it waits for all earlier work of blocking
// streams, and work in those waits for its earlier work.
#include <algorithm>
#include <chrono>
#include <thread>

#include "driver/entry.h"
#include "driver/ipc.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {

std::uint64_t next_stream_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

namespace {
/// Launches need not look at histories before the first free.
std::atomic<bool> any_free{false};
}  // namespace

Stream::History Stream::history() {
  if (!any_free.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(history_mutex_);
  return history_;
}

void Stream::learn(const History& earlier) {
  if (earlier.empty()) return;
  const std::lock_guard lock(history_mutex_);
  for (const auto& [stream, free] : earlier) {
    std::uint64_t& known = history_[stream];
    known = std::max(known, free);
  }
}

bool Stream::comes_after(std::uint64_t stream, std::uint64_t free) {
  const std::lock_guard lock(history_mutex_);
  const auto found = history_.find(stream);
  return found != history_.end() && found->second >= free;
}

std::uint64_t Stream::next_free() {
  any_free = true;
  const std::lock_guard lock(history_mutex_);
  return ++history_[id];
}

void Stream::set_priority(int wanted) {
  priority = std::clamp(wanted, kGreatestPriority, kLeastPriority);
  stream.set_priority(priority);
}

void Stream::order() {
  if (is_legacy) {
    std::vector<std::shared_ptr<Stream>> others;
    {
      const std::lock_guard lock(context->mutex);
      std::erase_if(context->blocking, [](const auto& stream) { return stream.expired(); });
      for (const auto& other : context->blocking) others.push_back(other.lock());
    }
    for (const auto& other : others) {
      if (other == nullptr) continue;
      learn(other->history());
      if (!other->stream.done()) stream.wait(other->stream.record());
    }
  } else if (is_blocking()) {
    Stream& legacy = context->legacy_stream();
    learn(legacy.history());
    if (!legacy.stream.done()) stream.wait(legacy.stream.record());
  }
}

namespace entry {
namespace {

/// The stream of the current context, ready for work to be appended.
CUresult find_ordered(CUstream handle, std::shared_ptr<Context>& context, std::shared_ptr<Stream>& stream) {
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_stream(handle, context, stream); result != CUDA_SUCCESS) return result;
  stream->order();
  return CUDA_SUCCESS;
}

CUresult find_event(CUevent handle, std::shared_ptr<Event>& event) {
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  event = Process::instance().events.find(handle);
  return event != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

std::optional<raddle::Event> point_of(Event& event) {
  const std::lock_guard lock(event.mutex);
  return event.recorded;
}

CUresult find_plain(CUstream handle, std::shared_ptr<Stream>& stream) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  return find_stream(handle, context, stream);
}

}  // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream* handle, unsigned flags, int priority) {
  if (handle == nullptr || (flags & ~STREAM_NON_BLOCKING) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  Result<raddle::Stream> made = context->device.stream(priority);
  if (!made) return result_of(made.error());
  auto stream = std::make_shared<Stream>(context.get(), std::move(*made), flags, priority, false, context);
  if (stream->is_blocking()) {
    const std::lock_guard lock(context->mutex);
    context->blocking.push_back(stream);
  }
  *handle = Process::instance().streams.add<CUstream>(std::move(stream));
  return CUDA_SUCCESS;
}

// Its work goes on, and the legacy stream's rules hold for it.
CUresult cuStreamDestroy_v2(CUstream handle) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_stream(handle, context, stream); result != CUDA_SUCCESS) return result;
  if (Process::instance().streams.remove(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!stream->stream.done()) context->device.after_work([stream] {});
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_ordered(handle, context, stream); result != CUDA_SUCCESS) return result;
  (void)stream->stream.synchronize();
  release_pools();
  return result_after_wait(*context);
}

CUresult cuStreamQuery(CUstream handle) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_ordered(handle, context, stream); result != CUDA_SUCCESS) return result;
  if (!stream->stream.done()) return CUDA_ERROR_NOT_READY;
  return sticky_result(*context);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags) {
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Event> event;
  if (const CUresult result = find_ordered(handle, context, stream); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_event(event_handle, event); result != CUDA_SUCCESS) return result;
  if (event->shared != nullptr) {
    stream->stream.wait(happened(event->shared));
  } else if (const auto point = point_of(*event)) {
    stream->stream.wait(*point);
    const std::lock_guard lock(event->mutex);
    stream->learn(event->history);
  }
  return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  std::shared_ptr<Stream> stream;
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find_plain(handle, stream); result != CUDA_SUCCESS) return result;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  std::shared_ptr<Stream> stream;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find_plain(handle, stream); result != CUDA_SUCCESS) return result;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  std::shared_ptr<Stream> stream;
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find_plain(handle, stream); result != CUDA_SUCCESS) return result;
  *context = stream->context->handle;
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_ordered(handle, context, stream); result != CUDA_SUCCESS) return result;
  // Functions of this kind do not run once the context has failed; callbacks do.
  stream->stream.call([context = context.get(), function, data] {
    const InCallback scope;
    if (context->device.status().ok() && !context->device.cancelled()) function(data);
  });
  return CUDA_SUCCESS;
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data, unsigned flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_ordered(handle, context, stream); result != CUDA_SUCCESS) return result;
  stream->stream.call([context = context.get(), handle, callback, data] {
    const bool is_over = context->device.cancelled();
    const CUresult status = is_over ? CUDA_ERROR_CONTEXT_IS_DESTROYED : sticky_result(*context);
    const InCallback scope;
    callback(handle, status, data);
  });
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* handle, unsigned flags) {
  constexpr unsigned kKnown = EVENT_BLOCKING_SYNC | EVENT_DISABLE_TIMING;
  if (handle == nullptr || (flags & ~(kKnown | EVENT_INTERPROCESS)) != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool shared = (flags & EVENT_INTERPROCESS) != 0;
  if (shared && (flags & EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  auto event = std::make_shared<Event>();
  if (shared && (event->shared = SharedEvent::create()) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  event->context = std::move(context);
  event->flags = flags;
  *handle = Process::instance().events.add<CUevent>(std::move(event));
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) { return cuEventRecordWithFlags(event, stream, 0); }

CUresult cuEventRecordWithFlags(CUevent event_handle, CUstream handle, unsigned flags) {
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Event> event;
  if (const CUresult result = find_event(event_handle, event); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_ordered(handle, context, stream); result != CUDA_SUCCESS) return result;
  if (event->context != context) return CUDA_ERROR_INVALID_HANDLE;
  if (event->shared != nullptr) {
    // Also where the context has failed, so that no other process waits forever.
    stream->stream.call(
        [shared = event->shared, record = event->shared->begin_record()] { shared->complete(record); });
    return CUDA_SUCCESS;
  }
  raddle::Event point = stream->stream.record();
  const std::lock_guard lock(event->mutex);
  event->recorded = point;
  event->history = stream->history();
  return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent handle) {
  std::shared_ptr<Event> event;
  if (const CUresult result = find_event(handle, event); result != CUDA_SUCCESS) return result;
  const auto point = point_of(*event);
  const bool waits = event->shared != nullptr ? !event->shared->has_happened(event->shared->recorded())
                                              : point && !point->done();
  if (waits) return CUDA_ERROR_NOT_READY;
  return sticky_result(*event->context);
}

CUresult cuEventSynchronize(CUevent handle) {
  std::shared_ptr<Event> event;
  if (const CUresult result = find_event(handle, event); result != CUDA_SUCCESS) return result;
  if (event->shared != nullptr) {
    const std::uint64_t record = event->shared->recorded();
    constexpr auto kPause = std::chrono::microseconds(50);
    while (!event->shared->has_happened(record)) std::this_thread::sleep_for(kPause);
  } else if (const auto point = point_of(*event)) {
    point->wait();
  }
  release_pools();
  return result_after_wait(*event->context);
}

CUresult cuEventDestroy_v2(CUevent handle) {
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  return Process::instance().events.remove(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Event> start, end;
  if (const CUresult result = find_event(start_handle, start); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_event(end_handle, end); result != CUDA_SUCCESS) return result;
  const auto from = point_of(*start), to = point_of(*end);
  if (!from || !to || ((start->flags | end->flags) & EVENT_DISABLE_TIMING) != 0)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!from->done() || !to->done()) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(to->elapsed_ms(*from));
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // namespace entry
}  // namespace raddle::driver
