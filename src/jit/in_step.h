// Lanes in step. An operation that names every lane of its warp lets none go on before all that are left have
// come to it, or to one that it meets. So of two operations, one of them such, lanes can meet at both only if
// ways lead to both from where all were last. Most lie one behind the other and never meet: without this, a
// radix sort's 200 ballots would each look for lanes at the 199 others.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ptx/module.h"

namespace raddle::jit {

/// A block that begins with an operation at which lanes of a warp wait for others.
struct WarpOperation {
  ptx::BlockId block;
  bool is_full;  ///< names all lanes of the warp, and each that comes executes it
};

class InStep {
 public:
  /// Everything may meet everything.
  InStep() = default;
  /// @param successors  by block; the function begins with block 0
  /// @param may_join    lanes at the operations of these two blocks may be members of one group
  InStep(const std::vector<WarpOperation>& operations,
         const std::vector<std::vector<ptx::BlockId>>& successors,
         const std::function<bool(ptx::BlockId, ptx::BlockId)>& may_join);

  /// Lanes may wait at the operation of a for others of their warp at that of b. True where nothing is known.
  bool may_meet(ptx::BlockId a, ptx::BlockId b) const;

 private:
  std::vector<std::uint32_t> number_;  // by block: of its operation; empty: nothing is known
  std::vector<bool> is_full_;          // by operation
  std::vector<bool> met_;              // by pair of operations
};

}  // namespace raddle::jit
