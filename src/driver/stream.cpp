// Streams and events, and the rules of the legacy stream: work in it waits for all earlier work of blocking
// streams, and work in those waits for its earlier work.
#include <algorithm>
#include <chrono>
#include <thread>

#include "driver/entry.h"
#include "driver/graph/capture.h"
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

// Devices have tasks of their own, which cannot wait for each other's: another device's point is asked for
// again and again. That device stays until the wait is over.
void Stream::wait(const raddle::Event& point, const std::shared_ptr<Context>& of) {
  if (of.get() == context) return stream.wait(point);
  struct Held {
    std::shared_ptr<Context> context;  // goes after the point, which is of its device
    std::shared_ptr<const void> point;
  };
  WordCondition condition = point.condition();
  condition.holds = std::make_shared<Held>(of, std::move(condition.holds));
  stream.wait(condition);
}

Stream::~Stream() { end_capture_of(*this); }

void Event::record(const raddle::Event& point, const Stream::History& earlier) {
  is_captured = false;
  const std::lock_guard lock(mutex);
  recorded = point;
  history = earlier;
}

Status Stream::order() {
  if (is_capturing()) return refuse_capture(*this);
  if (is_legacy) {
    TRY(check_legacy(*context));
    if (!context->has_blocking.load(std::memory_order_acquire)) return CUDA_SUCCESS;
    std::vector<std::shared_ptr<Stream>> others;
    {
      const std::lock_guard lock(context->mutex);
      std::erase_if(context->blocking, [](const auto& stream) { return stream.expired(); });
      for (const auto& other : context->blocking) others.push_back(other.lock());
      context->has_blocking.store(!others.empty(), std::memory_order_relaxed);
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
  return CUDA_SUCCESS;
}

// They do not run once the context has failed; callbacks do.
std::function<void()> host_function(Context* context, CUhostFn function, void* data) {
  return [context, function, data] {
    const InCallback scope;
    if (context->device.status().ok() && !context->device.cancelled()) function(data);
  };
}

namespace entry {
namespace {

/// Nothing can be asked about a point of a capture.
Status check_event(const Event& event) {
  return event.is_captured ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

/// And who asks whether it has happened has broken the capture (an H200).
Status check_own_event(const Event& event) {
  if (event.is_captured) break_capture_of(event);
  return check_event(event);
}

std::optional<raddle::Event> point_of(Event& event) {
  const std::lock_guard lock(event.mutex);
  return event.recorded;
}

}  // namespace

Status cuStreamCreate(Here context, CUstream* stream, unsigned flags) {
  return cuStreamCreateWithPriority(context, stream, flags, 0);
}

Status cuStreamCreateWithPriority(Here context, CUstream* handle, unsigned flags, int priority) {
  if ((flags & ~STREAM_NON_BLOCKING) != 0) return CUDA_ERROR_INVALID_VALUE;
  priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  TRY_ASSIGN(raddle::Stream made, context->device.stream(priority));
  auto stream = std::make_shared<Stream>(context.get(), std::move(made), flags, priority, false, context);
  if (stream->is_blocking()) {
    const std::lock_guard lock(context->mutex);
    context->blocking.push_back(stream);
    context->has_blocking.store(true, std::memory_order_release);
  }
  *handle = Process::instance().streams.add(std::move(stream));
  return CUDA_SUCCESS;
}

// Its work goes on, and the legacy stream's rules hold for it.
Status cuStreamDestroy_v2(Here context, In<Stream> stream) {
  if (Process::instance().streams.remove(stream->handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  end_capture_of(*stream);
  if (!stream->stream.done()) context->device.after_work([stream] {});
  return CUDA_SUCCESS;
}

Status cuStreamSynchronize(Here context, In<Stream> stream) {
  TRY(stream->order());
  (void)stream->stream.synchronize();
  release_pools();
  return result_after_wait(*context);
}

Status cuStreamQuery(Here context, In<Stream> stream) {
  TRY(stream->order());
  if (!stream->stream.done()) return CUDA_ERROR_NOT_READY;
  return sticky_result(*context);
}

Status cuStreamWaitEvent(Here, In<Stream> stream, In<Event> event, unsigned flags) {
  if (flags > EVENT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  if (stream->is_capturing() && flags == EVENT_EXTERNAL) return capture(*stream, EventWaitNode{event});
  if (stream->is_capturing() || event->is_captured) return capture_wait(*stream, *event);
  TRY(stream->order());
  if (event->shared != nullptr) {
    stream->stream.wait(happened(event->shared));
  } else if (const auto point = point_of(*event)) {
    stream->wait(*point, event->context);
    const std::lock_guard lock(event->mutex);
    stream->learn(event->history);
  }
  return CUDA_SUCCESS;
}

Status cuStreamGetPriority(Here, In<Stream> stream, int* priority) {
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

Status cuStreamGetFlags(Here, In<Stream> stream, unsigned* flags) {
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

Status cuStreamGetCtx(Here, In<Stream> stream, CUcontext* context) {
  *context = stream->context->handle;
  return CUDA_SUCCESS;
}

Status cuLaunchHostFunc(Here context, In<Stream> stream, CUhostFn function, void* data) {
  if (stream->is_capturing()) return capture(*stream, HostNode{{function, data}});
  TRY(stream->order());
  stream->stream.call(host_function(context.get(), function, data));
  return CUDA_SUCCESS;
}

// Takes the handle as it is, for the callback gets it again.
Status cuStreamAddCallback(Here context, CUstream handle, CUstreamCallback callback, void* data,
                           unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(const std::shared_ptr<Stream> stream, find<Stream>(handle, context));
  TRY(stream->order());
  stream->stream.call([context = stream->context, handle, callback, data] {
    const bool is_over = context->device.cancelled();
    const CUresult status = is_over ? CUDA_ERROR_CONTEXT_IS_DESTROYED : sticky_result(*context).error();
    const InCallback scope;
    callback(handle, status, data);
  });
  return CUDA_SUCCESS;
}

Status cuEventCreate(Here context, CUevent* handle, unsigned flags) {
  constexpr unsigned kKnown = EVENT_BLOCKING_SYNC | EVENT_DISABLE_TIMING;
  if ((flags & ~(kKnown | EVENT_INTERPROCESS)) != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool shared = (flags & EVENT_INTERPROCESS) != 0;
  if (shared && (flags & EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  auto event = std::make_shared<Event>();
  if (shared && (event->shared = SharedEvent::create()) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  event->context = context;
  event->flags = flags;
  *handle = Process::instance().events.add(std::move(event));
  return CUDA_SUCCESS;
}

Status cuEventRecord(Here context, In<Event> event, In<Stream> stream) {
  return cuEventRecordWithFlags(context, event, stream, 0);
}

Status cuEventRecordWithFlags(Here context, In<Event> event, In<Stream> stream, unsigned flags) {
  if (flags > EVENT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  if (event->context != context) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->is_capturing())
    return flags == EVENT_EXTERNAL    ? capture(*stream, EventRecordNode{event})
           : event->shared != nullptr ? refuse_capture(*stream)
                                      : capture_record(*stream, *event);
  TRY(stream->order());
  if (event->shared != nullptr) {
    // Also where the context has failed, so that no other process waits forever.
    stream->stream.call(
        [shared = event->shared, record = event->shared->begin_record()] { shared->complete(record); });
    return CUDA_SUCCESS;
  }
  event->record(stream->stream.record(), stream->history());
  return CUDA_SUCCESS;
}

Status cuEventQuery(In<Event> event) {
  TRY(check_own_event(*event));
  const auto point = point_of(*event);
  const bool waits = event->shared != nullptr ? !event->shared->has_happened(event->shared->recorded())
                                              : point && !point->done();
  if (waits) return CUDA_ERROR_NOT_READY;
  return sticky_result(*event->context);
}

Status cuEventSynchronize(In<Event> event) {
  TRY(check_own_event(*event));
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

Status cuEventDestroy_v2(In<Event> event) {
  return Process::instance().events.remove(event->handle) != nullptr ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_INVALID_HANDLE;
}

Status cuEventElapsedTime_v2(float* milliseconds, In<Event> start, In<Event> end) {
  TRY(check_event(*start));
  TRY(check_event(*end));
  const auto from = point_of(*start), to = point_of(*end);
  if (!from || !to || ((start->flags | end->flags) & EVENT_DISABLE_TIMING) != 0 ||
      &start->context->gpu != &end->context->gpu)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!from->done() || !to->done()) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(to->elapsed_ms(*from));
  return CUDA_SUCCESS;
}

Status cuEventElapsedTime(float* milliseconds, In<Event> start, In<Event> end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // namespace entry
}  // namespace raddle::driver
