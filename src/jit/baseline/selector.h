// From instructions of LLVM's IR to the host's, one at a time in the order of the function. Each file
// select_*.cpp has those of one family; what none of them knows, `unknown` names, and LLVM's own code
// generator then makes the module. What hosts without AVX-512 do in another way is virtual: avx2.h.
#pragma once

#include <llvm/IR/InstVisitor.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jit/baseline/analysis.h"
#include "jit/baseline/flow.h"
#include "jit/baseline/homes.h"
#include "jit/baseline/places.h"

namespace raddle::jit::baseline {

/// What lanes that load nothing get: zeros will do.
bool may_be_zero(const llvm::Value* value);
/// How vcmpps tells; comparisons that raise no exceptions.
unsigned float_predicate(llvm::CmpInst::Predicate predicate);
/// Under which a comparison of integers holds.
asmjit::x86::CondCode condition_of(llvm::CmpInst::Predicate predicate);

class Selector : public llvm::InstVisitor<Selector> {
 public:
  Selector(const llvm::Function& function, Code& code, const Form& form);
  virtual ~Selector() = default;

  /// @returns false, with the reason in unknown()
  bool write();
  const std::string& unknown() const { return unknown_; }

  // ---- InstVisitor: select_scalar.cpp, select_vector.cpp, select_casts.cpp ----
  void visitBinaryOperator(llvm::BinaryOperator& i);
  void visitUnaryOperator(llvm::UnaryOperator& i);
  void visitICmpInst(llvm::ICmpInst& i);
  void visitFCmpInst(llvm::FCmpInst& i);
  void visitSelectInst(llvm::SelectInst& i);
  void visitCastInst(llvm::CastInst& i);
  void visitGetElementPtrInst(llvm::GetElementPtrInst& i);
  void vector_of_addresses(llvm::GetElementPtrInst& i);
  // ---- select_lanes.cpp ----
  void visitShuffleVectorInst(llvm::ShuffleVectorInst& i);
  void visitInsertElementInst(llvm::InsertElementInst& i);
  void visitExtractElementInst(llvm::ExtractElementInst& i);
  // ---- select_memory.cpp ----
  void visitAllocaInst(llvm::AllocaInst&) {}
  void visitLoadInst(llvm::LoadInst& i);
  void visitStoreInst(llvm::StoreInst& i);
  void visitAtomicRMWInst(llvm::AtomicRMWInst& i);
  void visitAtomicCmpXchgInst(llvm::AtomicCmpXchgInst& i);
  void visitFenceInst(llvm::FenceInst& i);
  // ---- select_calls.cpp, select_intrinsics.cpp ----
  void visitCallInst(llvm::CallInst& i);
  void visitIntrinsicInst(llvm::IntrinsicInst& i);
  // ---- select_control.cpp ----
  void visitPHINode(llvm::PHINode&) {}
  void visitBranchInst(llvm::BranchInst& i);
  void visitSwitchInst(llvm::SwitchInst& i);
  bool switch_by_table(llvm::SwitchInst& i, const x86::Gp& value);
  void visitReturnInst(llvm::ReturnInst& i);
  void visitUnreachableInst(llvm::UnreachableInst&) { a_.ud2(); }
  void visitInstruction(llvm::Instruction& i) { cannot(i); }

 protected:
  void cannot(const llvm::Instruction& i);

  // ---- the function's frame: select_control.cpp ----
  void prologue();
  template <class Move>
  void move_kept(const Move& move);
  /// What is known at the end only: how far the stack pointer goes down, which registers need not be kept.
  /// @returns bytes
  std::uint32_t finish_frame();
  void receive_arguments();
  void lay_out_variables();
  void epilogue();
  void write_block(llvm::BasicBlock& block);
  bool wants_scratch_masks(const llvm::Instruction& i);
  /// The block behind it in the code; null: none.
  const llvm::BasicBlock* next_of(const llvm::BasicBlock& block) const { return next_.lookup(&block); }
  void jump(const llvm::BasicBlock& from, const llvm::BasicBlock& to);

  // ---- select_phis.cpp ----
  struct Gift;
  /// What phis of `to` get when `from` goes there. All change at once.
  void give_to_phis(const llvm::BasicBlock& from, const llvm::BasicBlock& to);
  std::vector<Gift> gifts(const llvm::BasicBlock& from, const llvm::BasicBlock& to);
  /// Any of them needs code.
  bool gives(const llvm::BasicBlock& from, const llvm::BasicBlock& to);
  void give(const Gift& gift);
  void put_aside(Gift& gift);

