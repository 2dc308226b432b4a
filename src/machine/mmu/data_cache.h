// A cache as far as its tags go: values come from memory, so what is shared reads the same in any cache. One
// thread at a time; the counters may be read by others.
#pragma once

#include <memory>

#include "machine/mmu/asid_table.h"
#include "machine/mmu/hit_counts.h"
#include "machine/mmu/tag_store.h"

namespace raddle::machine {

class DataCache {
 public:
  /// @param asids  how many there are
  DataCache(const TagStoreSpec& spec, unsigned asids)
      : tags_(spec), counts_(std::make_unique<HitCounts[]>(asids + 1)) {}

  /// @returns whether the line was there; it is now
  bool access(Asid asid, const Tag& line) {
    if (tags_.find(line)) return counts_[asid].add_hit(), true;
    tags_.place(line);
    counts_[asid].add_miss();
    return false;
  }
  Hits counts(Asid asid) const { return counts_[asid].values(); }

 private:
  TagStore tags_;
  const std::unique_ptr<HitCounts[]> counts_;  // by the ASID that asks
};

}  // namespace raddle::machine
