#include "machine/mmu/table_memory.h"

#include <cstdlib>
#include <cstring>

namespace raddle::machine {

std::optional<TableBase> TableMemory::take() {
  if (aperture_ == Aperture::device) {
    const auto frame = memory_.take_table();
    return frame ? std::optional(TableBase{*frame, Aperture::device}) : std::nullopt;
  }
  void* const frame = std::aligned_alloc(FrameRuns::kFrame, FrameRuns::kFrame);
  if (frame == nullptr) return std::nullopt;
  std::memset(frame, 0, FrameRuns::kFrame);
  host_tables_.fetch_add(1, std::memory_order_relaxed);
  return TableBase{reinterpret_cast<std::uint64_t>(frame), Aperture::host};
}

void TableMemory::give_back(TableBase table) {
  if (table.aperture == Aperture::device) return memory_.give_back({table.physical, FrameRuns::kFrame});
  std::free(reinterpret_cast<void*>(table.physical));
  host_tables_.fetch_sub(1, std::memory_order_relaxed);
}

std::atomic_ref<std::uint64_t> TableMemory::word(TableBase table, std::uint64_t offset) const {
  if (table.aperture == Aperture::device) return memory_.word(table.physical + offset);
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(table.physical + offset));
}

}  // namespace raddle::machine
