// The host as a code generation target: CPU, features, and the SIMD form that follows from them.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "jit/engine.h"
#include "jit/simd_form.h"

namespace raddle::jit {

/// Whether the processor says that it is Intel's: what waits for memory does so otherwise than on AMD's
/// (halved_stores.h, prefetch.h).
bool host_is_intel();

struct HostTarget {
  std::string cpu, features;
  SimdForm simd;
  unsigned vector_bits = 512;
  bool is_intel = host_is_intel();
};

/// What the level allows on this CPU: never more than the CPU has.
HostTarget host_target(SimdLevel level);
/// What the level is, whether or not this CPU has it.
HostTarget target_of(SimdLevel level);
/// Whether products that need not be exact may use AMX: the CPU has it, and the kernel gives it to the
/// process, which it refuses while a thread has an alternate signal stack too small for the tiles. Asks at
/// the first call.
bool may_use_tiles();
std::unique_ptr<llvm::TargetMachine> make_target_machine(const HostTarget& target, Tier tier);
/// Pins the vector width that LLVM may use; both attributes are needed (0 with 256 would remove all 512-bit
/// code).
void set_target_attributes(llvm::Module& module, const HostTarget& target);
/// Of a function that is made later, for one that has them.
void copy_target_attributes(llvm::Function& function, const llvm::Function& from);

}  // namespace raddle::jit
