#include "machine/memory/peer_memory.h"

#include "machine/memory/residency.h"

namespace raddle::machine {
namespace {

std::uint64_t next_peer_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

PeerMemory::PeerMemory(unsigned device, bool knows_shared)
    : id_(next_peer_id()), device_(device), knows_shared_(knows_shared) {}

void PeerMemory::admit(std::uint64_t space, std::shared_ptr<const DeviceSpace> addresses) {
  const std::lock_guard lock(mutex_);
  admitted_[space] = std::move(addresses);
}

void PeerMemory::dismiss(std::uint64_t space) {
  const std::lock_guard lock(mutex_);
  admitted_.erase(space);
  ++changes_;
}

PeerMemory::Part PeerMemory::around(std::uint64_t address) const {
  if (knows_shared_)
    if (auto shared = SharedMemory::instance().find(address)) {
      if (!shared->is_for(device_)) return {};
      const exec::AddressRange range{shared->base, shared->bytes};
      return {range, std::move(shared)};
    }
  const std::lock_guard lock(mutex_);
  for (const auto& [space, addresses] : admitted_)
    if (addresses->covers(address)) return {addresses->range(), nullptr};
  return {};
}

bool PeerLookups::access(const PeerMemory& memory, std::uint64_t address, std::uint64_t bytes) {
  const Known* const known = find(memory, address, bytes);
  if (known == nullptr) return false;
  if (known->pages != nullptr) known->pages->touch(processor_of(memory.device()), address);
  return true;
}

/// Null: kernels may not access it.
const PeerLookups::Known* PeerLookups::find(const PeerMemory& memory, std::uint64_t address,
                                            std::uint64_t bytes) {
  const std::uint64_t changes = memory.changes();
  for (const Known& known : known_)
    if (known.memory == memory.id() && known.changes == changes && known.range.holds(address, bytes))
      return &known;
  const PeerMemory::Part part = memory.around(address);
  if (!part.range.holds(address, bytes)) return nullptr;
  Known& found = known_[oldest_];
  found = {memory.id(), changes, part.range, part.shared != nullptr ? part.shared->residency() : nullptr};
  oldest_ = (oldest_ + 1) % known_.size();
  return &found;
}

}  // namespace raddle::machine
