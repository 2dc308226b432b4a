#include "jit/tiers.h"

#include <sys/resource.h>
#include <unistd.h>

namespace raddle::jit {

TierThread::~TierThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TierThread::push(const void* owner, std::function<void()> job) {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  jobs_.push_back({owner, std::move(job)});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

void TierThread::cancel(const void* owner) {
  std::unique_lock lock(mutex_);
  std::erase_if(jobs_, [&](const Job& job) { return job.owner == owner; });
  changed_.wait(lock, [&] { return running_ != owner; });
}

void TierThread::run() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10);  // kernels come first
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    running_ = job.owner;
    lock.unlock();
    job.run();
    lock.lock();
    running_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace raddle::jit
