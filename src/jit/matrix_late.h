// A wgmma of a device where copies land late, as the machine has it executed: with the registers where they
// lie in the warp's frame.
#pragma once

#include "jit/matrix_warpgroup.h"

namespace raddle::jit {

/// Registers of D.
unsigned result_registers(const WarpgroupProductForm& form);

/// The module's exec::ExecuteWgmma of that form. IssuedWgmma::registers points to the addresses of D's
/// registers, and of A's behind them, if A is in registers: of 32 words of 4 bytes each.
llvm::Function* late_product(llvm::Module& module, SimdForm simd, const WarpgroupProductForm& form);

}  // namespace raddle::jit
