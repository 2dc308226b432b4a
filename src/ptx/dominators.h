// Which blocks every path from the entry passes before another.
#pragma once

#include <vector>

#include "ptx/cfg.h"

namespace raddle::ptx {

/// The dominator tree of the blocks that block 0 reaches (Cooper, Harvey, Kennedy: "A Simple, Fast Dominance
/// Algorithm").
class Dominators {
 public:
  explicit Dominators(const Cfg& cfg);
  /// Every path from the entry to b passes a; true for a == b. False where either is unreachable.
  bool dominates(BlockId a, BlockId b) const {
    return enter_[a] != 0 && enter_[a] <= enter_[b] && leave_[b] <= leave_[a];
  }

 private:
  std::vector<std::uint32_t> enter_,
      leave_;  ///< by block: when a walk of the tree enters and leaves it, from 1; 0: never
};

}  // namespace raddle::ptx
