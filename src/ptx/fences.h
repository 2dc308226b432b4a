// Which wgmmas have the wgmma.fence that PTX asks for: between the accesses of other instructions to their
// registers and them, and at the kernel's begin.
#pragma once

#include <vector>

#include "ptx/module.h"

namespace raddle::ptx {

bool is_wgmma(const Instruction& instruction);

/// By instruction: false for a wgmma to which a path leads without its fence. A copy of a register (`mov`) is
/// no access, but the copy is what was copied: compilers put such between the fence and the wgmma, where
/// registers are given their places.
std::vector<bool> fenced_wgmmas(const Function& function);

}  // namespace raddle::ptx
