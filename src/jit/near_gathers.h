// Gathers by numbers of 32 bits from one base, a pass over LLVM IR for Intel's processors. Code computes each
// lane's address, and so many as a vector holds are gathered at once: of 16 words the two halves. Where the
// addresses are a number for all lanes and a signed number of each, times what the processor multiplies with,
// all 16 are one gather, and nothing computes the addresses: a warp's row of 32 columns in 6 instructions
// instead of 26.
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

class NearGathers : public llvm::PassInfoMixin<NearGathers> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace raddle::jit
