// What a function begins with goes to the entrance that needs it, a pass over LLVM IR. Code of a kernel with
// barriers begins with where a warp goes on, and with what any of these entrances might need, as the
// coordinates of a warp's threads. LLVM leaves in place what compares, as flags of the processor do not move.
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

class SinkEntry : public llvm::PassInfoMixin<SinkEntry> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace raddle::jit
