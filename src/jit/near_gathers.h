// Gathers by numbers of 32 bits from one base, a pass over LLVM IR for AVX2 and for Intel's processors with
// AVX-512. Code computes each lane's address, and so many as a vector holds are gathered at once: of 16 words
// the two halves, of 8 with AVX2. Where the addresses are a number for all lanes and a signed number of each,
// times what the processor multiplies with, all are one gather, and nothing computes the addresses: with
// AVX-512 a warp's row of 32 columns in 6 instructions instead of 26.
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

class NearGathers : public llvm::PassInfoMixin<NearGathers> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace raddle::jit
