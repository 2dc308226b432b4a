#include "machine/copy/copy_engines.h"

#include <algorithm>

#include "machine/address_space.h"
#include "machine/services/reach.h"
#include "machine/sm/signals.h"

namespace raddle::machine {

CopyEngines::~CopyEngines() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void CopyEngines::push(AddressSpace& space, Task& task) {
  const std::lock_guard lock(mutex_);
  queue_.push_back({&space, &task, std::nullopt});
  if (idle_ < queue_.size()) start_one();
  wake_.notify_one();
}

/// If there is one more.
void CopyEngines::start_one() {
  const auto next = std::ranges::find_if_not(threads_, &std::thread::joinable);
  if (next == threads_.end()) return;
  *next = std::thread([this, number = static_cast<unsigned>(next - threads_.begin())] { run(number); });
}

void CopyEngines::forget(const AddressSpace& space) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return std::ranges::find(serves_, &space) == serves_.end(); });
}

void CopyEngines::run(unsigned number) {
  const ThreadSignals signals;
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    Job job = std::move(queue_.front());
    queue_.pop_front();
    serves_[number] = job.space;
    lock.unlock();
    const bool is_over = advance(job, number);
    lock.lock();
    serves_[number] = nullptr;
    if (is_over) {
      changed_.notify_all();
    } else {
      resumed_.fetch_add(1, std::memory_order_relaxed);
      queue_.push_back(std::move(job));
    }
  }
}

namespace {
Transfer begin(const Work& work) {
  if (const auto* copy = std::get_if<CopyWork>(&work)) return Transfer(*copy);
  return Transfer(std::get<FillWork>(work));
}

exec::Fault fault_of(AddressSpace& space, const Transfer& transfer, const Transfer::Stop& stop) {
  exec::Fault fault{.kind = exec::FaultKind::illegal_address, .block_known = false, .address = stop.address};
  fault.detail = fmt::format("{}: {} by a copy engine after {} bytes, {}{}", space.name(),
                             stop.is_write ? "write" : "read", transfer.bytes_moved(),
                             note_of(stop.place.problem), space.memory().describe(stop.address));
  return fault;
}
}  // namespace

/// @returns false: it is to go on later
bool CopyEngines::advance(Job& job, unsigned number) {
  if (!job.transfer) job.transfer.emplace(begin(job.task->work));
  const auto stop = job.transfer->run(number);
  if (stop && stop->pages != nullptr && stop->pages->resolve(stop->place, stop->address)) return false;
  job.space->end_copy(*job.task, stop ? fault_of(*job.space, *job.transfer, *stop) : exec::Fault{});
  return true;
}

}  // namespace raddle::machine
