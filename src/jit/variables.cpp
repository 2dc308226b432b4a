#include "jit/variables.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>
#include <vector>

namespace raddle::jit {
namespace {

/// Steps from block to block, for all variables of a function together. Kernels of template libraries take a
/// tenth of it.
constexpr std::size_t kMostStepsBack = 4'000'000;

class Forwarding {
 public:
  explicit Forwarding(llvm::Function& function) : function_(function) {
    unsigned count = 0;
    for (llvm::BasicBlock& block : function) numbers_[&block] = count++;
    blocks_.resize(count);
    for (llvm::BasicBlock& block : function)
      for (llvm::BasicBlock* before : llvm::predecessors(&block))
        blocks_[numbers_[&block]].predecessors.push_back(numbers_[before]);
  }

  void run() {
    std::vector<llvm::AllocaInst*> variables;
    for (llvm::Instruction& i : function_.getEntryBlock())
      if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&i);
          variable && llvm::isAllocaPromotable(variable))
        variables.push_back(variable);
    for (llvm::AllocaInst* variable : variables) forward(*variable);
    for (llvm::WeakTrackingVH& value : unused_)
      if (value) llvm::RecursivelyDeleteTriviallyDeadInstructions(value);
  }

 private:
  struct Block {
    std::vector<unsigned> predecessors;
    // Of the variable at hand.
    unsigned variable = 0;  // its number; another one: nothing below is of it
    bool reads = false;     // what was there before the block
    bool is_live = false;   // somebody reads what is there behind it
    llvm::StoreInst* last = nullptr;
  };

  Block& block(unsigned number) {
    Block& b = blocks_[number];
    if (b.variable != variable_) b.variable = variable_, b.reads = b.is_live = false, b.last = nullptr;
    return b;
  }

  void forward(llvm::AllocaInst& variable) {
    ++variable_;
    std::vector<llvm::Instruction*> accesses;
    for (llvm::User* user : variable.users()) accesses.push_back(llvm::cast<llvm::Instruction>(user));
    std::sort(accesses.begin(), accesses.end(), [&](const llvm::Instruction* a, const llvm::Instruction* b) {
      if (a->getParent() == b->getParent()) return a->comesBefore(b);
      return numbers_[a->getParent()] < numbers_[b->getParent()];
    });
    std::vector<unsigned> reading, writing;
    for (llvm::Instruction* access : accesses) {
      const unsigned number = numbers_[access->getParent()];
      Block& here = block(number);
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(access)) {
        here.last != nullptr ? remove(here.last) : writing.push_back(number);
        here.last = store;
      } else if (here.last != nullptr) {
        access->replaceAllUsesWith(here.last->getValueOperand());
        access->eraseFromParent();
      } else if (!here.reads) {
        here.reads = true;
        reading.push_back(number);
      }
    }
    if (!find_live(std::move(reading))) return;
    for (unsigned number : writing)
      if (Block& here = block(number); !here.is_live) remove(here.last);
    if (variable.use_empty()) variable.eraseFromParent();
  }

  /// Which blocks leave the variable to one that reads it.
  /// @returns false if that would take too long
  bool find_live(std::vector<unsigned> reading) {
    while (!reading.empty()) {
      const unsigned number = reading.back();
      reading.pop_back();
      for (unsigned before : blocks_[number].predecessors) {
        if (++steps_ > kMostStepsBack) return false;
        Block& b = block(before);
        if (b.is_live) continue;
        b.is_live = true;
        if (b.last == nullptr && !b.reads) reading.push_back(before);  // else it stops here, or is there
      }
    }
    return true;
  }

  void remove(llvm::StoreInst* store) {
    unused_.emplace_back(store->getValueOperand());
    store->eraseFromParent();
  }

  llvm::Function& function_;
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> numbers_;
  std::vector<Block> blocks_;
  unsigned variable_ = 0;
  std::size_t steps_ = 0;
  std::vector<llvm::WeakTrackingVH> unused_;  // values of stores that have gone
};

}  // namespace

llvm::PreservedAnalyses ForwardVariables::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  Forwarding(function).run();
  return llvm::PreservedAnalyses::allInSet<llvm::CFGAnalyses>();
}

}  // namespace raddle::jit