  // ---- operands ----
  std::optional<Shape> shape_of(const llvm::Type* type) const { return baseline::shape_of(type, form_); }
  Shape shape(const llvm::Value* value) const { return *shape_of(value->getType()); }
  PieceId piece(const llvm::Value* value, unsigned n = 0) { return analysis_.piece(value, n); }
  /// It has no piece: a constant, the address of a variable, or what is written where it is used.
  bool is_made_where_used(const llvm::Value* value) const;
  /// Piece `n` of the operand lies where that of the result is to lie.
  bool is_at_home_of(const llvm::Instruction& i, const llvm::Value* operand, unsigned n = 0);
  /// In a register; constants and addresses of variables in a temporary one. @param bits  32 or 64
  x86::Gp general(const llvm::Value* value, unsigned bits);
  /// The same for a value whose type is narrower than the operation: extended.
  x86::Gp extended(const llvm::Value* value, unsigned bits, bool is_signed);
  /// @returns `to`, which gets what has so many bits of its own
  x86::Gp extend(const x86::Gp& to, const x86::Gp& from, unsigned own, bool is_signed);
  /// As a register or, if it is a constant of 32 bits with a sign, that.
  asmjit::Operand general_or_constant(const llvm::Value* value, unsigned bits);
  void load_general(const x86::Gp& to, const llvm::Value* value);
  x86::Vec vector(const llvm::Value* value, unsigned n = 0);
  asmjit::Operand vector_or_memory(const llvm::Value* value, unsigned n, unsigned element_bits,
                                   bool broadcasts = true);
  x86::KReg mask(const llvm::Value* value);
  /// The lanes of a mask that belong to piece `n` of a vector, in a register that may be used for an
  /// instruction under a mask.
  x86::KReg lanes_of_piece(const llvm::Value* mask_value, const Shape& vector, unsigned n,
                           unsigned scratch = kScratchMask);
  x86::Vec define_vector(const llvm::Value* value, unsigned n = 0);
  x86::Gp define_general(const llvm::Value* value, unsigned bits);
  x86::KReg define_mask(const llvm::Value* value);
  x86::Mem address(const llvm::Value* pointer, std::int64_t distance = 0);
  /// A mask register whose lowest bits are set.
  x86::KReg first_lanes(unsigned count, unsigned scratch);
  void mask_constant(unsigned reg, std::uint64_t bits);
  /// These 64 bits all over a vector register.
  void repeat(unsigned reg, std::uint64_t bits);
  /// An i1 in each lane of a mask.
  void in_all_lanes(const x86::KReg& reg, const llvm::Value* truth);
  /// Clears what lies beyond a mask's lanes, where its instructions do not.
  void trim(const x86::KReg& reg, unsigned lanes);
  /// A mask as a number, with a bit for each lane, and back from kScratch.
  virtual void load_bits(const x86::Gp& to, const llvm::Value* mask);
  virtual void define_from_bits(const llvm::Value* mask);

  // ---- vector registers ----
  /// All of it.
  x86::Vec whole(unsigned reg) const { return vector_register(reg, form_.bytes); }
  x86::Vec half(unsigned reg) const { return vector_register(reg, form_.bytes / 2); }
  /// And, Or or Xor of vectors.
  asmjit::InstId logic(unsigned opcode, unsigned bits = 32) const;
  void upper_half(unsigned to, unsigned from);
  void join_halves(unsigned to, unsigned low, unsigned high);
  /// An element, which lies in a general register or is a vector's first, in all lanes.
  virtual void broadcast(const x86::Vec& to, const asmjit::Operand& element, unsigned bits);

  // ---- select_scalar.cpp ----
  void scalar_binary(llvm::BinaryOperator& i);
  /// A sum or product by one instruction whose result lies elsewhere than its operands. @returns false if it
  /// is none, or lies where its first operand does
  bool write_elsewhere(llvm::BinaryOperator& i, const llvm::Value* left, const asmjit::Operand& other);
  void scalar_shift(llvm::BinaryOperator& i);
  void divide(llvm::BinaryOperator& i);
  /// kScratch by a register of as many bits: the quotient or the rest in its place.
  void divide_scratch(unsigned opcode, const x86::Gp& by);
  void scalar_select(llvm::SelectInst& i);
  /// Sets the flags for it. @returns the condition under which it holds
  asmjit::x86::CondCode compare(const llvm::ICmpInst& i);
  /// Sets the flags for an i1. @returns the condition under which it is true
  asmjit::x86::CondCode condition(const llvm::Value* value);

