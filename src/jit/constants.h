// Constants of vectors as loads. LLVM's instruction selection takes such a constant to pieces, a node for
// each lane, and looks at all of them again for each operation nearby: what it finds out about their bits,
// these operations have no use for. The host loads them from memory anyway (ADR 0124).
#pragma once

#include <llvm/IR/Module.h>

namespace raddle::jit {

/// Which constants of vectors are loaded.
enum class LoadedConstants {
  by_lane,  ///< those that differ from lane to lane: no instruction of the host is better for knowing them
  all,      ///< those that are equal, too, of which instructions could take one lane for all
};

/// Last before code generation.
void load_constants(llvm::Module& module, LoadedConstants which);

}  // namespace raddle::jit
