// Software prefetching, a pass over LLVM IR, for loads in loops that step further than the host's own
// prefetchers follow. A grid-stride loop does: neighbouring blocks would read what lies between.
#pragma once

#include <llvm/IR/PassManager.h>

namespace raddle::jit {

/// Name of the metadata of loads that may be prefetched: those that reach into device memory.
inline constexpr const char* kDeviceLoad = "raddle.device";

/// Puts the lines that a marked load will touch some turns later into the second-level cache.
class PrefetchFarLoads : public llvm::PassInfoMixin<PrefetchFarLoads> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace raddle::jit
