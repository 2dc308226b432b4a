#include "jit/mma_run.h"

#include <algorithm>
#include <set>

#include "isa/op.h"
#include "jit/matrix_run.h"
#include "ptx/cfg.h"

namespace raddle::jit {
namespace {

using isa::Effects;
using ptx::Instruction;
using ptx::Operand;

enum Place : unsigned { kD, kA, kB, kC };

/// The runs of a block, in order.
class MmaRunFinder {
 public:
  explicit MmaRunFinder(const ptx::Function& function) : function_(function) {}

  std::vector<const Instruction*> run_of(const ptx::Block& block, const Instruction& wanted) {
    if (!may_join_run(function_, wanted)) return {&wanted};
    bool is_found = false;
    for (std::uint32_t n = block.begin; n < block.end; ++n) {
      const Instruction& i = function_.instructions[n];
      const bool joins = may_join_run(function_, i);
      if (joins ? !continues(i) : !may_stand_between(i)) {
        if (is_found) break;
        run_.clear(), sums_.clear(), read_.clear();
      }
      if (joins) add(i);
      is_found |= &i == &wanted;
    }
    return run_;
  }

 private:
  bool continues(const Instruction& i) const {
    return run_.empty() || (run_.size() < kMostProducts && i.opcode->text == run_[0]->opcode->text);
  }
  void add(const Instruction& i) {
    run_.push_back(&i);
    for (const Operand& o : function_.elements_of(function_.operands_of(i)[kD])) sums_.insert(o.index);
    for (const unsigned place : {kA, kB})
      for (const Operand& o : function_.elements_of(function_.operands_of(i)[place])) read_.insert(o.index);
  }
  /// It only computes in registers, or loads matrices, none of them a sum, and changes none that is still to
  /// be multiplied.
  bool may_stand_between(const Instruction& i) {
    if (run_.empty()) return true;
    const bool is_load = i.op() == isa::Op::ldmatrix && is_plain_load(i);
    if (i.opcode->row->text->effects != isa::Effects::pure && !is_load) return false;
    ptx::register_uses(function_, i, now_);
    const auto is_sum = [&](ptx::RegisterId r) { return sums_.contains(r); };
    return std::ranges::none_of(now_.uses, is_sum) &&
           std::ranges::none_of(now_.definitions,
                                [&](ptx::RegisterId r) { return is_sum(r) || read_.contains(r); });
  }

  const ptx::Function& function_;
  std::vector<const Instruction*> run_;
  std::set<ptx::RegisterId> sums_, read_;  ///< of the run
  ptx::RegisterUses now_;
};

}  // namespace

bool may_join_run(const ptx::Function& function, const Instruction& i) {
  if (i.op() != isa::Op::mma || i.guard != ptx::kNone || !is_run_opcode(*i.opcode)) return false;
  const auto operands = function.operands_of(i);
  const auto is_in_registers = [&](const Operand& matrix) {
    return std::ranges::all_of(function.elements_of(matrix),
                               [](const Operand& e) { return e.kind == Operand::Kind::reg; });
  };
  return std::ranges::all_of(operands.first(kC + 1), is_in_registers) &&
         std::ranges::equal(function.elements_of(operands[kD]), function.elements_of(operands[kC]), {},
                            &Operand::index, &Operand::index);
}

std::vector<const Instruction*> mma_run(const ptx::Function& function, const ptx::Block& block,
                                        const Instruction& mma) {
  return MmaRunFinder(function).run_of(block, mma);
}

bool is_plain_load(const Instruction& i) {
  if (i.guard != ptx::kNone) return false;
  return i.op() == isa::Op::ldmatrix ||
         (i.opcode->row->text->effects == (Effects::reads | Effects::may_fault) && !i.opcode->observes());
}

const Instruction* earlier_with_b(const ptx::Function& function, const ptx::Block& block,
                                  const Instruction& first, const Instruction& mma) {
  const auto b = function.elements_of(function.operands_of(mma)[kB]);
  ptx::RegisterUses uses;
  for (const Instruction* i = &first; i != &function.instructions[block.begin];) {
    --i;
    const bool is_mma = may_join_run(function, *i);
    if (is_mma && i->opcode->text == mma.opcode->text &&
        std::ranges::equal(function.elements_of(function.operands_of(*i)[kB]), b, {}, &Operand::index,
                           &Operand::index))
      return i;
    if (!is_mma && !is_plain_load(*i) && i->opcode->row->text->effects != Effects::pure) return nullptr;
    ptx::register_uses(function, *i, uses);
    for (const Operand& element : b)
      if (std::ranges::find(uses.definitions, element.index) != uses.definitions.end()) return nullptr;
  }
  return nullptr;
}

}  // namespace raddle::jit
