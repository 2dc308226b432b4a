#include "machine/mmu/fault_buffer.h"

#include "machine/mmu/paged_space.h"

namespace raddle::machine {

/// The thread begins here, since it would inherit the core of a worker that finds the first fault.
FaultBuffer::FaultBuffer() : thread_([this] { run(); }) {}

FaultBuffer::~FaultBuffer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t FaultBuffer::put(PagedSpace& space, std::uint64_t address) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return put_ - serviced_ < kEntries; });
  const std::uint64_t number = ++put_;
  entry(number) = {&space, address};
  wake_.notify_one();
  return number;
}

void FaultBuffer::wait(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_serviced(number); });
}

/// The lock is held.
bool FaultBuffer::holds(const PagedSpace& space) {
  for (std::uint64_t number = serviced_ + 1; number <= put_; ++number)
    if (entry(number).space == &space) return true;
  return false;
}

void FaultBuffer::forget(const PagedSpace& space) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !holds(space); });
}

void FaultBuffer::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || put_ != serviced_; });
    if (put_ == serviced_) return;
    const Entry next = entry(serviced_ + 1);
    lock.unlock();
    next.space->service(next.address);
    lock.lock();
    serviced_.fetch_add(1, std::memory_order_release);
    changed_.notify_all();
  }
}

}  // namespace raddle::machine
