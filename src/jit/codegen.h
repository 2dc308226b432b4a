// From LLVM IR to an object file in memory: optimisation and emission, in two tiers.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>

#include "jit/engine.h"
#include "jit/host.h"

namespace raddle::jit {

/// Optimises the module (which it consumes) and emits relocatable code. Threads may call it side by side,
/// each with a module in a context of its own.
std::unique_ptr<llvm::MemoryBuffer> generate_object(llvm::Module& module, const HostTarget& target,
                                                    Tier tier);

}  // namespace raddle::jit