  // ---- select_vector.cpp ----
  void vector_binary(llvm::BinaryOperator& i);
  void vector_shift(llvm::BinaryOperator& i);
  void mask_binary(llvm::BinaryOperator& i);
  /// The first operand's lanes And, Or or Xor these bits.
  void with_bits(const llvm::Instruction& i, unsigned opcode, std::uint64_t bits);
  void mask_select(llvm::SelectInst& i);
  virtual void vector_select(llvm::SelectInst& i);
  /// Of integers or floats.
  virtual void compare_vectors(llvm::CmpInst& i);
  virtual void compare_scalar_floats(llvm::FCmpInst& i);
  /// @returns false if the host has an instruction for it
  virtual bool is_written_by_several(llvm::BinaryOperator&) { return false; }
  /// Where the mask of lanes of a vector's piece is written, which join_lanes puts to those before.
  x86::KReg begin_lanes(const llvm::Instruction& i, unsigned n);
  void join_lanes(const llvm::Instruction& i, const Shape& from, unsigned n, const x86::KReg& made);
  /// Lane after lane in memory, by scalars: `write` takes them from kScratch (and kScratch2) to kScratch.
  void lane_by_lane(llvm::Instruction& i, unsigned operands, llvm::function_ref<void(unsigned bits)> write);

  // ---- select_casts.cpp ----
  bool scalar_cast(llvm::CastInst& i);
  bool is_zero_beyond(const llvm::Value* value) const;
  bool vector_cast(llvm::CastInst& i);
  bool cast_scalar_float(llvm::CastInst& i, std::uint32_t instruction);
  bool cast_from_mask(llvm::CastInst& i);
  bool cast_to_mask(llvm::CastInst& i);
  /// A mask's lanes in those of a vector, and the lowest bits of a vector's lanes in a mask.
  virtual bool spread_mask(llvm::CastInst& i);
  virtual bool gather_mask(llvm::CastInst& i);
  bool widen(llvm::CastInst& i, std::uint32_t instruction);
  bool narrow(llvm::CastInst& i, std::uint32_t instruction);
  /// @returns false if the host has an instruction for it, or nothing at all
  virtual bool casts_by_several(llvm::CastInst&) { return false; }
  virtual void convert_unsigned(llvm::CastInst& i);
  /// What is_factor_of_high_products tells of: products of even lanes, of odd ones, and the halves of both.
  void high_product(llvm::CastInst& i);
  bool convert_narrow(llvm::CastInst& i);
  bool narrow_floats(llvm::CastInst& i);
  /// The words in so many bytes of kScratchVector, then kScratchVector3; each fits so many bits.
  virtual void narrow_words(unsigned to, unsigned bytes, unsigned bits, bool is_signed);
  bool between_kinds(llvm::CastInst& i);

  // ---- select_lanes.cpp ----
  void splat(llvm::ShuffleVectorInst& i);
  void repeat_part(llvm::ShuffleVectorInst& i);
  /// What is_repeated_load tells of, for the instruction that reads it.
  x86::Mem repeated_memory(const llvm::Value* load);
  /// The first piece's register in those of the others.
  void copy_pieces(llvm::ShuffleVectorInst& i, unsigned first);
  bool joins_halves(llvm::ShuffleVectorInst& i);
  virtual void permute(llvm::ShuffleVectorInst& i);
  /// Where a piece of a shuffle's result has its lanes from: lane of the result, lane of the piece.
  using Given = std::map<PieceId, std::vector<std::pair<unsigned, unsigned>>>;
  /// @returns false if lanes come from more than two pieces
  bool permute_at_once(llvm::ShuffleVectorInst& i, unsigned n, const Given& given);
  /// @returns false if lanes leave their quarters of the register, or each quarter has another order
  bool permute_in_quarters(llvm::ShuffleVectorInst& i, unsigned n, const Given& given);
  /// Lanes of any number of pieces, one piece at a time put to those before. @returns the register
  unsigned permute_one_by_one(unsigned bits, const Given& given);
  void permute_mask(llvm::ShuffleVectorInst& i);
  /// @returns false if lanes change their order
  bool deposit_lanes(llvm::ShuffleVectorInst& i);
  /// Lanes of both masks, each spread to an element of so many bits, in kScratchVector. @returns false if
  /// there are none
  void permute_spread(llvm::ShuffleVectorInst& i, unsigned bits);
  bool is_taken_from_register(const llvm::ExtractElementInst& i, PieceId source);
  void take_from_register(llvm::ExtractElementInst& i, PieceId source, unsigned at);
  virtual void insert_lane(llvm::InsertElementInst& i);
  /// All of the value's pieces one behind the other.
  x86::Mem side_by_side(const llvm::Value* value);

