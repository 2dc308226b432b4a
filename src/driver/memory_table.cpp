// See memory_table.h.
#include "driver/memory_table.h"

#include <algorithm>

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

std::shared_ptr<Memory> memory_of(std::shared_ptr<SharedRange> range) {
  return std::static_pointer_cast<Memory>(std::move(range));
}

}  // namespace

Result<void> MemoryTable::add(std::shared_ptr<Memory> memory) {
  memory->name = name_of(memory->kind);
  return SharedMemory::instance().add(std::move(memory));
}

std::shared_ptr<Memory> MemoryTable::find(CUdeviceptr address) const {
  return memory_of(SharedMemory::instance().find(address));
}

std::vector<std::shared_ptr<Memory>> MemoryTable::all() const {
  std::vector<std::shared_ptr<Memory>> all;
  for (auto& range : SharedMemory::instance().all()) all.push_back(memory_of(std::move(range)));
  return all;
}

bool MemoryTable::allows(CUdeviceptr begin, std::size_t bytes, CUmemAccess_flags access) const {
  return std::ranges::all_of(SharedMemory::instance().overlapping(begin, bytes), [=](const auto& range) {
    return static_cast<const Memory&>(*range).allows(begin, bytes, access);
  });
}

std::shared_ptr<Memory> MemoryTable::remove(CUdeviceptr base) {
  return memory_of(SharedMemory::instance().remove(base));
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
    if (!region || region->is_shared) return false;
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
  if (current != nullptr && is_of(current)) return true;
  if (auto memory = process.memory.find(address)) {
    info = {nullptr, memory, memory->nature(), memory->base, memory->bytes, memory->id};
    return true;
  }
  for (const auto& context : process.contexts.all())
    if (context != current && is_of(context)) return true;
  return false;
}

}  // namespace raddle::driver
