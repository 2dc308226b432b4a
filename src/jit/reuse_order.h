// The order of long straight code whose vectors do not fit the registers, a pass over LLVM IR. Programs that
// keep matrices in registers are unrolled: all of one sum, then all of the next, so that what both multiply
// with goes through memory once for each sum. LLVM's scheduler keeps to that or makes it worse. Where another
// order of the same instructions has less to fetch and to put away, it is taken. Of 16 registers the parts of
// a warp would each have too few: one part comes after the other, and a matrix's sums some at a time.
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

/// Last of all passes. What it has changed says so (keeps_order): code generation is to leave it.
class OrderForReuse : public llvm::PassInfoMixin<OrderForReuse> {
 public:
  /// @param vector_bits  of a register; 512: there are 32 of them, else 16
  explicit OrderForReuse(unsigned vector_bits) : vector_bits_(vector_bits) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  unsigned vector_bits_;
};

/// Whether some function is in an order that another scheduler would undo.
bool keeps_order(const llvm::Module& module);

}  // namespace raddle::jit