  bool reduce(llvm::IntrinsicInst& i);
  bool insert_part(llvm::IntrinsicInst& i);
  bool extract_part(llvm::IntrinsicInst& i);

  // ---- select_memory.cpp ----
  void load_vector(const llvm::Instruction& i, x86::Mem from);
  void store_vector(x86::Mem to, const llvm::Value* value, bool past_caches = false);
  void update_memory(x86::Mem at, const llvm::BinaryOperator& update);
  void load_piece(const x86::Vec& to, const x86::Mem& from, unsigned bytes);
  void store_piece(const x86::Mem& to, const x86::Vec& from, unsigned bytes);
  /// The same for what is no power of two.
  virtual void load_bytes(const x86::Vec& to, const x86::Mem& from, unsigned bytes);
  virtual void store_bytes(const x86::Mem& to, const x86::Vec& from, unsigned bytes);
  virtual void load_mask(llvm::LoadInst& i, const x86::Mem& from);
  virtual void store_mask(const x86::Mem& to, const llvm::Value* value);
  virtual void masked_load(llvm::IntrinsicInst& i);
  virtual void masked_store(llvm::IntrinsicInst& i);
  virtual void gather(llvm::IntrinsicInst& i);
  void gather_twice(llvm::IntrinsicInst& i);
  virtual void scatter(llvm::IntrinsicInst& i);
  void fill(llvm::IntrinsicInst& i);
  void copy(llvm::IntrinsicInst& i);
  /// What an atomic puts in the place of kScratch, into kScratch2.
  bool write_update(llvm::AtomicRMWInst::BinOp operation, const x86::Gp& value, unsigned bits);

  // ---- select_intrinsics.cpp ----
  bool vector_intrinsic(llvm::IntrinsicInst& i);
  /// @returns false if the host has an instruction for it, or nothing at all
  virtual bool intrinsic_by_several(llvm::IntrinsicInst&) { return false; }
  bool scalar_intrinsic(llvm::IntrinsicInst& i);
  bool shift_two(llvm::IntrinsicInst& i, unsigned bits);
  /// Sums of products, added to the first operand.
  bool dot(llvm::IntrinsicInst& i, std::uint32_t instruction);
  bool saturate(llvm::IntrinsicInst& i);
  bool rotate(llvm::IntrinsicInst& i);
  void count_trailing(llvm::IntrinsicInst& i);
  void fused(llvm::IntrinsicInst& i);
  void each_piece(llvm::IntrinsicInst& i, std::uint32_t instruction, int immediate = -1);

  // ---- select_calls.cpp ----
  void call(llvm::CallBase& i, const llvm::Value* callee, llvm::StringRef symbol,
            llvm::ArrayRef<const llvm::Value*> arguments);

  const llvm::Function& function_;
  Code& code_;
  x86::Assembler& a_;
  const Form& form_;
  Analysis analysis_;
  Flow flow_;
  Homes homes_;
  Places places_;
  std::string unknown_;
  llvm::DenseMap<const llvm::BasicBlock*, const llvm::BasicBlock*> next_;
  std::map<const llvm::BasicBlock*, asmjit::Label> labels_;
  std::map<const llvm::BasicBlock*, Places::Contents> contents_;
  llvm::DenseMap<const llvm::Value*, std::int32_t> variables_;
  std::uint32_t frame_size_at_ = 0;
  std::vector<std::pair<std::uint32_t, unsigned>> moves_of_kept_;  // where, and of which register
};

}  // namespace raddle::jit::baseline
