// A translation lookaside buffer: entries tagged by ASID and virtual page, of all three sizes side by side.
// One thread at a time; the counters may be read by others.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/mmu/asid_table.h"
#include "machine/mmu/hit_counts.h"
#include "machine/mmu/page.h"
#include "machine/mmu/tag_store.h"

namespace raddle::machine {

class Tlb {
 public:
  /// @param asids  how many there are
  Tlb(const TagStoreSpec& spec, unsigned asids);

  /// The page at an address in a space; null: a miss. Counts either.
  /// @param generation  of the space's binding: what was kept under another one is gone
  const Page* find(Asid asid, std::uint64_t generation, std::uint64_t address);
  /// Keeps what was found elsewhere after a miss.
  const Page& keep(Asid asid, std::uint64_t generation, std::uint64_t address, const Page& page);
  Hits counts(Asid asid) const { return counts_[asid].values(); }

 private:
  struct Entry {
    Page page;
    std::uint64_t generation = 0;
  };
  static Tag tag_of(Asid asid, std::uint64_t address, PageSize size) {
    return {address >> shift_of(size), std::uint64_t{asid} << 2 | static_cast<unsigned>(size)};
  }
  void forget(unsigned entry);

  TagStore tags_;
  std::vector<Entry> entries_;
  std::array<unsigned, 3> held_{};  // by size: entries, so that sizes which nobody uses cost nothing
  const std::unique_ptr<HitCounts[]> counts_;  // by ASID
};

}  // namespace raddle::machine
