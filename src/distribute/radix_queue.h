// A queue of events by time that only moves forward: a radix heap. Events are kept by the highest bit in
// which their time differs from now, and moved down when their time comes near; nothing is compared, nothing
// is allocated once it is warm, and all events of one time come out together, in the order in which they
// would have come one by one on any machine.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/assert.h"

namespace raddle::distribute {

/// @tparam Event  has a member `time`
template <class Event>
class RadixQueue {
 public:
  bool empty() const { return size_ == 0; }
  /// @param event  not before the time of the last next_time() that was taken
  void push(const Event& event) {
    buckets_[bucket_of(event.time)].push_back(event);
    ++size_;
  }
  /// The time of the earliest event; the queue must not be empty.
  std::uint64_t next_time() const {
    RADDLE_ASSERT(size_ != 0, "an empty queue has no next event");
    if (!buckets_[0].empty()) return now_;
    const std::vector<Event>& first =
        *std::find_if(buckets_.begin(), buckets_.end(), [](const auto& bucket) { return !bucket.empty(); });
    return std::min_element(first.begin(), first.end(),
                            [](const Event& a, const Event& b) { return a.time < b.time; })
        ->time;
  }
  /// Moves to a time, at most next_time(), and takes the events of just that time into `events`.
  void take(std::uint64_t time, std::vector<Event>& events) {
    advance(time);
    events.clear();
    events.swap(buckets_[0]);
    size_ -= events.size();
  }

 private:
  std::size_t bucket_of(std::uint64_t time) const {
    return static_cast<std::size_t>(std::bit_width(time ^ now_));
  }
  /// Only the bucket of `time` itself holds events whose bucket changes: those above differ from both times
  /// in the same bit, those below are empty, as nothing is earlier.
  void advance(std::uint64_t time) {
    const std::size_t from = bucket_of(time);
    now_ = time;
    if (from == 0) return;
    moving_.swap(buckets_[from]);
    for (const Event& event : moving_) buckets_[bucket_of(event.time)].push_back(event);
    moving_.clear();
  }

  std::array<std::vector<Event>, 65> buckets_;
  std::vector<Event> moving_;
  std::uint64_t now_ = 0;
  std::size_t size_ = 0;
};

}  // namespace raddle::distribute
