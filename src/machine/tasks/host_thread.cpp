// See host_thread.h.
#include "machine/tasks/host_thread.h"

namespace raddle::machine {

HostThread::~HostThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void HostThread::push(Task& task) {
  std::lock_guard lock(mutex_);
  queue_.push_back(&task);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_one();  // under the lock: once the task is done, this object may go
}

void HostThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Task* task = queue_.front();
    queue_.pop_front();
    lock.unlock();
    perform_(*task);
    tasks_.complete(*task);
    lock.lock();
  }
}

}  // namespace raddle::machine
