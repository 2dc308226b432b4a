// Masks whose lanes are spread over a longer one, a pass over LLVM IR for processors with AVX-512. LLVM makes
// vectors of them, permutes these, and compares; the bits of a number are one instruction (BMI2's pdep).
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

class DepositMasks : public llvm::PassInfoMixin<DepositMasks> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace raddle::jit
