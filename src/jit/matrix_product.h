// The code of a product of matrices that a warp holds together: one function of the LLVM module for each
// opcode, so that a kernel of many products stays short (docs/adr/0049).
#pragma once

#include <llvm/IR/Module.h>

#include "isa/row.h"
#include "jit/simd_form.h"

namespace raddle::jit {

/// `void(ptr d, ptr a, ptr b, ptr c, ptr metadata)`: each operand's registers one behind the other, each its
/// warp's lanes in order. D may lie where C lies. Made at the first call for a module.
/// @param selector  of a sparse A: which lanes of four have its metadata, a register
llvm::Function* matrix_product(llvm::Module& module, const isa::Opcode& opcode, SimdForm simd,
                               unsigned selector);

}  // namespace raddle::jit
