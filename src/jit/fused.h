// Fused multiply-adds of f32 on hosts that have none, a pass over LLVM IR. LLVM would call the C library for
// each lane, whose functions take 5 ns where the processor has such instructions, which other code may not
// use, and ten times as long where it has not.
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

/// Makes each llvm.fma of f32, scalar or of a multiple of four lanes, one of f64 multiplication, addition and
/// conversion. Last of all passes.
class ExpandFused : public llvm::PassInfoMixin<ExpandFused> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

}  // namespace raddle::jit
