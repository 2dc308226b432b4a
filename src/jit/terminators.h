// How blocks end: branches, branches through a table of labels (brx.idx), and lanes that leave.
#pragma once

#include <optional>
#include <vector>

#include "jit/branch_parts.h"
#include "jit/control_flow.h"
#include "jit/parameters.h"
#include "jit/regions.h"

namespace raddle::jit {

class Terminators {
 public:
  Terminators(FunctionBuilder& code, ModuleBuilder& module, const Cursor& cursor, WarpValues& values,
              const Stream& stream, ControlFlow& flow, Parameters& parameters, Regions& regions);

  /// Ends the block at hand with the instruction at hand, or without one if the block runs into the next.
  void emit();

 private:
  void emit_exit();
  void emit_parted(llvm::Value* taken);
  void go_to(BlockId target);
  void branch(BlockId to, BlockId otherwise);
  void end_or_go_to(BlockId otherwise);
  void end();
  void split_together(const std::function<void()>& taken, const std::function<void()>& otherwise);
  struct Limited;
  std::optional<Limited> limited_lanes() const;
  llvm::Value* all_are_below(const Limited& limited);
  llvm::Value* none_is_below(const Limited& limited);
  void split(const std::function<void()>& taken, const std::function<void()>& otherwise);
  void find_parts();
  void split_by_scalars(const std::function<void()>& taken, const std::function<void()>& otherwise);
  Mask taking(const StreamWarp& warp);
  void separate(BlockId otherwise, const std::function<void(const StreamWarp&, const Mask&)>& taken);
  void leave(const StreamWarp& warp, const Mask& lanes);
  // brx.idx. An index without a target is a fault, as in the interpreter.
  void branch_by_lane();
  void branch_by_index();
  WarpValue look_up_target(const WarpValue& index, const std::vector<BlockId>& targets,
                           const std::vector<BlockId>& distinct);

  FunctionBuilder& code_;
  Builder& ir_;
  ModuleBuilder& module_;
  const Cursor& cursor_;
  const FunctionPlan& plan_;
  const ptx::Function& f_;
  WarpValues& values_;
  const Stream& stream_;
  Masks& masks_;  // of the first warp: what follows a table's index is for one alone
  Context& context_;
  Registers& registers_;
  ControlFlow& flow_;
  Parameters& parameters_;
  Regions& regions_;
  std::optional<BranchParts> parts_;  // of the branch at hand, if a scalar may decide it
};

}  // namespace raddle::jit
