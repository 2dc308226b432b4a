// Code as an object file that the linker loads as it loads LLVM's: one section of code with its constants,
// addresses of symbols to be filled in, the stack that each function takes, and the line table.
#pragma once

#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "jit/baseline/code.h"

namespace raddle::jit::baseline {

std::unique_ptr<llvm::MemoryBuffer> write_object(Code& code, llvm::TargetMachine& machine);

}  // namespace raddle::jit::baseline
