// The copy engines: units beside the SMs that copy and fill, for all address spaces. Each is a thread
// that takes what is ready in turn. Addresses of modelled spaces it translates by their page tables, with a
// TLB of its own. Where a page is missing, it sets the copy aside, works on others, and goes on with it at
// that place when the page has come; if none comes, the task fails and nothing else does. Started at their
// first work, so that programs which never copy have none.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "machine/copy/transfer.h"

namespace raddle::machine {

class AddressSpace;
class Task;

class CopyEngines {
 public:
  static constexpr unsigned kCount = 2;  ///< so that a copy to the device goes on beside one from it

  ~CopyEngines();
  /// A task with a CopyWork or FillWork, all of whose conditions are met. @param space  whose task it is
  void push(AddressSpace& space, Task& task);
  /// Returns when no engine has to do with a space any more, all of whose tasks are complete.
  void forget(const AddressSpace& space);
  /// How often a copy went on at a place where it had stopped.
  std::uint64_t resumed() const { return resumed_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    AddressSpace* space;
    Task* task;
    std::optional<Transfer> transfer;  // once an engine has begun it
  };
  void start_one();
  void run(unsigned number);
  bool advance(Job& job, unsigned number);

  std::mutex mutex_;
  std::condition_variable wake_, changed_;
  std::deque<Job> queue_;
  unsigned idle_ = 0;
  bool stopping_ = false;
  std::array<const AddressSpace*, kCount> serves_{};
  std::array<std::thread, kCount> threads_;
  std::atomic<std::uint64_t> resumed_{0};
};

}  // namespace raddle::machine
