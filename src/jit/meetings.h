// Code for lanes of a warp that wait for each other: it holds a group while lanes that its operation names
// are elsewhere, and joins it with those at the same operation in another block. holds.h finds these blocks.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "jit/control_flow.h"
#include "jit/lane_loops.h"
#include "jit/registers.h"

namespace raddle::jit {

class Meetings {
 public:
  Meetings(FunctionBuilder& code, Cursor& cursor, WarpValues& values, Masks& masks, Context& context,
           Registers& registers, LaneLoops& loops, ControlFlow& flow);

  void prepare();  ///< makes the variables
  void begin_block() { met_ = nullptr; }
  /// At the start of a block that holds: lanes pending elsewhere that its operation names must come here
  /// first, or to the same operation.
  void hold();
  /// In a device function: an operation cannot wait for lanes outside the call, which wait for its end.
  void check_members();

  // ---- what the operation at hand sees of it ----
  Mask participants();               ///< lanes that take part in a warp collective, also at other places
  WarpValue collective(unsigned k);  ///< operand k as a collective sees it: from each participant's place
  /// Number of the barrier at which lanes from several paths have met and been counted; else null.
  llvm::Value* met_barrier();
  /// The lanes here wait for phases of mbarriers, and the warp does if none of its other lanes can go on.
  /// @param asked  lanes that stand for all of them: one, where all wait for the same
  /// @param asked, addresses, odd  as exec::Services::mbarrier_wait takes them
  void wait_for_phases(llvm::Value* lanes, llvm::Value* asked, llvm::Value* addresses, llvm::Value* odd);
  /// The instruction at hand is one at which lanes wait alone, and they have waited already.
  bool has_waited() const { return cursor_.instruction == waited_; }

 private:
  /// State of a block that starts with an operation at which lanes meet others that came on another path.
  struct Meeting {
    std::vector<BlockId> places;            // other blocks that start with it
    llvm::AllocaInst* going = nullptr;      // lanes that go on now
    llvm::AllocaInst* gathered = nullptr;   // warp: waiting lanes whose members have all come; CTA: counted
    llvm::AllocaInst* members = nullptr;    // warp: lanes that take part; CTA: phase of the barrier
    llvm::AllocaInst* barrier = nullptr;    // CTA: its number
    std::vector<llvm::AllocaInst*> values;  // warp: what they bring, per part
  };
  using Arrived = std::map<BlockId, llvm::Value*>;  // lanes that wait for their members, by place

  void at_start_of(BlockId x, const std::function<void()>& body);
  bool is_met() const { return met_ != nullptr && met_instruction_ == cursor_.instruction; }
  void continue_with(const Meeting& m);
  void stay();
  void be_held();
  bool may_come_whole(BlockId b) const;
  // Of the warp.
  WarpValue member_masks();
  bool has_constant_members() const;
  llvm::Value* named_members();
  void meet_in_warp(Meeting& m);
  Arrived arrived_elsewhere(const Meeting& m);
  llvm::Value* complete_groups(const Meeting& m, llvm::Value* wanting, const Arrived& arrived);
  llvm::Value* if_complete(llvm::Value* members, llvm::Value* group, llvm::Value* present);
  llvm::Value* complete_by_mask(const std::vector<llvm::Value*>& masks, llvm::Value* wanting, llvm::Value* at,
                                llvm::Value* present);
  std::vector<llvm::Value*> gather_brought(const Meeting& m);
  void release(const Meeting& m, llvm::Value* complete, const Arrived& arrived);
  llvm::Value* keep_brought(Meeting& place, llvm::Value* lanes_there, llvm::Value* complete,
                            const std::vector<llvm::Value*>& brought);
  // Of the block.
  void meet_at_barrier(Meeting& m);
  void join_barrier(const Meeting& m, llvm::Value* barrier, llvm::Value* fresh, llvm::Value* joined);
  void wait_if_all_do(const Meeting& m, llvm::Value* still);
  llvm::Value* waiting_at_barrier(const Meeting& m);
  llvm::Value* barrier_bit(const Meeting& m, llvm::Value* lanes);
  // Of the cluster, and for grids.
  void hold_alone();

  FunctionBuilder& code_;
  Builder& ir_;
  Cursor& cursor_;
  const FunctionPlan& plan_;
  const ptx::Function& f_;
  WarpValues& values_;
  Masks& masks_;
  Context& context_;
  Registers& registers_;
  LaneLoops& loops_;
  ControlFlow& flow_;
  std::map<BlockId, Meeting> meetings_;
  const Meeting* met_ = nullptr;  // of this block's first instruction, while it is emitted
  const ptx::Instruction* met_instruction_ = nullptr;
  const ptx::Instruction* waited_ = nullptr;  // the last for whose lanes hold_alone() has waited
};

}  // namespace raddle::jit
