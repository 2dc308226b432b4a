// The LLVM module of a kernel while its functions are written.
#pragma once

#include <llvm/IR/Module.h>

#include <map>
#include <set>
#include <vector>

#include "exec/access.h"
#include "exec/executable.h"
#include "jit/kernel_plan.h"
#include "jit/line_table.h"
#include "jit/simd_form.h"

namespace raddle::jit {

struct ModuleBuilder {
  const KernelPlan& kernel;
  llvm::Module& llvm;
  SimdForm simd;
  DebugLines& debug;
  exec::AccessListener* listener = nullptr;              ///< null: nobody listens
  std::map<ptx::FunctionId, llvm::Function*> functions;  ///< device functions declared so far
  std::vector<ptx::FunctionId> to_compile;               ///< of those, bodies still to come
  exec::CodeStatistics statistics;
  std::uint32_t frame_bytes = 0;            ///< state saved per warp
  bool calls_services = false;              ///< besides those that only fault
  std::set<std::uint32_t> together_states;  ///< in which warps may go on together
  std::set<std::uint32_t> turn_states;      ///< of these: between two turns of a loop in their prelude
};

}  // namespace raddle::jit
