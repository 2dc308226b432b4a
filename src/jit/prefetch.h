// Software prefetching, a pass over LLVM IR, for what the host's own prefetchers do not follow: loads in
// loops that step far, as a grid-stride loop does (neighbouring blocks would read what lies between), and
// loads outside of loops, behind whose lines the warps and blocks that come next go on. And for what they
// follow, where a processor's code has to get far enough for them.
#pragma once

#include <llvm/IR/Instruction.h>
#include <llvm/IR/PassManager.h>

#include <cstdint>

namespace raddle::jit {

/// What a warp's load reads: up to 256 bytes side by side, or more, as with 16 bytes a lane; or either, in a
/// kernel without loops, whose warps and blocks walk on through memory in the loops around it.
enum class DeviceRow { narrow, wide, stream };

/// Marks a load that may be prefetched, or a scatter: one that reaches into device memory. As a scope of
/// aliases, which nothing else names, since LLVM's passes keep those: it drops metadata of other kinds where
/// it makes a load of integers one of floats.
void mark_device_load(llvm::Instruction& load, DeviceRow row = DeviceRow::narrow);

inline constexpr std::int64_t kBehind = 4096, kFarBehind = 8192, kStreamBehind = 2048;  ///< bytes

/// Fetches the lines to which lanes store apart, marked as loads are, all before the first store: stores come
/// into the cache in order, and Intel's processors fetch few lines for those that wait.
class PrefetchScattered : public llvm::PassInfoMixin<PrefetchScattered> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

/// Puts lines into the second-level cache: those that a marked load of a loop will touch some turns later,
/// and those that lie kBehind, of wide rows kFarBehind, behind a marked load of a whole vector outside of
/// loops. And into the first-level one, if asked, those that lie kStreamBehind behind a load of a stream:
/// Intel's processors have as many misses under way as code comes across, and a warp is many instructions for
/// two lines (saxpy 16 GB/s on one core, and 20 with it). On AMD's it is slower.
class PrefetchLoads : public llvm::PassInfoMixin<PrefetchLoads> {
 public:
  explicit PrefetchLoads(bool streams = false) : streams_(streams) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  bool streams_;
};

}  // namespace raddle::jit
