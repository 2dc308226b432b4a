// The ends of stacks: of the host's stack, for calls of unknown depth, and of local memory, for frames and
// for allocations of threads.
#pragma once

#include "jit/state_spaces.h"

namespace raddle::jit {

class CallStack {
 public:
  CallStack(FunctionBuilder& code, const KernelPlan& kernel, const ptx::Function& function, Masks& masks,
            Context& context, StateSpaces& spaces);

  /// Where a kernel's function begins, each time if it goes on where another call has left it.
  void begin_kernel();
  /// A warp begins.
  void begin_warp();
  /// @param lanes  of the call
  void begin_device_function(const Mask& lanes);
  /// A function's allocations end when it returns.
  void end();

 private:
  bool moves_stack() const;
  void limit_host_stack();
  void check_host_stack();
  enum class Keep { save, restore };
  void keep_dynamic_stack(Keep what);

  FunctionBuilder& code_;
  Builder& ir_;
  const KernelPlan& kernel_;
  const ptx::Function& f_;
  Masks& masks_;
  Context& context_;
  StateSpaces& spaces_;
  llvm::AllocaInst* kept_ = nullptr;  // dynamic_stack of the warp when the function was entered
};

}  // namespace raddle::jit
