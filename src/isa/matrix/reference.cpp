// Reference semantics of matrices of 8x8 16-bit elements that a warp holds together (PTX ISA "ldmatrix",
// "stmatrix", "movmatrix"): thread t has elements 2 * (t mod 4) and the next one of row t / 4.
#include "interp/reference.h"

#include <array>
#include <cstring>

#include "interp/lane.h"
#include "interp/warp.h"
#include "isa/fragment.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using ptx::Instruction;

namespace {

constexpr unsigned kRows = 8, kRowBytes = 16;

struct Matrix {
  std::uint16_t at[kRows][kRows] = {};
};

/// Those of one instruction. Nothing here allocates: a fault leaves the warp where it is, and destroys
/// nothing.
using Matrices = std::array<Matrix, 4>;

/// The word of a thread: two elements of a row, or of a column of what is transposed.
std::uint32_t word_of(const Matrix& matrix, unsigned thread, bool transposed) {
  const unsigned i = thread / 4, j = thread % 4 * 2;
  const std::uint32_t low = transposed ? matrix.at[j][i] : matrix.at[i][j];
  const std::uint32_t high = transposed ? matrix.at[j + 1][i] : matrix.at[i][j + 1];
  return low | high << 16;
}

void put_word(Matrix& matrix, unsigned thread, bool transposed, std::uint32_t word) {
  const unsigned i = thread / 4, j = thread % 4 * 2;
  (transposed ? matrix.at[j][i] : matrix.at[i][j]) = static_cast<std::uint16_t>(word);
  (transposed ? matrix.at[j + 1][i] : matrix.at[i][j + 1]) = static_cast<std::uint16_t>(word >> 16);
}

/// Calls `body(lane, row of the matrix)` for the threads that name a matrix's rows, of those that are there.
template <class Body>
void each_row(WarpStep& step, unsigned matrix, Body body) {
  for (unsigned row = 0; row < kRows; ++row) {
    const unsigned thread = matrix * kRows + row;
    if ((step.lanes() >> thread & 1) != 0) body(step.lane(thread), row);
  }
}

/// Where a row lies. Fault: a generic address that is not of shared memory.
std::byte* row_at(Lane& lane, const Instruction& i, unsigned k) {
  if (ptx::space_of(i.opcode->get(isa::ModKind::space)) == ptx::Space::generic) {
    const std::uint64_t address = lane.generic_address(k, ptx::Space::generic);
    if (!lane.in_cluster(address)) lane.fault(exec::FaultKind::illegal_instruction, address);
  }
  return lane.access(k, kRowBytes);
}

}  // namespace

template <>
void reference_warp<Op::ldmatrix>(WarpStep& step, const Instruction& i) {
  Matrices matrices;
  const unsigned count = isa::fragment_registers(*i.opcode, i.opcode->row->operands[0]);
  for (unsigned m = 0; m < count; ++m)
    each_row(step, m, [&](Lane& lane, unsigned row) {
      const std::byte* from = row_at(lane, i, 1);
      lane.touch([&] { std::memcpy(matrices[m].at[row], from, kRowBytes); });
    });
  step.each([&](Lane& lane) {
    for (unsigned m = 0; m < count; ++m)
      lane.assign<std::uint32_t>(lane.element(0, m),
                                 word_of(matrices[m], lane.index(), i.opcode->has(Mod::trans)));
  });
}

template <>
void reference_warp<Op::stmatrix>(WarpStep& step, const Instruction& i) {
  Matrices matrices;
  const unsigned count = isa::fragment_registers(*i.opcode, i.opcode->row->operands[1]);
  step.each([&](Lane& lane) {
    for (unsigned m = 0; m < count; ++m)
      put_word(matrices[m], lane.index(), i.opcode->has(Mod::trans),
               lane.value<std::uint32_t>(lane.element(1, m)));
  });
  for (unsigned m = 0; m < count; ++m)
    each_row(step, m, [&](Lane& lane, unsigned row) {
      std::byte* to = row_at(lane, i, 0);
      lane.touch([&] { std::memcpy(to, matrices[m].at[row], kRowBytes); });
    });
}

template <>
void reference_warp<Op::movmatrix>(WarpStep& step, const Instruction&) {
  Matrix matrix;
  step.each([&](Lane& lane) { put_word(matrix, lane.index(), false, lane.in<std::uint32_t>(1)); });
  step.each([&](Lane& lane) { lane.out<std::uint32_t>(0, word_of(matrix, lane.index(), true)); });
}

}  // namespace raddle::interp
