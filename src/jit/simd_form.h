// How a warp lies in the vectors of the host.
#pragma once

#include "exec/abi.h"

namespace raddle::jit {

/// Parts of a warp per host vector, and how masks are held between operations.
struct SimdForm {
  unsigned lanes = 16;         ///< lanes per part: 32-bit elements of the widest vector
  bool mask_registers = true;  ///< AVX-512: <N x i1>; elsewhere masks live as sign-extended 32-bit vectors
  bool dots_of_bytes = false;  ///< AVX-512 VNNI: 32-bit sums of four products of bytes
  bool dots_of_bf16 = false;   ///< AVX-512 BF16: f32 sums of two products, which subnormals do not enter
  unsigned parts() const { return exec::kWarpSize / lanes; }
};

}  // namespace raddle::jit
