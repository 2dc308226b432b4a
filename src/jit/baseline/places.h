// Where pieces lie while a block is written: in their homes (homes.h), else in registers as long as there are
// any, else in the frame. Values without a home that other blocks read are stored where they are made, so
// that at a block's end nothing is left to do. All is decided in the order of the code, by what the rest of
// the block will read.
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
inline constexpr std::uint32_t kScratchMasks = 1u << kScratchMask | 1u << kScratchMask2;

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

/// Registers that pieces may have, in the order in which they are taken.
llvm::ArrayRef<unsigned> registers_of(Class kind, const Form& form);
/// General registers that a function keeps for whoever calls it so, a bit each.
std::uint32_t kept_by(llvm::CallingConv::ID convention);
/// Registers of a block that are nobody's home, for what instructions need at once.
inline unsigned least_left(Class kind, const Form& form) {
  if (kind == Class::general) return 5;
  if (kind == Class::mask) return 4;
  return form.mask_registers ? 9 : 6;
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
  /// The other piece's register is the one that the piece will have, and nobody reads that any more.
  bool takes_over(PieceId id, PieceId from) const;
  /// The piece will be written into its slot. @returns that
  x86::Mem define_in_memory(PieceId id);
  /// A register for the instruction at hand.
  unsigned temporary(Class kind);
  /// Where the piece lies in memory: stored first if need be.
  x86::Mem in_memory(PieceId id, std::int32_t offset = 0);
  /// As an operand of an instruction on elements of so many bits: a register, or memory where it is read no
  /// more. @param broadcasts  the instruction may repeat one element of memory
  asmjit::Operand operand(PieceId id, unsigned element_bits, unsigned bytes, bool broadcasts = true);
  /// The piece whose slot this one has: itself, or the first of those that share one.
  PieceId owner_of_slot(PieceId id) const { return pieces_[id].shares == kNoPiece ? id : pieces_[id].shares; }
  /// Loads the piece into a register that is no piece's.
  void load(unsigned reg, PieceId id);
  /// What a piece of this kind and width has in memory and in a register.
  void load_register(unsigned reg, const Piece& like, const x86::Mem& from);
  void store_register(const x86::Mem& to, const Piece& like, unsigned reg);
  void move_register(Class kind, unsigned to, unsigned from);

  /// Something was in this register at some time.
  bool has_written(Class kind, unsigned reg) const {
    return files_[static_cast<unsigned>(kind)].written >> reg & 1;
  }
  bool is_in_register(PieceId id) const { return pieces_[id].place >= 0; }
  /// It lies in a register that may be an instruction's mask.
  bool is_for_accesses(PieceId id) const { return pieces_[id].place > 0; }
  bool is_last_use(PieceId id) const {
    return !pieces_[id].is_global && pieces_[id].home < 0 && pieces_[id].uses <= 1;
  }

  /// @param wants_scratch_masks  kScratchMask and kScratchMask2 are the instruction's, not pieces'
  void begin_instruction(bool wants_scratch_masks);
  /// Vectors' registers belong to their pieces alone again.
  void begin_piece() { pinned(Class::vector) = 0; }
  /// One instruction reads what was fetched and writes the result: it may be written to where that lies.
  void write_over(Class kind) { pinned(kind) = 0; }
  /// Its register has another value than what may have been stored since it was defined.
  void changed(PieceId id) { pieces_[id].is_stored = false; }
  /// Stores what other blocks read; what nobody reads leaves its register.
  void made(PieceId id);
  void release(PieceId id);
  /// Before a call: whatever is alive is stored, and no register that the callee may write holds anything but
  /// what has its home there, which comes back behind the call.
  /// @param kept  general registers that the callee keeps and that pass it nothing, a bit each
  void before_call(std::uint32_t kept);
  void after_call();

  /// The registers' contents at a block's end, for a block that only this one leads to.
  using Contents = std::vector<std::pair<Class, std::pair<unsigned, PieceId>>>;
  Contents contents() const;
  /// What each instruction of the block that begins will read, and release.
  void read_ahead(const std::vector<std::vector<PieceId>>& sources);
  /// @param entering  pieces that are in their homes @param reserved  registers that are homes, by class
  void begin_block(const Contents& contents, llvm::ArrayRef<PieceId> entering,
                   const std::array<std::uint32_t, 3>& reserved);

 private:
  static constexpr unsigned kRegisters = 32;
  static constexpr std::uint32_t kNoUse = ~0u;
  struct Use {
    std::uint32_t at, next;
  };
  std::uint32_t next_use(PieceId id) const {
    return id >= next_.size() || next_[id] == kNoUse ? kNoUse : uses_[next_[id]].at;
  }
  struct File {
    std::array<PieceId, kRegisters> owner;
    std::array<std::uint32_t, kRegisters> used{};
    std::uint32_t written = 0;  // ever
    File() { owner.fill(kNoPiece); }
  };
  File& file(Class kind) { return files_[static_cast<unsigned>(kind)]; }
  std::uint32_t& pinned(Class kind) { return pinned_[static_cast<unsigned>(kind)]; }
  llvm::ArrayRef<unsigned> registers_of(Class kind) const { return baseline::registers_of(kind, form_); }
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
  std::array<std::uint32_t, 3> reserved_{};
  bool has_scratch_masks_ = true;
  std::vector<Use> uses_;            // in the block, of each piece from the first on
  std::vector<std::uint32_t> next_;  // of each piece
  std::vector<PieceId> called_;      // what comes back to its home behind the call
  std::uint32_t clock_ = 0;
  std::uint32_t frame_ = 0;
  std::array<std::vector<std::int32_t>, 2> free_slots_;  // of up to 8 bytes, and of a register
};

}  // namespace raddle::jit::baseline
