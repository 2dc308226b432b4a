// How a warp, whose lanes may be at several blocks, goes from block to block: in the plan's order, to the
// next block at which lanes wait (docs/adr/0011).
#pragma once

#include <vector>

#include "jit/stream.h"

namespace raddle::jit {

class ControlFlow {
 public:
  /// @param stream  all its warps have come before any code is written
  ControlFlow(FunctionBuilder& code, const Cursor& cursor, const Stream& stream);

  void prepare(BlockId b);  ///< makes the block
  llvm::BasicBlock* block(BlockId b) const { return blocks_[b]; }
  llvm::Value* any_waiting_at(BlockId b);  ///< i1: a lane of any warp
  /// Transfers control from the block at hand; lanes may wait at `set`.
  void go(const std::vector<BlockId>& set);
  /// All active lanes go to `target`, those that wait elsewhere stay.
  void go_to(BlockId target);
  /// The block may have another entry, for all lanes of the function together from where none waits
  /// elsewhere: who comes by it need not look for such lanes, and keeps nothing for them.
  void allow_whole_entry(BlockId b) { takes_whole_[b] = stream_.size() == 1; }
  /// What came by the other entry of the block at hand goes on here, too, as what comes from `checked`.
  void join_whole(llvm::BasicBlock* checked);

 private:
  llvm::BasicBlock* back_edge_to(BlockId target);
  void yield_sometimes();

  FunctionBuilder& code_;
  Builder& ir_;
  const Cursor& cursor_;
  const FunctionPlan& plan_;
  const Stream& stream_;
  std::vector<llvm::BasicBlock*> blocks_, whole_;
  std::vector<bool> takes_whole_;
  llvm::AllocaInst* spin_counter_ = nullptr;
};

}  // namespace raddle::jit
