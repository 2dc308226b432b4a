#include "machine/mmu/tlb.h"

namespace raddle::machine {

Tlb::Tlb(const TagStoreSpec& spec, unsigned asids)
    : tags_(spec), entries_(spec.entries), counts_(std::make_unique<HitCounts[]>(asids + 1)) {}

const Page* Tlb::find(Asid asid, std::uint64_t generation, std::uint64_t address) {
  for (const PageSize size : kPageSizes) {
    if (held_[static_cast<unsigned>(size)] == 0) continue;
    const auto entry = tags_.find(tag_of(asid, address, size));
    if (!entry) continue;
    if (entries_[*entry].generation == generation) {
      counts_[asid].add_hit();
      return &entries_[*entry].page;
    }
    forget(*entry);
  }
  counts_[asid].add_miss();
  return nullptr;
}

const Page& Tlb::keep(Asid asid, std::uint64_t generation, std::uint64_t address, const Page& page) {
  const Tag tag = tag_of(asid, address, page.size);
  if (const unsigned next = tags_.next_for(tag); tags_.is_used(next)) forget(next);
  Entry& entry = entries_[tags_.place(tag)];
  entry = {page, generation};
  ++held_[static_cast<unsigned>(page.size)];
  return entry.page;
}

void Tlb::forget(unsigned entry) {
  --held_[static_cast<unsigned>(entries_[entry].page.size)];
  tags_.drop(entry);
}

}  // namespace raddle::machine
