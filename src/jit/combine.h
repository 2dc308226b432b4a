// What LLVM's pass that combines instructions does for code of ours, in a twentieth of its time.
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

/// One look at each instruction, in the order in which values come before who reads them: phis that can only
/// be one value, addresses with known distances, casts of casts, accesses of all lanes or none, arithmetic
/// with constants, one value for all lanes computed once, negations that a branch or a selection spares.
class Combine : public llvm::PassInfoMixin<Combine> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace raddle::jit
