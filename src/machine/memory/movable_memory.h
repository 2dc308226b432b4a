// Memory whose pages move between the host's and devices' memory under programs and kernels that use them
// (A-22d): a page's bytes lie in frames of the processor that has it, and the process has them at one
// address. Where pages are to be, residency.h decides (ADR 81).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "exec/abi.h"
#include "machine/memory/residency.h"
#include "machine/mmu/physical_memory.h"

namespace raddle::machine {

class MovableMemory {
 public:
  static constexpr std::uint64_t kPage = Residency::kPage;
  /// Of all together.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 30;

  /// All zero, at the host. @errors out_of_memory: addresses, frames; unsupported: not on this processor
  static Result<std::unique_ptr<MovableMemory>> create(std::uint64_t bytes);
  ~MovableMemory();
  MovableMemory(const MovableMemory&) = delete;
  MovableMemory& operator=(const MovableMemory&) = delete;

  /// Memory of a device, from now on; any thread, as all here. That of an earlier machine of the same device
  /// keeps the pages that it has.
  static void announce(Processor device, const std::shared_ptr<PhysicalMemory>& memory);

  /// Where all such memory lies; no bytes: there is none now.
  static exec::AddressRange all();
  std::uint64_t address() const { return address_; }
  /// Who has a page's bytes. @param page  by number
  Processor place(std::uint64_t page) const { return pages_[page].place.load(std::memory_order_relaxed); }
  /// Moves a page's bytes; who writes there meanwhile waits. Where the processor's memory is not known yet,
  /// they stay. @returns false: it has no room
  bool bring(std::uint64_t page, Processor to);
  /// Where they lie.
  struct Frames {
    std::shared_ptr<PhysicalMemory> memory;
    FrameRun run;
  };
  Frames frames(std::uint64_t page) const;

  /// For the handler of signals, on a thread that may not write at an address: returns when it may.
  /// @returns false: that is no matter of moving pages
  static bool wait_for_move(std::uint64_t address);

 private:
  struct Page {
    std::atomic<Processor> place{kHostProcessor};
    Frames frames;  // under the lock of all moves
  };
  MovableMemory(std::uint64_t address, std::uint64_t bytes);
  bool fill();
  bool move(Page& page, std::uint64_t address, Frames to) const;

  const std::uint64_t address_, bytes_;
  std::vector<Page> pages_;
};

}  // namespace raddle::machine
