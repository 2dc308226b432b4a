// What a tensor memory unit has done, for people who tune programs.
#pragma once

#include <cstdint>

namespace raddle::machine {

struct TmaCounters {
  // What every load counts, side by side.
  std::uint64_t requests = 0;  ///< set up
  std::uint64_t descriptor_hits = 0;
  std::uint64_t lines = 0;           ///< memory requests: of at most 128 bytes, none across a line of L2
  std::uint64_t sectors = 0;         ///< of 32 bytes, that these touch
  std::uint64_t bytes = 0;           ///< read from or written to memory
  std::uint64_t bank_conflicts = 0;  ///< turns at shared memory that lines took beyond their first

  std::uint64_t discarded = 0;  ///< of the requests: wrong, so the unit did not begin them
  std::uint64_t descriptor_misses = 0;
  std::uint64_t descriptor_prefetches = 0;  ///< of these misses: ahead of the set-up
  std::uint64_t outside = 0;                ///< elements outside the tensor: filled, or left out
  std::uint64_t queued = 0;  ///< time in the queue, in responses that landed meanwhile; the unit has no clock

  TmaCounters& operator+=(const TmaCounters& other) {
    requests += other.requests, discarded += other.discarded;
    descriptor_hits += other.descriptor_hits, descriptor_misses += other.descriptor_misses;
    descriptor_prefetches += other.descriptor_prefetches;
    lines += other.lines, sectors += other.sectors, bytes += other.bytes, outside += other.outside;
    bank_conflicts += other.bank_conflicts, queued += other.queued;
    return *this;
  }
  bool operator==(const TmaCounters&) const = default;
};

}  // namespace raddle::machine
