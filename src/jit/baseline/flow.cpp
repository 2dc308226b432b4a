#include "jit/baseline/flow.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/ProfDataUtils.h>

#include <algorithm>
#include <cmath>

namespace raddle::jit::baseline {
namespace {

constexpr float kTurns = 8;            // of a loop, for want of better
constexpr float kUnlikely = 1 / 64.f;  // of the times that its branch is met

}  // namespace

bool is_unlikely(const llvm::Instruction& terminator, unsigned n) {
  llvm::SmallVector<std::uint32_t, 4> weights;
  if (!llvm::extractBranchWeights(terminator, weights) || n >= weights.size()) return false;
  const std::uint32_t largest = *std::max_element(weights.begin(), weights.end());
  return std::uint64_t{weights[n]} * 64 <= largest;
}

Flow::Flow(const llvm::Function& function) {
  llvm::DenseMap<const llvm::BasicBlock*, std::uint32_t> numbers;
  for (const llvm::BasicBlock& block : function) {
    numbers[&block] = static_cast<std::uint32_t>(blocks.size());
    blocks.push_back({&block, {}, {}});
  }
  for (std::uint32_t n = 0; n < blocks.size(); ++n)
    for (const llvm::BasicBlock* successor : llvm::successors(blocks[n].block)) {
      const std::uint32_t to = numbers[successor];
      blocks[n].successors.push_back(to);
      blocks[to].predecessors.push_back(n);
    }
  const llvm::DominatorTree dominators(const_cast<llvm::Function&>(function));
  const llvm::LoopInfo loops(dominators);
  std::vector<float> warmth(blocks.size(), 0);  // the share of the times that the loop around turns
  warmth[0] = 1;
  for (const llvm::BasicBlock* block : llvm::ReversePostOrderTraversal(&function)) {
    const std::uint32_t n = numbers[block];
    const llvm::Instruction& terminator = *block->getTerminator();
    for (unsigned s = 0; s < blocks[n].successors.size(); ++s) {
      const std::uint32_t to = blocks[n].successors[s];
      const llvm::Loop* inner = loops.getLoopFor(blocks[to].block);
      if (inner && inner->getHeader() == blocks[to].block && inner->contains(block)) continue;  // a turn
      warmth[to] = std::max(warmth[to], warmth[n] * (is_unlikely(terminator, s) ? kUnlikely : 1));
    }
    blocks[n].frequency =
        warmth[n] * std::pow(kTurns, static_cast<float>(std::min(loops.getLoopDepth(block), 6u)));
  }
  for (std::uint32_t n = 0; n < blocks.size(); ++n)
    if (warmth[n] > kUnlikely) order.push_back(n);
  for (std::uint32_t n = 0; n < blocks.size(); ++n)
    if (warmth[n] <= kUnlikely) order.push_back(n);
}

}  // namespace raddle::jit::baseline
