// Selections behind the branch that has decided them, a pass over LLVM IR. What may have wrapped is computed
// in another way behind a branch, and whoever reads it where both ways meet selects by the same flag: vectors
// are made and blended for what is known from where control comes. They become values by way.
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

class MergeSelects : public llvm::PassInfoMixin<MergeSelects> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace raddle::jit
