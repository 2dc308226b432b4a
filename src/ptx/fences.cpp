#include "ptx/fences.h"

#include <algorithm>

#include "isa/op.h"
#include "ptx/cfg.h"

namespace raddle::ptx {
namespace {

/// Forwards over the function, until nothing changes.
class FenceAnalysis {
 public:
  explicit FenceAnalysis(const Function& function)
      : function_(function), cfg_(build_cfg(function)), fenced_(function.instructions.size(), true) {}

  std::vector<bool> run() {
    // What was there when a device function was called is its caller's affair.
    at_begin_.assign(function_.blocks.size(), State{std::vector<bool>(function_.registers.size())});
    at_begin_[0].is_unfenced = function_.is_entry;
    const std::vector<BlockId> order = reverse_postorder(cfg_);
    for (bool again = true; again;) {
      again = false;
      for (const BlockId b : order) {
        State state = at_begin_[b];
        for (std::uint32_t n = function_.blocks[b].begin; n < function_.blocks[b].end; ++n) step(n, state);
        for (const BlockId next : cfg_.nodes[b].successors) again |= join(at_begin_[next], state);
      }
    }
    return std::move(fenced_);
  }

 private:
  struct State {
    std::vector<bool> accessed;  ///< by register: since the last fence
    bool is_unfenced = false;    ///< there may have been no fence
  };

  static bool join(State& into, const State& more) {
    bool changed = more.is_unfenced && !into.is_unfenced;
    into.is_unfenced |= more.is_unfenced;
    for (std::size_t r = 0; r < into.accessed.size(); ++r)
      if (more.accessed[r] && !into.accessed[r]) into.accessed[r] = changed = true;
    return changed;
  }

  void step(std::uint32_t n, State& state) {
    const Instruction& i = function_.instructions[n];
    if (is_wgmma(i)) {
      if (!is_fenced(i, state)) fenced_[n] = false;
      return;
    }
    if (i.op() == isa::Op::wgmma_fence) {
      state.accessed.assign(state.accessed.size(), false);
      state.is_unfenced = false;
      return;
    }
    register_uses(function_, i, now_);
    if (i.op() == isa::Op::mov) return copy(i, state);
    for (const RegisterId r : now_.uses) state.accessed[r] = true;
    for (const RegisterId r : now_.definitions) state.accessed[r] = true;
  }

  void copy(const Instruction& i, State& state) {
    const bool accessed =
        std::ranges::any_of(now_.uses, [&](RegisterId r) { return r != i.guard && state.accessed[r]; });
    for (const RegisterId r : now_.definitions)
      state.accessed[r] = accessed || (i.guard != kNone && state.accessed[r]);
  }

  /// The registers of D, and of A if it is in registers.
  bool is_fenced(const Instruction& i, const State& state) const {
    const auto operands = function_.operands_of(i);
    const auto is_accessed = [&](const Operand& o) {
      return o.kind == Operand::Kind::reg && state.accessed[o.index];
    };
    return !state.is_unfenced && std::ranges::none_of(operands.first(2), [&](const Operand& matrix) {
      return matrix.kind == Operand::Kind::vector &&
             std::ranges::any_of(function_.elements_of(matrix), is_accessed);
    });
  }

  const Function& function_;
  const Cfg cfg_;
  std::vector<bool> fenced_;
  std::vector<State> at_begin_;  // by block
  RegisterUses now_;
};

}  // namespace

bool is_wgmma(const Instruction& i) {
  return i.op() == isa::Op::wgmma_mma_async || i.op() == isa::Op::wgmma_mma_async_sp;
}

std::vector<bool> fenced_wgmmas(const Function& function) {
  if (std::ranges::none_of(function.instructions, is_wgmma))
    return std::vector<bool>(function.instructions.size(), true);
  return FenceAnalysis(function).run();
}

}  // namespace raddle::ptx
