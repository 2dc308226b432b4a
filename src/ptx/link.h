// Linking: one module of several, as nvcc -rdc=true and the driver's linker want it (K-18). What a module
// only declares is bound to what another defines; PTX manual, "Linking Directives".
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "ptx/module.h"

namespace raddle::ptx {

/// Definitions that are `.visible` (and kernels) are unique; of `.weak` and `.common` ones a `.visible` one
/// goes first, else the first, of `.common` ones the largest. What has no linkage stays its module's own,
/// renamed where names meet. Functions that nobody defines stay declarations: analyze() names them for each
/// kernel.
/// @param library  modules of which those are taken, as from an archive, that define what is missing
/// @errors invalid: lists each name that two modules define, or that one declares otherwise than it is
/// defined
Result<Module> link(std::vector<Module> modules, std::vector<Module> library, std::string_view name);

/// 90 for a module of `.target sm_90a`; of a linked one, that of its newest text.
std::uint32_t target_capability(const Module& module);

/// "b.ptx:34": where a line of a linked module is in the text that it came from; "34" in a module of one
/// text.
std::string line_name(const Module& module, std::uint32_t line);

}  // namespace raddle::ptx
