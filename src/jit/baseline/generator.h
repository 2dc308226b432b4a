// The code generator of all tiers but the optimised one: a pass over LLVM's IR that writes an instruction or
// a few of the host for each of the IR, with registers given out as it goes. It takes a tenth of the time of
// LLVM's own, which knows every instruction: where this one meets one that it does not know, it says so, and
// LLVM's makes the module. For hosts with AVX-512 or AVX2.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "jit/host.h"

namespace raddle::jit::baseline {

/// Whether it writes code for this host.
bool writes_for(const HostTarget& target);
/// @param module  its instructions may be put into another order
/// @param unknown  what kept it from making the code, if the result is null
std::unique_ptr<llvm::MemoryBuffer> generate(llvm::Module& module, const HostTarget& target,
                                             llvm::TargetMachine& machine, std::string& unknown);

}  // namespace raddle::jit::baseline
