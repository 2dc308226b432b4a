// The device memory of a machine's modelled spaces: one file in memory, whose offsets are physical addresses.
// Data takes frames from the lowest on, page tables from the highest.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "machine/memory/mapping.h"
#include "machine/mmu/frame_runs.h"

namespace raddle::machine {

class PhysicalMemory {
 public:
  /// @param bytes  whole huge pages; the host's memory is taken where it is touched
  /// @errors out_of_memory
  static Result<std::unique_ptr<PhysicalMemory>> create(std::uint64_t bytes);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  /// Frames for data, all zero, thread-safe as the next three: in one run if there is one so long, else a
  /// part of them. Nothing: none is left.
  std::optional<FrameRun> take(std::uint64_t bytes, std::uint64_t alignment);
  /// These frames, if all are free.
  bool take_at(FrameRun run);
  /// A frame for a page table, all zero.
  std::optional<std::uint64_t> take_table();
  /// Nobody uses them any more.
  void give_back(FrameRun run);
  std::uint64_t free_bytes() const;
  std::uint64_t bytes() const { return bytes_; }

  /// Makes frames zero; the host takes their memory back.
  void clear(FrameRun run);
  /// Where the machine itself finds a physical address.
  std::byte* host(std::uint64_t physical) const { return base_ + physical; }
  std::atomic_ref<std::uint64_t> word(std::uint64_t physical) const {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(base_ + physical));
  }
  int descriptor() const { return file_.descriptor(); }  ///< of the file

 private:
  PhysicalMemory(MemoryFile file, std::byte* base, std::uint64_t bytes);

  const MemoryFile file_;
  std::byte* const base_;
  const std::uint64_t bytes_;
  mutable std::mutex mutex_;
  FrameRuns free_;
};

}  // namespace raddle::machine
