// See memory_table.h.
#include "driver/memory_table.h"

#include "driver/process.h"

namespace raddle::driver {
namespace {

const char* name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::host:
      return "pinned host memory";
    case MemoryKind::registered:
      return "registered host memory";
    case MemoryKind::managed:
      return "managed memory";
    case MemoryKind::pooled:
      return "memory of a pool";
    case MemoryKind::mapped:
      return "mapped memory";
    case MemoryKind::imported:
      return "memory of another process";
    case MemoryKind::device:
      break;
  }
  return "";
}

void adopt(Context& context, const Memory& memory) {
  // Fails where the context knows it already, which happens to those that are being made meanwhile.
  (void)context.device.adopt({memory.base}, memory.bytes, name_of(memory.kind));
}

}  // namespace

Result<void> MemoryTable::add(std::shared_ptr<Memory> memory) {
  const std::lock_guard lock(mutex_);
  const auto next = memories_.lower_bound(memory->base);
  const bool overlaps_next = next != memories_.end() && next->first - memory->base < memory->bytes;
  const bool overlaps_previous =
      next != memories_.begin() && memory->base - std::prev(next)->first < std::prev(next)->second->bytes;
  if (overlaps_next || overlaps_previous)
    return Error::invalid("{} bytes at {:#x} are known already", memory->bytes, memory->base);
  memory->id = next_id_++;
  for (const auto& context : Process::instance().contexts.all()) adopt(*context, *memory);
  memories_.emplace(memory->base, std::move(memory));
  return {};
}

std::shared_ptr<Memory> MemoryTable::find(CUdeviceptr address) const {
  const std::lock_guard lock(mutex_);
  auto next = memories_.upper_bound(address);
  if (next == memories_.begin()) return nullptr;
  const auto& [base, memory] = *--next;
  return address - base < memory->bytes ? memory : nullptr;
}

bool MemoryTable::allows(CUdeviceptr begin, std::size_t bytes, CUmemAccess_flags access) const {
  const std::lock_guard lock(mutex_);
  auto next = memories_.upper_bound(begin);
  if (next != memories_.begin()) --next;
  for (; next != memories_.end() && next->first < begin + bytes; ++next)
    if (next->first + next->second->bytes > begin && (next->second->access() & access) != access)
      return false;
  return true;
}

std::shared_ptr<Memory> MemoryTable::remove(CUdeviceptr base) {
  const std::lock_guard lock(mutex_);
  const auto found = memories_.find(base);
  if (found == memories_.end()) return nullptr;
  const std::shared_ptr<Memory> memory = std::move(found->second);
  memories_.erase(found);
  for (const auto& context : Process::instance().contexts.all()) context->device.forget({base});
  return memory;
}

void MemoryTable::adopt_all(Context& context) {
  const std::lock_guard lock(mutex_);
  for (const auto& [base, memory] : memories_) adopt(context, *memory);
}

bool end_shared(CUdeviceptr base) {
  const std::shared_ptr<Memory> ended = Process::instance().memory.remove(base);
  if (ended != nullptr) Process::instance().keep_while_used(ended);
  return ended != nullptr;
}

bool find_address(const std::shared_ptr<Context>& current, CUdeviceptr address, AddressInfo& info) {
  Process& process = Process::instance();
  const auto is_of = [&](const std::shared_ptr<Context>& context) {
    const auto region = context->device.region({address});
    if (!region || region->is_adopted) return false;
    info = {context,
            nullptr,
            region->is_managed ? MemoryKind::managed : MemoryKind::device,
            region->address.value,
            region->bytes,
            region->id};
    return true;
  };
  // Its own first: programs that free host memory without unregistering it leave addresses behind that may be
  // anything.
  if (is_of(current)) return true;
  if (auto memory = process.memory.find(address)) {
    info = {nullptr, memory, memory->kind, memory->base, memory->bytes, memory->id};
    return true;
  }
  for (const auto& context : process.contexts.all())
    if (context != current && is_of(context)) return true;
  return false;
}

}  // namespace raddle::driver
