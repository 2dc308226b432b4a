// Compiles one PTX function (a kernel or a .func) to an LLVM function that runs one warp: walks its blocks in
// the plan's order. The objects below write the parts of the code, and each knows those above it;
// src/isa/*/lowering*.cpp say what each instruction does.
#pragma once

#include "jit/call_stack.h"
#include "jit/calls.h"
#include "jit/lane_lowering.h"
#include "jit/terminators.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {

class FunctionCompiler {
 public:
  FunctionCompiler(ModuleBuilder& module, const FunctionPlan& plan);

  /// Kernel: `void(ptr warp)`, or `i32(ptr warp, ptr frame, i32 state)` for regions.
  /// Device function: see device_function_type().
  llvm::Function* compile();

 private:
  Mask begin_kernel();
  Mask begin_device_function();
  void prepare_blocks(const Mask& lanes);
  void emit_block(BlockId b);
  void skip_if_empty();
  static bool transfers(const ptx::Instruction& i);  ///< ends its block
  void emit_instruction(const ptx::Instruction& i);
  void emit_terminator(const ptx::Instruction* last);
  void end();

  ModuleBuilder& module_;
  const KernelPlan& kernel_;
  const FunctionPlan& plan_;
  const ptx::Function& f_;
  Cursor cursor_;
  FunctionBuilder code_;
  WarpValues values_;
  Masks masks_;
  Context context_;
  StateSpaces spaces_;
  SpecialRegisters specials_;
  Registers registers_;
  LaneLoops loops_;
  ControlFlow flow_;
  Meetings meetings_;
  Parameters parameters_;
  Addresses addresses_;
  MemoryAccess memory_;
  Calls calls_;
  CallStack stack_;
  Regions regions_;
  LaneLowering lowering_;
  Terminators terminators_;
  WarpEmitter emitter_;
};

}  // namespace raddle::jit
