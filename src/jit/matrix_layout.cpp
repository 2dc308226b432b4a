#include "jit/matrix_layout.h"

#include "base/assert.h"
#include "exec/abi.h"

namespace raddle::jit {

using isa::Matrix;
using isa::Type;

MatrixLayout::MatrixLayout(const isa::Opcode& opcode, Matrix matrix, Type element)
    : matrix_(matrix), element_(element), products_(isa::matrix_products(opcode)) {
  const isa::MatrixShape shape = isa::matrix_shape(opcode);
  bits_ = isa::bit_size(element);
  register_bits_ = isa::bit_size(isa::fragment_register(element));
  rows_ = matrix == Matrix::b ? shape.k : shape.m;
  columns_ = matrix != Matrix::a ? shape.n : isa::is_sparse(opcode) ? shape.k / 2 : shape.k;
  registers_ = rows_ * columns_ * products_ / exec::kWarpSize / in_register();
  by_columns_ = matrix != Matrix::c && isa::is_by_columns(opcode, matrix);
}

/// Lanes hold elements of A and B in runs of a register along k, four lanes side by side; and pairs of C.
/// Registers are those of 8 rows of A, of the next 8, of the next run along k.
MatrixHolder MatrixLayout::holder(const MatrixCell& cell) const {
  if (products_ == 4) return quarter_holder(cell);
  const unsigned run = in_register();
  if (matrix_ == Matrix::a) {
    const unsigned block = cell.column / (4 * run), lane = cell.row % 8 * 4 + cell.column / run % 4;
    const unsigned reg = rows_ == 8 ? block : block * 2 + cell.row / 8;
    return {lane, reg, cell.column % run};
  }
  if (matrix_ == Matrix::b)
    return {cell.column * 4 + cell.row / run % 4, cell.row / (4 * run), cell.row % run};
  const unsigned index = cell.row / 8 * 2 + cell.column % 2;
  return {cell.row % 8 * 4 + cell.column / 2, index / run, index % run};
}

/// Four lanes from 4 * product on, and the four that lie 16 further, hold a row or column of 4 elements each.
MatrixHolder MatrixLayout::quarter_holder(const MatrixCell& cell) const {
  const unsigned run = in_register(), first = cell.product * 4;
  auto lane_of = [&](unsigned eighth) { return first + eighth % 4 + eighth / 4 * 16; };
  auto held = [&](unsigned lane, unsigned index) { return MatrixHolder{lane, index / run, index % run}; };
  if (matrix_ == Matrix::c) {
    if (element_ == Type::f16) return held(lane_of(cell.row), cell.column);
    return held(first + cell.row % 2 + (cell.column & 2) + cell.row / 4 * 16,
                (cell.column & 4) + (cell.row & 2) + cell.column % 2);
  }
  const bool holds_row = by_columns_ == (matrix_ == Matrix::b);  // A by rows, or B by columns: all of k
  const unsigned along = matrix_ == Matrix::a ? cell.column : cell.row;
  const unsigned across = matrix_ == Matrix::a ? cell.row : cell.column;
  return holds_row ? held(lane_of(across), along) : held(first + along + across / 4 * 16, across % 4);
}

MatrixCell MatrixLayout::cell(const MatrixHolder& wanted) const {
  for (unsigned product = 0; product < products_; ++product)
    for (unsigned row = 0; row < rows_; ++row)
      for (unsigned column = 0; column < columns_; ++column) {
        const MatrixHolder found = holder({product, row, column});
        if (found.lane == wanted.lane && found.same_source(wanted)) return {product, row, column};
      }
  RADDLE_UNREACHABLE("every place in a fragment holds an element");
}

}  // namespace raddle::jit
