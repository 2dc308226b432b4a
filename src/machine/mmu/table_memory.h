// Where page tables lie (A-6c): in physical memory from the highest frame on, or in the host's memory. What
// leads to a table, an entry of the ASID table or a word of the table above, says in which.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "machine/mmu/page.h"
#include "machine/mmu/physical_memory.h"

namespace raddle::machine {

/// Where a page table begins.
struct TableBase {
  std::uint64_t physical = 0;  ///< of the host: an address of the process
  Aperture aperture = Aperture::device;

  bool operator==(const TableBase&) const = default;
};

class TableMemory {
 public:
  /// @param memory  outlives this @param aperture  where new tables go
  TableMemory(PhysicalMemory& memory, Aperture aperture) : memory_(memory), aperture_(aperture) {}
  TableMemory(const TableMemory&) = delete;
  TableMemory& operator=(const TableMemory&) = delete;

  /// A frame for a table, all zero; thread-safe as the next one. Nothing: none is left.
  std::optional<TableBase> take();
  /// No walk can come to it any more.
  void give_back(TableBase table);
  /// A word of a table in either memory, whatever take() gives now. @param offset  in bytes
  std::atomic_ref<std::uint64_t> word(TableBase table, std::uint64_t offset) const;
  /// How many tables lie in the host's memory.
  std::uint64_t host_tables() const { return host_tables_.load(std::memory_order_relaxed); }

 private:
  PhysicalMemory& memory_;
  const Aperture aperture_;
  std::atomic<std::uint64_t> host_tables_{0};
};

}  // namespace raddle::machine
