#include "machine/mmu/asid_table.h"

namespace raddle::machine {

// Who sees the new directory sees the new generation; who sees the new generation with the old directory
// keeps nothing of it: find() looks at the generation again.
void AsidTable::bind(Asid asid, TableBase directory) {
  invalidate(asid);
  entries_[asid].directory.store(directory.physical | kBound |
                                 (directory.aperture == Aperture::host ? kHost : 0));
  invalidate(asid);
}

void AsidTable::unbind(Asid asid) {
  entries_[asid].directory.store(0);
  invalidate(asid);
}

void AsidTable::invalidate(Asid asid) { entries_[asid].generation.fetch_add(1); }

std::optional<Binding> AsidTable::find(Asid asid) const {
  const Entry& entry = entries_[asid];
  for (;;) {
    const std::uint64_t generation = entry.generation.load(), directory = entry.directory.load();
    if (entry.generation.load() != generation) continue;
    if (directory == 0) return std::nullopt;
    return Binding{
        {directory & ~(kBound | kHost), (directory & kHost) != 0 ? Aperture::host : Aperture::device},
        generation};
  }
}

}  // namespace raddle::machine
