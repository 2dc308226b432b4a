// Variables of LLVM's functions, for the quick tier: what a block says itself is not read from memory there,
// and what nobody reads is not written.
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

/// Loads take the value that their block stored before, and stores that no load sees go. Instruction
/// selection, most of the quick tier's time, then has less to select; loads that see another block's store
/// stay, as registers do not outlive a block in that tier anyway. Linear, as which blocks a value lives
/// through is followed for so many steps only.
class ForwardVariables : public llvm::PassInfoMixin<ForwardVariables> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

}  // namespace raddle::jit
