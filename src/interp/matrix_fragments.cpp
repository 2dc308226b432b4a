#include "interp/matrix_fragments.h"

namespace raddle::interp {

using isa::Matrix;
using isa::Mod;
using isa::Type;

namespace {

/// .m8n8k4 of f16 ("Matrix Fragments for mma.m8n8k4 with .f16 floating point type"): threads 4q..4q+3 and
/// 4q+16..4q+19 make product q; each holds a row or a column of A and of B.
ElementPlace quarter_place(const FragmentForm& form, unsigned lane, unsigned i) {
  const unsigned product = lane % 16 / 4, upper = lane < 16 ? 0 : 4, own = lane % 4;
  if (form.matrix == Matrix::a && form.by_columns) return {product, i % 4 + upper, own};
  if (form.matrix == Matrix::a) return {product, own + upper, i};
  if (form.matrix == Matrix::b && form.by_columns) return {product, i, own + upper};
  if (form.matrix == Matrix::b) return {product, own, i + upper};
  if (form.element == Type::f16) return {product, own + upper, i};
  return {product, (lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)};
}

}  // namespace

numerics::Format matrix_format(Type element) {
  switch (element) {
    case Type::bf16:
      return numerics::kBf16;
    case Type::tf32:
      return numerics::kTf32;
    case Type::e4m3:
      return numerics::kE4m3;
    case Type::e5m2:
      return numerics::kE5m2;
    case Type::f32:
      return numerics::kF32;
    default:
      return numerics::kF16;
  }
}

ElementPlace FragmentForm::place(unsigned lane, unsigned i) const {
  if (products == 4) return quarter_place(*this, lane, i);
  const unsigned group = lane / 4, thread = lane % 4;
  if (matrix == Matrix::c) {
    // Pairs of a tile of 16 (or 8) rows and 8 columns; wmma's larger shapes have tiles side by side.
    const unsigned in_tile = rows == 8 ? 2 : 4, tile = i / in_tile, tiles_in_row = columns / 8;
    return {0, tile / tiles_in_row * 16 + group + i % in_tile / 2 * 8,
            tile % tiles_in_row * 8 + thread * 2 + (i & 1)};
  }
  // A and B: elements that follow each other along k, a register full of them; then the next 8 rows of A, if
  // there are any; then the next elements along k; then the next tile.
  const unsigned run = in_register(), k = matrix == Matrix::a ? columns : rows, runs = k / (4 * run);
  const unsigned along = thread * run + i % run, reg = i / run;
  if (matrix == Matrix::b) return {0, along + reg % runs * 4 * run, reg / runs * 8 + group};
  if (rows == 8) return {0, group, along + reg * 4 * run};
  const unsigned in_tile = reg % (2 * runs);
  return {0, reg / (2 * runs) * 16 + group + in_tile % 2 * 8, along + in_tile / 2 * 4 * run};
}

FragmentForm fragment_form(const isa::Opcode& opcode, std::string_view operand) {
  FragmentForm form;
  const isa::OperandSpec& spec = isa::matrix_operand(opcode, operand);
  form.matrix = isa::matrix_of(opcode, spec);
  form.element = isa::matrix_element(opcode, spec);
  form.copies = isa::fragment_copies(opcode, spec);
  const isa::MatrixShape shape = isa::matrix_shape(opcode);
  form.products = isa::matrix_products(opcode);
  form.rows = form.matrix == Matrix::b ? shape.k : shape.m;
  form.columns = form.matrix == Matrix::a ? shape.k / (isa::is_sparse(opcode) ? 2 : 1) : shape.n;
  form.by_columns = isa::is_by_columns(opcode, form.matrix);
  return form;
}

}  // namespace raddle::interp
