// What kernels of a space may access beside the space's own memory (A-22c): memory that all spaces of the
// process know, as far as it is for the space's device, and the memory of peers. Only spaces that isolate
// ask.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "exec/abi.h"
#include "machine/memory/device_space.h"
#include "machine/memory/shared_memory.h"

namespace raddle::machine {

class PeerMemory {
 public:
  /// @param device  that SharedRange::is_for is asked about
  PeerMemory(unsigned device, bool knows_shared);

  /// Memory at the addresses of another space, which stay its own as long as they are admitted. Thread-safe,
  /// as all here.
  void admit(std::uint64_t space, std::shared_ptr<const DeviceSpace> addresses);
  void dismiss(std::uint64_t space);

  /// A part of memory around an address.
  struct Part {
    exec::AddressRange range{0, 0};       ///< empty: kernels may not access it
    std::shared_ptr<SharedRange> shared;  ///< null: a peer's
  };
  Part around(std::uint64_t address) const;
  /// Whoever remembers parts asks again when it has changed: something may be accessible no more.
  std::uint64_t changes() const { return changes_.load() + SharedMemory::instance().removals(); }

  unsigned device() const { return device_; }
  std::uint64_t id() const { return id_; }  ///< never another one's

 private:
  const std::uint64_t id_;
  const unsigned device_;
  const bool knows_shared_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<const DeviceSpace>> admitted_;  // by space
  std::atomic<std::uint64_t> changes_{0};
};

/// The last parts that a thread found, so that a run of accesses asks once.
class PeerLookups {
 public:
  /// Which of a warp's lanes, at their addresses, may access what the first of them may access. Managed
  /// memory counts them.
  std::uint32_t access(const PeerMemory& memory, std::uint32_t lanes, const std::uint64_t* addresses,
                       std::uint64_t bytes);

 private:
  struct Known {
    std::uint64_t memory = 0, changes = 0;
    exec::AddressRange range{0, 0};
    Residency* pages = nullptr;  // lives as long as the work that may touch it; null: nobody counts
  };
  const Known* find(const PeerMemory& memory, std::uint64_t address, std::uint64_t bytes);
  std::array<Known, 4> known_;
  unsigned oldest_ = 0;
};

}  // namespace raddle::machine
