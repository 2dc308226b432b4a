// Loops that may wait for another thread: those whose end depends on memory that someone else writes (K-4,
// K-7). The one analysis of it: `raddle inspect` tells it, the JIT runs such loops by fair turns of their
// lanes and chooses the block's kind, the interpreter gives way sooner in them. It decides how soon what is
// waited for runs; that it runs is the machine's guarantee (docs/adr/0025), but for lanes of one warp
// (docs/adr/0027).
#pragma once

#include <optional>

#include "ptx/cfg.h"
#include "ptx/loops.h"

namespace raddle::ptx {

/// Of one function's loops.
class Waits {
 public:
  Waits(const Module& module, const Function& function, const Cfg& cfg)
      : module_(module), function_(function), cfg_(cfg), calls_(function.calls.size()) {}

  /// True if leaving the loop depends, through registers, branches, the thread's own memory or callees, on
  /// - a read in it that says by its row or modifiers that others answer: atomics, loads that are volatile,
  ///   relaxed, acquire, mmio or past the first-level cache; or
  /// - a plain load that finds the same address in every turn, where nothing else changes from turn to turn,
  /// so
  ///   that the loop is endless unless another thread stores there.
  bool may_wait(const Loop& loop);

  /// The function has such a loop.
  bool any();

 private:
  class Slice;
  /// What a function or an instruction looks at.
  enum class Looks : std::uint8_t { nowhere, plainly, at_others };
  static Looks looks_of(const Instruction& instruction);
  static Looks looks_of(const Module& module, FunctionId function);
  Looks looks(const Instruction& instruction);
  void find_definitions();
  const Liveness& live();

  const Module& module_;
  const Function& function_;
  const Cfg& cfg_;
  std::vector<std::vector<std::pair<BlockId, std::uint32_t>>> definitions_;  ///< by register
  std::vector<std::optional<Looks>> calls_;                                  ///< by index of Function::calls
  std::optional<Liveness> live_;
};

}  // namespace raddle::ptx
