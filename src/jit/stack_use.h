// How much of the host's stack compiled code takes.
#pragma once

#include <llvm/Support/MemoryBufferRef.h>

#include <cstdint>

namespace raddle::jit {

/// Bytes that the frames of all functions of an object take together, return addresses and alignment
/// included: no chain of calls without recursion takes more. From the section that LLVM writes for
/// TargetOptions::EmitStackSizeSection.
std::uint64_t stack_of_all_functions(llvm::MemoryBufferRef object);

}  // namespace raddle::jit
