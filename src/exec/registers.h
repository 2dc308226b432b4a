// The processor's registers where kernel code faulted: from them and the faulting instruction an engine finds
// the accessed address. Filled in a signal handler, so plain data; x86-64.
#pragma once

#include <cstdint>

namespace raddle::exec {

struct SavedRegisters {
  std::uint64_t general[16] = {};     ///< by encoding: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15
  std::uint64_t vectors[32][8] = {};  ///< zmm; what the processor lacks is zero
  std::uint64_t masks[8] = {};        ///< k0 to k7
};

/// What one instruction accessed.
struct AccessedMemory {
  std::uint64_t address = 0;
  std::uint32_t lane = 0;    ///< 1 + lane; 0: unknown, or several
  std::uint32_t warp = 0;    ///< warps behind the first of those that run together (CtaContext::running_warp)
  std::uint32_t behind = 0;  ///< lanes behind the one that the code marked (CtaContext::running_lane)
  bool is_write = false;
};

}  // namespace raddle::exec
