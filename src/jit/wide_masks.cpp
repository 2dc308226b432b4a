#include "jit/wide_masks.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace raddle::jit {
namespace {

constexpr unsigned kMaskLanes = 8;

bool is_mask(const llvm::Value& value) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value.getType());
  return type != nullptr && type->getNumElements() == kMaskLanes && type->getElementType()->isIntegerTy(1);
}

/// What is computed on vectors of 32-bit lanes instead.
bool has_wide_form(const llvm::Instruction& i) {
  using llvm::Instruction;
  return llvm::isa<llvm::PHINode>(i) || i.getOpcode() == Instruction::And ||
         i.getOpcode() == Instruction::Or || i.getOpcode() == Instruction::Xor;
}

/// LLVM does well by what a block compares and selects by itself.
bool is_wanted_wide(const llvm::Instruction& i) {
  return has_wide_form(i) || std::ranges::any_of(i.users(), [&](const llvm::User* user) {
           const auto* reader = llvm::cast<llvm::Instruction>(user);
           return reader->getParent() != i.getParent() || (is_mask(*reader) && has_wide_form(*reader));
         });
}

/// All bits of a lane are those of the mask.
class Widening {
 public:
  explicit Widening(llvm::Function& function)
      : ir_(function.getContext()), wide_type_(llvm::FixedVectorType::get(ir_.getInt32Ty(), kMaskLanes)) {
    for (llvm::Instruction& i : llvm::instructions(function))
      if (is_mask(i) && is_wanted_wide(i)) masks_.push_back(&i);
  }

  bool run() {
    for (llvm::Instruction* mask : masks_) prepare(*mask);
    for (llvm::Instruction* mask : masks_) complete(*mask);
    for (llvm::Instruction* mask : masks_) narrow_users(*mask);
    for (llvm::Instruction* mask : masks_)
      if (has_wide_form(*mask)) mask->dropAllReferences();
    for (llvm::Instruction* mask : masks_)
      if (has_wide_form(*mask)) mask->eraseFromParent();
    return !masks_.empty();
  }

 private:
  /// Its wide form, whose operands may not be there yet.
  void prepare(llvm::Instruction& mask) {
    ir_.SetCurrentDebugLocation(mask.getDebugLoc());
    auto* none = llvm::PoisonValue::get(wide_type_);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&mask)) {
      ir_.SetInsertPoint(phi);
      wide_[&mask] = ir_.CreatePHI(wide_type_, phi->getNumIncomingValues());
    } else if (has_wide_form(mask)) {
      wide_[&mask] = llvm::BinaryOperator::Create(static_cast<llvm::Instruction::BinaryOps>(mask.getOpcode()),
                                                  none, none, "", mask.getIterator());
      llvm::cast<llvm::Instruction>(wide_[&mask])->setDebugLoc(mask.getDebugLoc());
    } else {
      ir_.SetInsertPoint(mask.getParent(), std::next(mask.getIterator()));
      wide_[&mask] = ir_.CreateSExt(&mask, wide_type_);
    }
  }

  void complete(llvm::Instruction& mask) {
    if (!has_wide_form(mask)) return;
    auto* const wide = llvm::cast<llvm::Instruction>(wide_.at(&mask));
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&mask)) {
      for (unsigned n = 0; n < phi->getNumIncomingValues(); ++n)
        llvm::cast<llvm::PHINode>(wide)->addIncoming(wide_form(*phi->getIncomingValue(n)),
                                                     phi->getIncomingBlock(n));
      return;
    }
    for (unsigned n = 0; n < 2; ++n) wide->setOperand(n, wide_form(*mask.getOperand(n)));
  }

  llvm::Value* wide_form(llvm::Value& mask) {
    const auto found = wide_.find(&mask);
    if (found != wide_.end()) return found->second;
    llvm::Value*& wide = wide_[&mask];
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(&mask)) {
      wide = ir_.CreateSExt(constant, wide_type_);  // folded
    } else {
      auto& argument = llvm::cast<llvm::Argument>(mask);
      ir_.SetInsertPointPastAllocas(argument.getParent());
      wide = ir_.CreateSExt(&mask, wide_type_);
    }
    return wide;
  }

  void narrow_users(llvm::Instruction& mask) {
    llvm::Value* const wide = wide_.at(&mask);
    std::vector<llvm::Use*> uses;
    for (llvm::Use& use : mask.uses()) uses.push_back(&use);
    for (llvm::Use* use : uses) {
      auto* reader = llvm::cast<llvm::Instruction>(use->getUser());
      if (reader == wide || (is_mask(*reader) && has_wide_form(*reader))) continue;
      if (!has_wide_form(mask) && reader->getParent() == mask.getParent()) continue;
      if (auto* extended = llvm::dyn_cast<llvm::SExtInst>(reader);
          extended != nullptr && extended->getType() == wide_type_) {
        extended->replaceAllUsesWith(wide);
        extended->eraseFromParent();
        continue;
      }
      ir_.SetInsertPoint(reader);
      use->set(ir_.CreateICmpSLT(wide, llvm::Constant::getNullValue(wide_type_)));
    }
  }

  llvm::IRBuilder<> ir_;
  llvm::FixedVectorType* wide_type_;
  std::vector<llvm::Instruction*> masks_;
  std::unordered_map<llvm::Value*, llvm::Value*> wide_;
};

}  // namespace

llvm::PreservedAnalyses WideMasks::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  if (!Widening(function).run()) return llvm::PreservedAnalyses::all();
  return llvm::PreservedAnalyses::allInSet<llvm::CFGAnalyses>();
}

}  // namespace raddle::jit
