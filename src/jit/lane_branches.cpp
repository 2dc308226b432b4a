#include "jit/lane_branches.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <ranges>
#include <vector>

namespace raddle::jit {
namespace {

bool is_masked_scatter(const llvm::Instruction& i) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_scatter &&
         !llvm::isa<llvm::Constant>(call->getArgOperand(3));
}

/// In the order of the lanes: the highest counts where several write to one place.
void store_lanes_of(llvm::Instruction& scatter) {
  auto *values = scatter.getOperand(0), *addresses = scatter.getOperand(1), *mask = scatter.getOperand(3);
  const llvm::Align alignment = llvm::cast<llvm::ConstantInt>(scatter.getOperand(2))->getAlignValue();
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  llvm::IRBuilder<> ir(&scatter);
  auto* bits = ir.CreateBitCast(mask, ir.getIntNTy(lanes));
  for (unsigned lane = 0; lane < lanes; ++lane) {
    ir.SetInsertPoint(&scatter);
    auto* bit = ir.CreateAnd(bits, ir.getInt(llvm::APInt::getOneBitSet(lanes, lane)));
    auto* takes_part = ir.CreateIsNotNull(bit);
    ir.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(takes_part, scatter.getIterator(), false));
    auto* value = ir.CreateExtractElement(values, lane);
    ir.CreateAlignedStore(value, ir.CreateExtractElement(addresses, lane), alignment);
  }
  scatter.eraseFromParent();
}

}  // namespace

void branch_per_lane(llvm::Module& module) {
  for (llvm::Function& function : module) {
    std::vector<llvm::Instruction*> scatters;
    for (llvm::Instruction& i : llvm::instructions(function))
      if (is_masked_scatter(i)) scatters.push_back(&i);
    // From the back: a block's rest is then moved no farther than to the next scatter.
    for (llvm::Instruction* scatter : scatters | std::views::reverse) store_lanes_of(*scatter);
  }
}

}  // namespace raddle::jit
