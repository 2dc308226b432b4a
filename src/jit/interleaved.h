// Values of several words that go from memory to memory, a pass over LLVM IR. A load of v2 or v4 takes a
// vector of neighbouring words apart, so that each register has its lanes; a store puts registers together
// again. Where all between the two is done to each word alike, it is done to the words as they lie.
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

class KeepInterleaved : public llvm::PassInfoMixin<KeepInterleaved> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace raddle::jit
