// The shared window of a cluster whose CTAs have started: 16 MiB for each rank, of which only the CTA's own
// bytes are committed, so that a stray remote address meets a page that is not mapped. Windows come from a
// pool and are reused (K-10).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "exec/abi.h"

namespace raddle::machine {

class SharedWindow {
 public:
  SharedWindow() = default;
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  /// Makes at least `bytes` usable for each of `ranks` CTAs. System calls only when that is more than ever
  /// before.
  /// @returns false if the host has no memory
  bool require(std::uint32_t ranks, std::uint64_t bytes);
  /// As BlockMemory::hand_to().
  void hand_to(std::uint64_t space);
  std::byte* base() const { return base_; }  ///< host address of shared address 0, 256-MiB-aligned
  /// Whether an address is in the reservation, usable or not.
  bool covers(std::uint64_t address) const;

 private:
  bool reserve();
  std::byte* map_ = nullptr;
  std::byte* base_ = nullptr;
  std::uint64_t committed_[exec::kMaxClusterSize] = {};  // bytes, by rank
  std::uint64_t space_ = 0;                              // that used it last
};

/// Windows that no cluster uses. Thread-safe.
class WindowPool {
 public:
  std::unique_ptr<SharedWindow> take();
  void put(std::unique_ptr<SharedWindow> window);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<SharedWindow>> free_;  // the last one put is the hottest
};

}  // namespace raddle::machine
