// What hosts with AVX2 and without AVX-512 do in another way. A mask is a vector of 32-bit lanes there, all
// ones or zeros, so what moves, joins and permutes vectors does the same to masks. What such a host has no
// instruction for is a few of others or, where it is rare, done lane by lane.
#pragma once

#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {

class Avx2Selector final : public Selector {
 public:
  using Selector::Selector;

 private:
  // ---- avx2_masks.cpp ----
  void load_bits(const x86::Gp& to, const llvm::Value* mask) override;
  void define_from_bits(const llvm::Value* mask) override;
  void compare_vectors(llvm::CmpInst& i) override;
  void compare_scalar_floats(llvm::FCmpInst& i) override;
  void vector_select(llvm::SelectInst& i) override;
  bool spread_mask(llvm::CastInst& i) override;
  bool gather_mask(llvm::CastInst& i) override;
  /// All ones in `to` where the comparison holds for piece `n` of its operands; kScratchVector2 is free.
  void compare_piece(llvm::CmpInst& i, unsigned n, unsigned to);
  void compare_unsigned(llvm::CmpInst& i, unsigned n, const x86::Vec& to);
  /// Lanes of any size, all ones or zeros, as the mask `i`. @param piece  @returns the register with a piece,
  /// for which it may take the one that it is given
  void define_words(const llvm::Instruction& i, const Shape& from,
                    llvm::function_ref<unsigned(unsigned n, unsigned to)> piece);
  /// The mask's lanes for piece `n` of a vector, each as wide as the vector's. @returns the mask's own
  /// register, or `to`
  unsigned truths(const llvm::Value* mask, const Shape& vector, unsigned n, unsigned to);

  // ---- avx2_lanes.cpp ----
  void broadcast(const x86::Vec& to, const asmjit::Operand& element, unsigned bits) override;
  void permute(llvm::ShuffleVectorInst& i) override;
  /// Makes lanes of so many bits words, if whole ones are taken. @returns whether
  static bool become_words(Given& given, unsigned bits);
  void permute_words(const Given& words, unsigned to);
  void permute_bytes(const Given& given, unsigned bytes, unsigned to);
  /// Of two sources, by one instruction, if there is one. @param lanes  of a register
  bool permute_two_at_once(const Given& given, unsigned lanes, unsigned to);
  /// Lanes of 32 bits of a register where the numbers say; -1: any. @returns a register, which may be `from`
  unsigned permuted(unsigned from, llvm::ArrayRef<int> numbers, unsigned to);
  void insert_lane(llvm::InsertElementInst& i) override;
  Given sources_of(llvm::ShuffleVectorInst& i, unsigned n);
  /// How lanes become half as wide: by their lower halves, what they are if they are all ones or zeros, or by
  /// the upper halves of 64 bits.
  enum class Lanes : std::uint8_t { integers, truths, upper_halves };
  /// Pieces of a value side by side, each lane `bits` wide. @returns the register with them, `to` if any are
  /// narrower than they were
  unsigned narrowed(unsigned to, const llvm::Value* value, unsigned first, unsigned count, unsigned bits,
                    Lanes lanes);
  /// @param bytes  of `low` @param high  behind it; `low` again if there is nothing
  void halve(unsigned to, unsigned low, unsigned high, unsigned bytes, unsigned bits, Lanes lanes);

  // ---- avx2_memory.cpp ----
  void load_bytes(const x86::Vec& to, const x86::Mem& from, unsigned bytes) override;
  void store_bytes(const x86::Mem& to, const x86::Vec& from, unsigned bytes) override;
  void copy_bytes(x86::Mem to, x86::Mem from, unsigned bytes);
  void load_mask(llvm::LoadInst& i, const x86::Mem& from) override;
  void store_mask(const x86::Mem& to, const llvm::Value* value) override;
  void masked_load(llvm::IntrinsicInst& i) override;
  void masked_store(llvm::IntrinsicInst& i) override;
  void gather(llvm::IntrinsicInst& i) override;
  void gather_words(llvm::IntrinsicInst& i, unsigned n);
  void gather_doubles(llvm::IntrinsicInst& i, unsigned n);
  void scatter(llvm::IntrinsicInst& i) override;
  /// The same as truths() without what lies beyond the vector's lanes.
  unsigned accessed(const llvm::Value* mask, const Shape& vector, unsigned n, unsigned to);
  /// Writes for each lane what happens if its bit is set.
  void for_lanes_of_bits(const x86::Gp& bits, unsigned first, unsigned count,
                         llvm::function_ref<void(unsigned lane)> write);

  // ---- avx2_arithmetic.cpp ----
  bool is_written_by_several(llvm::BinaryOperator& i) override;
  bool multiply(llvm::BinaryOperator& i);
  void shift_signs(llvm::BinaryOperator& i);
  bool casts_by_several(llvm::CastInst& i) override;
  void narrow_words(unsigned to, unsigned bytes, unsigned bits, bool is_signed) override;
  void narrow_integers(llvm::CastInst& i);
  void floats_of_unsigned(llvm::CastInst& i);
  void doubles_of_unsigned(llvm::CastInst& i);
  void convert_lanes(llvm::CastInst& i);
  void convert_unsigned(llvm::CastInst& i) override;
  /// By way of numbers with signs. @param from  may change
  void from_unsigned(const x86::Xmm& to, const x86::Gp& from, bool is_double);
  void to_unsigned(const x86::Gp& to, const x86::Xmm& from, bool is_double);
  bool intrinsic_by_several(llvm::IntrinsicInst& i) override;
  void count_ones(llvm::IntrinsicInst& i);
  /// In kScratch, from kScratch and kScratch2.
  void write_lane(llvm::Intrinsic::ID id, unsigned bits);

  /// A constant of these 64 bits again and again.
  x86::Mem repeated(std::uint64_t bits);
  x86::Mem constant(const std::string& bytes) { return code_.constant_at(code_.constant(bytes)); }
};

}  // namespace raddle::jit::baseline
