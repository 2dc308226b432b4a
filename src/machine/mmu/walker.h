// The walker: finds pages in the page tables that ASIDs lead to. Its cache keeps where tables of the last
// level lie, so that most walks read one word.
#pragma once

#include <cstdint>
#include <optional>

#include "machine/mmu/asid_table.h"
#include "machine/mmu/page_table.h"
#include "machine/mmu/tag_store.h"

namespace raddle::machine {

struct WalkCounts {
  std::uint64_t walks = 0;
  std::uint64_t cached = 0;      ///< of these: began at the last level
  std::uint64_t reads = 0;       ///< words of page tables
  std::uint64_t host_reads = 0;  ///< of these: in the host's memory
};

/// One call at a time.
class Walker {
 public:
  Walker(const TableMemory& memory, const TagStoreSpec& cache)
      : memory_(memory), tags_(cache), tables_(cache.entries) {}

  /// @param binding  of the space @returns nothing: no page is there
  std::optional<Page> walk(Asid asid, const Binding& binding, std::uint64_t address);
  const WalkCounts& counts() const { return counts_; }

 private:
  struct Table {
    TableBase base;
    std::uint64_t generation = 0;
  };
  std::optional<TableBase> cached_table(const Tag& tag, std::uint64_t generation);

  const TableMemory& memory_;
  TagStore tags_;              // by ASID and what the upper levels translate
  std::vector<Table> tables_;  // by entry
  WalkCounts counts_;
};

}  // namespace raddle::machine
