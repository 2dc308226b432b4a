// Registers that are one thing after another. Hand-written PTX takes one for an address first and for a sum
// later; as what is known of a register holds for the whole function, neither would have a stride or be
// uniform (docs/adr/0057).
#pragma once

#include <optional>

#include "ptx/module.h"

namespace raddle::jit {

/// The function with a register for each web: definitions that reach a common use, and all uses that these
/// reach. The first keeps the register, the others get new ones of the same name. Instructions stay where
/// they are. Nothing if no register has two webs.
///
/// Registers whose place matters keep all their webs: formal parameters and results of a function, and those
/// of matrices.
std::optional<ptx::Function> separate_webs(const ptx::Module& module, const ptx::Function& function);

}  // namespace raddle::jit
