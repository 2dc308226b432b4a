// How far registers move from one turn of a loop around a barrier to the next. To LLVM such a loop is none,
// as regions leave the function at the barrier, so that it is found here, for prefetches of the next turn.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/order.h"

namespace raddle::jit {

/// A sum of products of numbers and of operands that are the same in each turn.
struct TurnStep {
  struct Term {
    std::int64_t times;
    std::vector<const ptx::Operand*> factors;  ///< registers
  };
  std::vector<Term> terms;  ///< none: it does not move
};

class Turns {
 public:
  Turns(const ptx::Function& function, const Order& order);
  /// What a turn of the innermost loop around b adds to the register, should nothing wrap; nothing if that
  /// is not known, or if no barrier is in the loop.
  std::optional<TurnStep> step(BlockId b, ptx::RegisterId r) const;

 private:
  class Walk;
  const ptx::Function& function_;
  const Order& order_;
  /// By loop, by register: the instruction that writes it there, kNone, or kSeveral. Empty: no barrier.
  std::vector<std::vector<std::uint32_t>> writers_;
};

}  // namespace raddle::jit
