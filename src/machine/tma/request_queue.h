// The unit's request queue: first in, first out, unless a policy says otherwise.
#pragma once

#include <cstddef>
#include <deque>

#include "machine/tma/job.h"

namespace raddle::machine {

/// Chooses the next request to be generated.
class TmaPolicy {
 public:
  virtual ~TmaPolicy() = default;
  /// @param jobs  waiting, the oldest first; at least one
  /// @returns which of them is next
  virtual std::size_t next(const std::deque<TmaJob>& jobs) const = 0;
};

class FirstInFirstOut final : public TmaPolicy {
 public:
  std::size_t next(const std::deque<TmaJob>&) const override { return 0; }
};

/// Small jobs first, so that a barrier's last bytes do not wait behind a large block; among equals the
/// oldest.
class SmallestFirst final : public TmaPolicy {
 public:
  std::size_t next(const std::deque<TmaJob>& jobs) const override {
    std::size_t best = 0;
    for (std::size_t i = 1; i < jobs.size(); ++i)
      if (jobs[i].bytes < jobs[best].bytes) best = i;
    return best;
  }
};

}  // namespace raddle::machine
