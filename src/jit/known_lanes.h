// What is read of one lane that is known, a pass over LLVM IR for hosts without registers of masks. Code that
// needs a number of one lane, as where a warp's first lane stores its sum, writes all lanes to memory and
// reads that one, as its number is known only when the code runs. Where LLVM's passes have found it out,
// nothing goes through memory, and of the sum nothing is computed but what the lane needs.
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

class KnownLanes : public llvm::PassInfoMixin<KnownLanes> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace raddle::jit
