#include "jit/baseline/near_uses.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <queue>
#include <vector>

namespace raddle::jit::baseline {
namespace {

/// Operands that take a register.
unsigned operands_in_registers(const llvm::Instruction& i) {
  unsigned count = 0;
  for (const llvm::Value* operand : i.operands())
    if (!llvm::isa<llvm::Constant>(operand)) ++count;
  return count;
}

bool may_move(const llvm::Instruction& i) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) return load->isSimple();
  if (i.isBinaryOp()) return !i.getType()->isVectorTy() || operands_in_registers(i) == 1;
  return llvm::isa<llvm::CastInst, llvm::GetElementPtrInst>(i) ||
         (llvm::isa<llvm::InsertElementInst, llvm::ShuffleVectorInst>(i) && operands_in_registers(i) == 1);
}

/// Between two instructions that may write, or do anything else but compute and read, the order is that of
/// the program's lines again: LLVM moves what one block reads from others there one by one, and in reverse.
class Lines {
 public:
  explicit Lines(llvm::BasicBlock& block) : block_(block) {}

  void order() {
    std::vector<llvm::Instruction*> run;
    std::vector<std::vector<llvm::Instruction*>> runs;
    for (llvm::Instruction& i : block_) {
      if (!llvm::isa<llvm::PHINode, llvm::AllocaInst>(i) && !i.isTerminator() && !i.mayHaveSideEffects()) {
        run.push_back(&i);
      } else if (!run.empty()) {
        runs.push_back(std::move(run));
        run.clear();
      }
    }
    if (!run.empty()) runs.push_back(std::move(run));
    for (const auto& all : runs) order(all);
  }

 private:
  static unsigned line(const llvm::Instruction& i) { return i.getDebugLoc() ? i.getDebugLoc().getLine() : 0; }

  void order(const std::vector<llvm::Instruction*>& run) {
    if (std::is_sorted(run.begin(), run.end(),
                       [](const llvm::Instruction* one, const llvm::Instruction* other) {
                         return line(*one) < line(*other);
                       }))
      return;
    llvm::DenseMap<const llvm::Instruction*, unsigned> number;
    for (unsigned n = 0; n < run.size(); ++n) number[run[n]] = n;
    std::vector<unsigned> open(run.size(), 0);  // operands that are still to come
    using Next = std::pair<unsigned, unsigned>;
    std::priority_queue<Next, std::vector<Next>, std::greater<>> ready;
    for (unsigned n = 0; n < run.size(); ++n) {
      for (const llvm::Value* operand : run[n]->operands())
        if (const auto* i = llvm::dyn_cast<llvm::Instruction>(operand); i && number.contains(i)) ++open[n];
      if (open[n] == 0) ready.emplace(line(*run[n]), n);
    }
    const auto end = std::next(run.back()->getIterator());
    while (!ready.empty()) {
      llvm::Instruction& i = *run[ready.top().second];
      ready.pop();
      i.moveBefore(block_, end);
      for (const llvm::Use& use : i.uses())
        if (const auto found = number.find(llvm::dyn_cast<llvm::Instruction>(use.getUser()));
            found != number.end() && --open[found->second] == 0)
          ready.emplace(line(*run[found->second]), found->second);
    }
  }

  llvm::BasicBlock& block_;
};

class Block {
 public:
  explicit Block(llvm::BasicBlock& block) : block_(block) {
    for (llvm::Instruction& i : block) {
      number_[&i] = static_cast<unsigned>(all_.size());
      all_.push_back(&i);
      place_.push_back(static_cast<unsigned>(place_.size()));
      writers_.push_back((writers_.empty() ? 0 : writers_.back()) + (i.mayWriteToMemory() ? 1 : 0));
    }
  }

  void order() {
    bool moves = false;
    for (auto n = static_cast<unsigned>(all_.size()); n-- > 0;)
      if (may_move(*all_[n])) moves |= find_place(n);
    if (!moves) return;
    std::vector<unsigned> order(all_.size());
    for (unsigned n = 0; n < order.size(); ++n) order[n] = n;
    std::sort(order.begin(), order.end(), [&](unsigned one, unsigned other) {
      return std::pair(place_[one], one) < std::pair(place_[other], other);
    });
    for (const unsigned n : order)
      if (!llvm::isa<llvm::PHINode>(all_[n])) all_[n]->moveBefore(block_, block_.end());
  }

 private:
  /// Next to the first reader, whose own place is known.
  bool find_place(unsigned n) {
    unsigned first = static_cast<unsigned>(all_.size());
    for (const llvm::User* user : all_[n]->users()) {
      const auto found = number_.find(llvm::cast<llvm::Instruction>(user));
      if (found == number_.end() || llvm::isa<llvm::PHINode>(user)) return false;
      first = std::min(first, place_[found->second]);
    }
    if (first == all_.size() || first == n + 1) return false;
    if (all_[n]->mayReadFromMemory() &&
        writers_[n] != writers_[first] - (all_[first]->mayWriteToMemory() ? 1 : 0))
      return false;
    place_[n] = first;
    return true;
  }

  llvm::BasicBlock& block_;
  std::vector<llvm::Instruction*> all_;
  std::vector<unsigned> place_;    // the number of the instruction that it goes to
  std::vector<unsigned> writers_;  // up to and with an instruction
  llvm::DenseMap<const llvm::Instruction*, unsigned> number_;
};

/// A splat of a word as a float is a splat, as a float.
void cast_behind_splats(llvm::BasicBlock& block) {
  std::vector<llvm::ShuffleVectorInst*> splats;
  for (llvm::Instruction& i : block)
    if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i);
        shuffle && shuffle->isZeroEltSplat() && llvm::all_of(shuffle->getShuffleMask(), [](int lane) {
          return lane <= 0;
        }))  // not the second operand's
      splats.push_back(shuffle);
  for (llvm::ShuffleVectorInst* splat : splats) {
    auto* cast = llvm::dyn_cast<llvm::BitCastInst>(splat->getOperand(0));
    if (!cast || !llvm::isa<llvm::InsertElementInst>(cast->getOperand(0))) continue;
    auto* from = llvm::dyn_cast<llvm::FixedVectorType>(cast->getSrcTy());
    auto* to = llvm::cast<llvm::FixedVectorType>(splat->getType());
    if (!from || from->getScalarSizeInBits() != to->getScalarSizeInBits()) continue;
    auto* all =
        new llvm::ShuffleVectorInst(cast->getOperand(0), splat->getShuffleMask(), "", splat->getIterator());
    auto* as = new llvm::BitCastInst(all, to, "", splat->getIterator());
    for (llvm::Instruction* made :
         {static_cast<llvm::Instruction*>(all), static_cast<llvm::Instruction*>(as)})
      made->setDebugLoc(splat->getDebugLoc());
    splat->replaceAllUsesWith(as);
    splat->eraseFromParent();
    if (cast->use_empty()) cast->eraseFromParent();
  }
}

}  // namespace

void move_near_uses(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    cast_behind_splats(block);
    Lines(block).order();
    Block(block).order();
  }
}

}  // namespace raddle::jit::baseline
