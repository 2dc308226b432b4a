// Finds loops that may wait for another thread: their end depends on memory that another thread writes (K-4,
// K-7). `raddle inspect` prints the result; the JIT gives the lanes of such loops fair turns and chooses the
// block's kind by it; the interpreter yields sooner in them. The analysis decides only how soon the awaited
// thread runs. That it runs at all is the machine's guarantee (docs/adr/0025), except between lanes of one
// warp (docs/adr/0004).
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
  /// - a read in the loop that other threads may answer, by its row or modifiers: atomics, loads that are
  ///   volatile, relaxed, acquire, mmio or past the first-level cache; or
  /// - a plain load from the same address in every turn, if nothing else changes from turn to turn: then the
  ///   loop is endless unless another thread stores there.
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
