// Before a function is written: which pieces its values have, which values are parts of others (and need no
// code), which are written where they are used, and how often each piece is read.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <string>
#include <vector>

#include "jit/baseline/address_parts.h"
#include "jit/baseline/code.h"
#include "jit/baseline/pieces.h"

namespace raddle::jit::baseline {

/// A constant's only element; null: it has others, or is none.
const llvm::ConstantInt* same_in_all_lanes(const llvm::Value* value);

/// Whether all bits of a mask are compared with ones or with zeros.
bool compares_all_bits(const llvm::ICmpInst& i);

class Analysis {
 public:
  Analysis(const llvm::Function& function, Code& code, const Form& form);

  /// Not empty: the first of what the generator does not know.
  const std::string& unknown() const { return unknown_; }

  std::vector<Piece> pieces;
  /// Piece `n` of a value: of an instruction, an argument or a constant.
  PieceId piece(const llvm::Value* value, unsigned n);
  unsigned pieces_of(const llvm::Value* value);
  std::uint32_t number_of(const llvm::BasicBlock* block) const { return blocks_.lookup(block); }

  /// Its result is parts of other values, and no code is written for it.
  bool is_alias(const llvm::Instruction& i) const;
  /// It is written where it is used.
  bool is_deferred(const llvm::Instruction& i) const { return deferred_.contains(&i); }
  /// What is added up where it is read or written.
  const Folded& folded() const { return folded_; }
  /// Nothing is written where it stands.
  bool has_no_code(const llvm::Instruction& i) const;
  /// Calls `use` for each piece that the instruction's code reads; for a terminator also what it gives to
  /// phis.
  void for_each_source(const llvm::Instruction& i, llvm::function_ref<void(PieceId)> use);

 private:
  std::optional<Shape> shape_of(const llvm::Type* type) const { return baseline::shape_of(type, form_); }
  void number_blocks();
  void defer(const llvm::Instruction& i);
  /// All of it but the truncation that takes the upper halves.
  bool is_of_high_product(const llvm::Instruction& i) const;
  void count_uses();
  void source(const llvm::Value* value, llvm::function_ref<void(PieceId)> use);
  bool repeats_pieces(const llvm::Instruction& i) const;
  std::vector<PieceId> make_pieces(const llvm::Value* value);
  std::vector<PieceId> pieces_of_alias(const llvm::Instruction& i);
  std::vector<PieceId> pieces_of_shuffle(const llvm::ShuffleVectorInst& shuffle);
  std::vector<PieceId> new_pieces(const llvm::Type* type, std::uint32_t block);
  std::vector<PieceId> same_pieces(const llvm::Type* type, std::uint32_t block);
  std::vector<PieceId> constant_pieces(const llvm::Constant* constant);
  std::vector<PieceId> mask_constant_pieces(const llvm::Constant* constant, const Shape& shape);
  PieceId constant_piece(Class kind, llvm::StringRef bytes, bool is_defined);

  const llvm::Function& function_;
  Code& code_;
  const Form& form_;
  std::string unknown_;
  llvm::DenseMap<const llvm::BasicBlock*, std::uint32_t> blocks_;
  struct Run {
    std::uint32_t first = 0, count = 0;
  };
  const Run& run_of(const llvm::Value* value);
  llvm::DenseMap<const llvm::Value*, Run> runs_;
  std::vector<PieceId> ids_;
  llvm::DenseSet<const llvm::Instruction*> deferred_;
  Folded folded_;
  std::map<std::pair<Class, std::string>, PieceId> constants_;
};

}  // namespace raddle::jit::baseline
