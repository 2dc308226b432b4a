// Loads of matrices go to where they are multiplied. Programs load all matrices of a step first, and multiply
// then; a processor that looks some hundred instructions ahead waits for memory in one half of the time and
// multiplies in the other.
#pragma once

#include <optional>

#include "ptx/module.h"

namespace raddle::jit {

/// The function with loads moved down within their blocks, to the products that need them; nothing if there
/// are none. Products that share their A, four or more, stay together. What a load passes are other loads and
/// instructions that only compute; neither changes what the other reads.
std::optional<ptx::Function> sink_loads(const ptx::Function& function);

}  // namespace raddle::jit
