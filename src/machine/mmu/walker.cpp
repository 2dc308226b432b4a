#include "machine/mmu/walker.h"

namespace raddle::machine {

std::optional<TableBase> Walker::cached_table(const Tag& tag, std::uint64_t generation) {
  const auto entry = tags_.find(tag);
  if (!entry) return std::nullopt;
  if (tables_[*entry].generation == generation) return tables_[*entry].base;
  tags_.drop(*entry);
  return std::nullopt;
}

std::optional<Page> Walker::walk(Asid asid, const Binding& binding, std::uint64_t address) {
  ++counts_.walks;
  const Tag tag{address >> PageTable::shift_at(PageTable::kHugeLevel), asid};
  TableBase table = binding.directory;
  unsigned level = 0;
  if (const auto cached = cached_table(tag, binding.generation)) {
    ++counts_.cached;
    table = *cached;
    level = PageTable::kLastLevel;
  }
  const bool is_cached = level == PageTable::kLastLevel;
  for (;; ++level) {
    if (level == PageTable::kLastLevel && !is_cached) tables_[tags_.place(tag)] = {table, binding.generation};
    ++counts_.reads;
    if (table.aperture == Aperture::host) ++counts_.host_reads;
    const PageEntry entry(memory_.word(table, PageTable::offset_of(level, address)).load());
    if (!entry.is_valid()) return std::nullopt;
    if (entry.is_page()) return entry.page(level);
    table = entry.table();
  }
}

}  // namespace raddle::machine
