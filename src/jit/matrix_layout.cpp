#include "jit/matrix_layout.h"

#include "base/assert.h"
#include "exec/abi.h"

namespace raddle::jit {

using isa::Matrix;
using isa::Type;

MatrixLayout::MatrixLayout(const isa::Opcode& opcode, std::string_view operand) {
  const isa::OperandSpec& spec = isa::matrix_operand(opcode, operand);
  const isa::MatrixShape shape = isa::matrix_shape(opcode);
  matrix_ = isa::matrix_of(opcode, spec);
  element_ = isa::matrix_element(opcode, spec);
  products_ = isa::matrix_products(opcode);
  bits_ = isa::bit_size(element_);
  register_bits_ = isa::bit_size(isa::fragment_register(element_));
  rows_ = matrix_ == Matrix::b ? shape.k : shape.m;
  columns_ = matrix_ != Matrix::a ? shape.n : isa::is_sparse(opcode) ? shape.k / 2 : shape.k;
  registers_ = rows_ * columns_ * products_ / exec::kWarpSize / in_register();
  by_columns_ = isa::is_by_columns(opcode, matrix_);
}

/// Lanes hold elements of A and B in runs of a register along k, four lanes side by side; and pairs of C.
/// Registers of A are those of 8 rows, of the next 8, of the next run along k, of the next 16 rows; of B the
/// runs along k of 8 columns, then of the next 8; of C those of 16 rows of 8 columns, then of the next 8.
MatrixHolder MatrixLayout::holder(const MatrixCell& cell) const {
  if (products_ == 4) return quarter_holder(cell);
  const unsigned run = in_register(), row = cell.row, column = cell.column;
  if (matrix_ == Matrix::a) {
    const unsigned block = column / (4 * run), lane = row % 8 * 4 + column / run % 4;
    if (rows_ == 8) return {lane, block, column % run};
    return {lane, row / 16 * (columns_ / (4 * run)) * 2 + block * 2 + row % 16 / 8, column % run};
  }
  if (matrix_ == Matrix::b)
    return {column % 8 * 4 + row / run % 4, column / 8 * (rows_ / (4 * run)) + row / (4 * run), row % run};
  const unsigned tile = row / 16 * (columns_ / 8) + column / 8, in_tile = rows_ == 8 ? 2 : 4;
  const unsigned index = tile * in_tile + row % 16 / 8 * 2 + column % 2;
  return {row % 8 * 4 + column % 8 / 2, index / run, index % run};
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
