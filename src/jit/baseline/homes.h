// Registers that values keep from block to block. What several blocks read would else be stored where it is
// made and loaded in each. A home is a register for all blocks in which its value lives, and no other value's
// there; a phi and what is given to it share one if they never live at once. Values that are read most often
// choose first, and no block gives away what its own values want more.
#pragma once

#include <array>
#include <vector>

#include "jit/baseline/analysis.h"
#include "jit/baseline/flow.h"

namespace raddle::jit::baseline {

/// The result may be written to the register of operand `n`, which the host's code has read by then.
bool may_overwrite(const llvm::Instruction& i, unsigned n, const Form& form);

class Homes {
 public:
  /// Sets `home` of pieces.
  Homes(const llvm::Function& function, Analysis& analysis, const Flow& flow, const Form& form);

  /// Pieces that are in their homes when the block begins.
  llvm::ArrayRef<PieceId> entering(std::uint32_t block) const { return entering_[block]; }
  /// Registers that are homes somewhere in the block, a bit for each.
  std::uint32_t reserved(std::uint32_t block, Class kind) const {
    return reserved_[static_cast<unsigned>(kind)][block];
  }

 private:
  struct Life;
  struct Web;
  class Finder;
  std::vector<std::vector<PieceId>> entering_;
  std::array<std::vector<std::uint32_t>, 3> reserved_;
};

}  // namespace raddle::jit::baseline
