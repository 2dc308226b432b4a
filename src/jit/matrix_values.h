// A matrix in a warp's registers, as vectors to compute with: its elements unpacked once, and gathered as
// each lane of a result needs them.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "exec/abi.h"
#include "isa/row.h"
#include "jit/matrix_layout.h"
#include "jit/value.h"

namespace raddle::jit {

inline constexpr unsigned kMatrixAlign = 16;  ///< bytes: of a register's part in memory

class MatrixValues {
 public:
  /// @param registers  pointer to them, as matrix_product has it
  MatrixValues(Builder& ir, MatrixLayout layout, llvm::Value* registers, unsigned lanes)
      : ir_(ir), layout_(layout), registers_(registers), lanes_(lanes) {}

  const MatrixLayout& layout() const { return layout_; }
  /// Elements as f32, f64 or s32: for each lane that of the cell which `where` makes of the lane's.
  template <class Where>
  Val gather(const std::vector<MatrixCell>& cells, Where where) {
    return gather_holders(cells, where, false, 0);
  }
  /// Units are registers as they are, but for these bits, which are inverted.
  void take_words(std::uint32_t inverted = 0) {
    takes_words_ = true;
    inverted_ = inverted;
  }
  /// Parts that a register unpacks to: pairs of 16-bit integers, if it is not taken as it is.
  unsigned units() const { return takes_words_ ? 1 : layout_.in_register() / 2; }
  /// The unit of the register that holds the cell.
  template <class Where>
  Val gather_unit(const std::vector<MatrixCell>& cells, unsigned unit, Where where) {
    by_units_ = true;
    return gather_holders(cells, where, true, unit);
  }

 private:
  using Where = std::function<MatrixCell(MatrixCell)>;
  Val gather_holders(const std::vector<MatrixCell>& cells, const Where& where, bool is_unit, unsigned unit);
  Val shuffled(const std::vector<MatrixHolder>& holders, const MatrixHolder& source);
  llvm::Value* repeated(const std::vector<MatrixHolder>& holders, const MatrixHolder& source);
  llvm::Value* staged(const MatrixHolder& source);
  llvm::Value* whole(const MatrixHolder& source);
  Val load(unsigned reg, unsigned p);
  Val unpacked(unsigned reg, unsigned element, unsigned p);
  Val unpack(Val word, unsigned element);
  Val unpack_unit(Val word, unsigned unit);
  Val unpack_integer(Val word, unsigned element);

  Builder& ir_;
  MatrixLayout layout_;
  llvm::Value* registers_;
  unsigned lanes_;
  bool by_units_ = false;  ///< of a matrix, either units are gathered or elements
  bool takes_words_ = false;
  std::uint32_t inverted_ = 0;
  std::map<std::pair<unsigned, unsigned>, llvm::Value*> loaded_, whole_, staged_;
  std::map<std::pair<unsigned, std::pair<unsigned, unsigned>>, Val> unpacked_;
  std::map<std::vector<unsigned>, Val> gathered_;
};

}  // namespace raddle::jit
