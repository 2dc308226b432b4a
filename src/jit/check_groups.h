// Runs of instructions that check whether addresses have wrapped. Each such run is written twice, as it
// mostly is and for where something has wrapped: the one leaves for the other at a check that fails, so that
// code that is mostly run tests each address once and never comes together again with what is not.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/function_plan.h"

namespace raddle::jit {

/// Instructions [begin, end) of a block.
struct CheckGroup {
  std::uint32_t begin, end;
};

class CheckGroups {
 public:
  explicit CheckGroups(const FunctionPlan& plan);

  /// Those of a block, in order.
  std::vector<CheckGroup> of(BlockId b) const;

 private:
  void find_lasting();
  bool keeps_flag(BlockId b, const ptx::Instruction& i, ptx::RegisterId destination) const;
  bool can_be_twice(const ptx::Instruction& i) const;
  bool checks(const ptx::Instruction& i) const;

  const FunctionPlan& plan_;
  std::vector<bool> lasting_;  ///< by register: its flag is false only where a lane has really wrapped
};

}  // namespace raddle::jit
