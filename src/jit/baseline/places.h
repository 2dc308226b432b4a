// Where pieces lie while a block is written: in registers as long as there are any, else in the frame. Values
// that other blocks read are stored where they are made, so that at a block's end nothing is left to do. All
// is decided in the order of the code, looking no further than how often a piece will still be read.
#pragma once

#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "jit/baseline/code.h"
#include "jit/baseline/pieces.h"

namespace raddle::jit::baseline {

// Registers that belong to the instruction at hand, never to a piece.
inline const x86::Gp kScratch = x86::rax, kScratch2 = x86::rcx, kScratch3 = x86::rdx;
inline constexpr unsigned kScratchVector = 0, kScratchVector2 = 1, kScratchVector3 = 2;
inline constexpr unsigned kScratchMask = 1, kScratchMask2 = 7;

/// Numbers of the registers in which a function gets its first arguments: rdi, rsi, rdx, rcx, r8, r9.
inline constexpr unsigned kArgumentRegisters[] = {7, 6, 2, 1, 8, 9};
inline constexpr unsigned kArgumentsInRegisters = std::size(kArgumentRegisters);

/// A vector register of so many bytes.
inline x86::Vec vector_register(unsigned number, unsigned bytes) {
  if (bytes > 32) return x86::zmm(number);
  if (bytes > 16) return x86::ymm(number);
  return x86::xmm(number);
}
inline x86::Gp general_register(unsigned number, unsigned bits) {
  return bits == 64 ? x86::Gp(x86::gpq(number)) : x86::Gp(x86::gpd(number));
}

class Places {
 public:
  Places(Code& code, std::vector<Piece>& pieces, const Form& form)
      : code_(code), a_(code.assembler), pieces_(pieces), form_(form) {}

  /// The frame grows upwards from the stack pointer. @param align  up to 64 @returns the offset
  std::int32_t allocate(unsigned bytes, unsigned align);
  std::uint32_t frame_bytes() const { return frame_; }

  /// The register that holds the piece, until the instruction ends.
  unsigned in_register(PieceId id);
  /// The register that will hold the piece.
  unsigned define(PieceId id);
  /// The same, and what the other piece holds is in it: in its own register if nobody reads that any more.
  unsigned define_from(PieceId id, PieceId from);
  /// The piece will be written into its slot. @returns that
  x86::Mem define_in_memory(PieceId id);
  /// A register for the instruction at hand.
  unsigned temporary(Class kind);
  /// Where the piece lies in memory: stored first if need be.
  x86::Mem in_memory(PieceId id, std::int32_t offset = 0);
  /// As an operand of an instruction on elements of so many bits: a register, or memory where it is read no
  /// more. @param broadcasts  the instruction may repeat one element of memory
  asmjit::Operand operand(PieceId id, unsigned element_bits, unsigned bytes, bool broadcasts = true);
  /// Loads the piece into a register that is no piece's.
  void load(unsigned reg, PieceId id);

  bool is_in_register(PieceId id) const { return pieces_[id].place >= 0; }
  bool is_last_use(PieceId id) const { return !pieces_[id].is_global && pieces_[id].uses <= 1; }

  void begin_instruction() { pinned_ = {}; }
  /// Vectors' registers belong to their pieces alone again.
  void begin_piece() { pinned(Class::vector) = 0; }
  /// Stores what other blocks read; what nobody reads leaves its register.
  void made(PieceId id);
  void release(PieceId id);
  /// Before a call: whatever is alive is stored, and no register that the callee may write holds anything.
  void before_call();

  /// The registers' contents at a block's end, for a block that only this one leads to.
  using Contents = std::vector<std::pair<Class, std::pair<unsigned, PieceId>>>;
  Contents contents() const;
  void begin_block(const Contents& contents);

 private:
  static constexpr unsigned kRegisters = 32;
  struct File {
    std::array<PieceId, kRegisters> owner;
    std::array<std::uint32_t, kRegisters> used{};
    File() { owner.fill(kNoPiece); }
  };
  File& file(Class kind) { return files_[static_cast<unsigned>(kind)]; }
  std::uint32_t& pinned(Class kind) { return pinned_[static_cast<unsigned>(kind)]; }
  llvm::ArrayRef<unsigned> registers_of(Class kind) const;
  unsigned take(Class kind);
  void pin(Class kind, unsigned reg);
  void evict(Class kind, unsigned reg);
  void leave(PieceId id);
  void store(PieceId id);
  std::int32_t slot(PieceId id);
  void own(PieceId id, unsigned reg);

  Code& code_;
  x86::Assembler& a_;
  std::vector<Piece>& pieces_;
  const Form& form_;
  std::array<File, 3> files_;
  std::array<std::uint32_t, 3> pinned_{};
  std::uint32_t clock_ = 0;
  std::uint32_t frame_ = 0;
  std::array<std::vector<std::int32_t>, 2> free_slots_;  // of up to 8 bytes, and of a register
};

}  // namespace raddle::jit::baseline
