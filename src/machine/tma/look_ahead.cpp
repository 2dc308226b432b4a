#include "machine/tma/look_ahead.h"

#include <algorithm>

namespace raddle::machine {

void LookAhead::note_load(const exec::CtaContext& cta, std::uint64_t from, std::uint32_t bytes) {
  constexpr std::uint32_t kMost = 64 << 10;  // bytes: a second cache holds some of them besides the stages
  const std::uint64_t distance = from - from_;
  const bool goes_on = cta_ == &cta && bytes_ == bytes && distance_ == distance && distance != 0;
  cta_ = &cta, from_ = from, bytes_ = bytes, distance_ = distance;
  next_ = end_ = 0;
  if (!goes_on) return;
  next_ = from + distance;
  end_ = next_ + std::min(bytes, kMost);
}

/// No fetch faults: where there is no memory, nothing happens.
void LookAhead::fetch() {
  constexpr std::uint64_t kLine = 64, kAtOnce = 16 * kLine;
  const std::uint64_t until = std::min(next_ + kAtOnce, end_);
  for (std::uint64_t at = next_; at < until; at += kLine)
    __builtin_prefetch(reinterpret_cast<const void*>(at), 0, 2);
  next_ = until;
}

}  // namespace raddle::machine
