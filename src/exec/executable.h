// What an engine makes of a kernel, and what the machine runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "exec/abi.h"
#include "exec/registers.h"
#include "ptx/module.h"
#include "raddle/matrix_arithmetic.h"

namespace raddle::exec {

/// Three ways to run a block, chosen per kernel when it is compiled (K-4, K-5).
enum class BlockKind : std::uint8_t {
  loops,    ///< cannot wait: the loop over warps is inside the code; run_block runs the whole block
  regions,  ///< barriers uniform for the block: a loop over warps per barrier region, inside the code;
            ///< run_block
  fibers,   ///< anything else: each warp a user-level thread; run_warp per warp
};
std::string_view block_kind_name(BlockKind kind);

struct CodeStatistics {
  std::uint32_t memory_operations = 0;  ///< static loads, stores and atomics
  std::uint32_t not_vectorised = 0;     ///< of those: gathers, scatters and lane loops
  std::uint32_t dispatched_loops = 0;   ///< loops run by fair dispatch instead of linearised
  /// Warps of a block that run together as long as all their lanes go the same way; 0: each lane by lane.
  std::uint32_t warps_together = 0;
  bool one_by_one = false;  ///< a warp's threads run one behind the other, as scalars
  double compile_seconds = 0;
  bool from_cache = false;  ///< the code was compiled before: taken from the code cache
  bool is_quick = false;    ///< quick code, to be replaced by optimised code once that pays
};

class Executable {
 public:
  virtual ~Executable() = default;
  BlockKind kind = BlockKind::fibers;
  CodeStatistics statistics;
  /// loops: run_block goes on with the CTAs that follow (CtaContext::following). Nothing in the kernel can
  /// suspend it, and it soon ends.
  bool goes_on = false;
  /// regions: run_block may begin with the CTAs that follow, too, in ways that nobody notices. Each is still
  /// to be run.
  bool begins_ahead = false;
  /// loops, regions: run_block may leave stores past the host's caches behind that nothing orders
  /// (base/past_caches.h), where the launch outgrows them with so many bytes of a thread. 0: never.
  std::uint32_t bytes_past_caches = 0;
  std::uint32_t local_bytes = 0;  ///< local memory needed per thread, call stack included
  std::uint64_t stack_bytes =
      0;  ///< host stack needed by run_block or run_warp; 0: the machine's default is enough

  /// loops, regions: runs one whole CTA on the caller's stack (a CTA fiber).
  virtual void run_block(CtaContext& cta) = 0;
  /// fibers: runs one warp to its end on the caller's stack (a warp fiber); waits through cta.services.
  virtual void run_warp(WarpContext& warp) = 0;
  /// PTX line of a host code address inside this executable, 0 if it belongs to no single line: names the
  /// line of a memory fault. Nothing for an address outside.
  virtual std::optional<std::uint32_t> line_of(std::uint64_t) const { return {}; }
  /// What the instruction at a host code address accessed when it faulted.
  /// @param faulted  the faulting address; 0 if the processor did not name one
  virtual std::optional<AccessedMemory> accessed(std::uint64_t, const SavedRegisters&,
                                                 std::uint64_t /*faulted*/) const {
    return {};
  }
};

/// Value of a function's address in PTX: an index into the checked table, never a host address; 0 stays null.
constexpr std::uint64_t function_handle(ptx::FunctionId id) { return std::uint64_t{id} + 1; }
constexpr ptx::FunctionId function_of_handle(std::uint64_t handle) {
  return static_cast<ptx::FunctionId>(handle - 1);
}

struct BlockShape {
  std::uint32_t x = 1, y = 1, z = 1;
};

/// The default stack of a thread for calls of unknown depth and for alloca. CUDA's default is 1 KiB, but its
/// driver raises it as a kernel needs.
constexpr std::uint32_t kDefaultStackBytes = 16 << 10;

struct CompileOptions {
  BlockShape block;          ///< the code may be specialised for a class of shapes, see Engine::shape_class
  bool late_copies = false;  ///< of a device whose asynchronous copies may land late (Asynchrony)
  bool windowed = false;     ///< of a device whose accesses are checked against its window (exec/window.h)
  bool modelled = false;     ///< of a device whose addresses are translated by pages (Services::translate)
  MatrixArithmetic matrix_arithmetic = MatrixArithmetic::reference;
  /// Local memory per thread beyond the frames whose number is known (CUDA's cudaLimitStackSize).
  std::uint32_t stack_bytes = kDefaultStackBytes;
  /// For launches with clusters of more than one CTA; code without it takes each CTA for a cluster of its
  /// own.
  bool clustered = false;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;  ///< "interp", "jit"
  /// Block shapes of one class may share an Executable.
  virtual std::uint64_t shape_class(BlockShape block) const = 0;
  /// @errors unsupported: names every instruction that this engine cannot execute, or says what else in the
  /// kernel it cannot run; the interpreter may then run it
  /// The module must outlive the Executable.
  virtual Result<std::unique_ptr<Executable>> compile(const ptx::Module& module, ptx::FunctionId kernel,
                                                      const CompileOptions& options) = 0;
};

}  // namespace raddle::exec
