#include "jit/sink_loads.h"

#include <algorithm>
#include <map>
#include <vector>

#include "isa/op.h"
#include "jit/mma_run.h"
#include "ptx/cfg.h"

namespace raddle::jit {
namespace {

using isa::Effects;
using ptx::Instruction;
using ptx::RegisterId;

constexpr unsigned kLeastTogether = 4;  // products: a function for fewer is no gain

bool have_common(const std::vector<RegisterId>& x, const std::vector<RegisterId>& y) {
  return std::ranges::any_of(x, [&](RegisterId r) { return std::ranges::find(y, r) != y.end(); });
}

class BlockSinker {
 public:
  BlockSinker(const ptx::Function& function, const ptx::Block& block) : function_(function), block_(block) {
    for (std::uint32_t n = block.begin; n < block.end; ++n)
      if (may_join_run(function, function.instructions[n]) && !begins_.contains(n)) add_run(n);
  }

  /// The block's instructions in their new order; as they were if none moves.
  std::vector<Instruction> sunk() const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> before;  // which loads go there
    std::vector<bool> moves(block_.end - block_.begin);
    for (std::uint32_t n = block_.begin; n < block_.end; ++n)
      if (const auto to = goal_of(n)) before[*to].push_back(n), moves[n - block_.begin] = true;
    std::vector<Instruction> all;
    for (std::uint32_t n = block_.begin; n < block_.end; ++n) {
      for (const std::uint32_t load : before[n]) all.push_back(function_.instructions[load]);
      if (!moves[n - block_.begin]) all.push_back(function_.instructions[n]);
    }
    return all;
  }
  bool moves_any() const {
    for (std::uint32_t n = block_.begin; n < block_.end; ++n)
      if (goal_of(n)) return true;
    return false;
  }

 private:
  /// Of each product of the run of instruction n, where those begin that stay together with it.
  void add_run(std::uint32_t n) {
    const auto run = mma_run(function_, block_, function_.instructions[n]);
    const auto number = [&](const Instruction* i) {
      return static_cast<std::uint32_t>(i - function_.instructions.data());
    };
    std::uint32_t begin = n;
    unsigned together = 0;
    for (std::size_t k = 0; k < run.size(); ++k) {
      if (together >= kLeastTogether && !has_same_a(*run[k - 1], *run[k]))
        begin = number(run[k]), together = 0;
      ++together;
      begins_[number(run[k])] = {begin, begin != n};
    }
  }
  bool has_same_a(const Instruction& x, const Instruction& y) const {
    return std::ranges::equal(function_.elements_of(function_.operands_of(x)[1]),
                              function_.elements_of(function_.operands_of(y)[1]), {}, &ptx::Operand::index,
                              &ptx::Operand::index);
  }

  /// Where a load goes: to the first use of what it loads, a product that is not among the first of its run.
  std::optional<std::uint32_t> goal_of(std::uint32_t n) const {
    const Instruction& load = function_.instructions[n];
    if (begins_.empty() || load.op() == isa::Op::ldmatrix || !is_plain_load(load)) return {};
    const ptx::RegisterUses own = uses_of(n);
    std::optional<std::uint32_t> goal;
    for (std::uint32_t use = n + 1; use < block_.end && !goal; ++use) {
      if (!have_common(uses_of(use).uses, own.definitions)) continue;
      const auto found = begins_.find(use);
      if (found == begins_.end() || !found->second.is_later || found->second.begin < n) return {};
      goal = found->second.begin;
    }
    for (std::uint32_t passed = n + 1; goal && passed < *goal; ++passed)
      if (!may_pass(own, passed)) return {};
    return goal;
  }
  bool may_pass(const ptx::RegisterUses& load, std::uint32_t other) const {
    const Instruction& i = function_.instructions[other];
    if (i.opcode->row->text->effects != Effects::pure && !is_plain_load(i) && !begins_.contains(other))
      return false;
    const ptx::RegisterUses uses = uses_of(other);
    return !have_common(uses.definitions, load.uses) && !have_common(uses.definitions, load.definitions) &&
           !have_common(uses.uses, load.definitions);
  }
  ptx::RegisterUses uses_of(std::uint32_t n) const {
    ptx::RegisterUses uses;
    ptx::register_uses(function_, function_.instructions[n], uses);
    return uses;
  }

  struct Begin {
    std::uint32_t begin;
    bool is_later;  ///< others of the run come first
  };
  const ptx::Function& function_;
  const ptx::Block& block_;
  std::map<std::uint32_t, Begin> begins_;  // of products
};

}  // namespace

std::optional<ptx::Function> sink_loads(const ptx::Function& function) {
  std::optional<ptx::Function> changed;
  for (const ptx::Block& block : function.blocks) {
    const BlockSinker sinker(function, block);
    if (!sinker.moves_any()) continue;
    if (!changed) changed = function;
    std::ranges::copy(sinker.sunk(), changed->instructions.begin() + block.begin);
  }
  return changed;
}

}  // namespace raddle::jit
