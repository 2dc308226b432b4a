// Copies of constants. nvcc starts several variables of a loop from one register that it has just set to
// zero, often that of a sum, which varies over lanes later; what is copied from that register varies too.
#pragma once

#include <optional>

#include "ptx/module.h"

namespace raddle::jit {

/// The function with `mov d, r` made `mov d, constant` where r was set to it before in the same block.
/// Instructions stay where they are. Nothing if no such copy is there.
std::optional<ptx::Function> forward_constants(const ptx::Function& function);

}  // namespace raddle::jit
