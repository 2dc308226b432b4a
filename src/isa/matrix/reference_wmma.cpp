// Reference semantics of loads and stores of wmma's matrices (PTX ISA "wmma.load", "wmma.store"): which lane
// has which element is open there; here they lie as mma's do. What a register holds of a row or column in
// memory is one access, elements apart from each other are accesses of their own.
#include <array>
#include <cstring>

#include "interp/matrix_fragments.h"
#include "interp/reference.h"

namespace raddle::interp {

using isa::Matrix;
using isa::Op;
using ptx::Instruction;

namespace {

/// How one instruction's matrix lies in memory, and the accesses that one lane makes.
class MatrixMemory {
 public:
  MatrixMemory(const isa::Opcode& opcode, unsigned address)
      : form_(fragment_form(opcode, "r")),
        address_(address),
        space_(ptx::space_of(opcode.get(isa::ModKind::space))) {
    const bool along_rows = form_.matrix != Matrix::b;  // elements of a register follow each other in a row
    is_whole_ = form_.in_register() == 1 || form_.by_columns != along_rows;
    bytes_ = is_whole_ ? form_.register_bits() / 8 : form_.bits() / 8;
  }

  /// Calls `body(host memory, register, bit within it, bytes)` for the lane's accesses.
  template <class Body>
  void each(Lane& lane, Body body) const {
    lane.access(address_, bytes_);
    const std::uint64_t base = lane.generic_address(address_, space_);
    const std::uint64_t stride = lane.has(2) ? lane.in<std::uint32_t>(2) : dense_stride();
    const unsigned step = is_whole_ ? form_.in_register() : 1;
    for (unsigned i = 0; i < form_.in_lane(); i += step) {
      const ElementPlace at = form_.place(lane.index(), i);
      const std::uint64_t index =
          form_.by_columns ? at.column * stride + at.row : at.row * stride + at.column;
      const std::uint64_t address = base + index * form_.bits() / 8;
      if (address % bytes_ != 0) lane.fault(exec::FaultKind::misaligned_address, address);
      std::byte* const host = lane.reached(address, bytes_);
      lane.touch(
          [&] { body(host, i / form_.in_register(), i % form_.in_register() * form_.bits(), bytes_); });
    }
  }

  const FragmentForm& form() const { return form_; }
  unsigned registers() const { return form_.in_lane() / form_.in_register(); }

 private:
  unsigned dense_stride() const { return form_.by_columns ? form_.rows : form_.columns; }

  FragmentForm form_;
  unsigned address_, bytes_ = 0;
  ptx::Space space_;
  bool is_whole_ = false;
};

using Words = std::array<std::uint64_t, 8>;  ///< of one lane

}  // namespace

template <>
void reference_warp<Op::wmma_load>(WarpStep& step, const Instruction& i) {
  const MatrixMemory memory(*i.opcode, 1);
  std::array<Words, exec::kWarpSize> words{};  // all lanes read before one of them writes its address
  step.each([&](Lane& lane) {
    memory.each(lane, [&](const std::byte* host, unsigned reg, unsigned bit, unsigned bytes) {
      std::uint64_t word = 0;
      std::memcpy(&word, host, bytes);
      words[lane.index()][reg] |= word << bit;
    });
  });
  step.each([&](Lane& lane) {
    for (unsigned r = 0; r < memory.registers() * memory.form().copies; ++r)
      lane.assign<std::uint64_t>(lane.element(0, r), words[lane.index()][r % memory.registers()]);
  });
}

template <>
void reference_warp<Op::wmma_store>(WarpStep& step, const Instruction& i) {
  const MatrixMemory memory(*i.opcode, 0);
  step.each([&](Lane& lane) {
    memory.each(lane, [&](std::byte* host, unsigned reg, unsigned bit, unsigned bytes) {
      const std::uint64_t word = lane.value<std::uint64_t>(lane.element(1, reg)) >> bit;
      std::memcpy(host, &word, bytes);
    });
  });
}

}  // namespace raddle::interp
