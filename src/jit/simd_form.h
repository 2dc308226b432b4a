// How a warp lies in the vectors of the host.
#pragma once

#include "exec/abi.h"

namespace raddle::jit {

/// Parts of a warp per host vector, and how masks are held between operations.
struct SimdForm {
  unsigned lanes = 16;  ///< lanes per part: 32-bit elements of the widest vector
  /// AVX-512: <N x i1>, and accesses under a mask are as fast as others. Elsewhere masks live as
  /// sign-extended 32-bit vectors, and an access under one is slow (AVX2) or a branch for each lane.
  bool mask_registers = true;
  bool gathers = true;         ///< AVX-512, AVX2; elsewhere LLVM makes a branch for each lane
  bool fused = true;           ///< multiply-adds with one rounding: AVX-512, AVX2
  bool dots_of_bytes = false;  ///< AVX-512 VNNI: 32-bit sums of four products of bytes
  bool dots_of_bf16 = false;   ///< AVX-512 BF16: f32 sums of two products, which subnormals do not enter
  bool tiles = false;          ///< AMX: matrices of bytes and of bf16 in tiles (matrix_tiles.h)
  unsigned parts() const { return exec::kWarpSize / lanes; }
};

}  // namespace raddle::jit
