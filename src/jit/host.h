// The host as a code generation target: CPU, features, and the SIMD form that follows from them.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "jit/engine.h"
#include "jit/simd_form.h"

namespace raddle::jit {

struct HostTarget {
  std::string cpu, features;
  SimdForm simd;
  unsigned vector_bits = 512;
};

/// What the level allows on this CPU: never more than the CPU has.
HostTarget host_target(SimdLevel level);
std::unique_ptr<llvm::TargetMachine> make_target_machine(const HostTarget& target, Tier tier);
/// Pins the vector width that LLVM may use; both attributes are needed (0 with 256 would remove all 512-bit
/// code).
void set_target_attributes(llvm::Module& module, const HostTarget& target);

}  // namespace raddle::jit
