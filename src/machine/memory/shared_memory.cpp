#include "machine/memory/shared_memory.h"

#include <iterator>

namespace raddle::machine {

SharedMemory& SharedMemory::instance() {
  static SharedMemory& memory = *new SharedMemory;  // kept: programs give memory back from their destructors
  return memory;
}

Result<void> SharedMemory::add(std::shared_ptr<SharedRange> range) {
  if (range->bytes == 0) return Error::invalid("nothing to share at {:#x}", range->base);
  const std::lock_guard lock(mutex_);
  const auto next = ranges_.lower_bound(range->base);
  const bool overlaps_next = next != ranges_.end() && next->first - range->base < range->bytes;
  const bool overlaps_previous =
      next != ranges_.begin() && range->base - std::prev(next)->first < std::prev(next)->second->bytes;
  if (overlaps_next || overlaps_previous)
    return Error::invalid("{} bytes at {:#x} are known already", range->bytes, range->base);
  range->id = next_id_++;
  ranges_.emplace(range->base, std::move(range));
  is_empty_.store(false, std::memory_order_release);
  return {};
}

std::shared_ptr<SharedRange> SharedMemory::remove(std::uint64_t base) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(base);
  if (found == ranges_.end()) return nullptr;
  std::shared_ptr<SharedRange> range = std::move(found->second);
  ranges_.erase(found);
  is_empty_.store(ranges_.empty(), std::memory_order_release);
  ++removals_;
  return range;
}

std::shared_ptr<SharedRange> SharedMemory::find(std::uint64_t address) const {
  std::shared_ptr<SharedRange> before = around(address).before;
  return before != nullptr && address - before->base < before->bytes ? before : nullptr;
}

std::vector<std::shared_ptr<SharedRange>> SharedMemory::overlapping(std::uint64_t begin,
                                                                    std::uint64_t bytes) const {
  std::vector<std::shared_ptr<SharedRange>> found;
  const std::lock_guard lock(mutex_);
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) --next;
  for (; next != ranges_.end() && next->first < begin + bytes; ++next)
    if (next->first + next->second->bytes > begin) found.push_back(next->second);
  return found;
}

std::vector<std::shared_ptr<SharedRange>> SharedMemory::all() const {
  std::vector<std::shared_ptr<SharedRange>> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [base, range] : ranges_) found.push_back(range);
  return found;
}

std::uint64_t SharedMemory::end_from(std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return 0;
  --next;
  std::uint64_t end = next->first + next->second->bytes;
  if (end <= address) return 0;
  for (++next; next != ranges_.end() && next->first == end; ++next) end += next->second->bytes;
  return end;
}

SharedMemory::Neighbours SharedMemory::around(std::uint64_t address) const {
  if (is_empty_.load(std::memory_order_acquire))
    return {};  // each address that is no device memory comes here
  const std::lock_guard lock(mutex_);
  const auto behind = ranges_.upper_bound(address);
  return {behind == ranges_.begin() ? nullptr : std::prev(behind)->second,
          behind == ranges_.end() ? nullptr : behind->second};
}

}  // namespace raddle::machine
