// The buffer of faults that are replayed (A-9j). Managed memory has no pages in a modelled space until
// kernels touch it. An SM that meets such an address puts a fault in here and sets the access aside; a thread
// of the host takes the faults out, in their order, and gives their spaces the pages; then the access is made
// again.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace raddle::machine {

class PagedSpace;

class FaultBuffer {
 public:
  static constexpr std::uint64_t kEntries = 64;

  FaultBuffer();
  ~FaultBuffer();  ///< no fault is in it

  /// Waits while the buffer is full. Thread-safe, as all here. @returns the fault's number
  std::uint64_t put(PagedSpace& space, std::uint64_t address);
  /// Whether the host has looked at a fault: the access is to be made again, whatever came of it.
  bool is_serviced(std::uint64_t number) const { return serviced_.load(std::memory_order_acquire) >= number; }
  void wait(std::uint64_t number);                                                   ///< until it has
  std::uint64_t count() const { return serviced_.load(std::memory_order_relaxed); }  ///< faults so far
  /// Returns when no fault of the space is in the buffer.
  void forget(const PagedSpace& space);

 private:
  struct Entry {
    PagedSpace* space = nullptr;
    std::uint64_t address = 0;
  };
  void run();
  Entry& entry(std::uint64_t number) { return entries_[number % kEntries]; }
  bool holds(const PagedSpace& space);

  std::mutex mutex_;
  std::condition_variable wake_;     // there is a fault, or the end has come
  std::condition_variable changed_;  // one was serviced
  std::array<Entry, kEntries> entries_;
  std::uint64_t put_ = 0;                   // number of the last one
  std::atomic<std::uint64_t> serviced_{0};  // likewise; those behind it are in the buffer
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace raddle::machine
