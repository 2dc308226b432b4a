// One short lock: producers are blocks and threads of the host, consumers the workers that start blocks.
#include "machine/tasks/task_queue.h"

#include <atomic>
#include <utility>

#include "base/assert.h"
#include "machine/memory/device_copy.h"

namespace raddle::machine {

TaskQueue::TaskQueue(Spec spec) : spec_(std::move(spec)), headers_(spec_.capacity, kFree) {
  for (; appended_ < spec_.ready; ++appended_)
    copy_from_device(&headers_[appended_], slot(appended_), sizeof(std::uint64_t));
  tell(spec_.progress->appended, appended_);
  tell(spec_.progress->taken, 0);
}

std::byte* TaskQueue::slot(std::uint64_t position) const {
  return spec_.slots + position % spec_.capacity * (TaskRecord::kSlotHeader + spec_.entry_bytes);
}

void TaskQueue::tell(std::uint64_t& progress, std::uint64_t value) const {
  std::atomic_ref<std::uint64_t>(progress).store(value, std::memory_order_release);
}

Append TaskQueue::append(const std::byte* entry, std::uint64_t child) {
  const std::lock_guard lock(mutex_);
  if (closed_) return Append::closed;
  if (appended_ - oldest_ == spec_.capacity) return Append::full;
  std::byte* const to = slot(appended_);
  copy_to_device(to, &child, sizeof child);
  if (entry != nullptr) copy_to_device(to + TaskRecord::kSlotHeader, entry, spec_.entry_bytes);
  headers_[appended_ % spec_.capacity] = child;
  tell(spec_.progress->appended, ++appended_);
  return Append::done;
}

std::uint64_t TaskQueue::take(std::uint64_t position, std::byte* entry) {
  const std::lock_guard lock(mutex_);
  std::uint64_t& header = headers_[position % spec_.capacity];
  RADDLE_ASSERT(oldest_ <= position && position < appended_ && header != kFree, "an entry is taken twice");
  copy_from_device(entry, slot(position) + TaskRecord::kSlotHeader, spec_.entry_bytes);
  const std::uint64_t child = std::exchange(header, kFree);
  while (oldest_ < appended_ && headers_[oldest_ % spec_.capacity] == kFree) ++oldest_;
  tell(spec_.progress->taken, ++taken_);
  return child;
}

void TaskQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

void TaskQueue::child_began() {
  const std::lock_guard lock(mutex_);
  ++children_;
}

// Of those in the tail, which start when the queue is closed, nobody has counted the begin.
void TaskQueue::child_ended() {
  const std::lock_guard lock(mutex_);
  if (children_ != 0) --children_;
}

TaskQueue::State TaskQueue::look(std::uint64_t worked_off) {
  const std::lock_guard lock(mutex_);
  if (spec_.ending == QueueEnding::drained && worked_off == appended_ && children_ == 0) closed_ = true;
  return {appended_, closed_};
}

}  // namespace raddle::machine
