// Which element of a matrix is element i of a lane's fragment, as the figures of the PTX manual show it
// ("Matrix Fragments for mma"), and reading and writing whole matrices from the registers of a warp.
#pragma once

#include <functional>
#include <vector>

#include "interp/lane.h"
#include "interp/warp.h"
#include "isa/fragment.h"
#include "numerics/format.h"

namespace raddle::interp {

/// Of elements of floating-point matrices.
numerics::Format matrix_format(isa::Type element);

/// An element of one of the instruction's products: its row and column.
struct ElementPlace {
  unsigned product = 0, row = 0, column = 0;
};

/// One operand's matrix: what a lane's registers hold of it.
struct FragmentForm {
  isa::Matrix matrix = isa::Matrix::c;
  isa::Type element = isa::Type::none;
  unsigned rows = 0, columns = 0, products = 1;
  unsigned copies = 1;      ///< registers hold the matrix so often: isa::fragment_copies
  bool by_columns = false;  ///< .col: of loads and stores, and where there are four products

  unsigned bits() const { return isa::bit_size(element); }
  unsigned register_bits() const { return isa::bit_size(isa::fragment_register(element)); }
  unsigned in_register() const { return register_bits() / bits(); }
  unsigned in_lane() const { return rows * columns * products / exec::kWarpSize; }
  ElementPlace place(unsigned lane, unsigned i) const;
};

/// Of an operand, by its name; A of a sparse product as it is kept, with half the columns.
FragmentForm fragment_form(const isa::Opcode& opcode, std::string_view operand);

/// All elements of a matrix, row by row, product by product; those of lanes that are absent are zeros.
template <class T>
using Elements = std::vector<T>;

/// Reads operand k. `decode` makes an element of its bits.
template <class T, class Decode>
Elements<T> read_matrix(WarpStep& step, unsigned k, const FragmentForm& form, Decode decode) {
  Elements<T> all(std::size_t{form.products} * form.rows * form.columns);
  step.each([&](Lane& lane) {
    for (unsigned i = 0; i < form.in_lane(); ++i) {
      const std::uint64_t word = lane.value<std::uint64_t>(lane.element(k, i / form.in_register()));
      const ElementPlace at = form.place(lane.index(), i);
      all[(at.product * form.rows + at.row) * form.columns + at.column] =
          decode(word >> (i % form.in_register() * form.bits()));
    }
  });
  return all;
}

/// Writes operand k. `encode` makes bits of an element, none above its width.
template <class T, class Encode>
void write_matrix(WarpStep& step, unsigned k, const FragmentForm& form, const Elements<T>& all,
                  Encode encode) {
  step.each([&](Lane& lane) {
    std::uint64_t word = 0;
    for (unsigned i = 0; i < form.in_lane(); ++i) {
      const ElementPlace at = form.place(lane.index(), i);
      const unsigned within = i % form.in_register();
      const std::uint64_t bits = encode(all[(at.product * form.rows + at.row) * form.columns + at.column]);
      word = within == 0 ? bits : word | bits << (within * form.bits());
      if (within + 1 == form.in_register())
        lane.assign<std::uint64_t>(lane.element(k, i / form.in_register()), word);
    }
  });
}

}  // namespace raddle::interp
