// Where PTX's state spaces lie in the host's memory, for the CTA and the threads of the warp that runs.
#pragma once

#include <vector>

#include "jit/context.h"

namespace raddle::jit {

class StateSpaces {
 public:
  StateSpaces(FunctionBuilder& code, const KernelPlan& kernel, const ptx::Function& function,
              Context& context);

  llvm::Value* aligned(llvm::Value* bytes);  ///< tells LLVM that an i64 is a multiple of 16
  llvm::Value* shared_base();                ///< i64 host address of shared address 0
  llvm::Value* shared_bytes();               ///< i32 that the CTA has from there on
  llvm::Value* rank_base();                  ///< i32 what the CTA's own shared addresses start with
  llvm::Value* cluster_size();               ///< i32 CTAs of the cluster
  /// i1, or a vector of them: generic addresses (i64, or a vector) of shared memory of the cluster.
  llvm::Value* in_cluster(llvm::Value* address);
  llvm::Value* window_start();             ///< i64 of the address space's window (exec/window.h)
  llvm::Value* window_bytes();             ///< i64
  llvm::Value* past_caches();              ///< i32, LaunchContext::past_caches
  llvm::Value* parameter_base();           ///< i64 host address of the kernel's parameters
  std::vector<llvm::Value*> local_base();  ///< <lanes x i64> host address of each thread's local memory
  llvm::Value* local_bytes();              ///< i64 of each thread
  llvm::Value* local_frame() const { return local_frame_; }  ///< i32 start of the function's frame there
  llvm::Value* frame_end();                                  ///< i32 its end
  llvm::Value* dynamic_stack(unsigned p);  ///< address of the lanes' WarpContext::dynamic_stack
  /// i64, in the variable's own space.
  llvm::Value* variable_address(ptx::VariableId id);
  /// The address (i64, or a vector of them) with the upper 32 bits that all of the module's constants share,
  /// where it has none: PTX takes 32-bit addresses of constants.
  llvm::Value* generic_constant(llvm::Value* address);

 private:
  FunctionBuilder& code_;
  Builder& ir_;
  const KernelPlan& kernel_;
  const ptx::Function& f_;
  Context& context_;
  llvm::Value* local_frame_;
  std::vector<llvm::Value*> local_base_;
};

}  // namespace raddle::jit
