#include "jit/constants.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>

namespace raddle::jit {
namespace {

/// LLVM makes less of a shift, product or quotient whose second operand it does not know; a shuffle or a call
/// may want a constant, and what a phi takes would have to be loaded at the end of another block.
bool needs_constants(const llvm::Instruction& i) {
  if (i.isShift() || i.isIntDivRem() || i.getOpcode() == llvm::Instruction::Mul) return true;
  return llvm::isa<llvm::PHINode, llvm::ShuffleVectorInst, llvm::GetElementPtrInst, llvm::CallBase>(i);
}

class Loading {
 public:
  Loading(llvm::Module& module, LoadedConstants which) : module_(module), which_(which) {}

  void load_in(llvm::BasicBlock& block) {
    llvm::DenseMap<llvm::Constant*, llvm::Value*> loaded;  // in this block: each once, where it is first used
    for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
      if (needs_constants(i)) continue;
      for (llvm::Use& use : i.operands()) {
        auto* constant = llvm::dyn_cast<llvm::ConstantDataVector>(use.get());
        if (constant == nullptr || (which_ == LoadedConstants::by_lane && constant->isSplat())) continue;
        llvm::Value*& value = loaded[constant];
        if (value == nullptr) value = load(*constant, i);
        use.set(value);
      }
    }
  }

 private:
  llvm::Value* load(llvm::ConstantDataVector& constant, llvm::Instruction& before) {
    llvm::GlobalVariable*& place = places_[&constant];
    const llvm::Align align(llvm::PowerOf2Ceil(constant.getRawDataValues().size()));
    if (place == nullptr) {
      place = new llvm::GlobalVariable(module_, constant.getType(), true, llvm::GlobalValue::PrivateLinkage,
                                       &constant, "lanes");
      place->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
      place->setAlignment(align);
    }
    llvm::IRBuilder<> ir(&before);
    auto* load = ir.CreateAlignedLoad(constant.getType(), place, align);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ir.getContext(), {}));
    return load;
  }

  llvm::Module& module_;
  const LoadedConstants which_;
  llvm::DenseMap<llvm::Constant*, llvm::GlobalVariable*> places_;
};

}  // namespace

void load_constants(llvm::Module& module, LoadedConstants which) {
  Loading loading(module, which);
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function) loading.load_in(block);
}

}  // namespace raddle::jit
