#include "jit/merge_selects.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace raddle::jit {
namespace {

constexpr unsigned kLongestChain = 3;  ///< instructions that are made again on a way: an addition to a splat

/// A block into which each edge ends one way of the branch before it.
class Merging {
 public:
  Merging(llvm::BasicBlock& block, const llvm::DominatorTree& dominators)
      : block_(block),
        dominators_(dominators),
        from_(llvm::predecessors(&block).begin(), llvm::predecessors(&block).end()) {}

  bool run() {
    const auto* node = dominators_.getNode(&block_);
    if (from_.size() < 2 || node == nullptr || node->getIDom() == nullptr) return false;
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(node->getIDom()->getBlock()->getTerminator());
    if (branch == nullptr || !branch->isConditional() || !knows_ways(*branch)) return false;
    std::vector<llvm::SelectInst*> selects;
    for (llvm::Instruction& i : block_)
      if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&i);
          select != nullptr && select->getCondition() == branch->getCondition())
        selects.push_back(select);
    bool changed = false;
    for (llvm::SelectInst* select : selects) changed |= merge(*select);
    return changed;
  }

 private:
  /// Each edge into the block ends one of the branch's ways.
  bool knows_ways(const llvm::BranchInst& branch) {
    const llvm::BasicBlockEdge taken(branch.getParent(), branch.getSuccessor(0)),
        other(branch.getParent(), branch.getSuccessor(1));
    if (branch.getSuccessor(0) == branch.getSuccessor(1)) return false;
    for (const llvm::BasicBlock* from : from_) {
      const bool is_branch = from == branch.getParent();
      const bool by_taken =
          is_branch ? branch.getSuccessor(0) == &block_ : dominators_.dominates(taken, from);
      const bool by_other =
          is_branch ? branch.getSuccessor(1) == &block_ : dominators_.dominates(other, from);
      if (by_taken == by_other || llvm::count(from_, from) > 1) return false;  // a switch may come twice
      is_taken_.push_back(by_taken);
    }
    return true;
  }

  bool merge(llvm::SelectInst& select) {
    const auto value = [&](std::size_t n) {
      return is_taken_[n] ? select.getTrueValue() : select.getFalseValue();
    };
    for (std::size_t n = 0; n < from_.size(); ++n)
      if (!can_be_at(*value(n), kLongestChain)) return false;
    auto* phi =
        llvm::PHINode::Create(select.getType(), static_cast<unsigned>(from_.size()), "", block_.begin());
    for (std::size_t n = 0; n < from_.size(); ++n) phi->addIncoming(value_at(*value(n), *from_[n]), from_[n]);
    phi->takeName(&select);
    select.replaceAllUsesWith(phi);
    select.eraseFromParent();
    return true;
  }

  bool is_here(const llvm::Value& value) const {
    const auto* i = llvm::dyn_cast<llvm::Instruction>(&value);
    return i != nullptr && i->getParent() == &block_;
  }

  /// On each edge: as it is outside of the block, what a way brings, or a few instructions made again.
  bool can_be_at(const llvm::Value& value, unsigned longest) const {
    if (!is_here(value) || llvm::isa<llvm::PHINode>(value)) return true;
    const auto& i = llvm::cast<llvm::Instruction>(value);
    const bool is_cheap = llvm::isa<llvm::InsertElementInst, llvm::ShuffleVectorInst>(i) ||
                          i.getOpcode() == llvm::Instruction::Add;
    return longest != 0 && is_cheap && llvm::all_of(i.operands(), [&](const llvm::Use& operand) {
             return can_be_at(*operand, longest - 1);
           });
  }

  llvm::Value* value_at(llvm::Value& value, llvm::BasicBlock& from) {
    if (!is_here(value)) return &value;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&value)) return phi->getIncomingValueForBlock(&from);
    llvm::Instruction* again = llvm::cast<llvm::Instruction>(value).clone();
    for (llvm::Use& operand : again->operands()) operand.set(value_at(*operand, from));
    again->insertBefore(from.getTerminator()->getIterator());
    return again;
  }

  llvm::BasicBlock& block_;
  const llvm::DominatorTree& dominators_;
  std::vector<llvm::BasicBlock*> from_;
  std::vector<bool> is_taken_;  // by edge
};

}  // namespace

llvm::PreservedAnalyses MergeSelects::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  bool changed = false;
  for (llvm::BasicBlock& block : function) changed |= Merging(block, dominators).run();
  if (!changed) return llvm::PreservedAnalyses::all();
  return llvm::PreservedAnalyses::allInSet<llvm::CFGAnalyses>();
}

}  // namespace raddle::jit
