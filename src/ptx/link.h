// Linking: one module of several, as nvcc -rdc=true and the driver's linker want it (K-18). A name that a
// module only declares is bound to another's definition; PTX manual, "Linking Directives".
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "ptx/module.h"

namespace raddle::ptx {

/// A `.visible` definition and a kernel must be unique. It wins over `.weak` and `.common` definitions of its
/// name; without one the first `.weak` or the largest `.common` definition wins. A name without linkage stays
/// private to its module and is renamed where it collides. Functions without a definition stay declarations:
/// analyze() names them for each kernel.
/// @param library  modules taken as from an archive: only those that define a missing name
/// @errors invalid: lists each name that two modules define, or whose declaration contradicts its definition
Result<Module> link(std::vector<Module> modules, std::vector<Module> library, std::string_view name);

/// 90 for a module of `.target sm_90a`; of a linked one, that of its newest text.
std::uint32_t target_capability(const Module& module);

/// "b.ptx:34": the place of a linked module's line in its original text; "34" in a module of one text.
std::string line_name(const Module& module, std::uint32_t line);

}  // namespace raddle::ptx
