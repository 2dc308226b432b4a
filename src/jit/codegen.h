// From LLVM IR to an object file in memory: optimisation and emission, in two tiers.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "jit/compilation.h"
#include "jit/engine.h"
#include "jit/host.h"

namespace raddle::jit {

/// A module between the passes that the balanced and the optimised tier have in common and what each does of
/// its own, so that what has been made in the one need not begin anew in the other.
struct Halfway {
  bool is_from = false;       ///< the module is one
  std::string* to = nullptr;  ///< gets it as bitcode
};

/// Optimises the module (which it consumes) and emits relocatable code. Threads may call it side by side,
/// each with a module in a context of its own.
/// @param effort  looked at between passes; null: as long as it takes
/// If LLVM finds a fatal error, this does not return, so only a compilation's thread may call it.
/// @returns null if the effort was over before any code was emitted
/// @errors unsupported: LLVM cannot compile it
Compilation::Outcome generate_object(llvm::Module& module, const HostTarget& target, Tier tier,
                                     Effort& effort, const Halfway& halfway = {});

/// Of this thread.
double processor_milliseconds();

/// RADDLE_VERIFY in the environment: LLVM checks the code that it is given, and its own after each of its
/// larger steps. Tests set it; a tenth of the quick tier's time.
bool verification_wanted();

/// RADDLE_DUMP=ir|optimised|times writes what the engine made to stderr, or what that took, for people who
/// work on it.
bool dump_wanted(const char* what);

}  // namespace raddle::jit
