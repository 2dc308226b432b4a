// Constants of vectors as loads. LLVM's instruction selection takes such a constant to pieces, a node for each lane,
// and looks at all of them again for each operation nearby: what it finds out about their bits, these operations have
// no use for. The host loads them from memory anyway.
#pragma once

#include <llvm/IR/Module.h>

namespace raddle::jit {

/// Which constants of vectors are loaded.
enum class LoadedConstants {
  by_lane,  ///< those that differ from lane to lane: no instruction of the host is better for knowing them
  all,      ///< those that are equal, too: a little slower code for a sixth less selection
};

/// Last before code generation.
void load_constants(llvm::Module& module, LoadedConstants which);

}  // namespace raddle::jit
