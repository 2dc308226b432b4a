#include "machine/memory/peer_memory.h"

#include <bit>

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

namespace {
/// Counts a device's touches, those of a page that follow one another at once.
class Touches {
 public:
  Touches(Residency* pages, unsigned device) : pages_(pages), by_(processor_of(device)) {}
  ~Touches() { give(); }
  Touches(const Touches&) = delete;
  Touches& operator=(const Touches&) = delete;

  void add(std::uint64_t address) {
    if (address / Residency::kPage != address_ / Residency::kPage) give();
    address_ = address;
    ++times_;
  }

 private:
  void give() {
    if (pages_ != nullptr && times_ != 0) pages_->touch(by_, address_, times_);
    times_ = 0;
  }
  Residency* const pages_;
  const Processor by_;
  std::uint64_t address_ = 0;
  std::uint32_t times_ = 0;
};
}  // namespace

std::uint32_t PeerLookups::access(const PeerMemory& memory, std::uint32_t lanes,
                                  const std::uint64_t* addresses, std::uint64_t bytes) {
  const Known* const known = find(memory, addresses[std::countr_zero(lanes)], bytes);
  if (known == nullptr) return 0;
  Touches touches(known->pages, memory.device());
  std::uint32_t reached = 0;
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (!known->range.holds(addresses[lane], bytes)) continue;
    reached |= 1u << lane;
    touches.add(addresses[lane]);
  }
  return reached;
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
