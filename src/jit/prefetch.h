// Software prefetching, a pass over LLVM IR, for what the host's own prefetchers do not follow: loads in
// loops that step far, as a grid-stride loop does (neighbouring blocks would read what lies between), and
// loads outside of loops, behind whose lines the warps and blocks that come next go on.
#pragma once

#include <llvm/IR/Instruction.h>
#include <llvm/IR/PassManager.h>

#include <cstdint>

namespace raddle::jit {

/// What a warp's load reads: up to 256 bytes side by side, or more, as with 16 bytes a lane.
enum class DeviceRow { narrow, wide };

/// Marks a load that may be prefetched: one that reaches into device memory. As a scope of aliases, which
/// nothing else names, since LLVM's passes keep those: it drops metadata of other kinds where it makes a load
/// of integers one of floats.
void mark_device_load(llvm::Instruction& load, DeviceRow row = DeviceRow::narrow);

inline constexpr std::int64_t kBehind = 4096, kFarBehind = 8192;  ///< bytes

/// Puts lines into the second-level cache: those that a marked load of a loop will touch some turns later,
/// and those that lie kBehind, of wide rows kFarBehind, behind a marked load of a whole vector outside of
/// loops.
class PrefetchLoads : public llvm::PassInfoMixin<PrefetchLoads> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace raddle::jit
