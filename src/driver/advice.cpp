// See advice.h.
#include "driver/advice.h"

#include <iterator>

namespace raddle::driver {

Advice& Advice::instance() {
  static Advice& advice = *new Advice;
  return advice;
}

void Advice::split(CUdeviceptr at) { ranges_.emplace(at, std::prev(ranges_.upper_bound(at))->second); }

Advice::Of Advice::common(CUdeviceptr begin, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto next = std::prev(ranges_.upper_bound(begin));
  Of all = next->second;
  const auto agree = [](CUmemLocation& location, const CUmemLocation& other) {
    if (location.type != other.type || location.id != other.id) location = {LOCATION_INVALID, 0};
  };
  for (++next; next != ranges_.end() && next->first < begin + bytes; ++next) {
    all.read_mostly &= next->second.read_mostly;
    all.accessed_by &= next->second.accessed_by;
    agree(all.preferred, next->second.preferred);
    agree(all.prefetched, next->second.prefetched);
  }
  return all;
}

void Advice::forget(CUdeviceptr begin, std::size_t bytes) {
  change(begin, bytes, [](Of& of) { of = {}; });
  // Neighbours that nothing was advised about become one range again.
  const std::lock_guard lock(mutex_);
  const auto is_plain = [](const Of& of) {
    return !of.read_mostly && of.accessed_by == 0 && of.preferred.type == LOCATION_INVALID &&
           of.prefetched.type == LOCATION_INVALID;
  };
  auto next = ranges_.upper_bound(begin - 1);
  while (next != ranges_.begin() && next != ranges_.end() && next->first <= begin + bytes)
    next =
        is_plain(next->second) && is_plain(std::prev(next)->second) ? ranges_.erase(next) : std::next(next);
}

}  // namespace raddle::driver
