#include "jit/sink_entry.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

namespace raddle::jit {
namespace {

const llvm::BasicBlock* block_of(const llvm::Use& use) {
  const auto* reader = llvm::cast<llvm::Instruction>(use.getUser());
  const auto* phi = llvm::dyn_cast<llvm::PHINode>(reader);
  return phi != nullptr ? phi->getIncomingBlock(use) : reader->getParent();
}

/// The successor behind which all is that reads it; null if there is none.
llvm::BasicBlock* only_reader(llvm::Instruction& i, const llvm::DominatorTree& dominators) {
  if (i.use_empty()) return nullptr;
  for (llvm::BasicBlock* next : llvm::successors(i.getParent()))
    if (next->getUniquePredecessor() != nullptr && llvm::all_of(i.uses(), [&](const llvm::Use& use) {
          return dominators.dominates(next, block_of(use));
        }))
      return next;
  return nullptr;
}

}  // namespace

llvm::PreservedAnalyses SinkEntry::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  bool is_written_behind = false, changes = false;
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::reverse(function.getEntryBlock()))) {
    if (i.mayHaveSideEffects()) is_written_behind = true;
    if (i.isTerminator() || i.mayHaveSideEffects() || llvm::isa<llvm::AllocaInst>(i)) continue;
    if (i.mayReadFromMemory() && is_written_behind) continue;
    llvm::BasicBlock* const reader = only_reader(i, dominators);
    if (reader == nullptr) continue;
    i.moveBefore(*reader, reader->getFirstInsertionPt());
    changes = true;
  }
  if (!changes) return llvm::PreservedAnalyses::all();
  return llvm::PreservedAnalyses::allInSet<llvm::CFGAnalyses>();
}

}  // namespace raddle::jit
