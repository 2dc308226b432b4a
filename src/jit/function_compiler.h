// Compiles one PTX function (a kernel or a .func) to an LLVM function that runs one warp, or several together
// (together.h): walks its blocks in the plan's order. The objects below write the parts of the code, and each
// knows those above it; src/isa/*/lowering*.cpp say what each instruction does.
#pragma once

#include <memory>
#include <vector>

#include "jit/call_stack.h"
#include "jit/calls.h"
#include "jit/check_groups.h"
#include "jit/lane_lowering.h"
#include "jit/terminators.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {

class FunctionCompiler {
 public:
  FunctionCompiler(ModuleBuilder& module, const FunctionPlan& plan);

  /// Kernel: `void(ptr warp)`, or `i32(ptr warp, ptr frame, i32 state)` (KernelPlan::has_states).
  /// Device function: see device_function_type().
  llvm::Function* compile();

 private:
  /// What writes the code of one warp, but for control.
  struct WarpCode {
    WarpCode(FunctionCompiler& compiler, unsigned number, WarpCode* first);

    Masks masks;
    Context context;
    StateSpaces spaces;
    SpecialRegisters specials;
    Registers registers;
    LaneLoops loops;
    Meetings meetings;
    Parameters parameters;
    Addresses addresses;
    MemoryAccess memory;
    Calls calls;
    LaneLowering lowering;
    WarpEmitter emitter;
  };

  std::vector<std::unique_ptr<WarpCode>> make_warps();
  Mask begin_kernel();
  Mask begin_thread();
  void end_thread();
  Mask begin_device_function();
  void prepare_blocks(const Mask& lanes);
  void emit_block(BlockId b);
  void emit_twice(const CheckGroup& group);
  void skip_if_empty();
  static bool transfers(const ptx::Instruction& i);  ///< ends its block
  void emit_instruction(const ptx::Instruction& i);
  void emit_instruction(WarpCode& warp, const ptx::Instruction& i);
  void emit_terminator(const ptx::Instruction* last);
  void end();
  WarpCode& first() { return *warps_.front(); }
  template <class Body>
  void each_warp(const Body& body);

  ModuleBuilder& module_;
  const KernelPlan& kernel_;
  const FunctionPlan& plan_;
  const ptx::Function& f_;
  Cursor cursor_;
  FunctionBuilder code_;
  WarpValues values_;
  const CheckGroups check_groups_;
  Stream stream_;
  ControlFlow flow_;
  Regions regions_;
  std::vector<std::unique_ptr<WarpCode>> warps_;  // most often one (together.h)
  llvm::PHINode* threads_left_ = nullptr;         // one by one: of the warp, the one at hand included
  Mask thread_;                                   // that one
  CallStack stack_;
  Terminators terminators_;
};

}  // namespace raddle::jit
