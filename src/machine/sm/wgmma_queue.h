// The wgmmas that a warp has issued and that are not executed yet, on a device where they end late: oldest
// first, in groups as the warp committed them.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/wgmma.h"

namespace raddle::machine {

class WgmmaQueue {
 public:
  void clear() { waiting_.clear(), group_ = 0; }
  void issue(const exec::IssuedWgmma& issued) { waiting_.push_back({issued, group_}); }
  void commit() { ++group_; }
  std::size_t size() const { return waiting_.size(); }
  /// Those of all groups but the `allowed` latest.
  std::size_t older_than(std::uint64_t allowed) const {
    std::size_t count = 0;
    while (count < waiting_.size() && waiting_[count].group + allowed < group_) ++count;
    return count;
  }
  /// Calls `execute(issued)` for the oldest, which are gone then.
  template <class Execute>
  void take(std::size_t count, Execute execute) {
    for (std::size_t i = 0; i < count; ++i) execute(waiting_[i].issued);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  }

 private:
  struct Waiting {
    exec::IssuedWgmma issued;
    std::uint64_t group = 0;
  };
  std::vector<Waiting> waiting_;
  std::uint64_t group_ = 0;  // that the next one joins
};

}  // namespace raddle::machine
