// The kernel's memory is touched first, while nothing is held; then the queue is.
#include "machine/services/queue_calls.h"

#include <cstring>

#include "machine/address_space.h"
#include "machine/services/services.h"
#include "machine/tasks/task_queue.h"

namespace raddle::machine {

QueueCall::QueueCall(exec::WarpContext* warp, std::uint32_t lane, const std::uint64_t* arguments)
    : warp_(warp),
      lane_(lane),
      arguments_(arguments),
      block_(*static_cast<const Block*>(warp->cta->machine)),
      own_(*block_.task) {}

std::uint64_t QueueCall::position() const {
  return own_.grid().queue != nullptr ? block_.run.first : ~std::uint64_t{0};
}

std::uint64_t QueueCall::entry() const {
  const TaskQueue* const queue = own_.grid().queue.get();
  const std::uint64_t bytes = arguments_[1];
  if (queue == nullptr || bytes != queue->entry_bytes()) return 0;
  const Touching touching(warp_, lane_);
  std::memcpy(touching.memory(arguments_[0], bytes, exec::AccessKind::store), block_.entry.data(), bytes);
  return 1;
}

template <class Act>
Append QueueCall::with_queue(const Act& act) const {
  const Worker::Busy busy(*block_.worker);
  AddressSpace& space = *own_.grid().space;
  const std::uint64_t record = arguments_[0];
  if (record == 0 || record == own_.grid().record)
    return own_.grid().queue == nullptr ? Append::refused : act(space, own_);
  Task* const named = space.find_queue(record);
  if (named == nullptr) return Append::refused;
  const Append answer = act(space, *named);
  space.tasks().release(named);
  return answer;
}

Append QueueCall::append() const {
  const std::uint64_t bytes = arguments_[2];
  alignas(16) std::byte entry[TaskRecord::kMostEntryBytes];
  if (bytes > sizeof entry) return Append::refused;
  {
    const Touching touching(warp_, lane_);
    std::memcpy(entry, touching.memory(arguments_[1], bytes, exec::AccessKind::load), bytes);
  }
  return with_queue([&](AddressSpace& space, Task& task) {
    return bytes != task.grid().queue->entry_bytes() ? Append::refused : space.append(task, entry, 0);
  });
}

/// The record is read when its turn comes; that the kernel may read it is known now.
Append QueueCall::append_task() const {
  const std::uint64_t record = arguments_[1];
  {
    const Touching touching(warp_, lane_);
    const volatile std::byte* const place =
        touching.memory(record, sizeof(TaskRecord), exec::AccessKind::load);
    (void)(place[0] == place[sizeof(TaskRecord) - 1]);
  }
  return with_queue([&](AddressSpace& space, Task& task) { return space.append(task, nullptr, record); });
}

Append QueueCall::close() const {
  return with_queue([](AddressSpace& space, Task& task) {
    space.close_queue(task);
    return Append::done;
  });
}

}  // namespace raddle::machine
