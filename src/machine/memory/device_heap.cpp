// See device_heap.h. The reservation is made at the first malloc of any kernel.
#include "machine/memory/device_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace raddle::machine {
namespace {
constexpr std::uint64_t kLive = 0x52414c4956450001, kDead = 0x5241444541440001;
constexpr std::uint64_t kPage = 4096;
}  // namespace

DeviceHeap::DeviceHeap(std::uint64_t limit) : limit_((limit + kPage - 1) / kPage * kPage), free_(64) {}

DeviceHeap::~DeviceHeap() {
  if (base_ != nullptr) munmap(base_ - kPage, limit_ + 2 * kPage);
}

std::uint64_t DeviceHeap::allocate(std::uint64_t bytes) {
  if (bytes == 0 || bytes > limit_) return 0;
  std::lock_guard lock(mutex_);
  if (base_ == nullptr) {
    void* map =
        mmap(nullptr, limit_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return 0;
    base_ = static_cast<std::byte*>(map) + kPage;
    if (mprotect(base_, limit_, PROT_READ | PROT_WRITE) != 0) return 0;
  }
  const std::uint64_t total = std::bit_ceil(std::max<std::uint64_t>(bytes + sizeof(Header), 32));
  const auto size_class = static_cast<unsigned>(std::countr_zero(total));
  std::byte* chunk;
  if (auto& list = free_[size_class]; !list.empty()) {
    chunk = reinterpret_cast<std::byte*>(list.back());
    list.pop_back();
  } else {
    if (total > limit_ - used_) return 0;
    chunk = base_ + used_;
    used_ += total;
  }
  *reinterpret_cast<Header*>(chunk) = {size_class, kLive};
  return reinterpret_cast<std::uint64_t>(chunk) + sizeof(Header);
}

bool DeviceHeap::free(std::uint64_t address) {
  if (address == 0) return true;
  std::lock_guard lock(mutex_);
  const auto base = reinterpret_cast<std::uint64_t>(base_);
  if (base_ == nullptr || address % 16 != 0 || address < base + sizeof(Header) || address >= base + used_)
    return false;
  auto* header = reinterpret_cast<Header*>(address - sizeof(Header));
  if (header->state != kLive || header->size_class >= free_.size()) return false;
  header->state = kDead;
  free_[header->size_class].push_back(reinterpret_cast<std::uint64_t>(header));
  return true;
}

}  // namespace raddle::machine
