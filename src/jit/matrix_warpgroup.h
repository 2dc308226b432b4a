// The function that a wgmma becomes: one for each way to write it, so that a kernel with many of them stays
// small. It computes a warp's 16 rows of D, in the layout of D's registers: as a register of 32 threads
// covers eight rows of every other of eight columns, a part of it is A's rows, each four times, times four
// columns of B, again and again. Wgmmas that follow each other along K are one call (wgmma_run.h).
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "isa/type.h"
#include "jit/simd_form.h"

namespace raddle::jit {

struct WarpgroupProductForm {
  isa::Type d, a, b;
  unsigned n = 8;  ///< columns of B
  bool sparse = false, saturates = false;
  bool a_in_registers = false, a_transposed = false, b_transposed = false;
  bool negates = false;  ///< -(A * B)
  unsigned selector = 0;
  unsigned steps = 1;     ///< wgmmas that a call makes, of the same D; one where D is rounded or clamped
  bool shares_b = false;  ///< the function takes two more parameters: ptr b, i1 is_there

  bool operator==(const WarpgroupProductForm&) const = default;
  std::string name() const;
};

/// What is multiplied at once: a number, or a word of several.
enum class MatrixStep : std::uint8_t { number, bits, bytes, pairs_of_bf16 };
MatrixStep step_of(SimdForm simd, const WarpgroupProductForm& form);
unsigned operand_bytes(SimdForm simd, const WarpgroupProductForm& form);

/// What a wgmma takes from its registers, as generated code writes it.
struct WarpgroupStep {
  std::uint64_t a, b;  ///< descriptors
  std::uint64_t adds;  ///< scale-d
};
inline constexpr unsigned kMostSteps = 4;  ///< whose bytes add up to integers that f32 holds

/// The module's function of that form:
/// void(ptr d, ptr a, ptr metadata, ptr shared, ptr steps, i32 warp)
/// @param d         registers, 32 words of 4 bytes each, aligned to 64; receives the result
/// @param a         the same of A, where it is in registers, step by step
/// @param metadata  a register, where A is sparse
/// @param shared    host address of the block's own shared address 0; the descriptors' matrices lie in its
/// memory
/// @param steps     WarpgroupStep, as many as the form has
/// @param warp      number of the warp in its warpgroup
/// @param b         operand_bytes() aligned to 64, for B's elements as they are multiplied; warps that
///                  execute the same wgmmas may share it
/// @param is_there  whether a call of this function for such a warp has put them there
llvm::Function* warpgroup_product(llvm::Module& module, SimdForm simd, const WarpgroupProductForm& form);

}  // namespace raddle::jit
