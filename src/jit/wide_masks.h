// Masks of eight lanes as vectors of 32-bit lanes, a pass over LLVM IR for processors with AVX2 and without
// registers of masks. LLVM holds them as lanes of 16 bits from block to block: it packs each comparison into
// these and unpacks them for each selection, some five instructions each time.
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

class WideMasks : public llvm::PassInfoMixin<WideMasks> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace raddle::jit
