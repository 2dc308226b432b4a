// The products of a wgmma in the host's tile registers (Intel AMX): 16 rows of D by 16 columns, four tiles
// side by side, so that their chains of products overlap. In a tile a row of D has the even columns of eight,
// their odd ones, and those of the next eight: four words of a register of D each.
#pragma once

#include <functional>
#include <vector>

#include "jit/matrix_warpgroup.h"
#include "jit/value.h"

namespace raddle::jit {

inline constexpr unsigned kTileWords = 8;     ///< along K, of a product of tiles
inline constexpr unsigned kTileColumns = 16;  ///< of B and D

/// A wgmma of this form is made so: dense bytes and bf16.
bool takes_tiles(SimdForm simd, const WarpgroupProductForm& form);

/// What is multiplied, and how sums come out of D's registers and go back.
struct TileProduct {
  using Values = std::vector<llvm::Value*>;
  llvm::Value* a;           ///< 16 rows of kTileWords words; step by step
  llvm::Value* b;           ///< kTileWords rows of kTileColumns words; step by step; tile by tile
  llvm::Value* first_step;  ///< that counts
  /// Of half the rows of a block of eight columns: the even columns of each four rows, then the odd ones.
  std::function<Values(llvm::Value* block, unsigned half)> begin;
  std::function<void(llvm::Value* block, unsigned half, const Values& sums)> finish;
};

/// Writes all products of a function where `ir` is.
void multiply_in_tiles(Builder& ir, const WarpgroupProductForm& form, const TileProduct& product);

}  // namespace raddle::jit
