#include "jit/lane_branches.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
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

/// Where a function's scatters put vectors of which they read single lanes.
using Places = llvm::DenseMap<llvm::Type*, llvm::AllocaInst*>;

/// What one scatter is made of. Lanes that have one address write in their order: the highest counts.
class LaneStores {
 public:
  LaneStores(llvm::Instruction& scatter, Places& places)
      : places_(places),
        scatter_(scatter),
        values_(scatter.getOperand(0)),
        addresses_(scatter.getOperand(1)),
        alignment_(llvm::cast<llvm::ConstantInt>(scatter.getOperand(2))->getAlignValue()),
        lanes_(llvm::cast<llvm::FixedVectorType>(values_->getType())->getNumElements()) {}

  void write() {
    llvm::IRBuilder<> ir(&scatter_);
    auto* bits = ir.CreateBitCast(scatter_.getOperand(3), ir.getIntNTy(lanes_));
    auto* all = ir.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(bits->getType()));
    llvm::Instruction *straight, *some;
    llvm::SplitBlockAndInsertIfThenElse(all, &scatter_, &straight, &some,
                                        llvm::MDBuilder(ir.getContext()).createLikelyBranchWeights());
    ir.SetInsertPoint(straight);
    for (unsigned lane = 0; lane < lanes_; ++lane)
      ir.CreateAlignedStore(ir.CreateExtractElement(values_, lane), ir.CreateExtractElement(addresses_, lane),
                            alignment_);
    write_some(some, bits);
    scatter_.eraseFromParent();
  }

 private:
  /// A loop over the lanes that take part, whose values and addresses are read from memory.
  void write_some(llvm::Instruction* end, llvm::Value* bits) {
    llvm::IRBuilder<> ir(end);
    auto* number = ir.getInt32Ty();
    auto* first = ir.CreateZExt(bits, number);
    auto* loop = llvm::SplitBlockAndInsertIfThen(ir.CreateIsNotNull(first), end->getIterator(), false);
    ir.SetInsertPoint(loop);
    auto* values = spilled(ir, values_);
    auto* addresses = spilled(ir, addresses_);
    auto* before = loop->getParent();
    auto* body = llvm::SplitBlock(before, loop->getIterator());
    ir.SetInsertPoint(body->begin());
    auto* left = ir.CreatePHI(number, 2);
    auto* lane = ir.CreateIntrinsic(llvm::Intrinsic::cttz, {number}, {left, ir.getTrue()});
    auto* value_type = values_->getType()->getScalarType();
    auto* value = ir.CreateLoad(value_type, ir.CreateInBoundsGEP(value_type, values, lane));
    auto* address = ir.CreateLoad(ir.getPtrTy(), ir.CreateInBoundsGEP(ir.getPtrTy(), addresses, lane));
    ir.CreateAlignedStore(value, address, alignment_);
    auto* rest = ir.CreateAnd(left, ir.CreateSub(left, ir.getInt32(1)));
    auto* after = loop->getSuccessor(0);
    ir.CreateCondBr(ir.CreateIsNotNull(rest), body, after);
    loop->eraseFromParent();
    left->addIncoming(first, before);
    left->addIncoming(rest, body);
  }

  llvm::Value* spilled(llvm::IRBuilder<>& ir, llvm::Value* vector) {
    llvm::AllocaInst*& place = places_[vector->getType()];
    if (place == nullptr)
      place = new llvm::AllocaInst(vector->getType(), 0, "", scatter_.getFunction()->getEntryBlock().begin());
    ir.CreateStore(vector, place);
    return place;
  }

  Places& places_;
  llvm::Instruction& scatter_;
  llvm::Value *values_, *addresses_;
  llvm::Align alignment_;
  unsigned lanes_;
};

}  // namespace

void branch_per_lane(llvm::Module& module) {
  for (llvm::Function& function : module) {
    std::vector<llvm::Instruction*> scatters;
    Places places;
    for (llvm::Instruction& i : llvm::instructions(function))
      if (is_masked_scatter(i)) scatters.push_back(&i);
    // From the back: a block's rest is then moved no farther than to the next scatter.
    for (llvm::Instruction* scatter : scatters | std::views::reverse) LaneStores(*scatter, places).write();
  }
}

}  // namespace raddle::jit
