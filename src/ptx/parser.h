// PTX text -> ptx::Module.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "ptx/module.h"

namespace raddle::ptx {

/// Parses and checks a module. An instruction that is unsupported, or unknown (its modifiers included), is no
/// error: it is listed in Function::unsupported of its function, and other functions stay usable (K-17;
/// docs/adr/0035).
/// @param text  PTX source; may end in NULs
/// @param name  file name for messages
/// @errors invalid, with line and column: everything else that is malformed (first error; all others are in
/// `diagnostics`)
Result<Module> parse(std::string_view text, std::string_view name = "<memory>",
                     std::vector<Error>* diagnostics = nullptr);

/// A module as PTX text; parse(print(parse(x))) == parse(x) in meaning, print is a fixpoint after one round.
std::string print(const Module& module);
std::string print(const Module& module, const Function& function, const Instruction& instruction);

/// What a kernel needs, callees included.
KernelNeeds analyze(const Module& module, FunctionId kernel);
/// Bytes of the constant bank that the module's constants take.
std::uint64_t constant_bytes(const Module& module);
/// Bytes that its global variables take, including those that other modules define.
std::uint64_t global_bytes(const Module& module);

}  // namespace raddle::ptx
