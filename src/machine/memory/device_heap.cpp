// See device_heap.h. The reservation is made at the first malloc of any kernel.
#include "machine/memory/device_heap.h"

#include "base/page.h"

namespace raddle::machine {
namespace {
constexpr std::uint64_t kLive = 0x52414c4956450001, kDead = 0x5241444541440001;
constexpr std::uint64_t kAlign = 16;
}  // namespace

DeviceHeap::DeviceHeap(std::uint64_t limit, DeviceSpace& addresses) : addresses_(addresses) {
  set_limit(limit);
}

std::uint64_t DeviceHeap::limit() const {
  std::lock_guard lock(mutex_);
  return limit_;
}

bool DeviceHeap::set_limit(std::uint64_t limit) {
  std::lock_guard lock(mutex_);
  if (base_ != nullptr || limit > ~std::uint64_t{0} - 2 * kPage) return false;
  limit_ = whole_pages(limit);
  return true;
}

DeviceHeap::~DeviceHeap() {
  if (base_ != nullptr) addresses_.give_back(base_, limit_);
}

bool DeviceHeap::reserve() {
  if (base_ != nullptr) return true;
  base_ = addresses_.take_memory(limit_);
  if (base_ == nullptr) return false;
  add_free(0, limit_);
  return true;
}

void DeviceHeap::add_free(std::uint64_t offset, std::uint64_t size) {
  free_.emplace(offset, size);
  free_by_size_.emplace(size, offset);
}

void DeviceHeap::remove_free(std::map<std::uint64_t, std::uint64_t>::iterator chunk) {
  free_by_size_.erase({chunk->second, chunk->first});
  free_.erase(chunk);
}

std::uint64_t DeviceHeap::allocate(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > limit_) return 0;
  const std::uint64_t size = round_up(bytes + sizeof(Header), kAlign);
  if (!reserve()) return 0;
  const auto best = free_by_size_.lower_bound({size, 0});
  if (best == free_by_size_.end()) return 0;
  const auto [available, offset] = *best;
  remove_free(free_.find(offset));
  if (available > size) add_free(offset + size, available - size);
  *reinterpret_cast<Header*>(base_ + offset) = {size, kLive};
  return reinterpret_cast<std::uint64_t>(base_ + offset) + sizeof(Header);
}

bool DeviceHeap::free(std::uint64_t address) {
  if (address == 0) return true;
  std::lock_guard lock(mutex_);
  const auto base = reinterpret_cast<std::uint64_t>(base_);
  if (base_ == nullptr || address % kAlign != 0 || address < base + sizeof(Header) ||
      address >= base + limit_)
    return false;
  auto* header = reinterpret_cast<Header*>(address - sizeof(Header));
  std::uint64_t offset = address - sizeof(Header) - base, size = header->size;
  // Kernels can write over headers: nothing that is not a chunk, or overlaps a free one, gets into the lists.
  if (header->state != kLive || size < 2 * kAlign || size % kAlign != 0 || size > limit_ - offset)
    return false;
  const auto next = free_.upper_bound(offset);
  const auto before = next == free_.begin() ? free_.end() : std::prev(next);
  if (next != free_.end() && next->first < offset + size) return false;
  if (before != free_.end() && before->first + before->second > offset) return false;
  header->state = kDead;
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    remove_free(next);
  }
  if (before != free_.end() && before->first + before->second == offset) {
    offset = before->first;
    size += before->second;
    remove_free(before);
  }
  add_free(offset, size);
  return true;
}

}  // namespace raddle::machine
