// Sets of lanes: as vectors of bits, as one word, and as they are kept in memory; which lanes run the block
// at hand, which wait at others, which have left.
#pragma once

#include <vector>

#include "jit/cursor.h"
#include "jit/function_builder.h"

namespace raddle::jit {

class Masks {
 public:
  Masks(FunctionBuilder& code, const Cursor& cursor);

  // ---- forms ----
  llvm::Value* bits(const Mask& mask);  ///< as i32
  Mask from_bits(llvm::Value* bits);
  llvm::Value* any(const Mask& mask);    ///< i1
  llvm::Value* every(const Mask& mask);  ///< i1; a constant if it is known when code is written
  Mask all_lanes(bool value);
  llvm::Value* first_lane(llvm::Value* bits);  ///< number of the lowest lane in an i32 mask; below 32
  llvm::Type* storage_type();
  llvm::Value* to_storage(llvm::Value* part);
  llvm::Value* from_storage(llvm::Value* stored);

  // ---- lanes of the function ----
  const Mask& active() const { return active_; }  ///< lanes that run this block
  void set_active(Mask mask) { active_ = std::move(mask); }
  /// Lanes that have entered the function and not left it: here or waiting at some block.
  llvm::Value* inside();
  void set_inside(llvm::Value* bits);
  // The lanes elsewhere that can go on only when others of the warp have come to them or left, as far as is
  // known. Kept where somebody asks: in functions that wait for phases of mbarriers.
  void prepare_held();
  void set_held(llvm::Value* bits, bool held);
  void set_held(const Mask& lanes, bool held) {
    if (held_) set_held(bits(lanes), held);  // costs no instruction where nobody asks
  }
  llvm::Value* held();       ///< i32
  llvm::Value* elsewhere();  ///< lanes that wait at other blocks
  /// i1: no lane waits at another block, so that this block's definitions hold for all lanes that have not
  /// left.
  llvm::Value* nobody_elsewhere();
  /// A block begins, or goes on after others have run: asks again which lanes wait elsewhere.
  void forget_elsewhere() { nobody_elsewhere_ = nullptr; }

  // ---- lanes that wait at blocks ----
  void prepare_waiting(BlockId b);  ///< makes the variables
  void clear_waiting();             ///< in the body: nobody waits yet
  /// Lanes begin at `first`.
  void enter(BlockId first, const Mask& lanes);
  Mask waiting_at(BlockId b);
  void set_waiting(BlockId b, const Mask& mask);
  void add_waiting(BlockId b, const Mask& lanes);

 private:
  FunctionBuilder& code_;
  Builder& ir_;
  const Cursor& cursor_;
  Mask active_;
  llvm::AllocaInst* inside_ = nullptr;                   // i32
  llvm::AllocaInst* held_ = nullptr;                     // i32; null: nobody asks
  llvm::Value* nobody_elsewhere_ = nullptr;              // of this block, once asked for
  std::vector<std::vector<llvm::AllocaInst*>> waiting_;  // by block
};

}  // namespace raddle::jit
