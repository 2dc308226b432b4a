// The function that a run of products of a warp becomes (mma_run.h): tiles of 16 rows of A by 8 columns of B,
// two with the same A at once, as many sums as a host of 32 vector registers holds. A's numbers are unpacked
// once for all tiles of its rows, B's once for all of its columns, and for runs that follow.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "isa/row.h"
#include "jit/simd_form.h"

namespace raddle::jit {

/// A run of mma of this spelling can be one function: dense, of 16x8, with sums of 32 bits that are neither
/// rounded nor clamped after each.
bool is_run_opcode(const isa::Opcode& opcode);
/// The host has the registers and the instructions for it.
bool has_run_products(const isa::Opcode& opcode, SimdForm simd);

/// One product of a run, by the numbers of its matrices among those of the run: d += a * b.
struct RunProduct {
  unsigned d, a, b;
};

/// Bytes of a B as it is multiplied.
unsigned panel_bytes(const isa::Opcode& opcode, SimdForm simd);

/// The module's function of such a run: void(ptr d..., ptr a..., ptr b..., ptr panel...), each matrix's
/// registers one behind the other, each its warp's lanes in order; panels, one for each B, panel_bytes()
/// aligned to 64.
/// @param products  in order; the numbers of each operand count from 0 in order of their first use
/// @param is_there  for each B whether a run before has put it into its panel
llvm::Function* matrix_run(llvm::Module& module, const isa::Opcode& opcode, SimdForm simd,
                           const std::vector<RunProduct>& products, const std::vector<bool>& is_there);

}  // namespace raddle::jit
