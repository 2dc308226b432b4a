// Where the elements of a matrix lie in the registers of a warp (PTX ISA "Matrix Fragments for mma"): written
// from the side of the element, and apart from the interpreter's, which knows what a lane holds.
#pragma once

#include "isa/fragment.h"

namespace raddle::jit {

/// An element of one of the products that an instruction makes.
struct MatrixCell {
  unsigned product = 0, row = 0, column = 0;
};

/// Who holds it: element `element`, from the low bits, of register `reg` of lane `lane`.
struct MatrixHolder {
  unsigned lane = 0, reg = 0, element = 0;
  bool same_source(const MatrixHolder& o) const { return reg == o.reg && element == o.element; }
};

/// The layout of one operand.
class MatrixLayout {
 public:
  /// @param operand  its name in the row
  MatrixLayout(const isa::Opcode& opcode, std::string_view operand);

  isa::Type element() const { return element_; }
  unsigned element_bits() const { return bits_; }
  unsigned register_bits() const { return register_bits_; }
  unsigned in_register() const { return register_bits_ / bits_; }  ///< elements
  unsigned registers() const { return registers_; }                ///< that hold each element once
  bool by_columns() const { return by_columns_; }
  isa::Matrix matrix() const { return matrix_; }
  MatrixHolder holder(const MatrixCell& cell) const;
  /// The way back.
  MatrixCell cell(const MatrixHolder& holder) const;

 private:
  MatrixHolder quarter_holder(const MatrixCell& cell) const;

  isa::Matrix matrix_;
  isa::Type element_;
  unsigned bits_, register_bits_, registers_;
  unsigned rows_, columns_, products_;
  bool by_columns_;
};

}  // namespace raddle::jit
