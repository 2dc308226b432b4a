// A task: one grid launch, one call on a host thread, or a point that others wait for (an event). Pooled and
// reused, so that a launch allocates nothing once the pool is warm. Counted references: a stream, a handle
// and each edge hold one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "exec/fault.h"
#include "machine/distributor/grid.h"
#include "machine/memory/launch_pages.h"

namespace raddle::machine {

struct Children;
class AddressSpace;

enum class TaskKind : std::uint8_t {
  grid,         ///< runs on the workers
  copy,         ///< a function on the copy engine's thread
  callback,     ///< a function on the callback thread; runs also when what it waited for failed
  compilation,  ///< a function on a thread of its own: compiles what a kernel wants to launch
  condition,    ///< waits until a condition holds, which the watcher's thread asks for
  marker,       ///< nothing: completes with its dependencies
};

/// Everything a worker needs to run one grid. `context` is what generated code sees.
struct GridWork {
  AddressSpace* space = nullptr;  ///< whose grid it is; set when it is dispatched
  exec::Executable* executable = nullptr;
  const std::string* name = nullptr;  ///< of the kernel; outlives the task
  exec::LaunchContext context{};      ///< parameters is filled in by Task::set_parameters
  std::uint32_t threads_per_block = 0;
  std::uint64_t blocks = 0;
  std::uint64_t shared_bytes = 0;        ///< of the shared window, reserved bytes and alignment included
  std::uint64_t shared_model_bytes = 0;  ///< what the modelled SM counts: reserved, static and dynamic bytes
  std::uint64_t local_stride = 0;        ///< bytes per thread
  std::uint32_t registers = 0;           ///< per thread; 0: unknown
  std::uint64_t time_limit_ns = 0;       ///< 0: none
  GridKind kind;                         ///< how its blocks form clusters
  std::uint32_t cap_per_sm = 0;          ///< most of its blocks on one SM (W-23); 0: what fits
  bool cluster_memory = false;           ///< each outermost cluster has cluster-wide memory (W-24)
  std::uint64_t cluster_memory_slots = 0;  ///< device address of the first slot of that; set with `space`
  bool cooperative = false;                ///< all its blocks are resident at once; it has a grid workspace
  bool clears_reserved = false;            ///< the reserved bytes of shared memory are zero when a CTA starts
  /// Source position of a PTX line of the kernel, empty if unknown; for faults. `owner` outlives the task.
  std::string (*source_of)(const void* owner, std::uint32_t ptx_line) = nullptr;
  const void* owner = nullptr;

  /// Blocks of a cluster that share memory, as the kernel sees it; 1: no clusters.
  std::uint32_t cluster_size() const {
    return context.cluster_shape[0] * context.cluster_shape[1] * context.cluster_shape[2];
  }
};

/// What one block takes of a modelled SM.
CtaNeeds needs_of(const GridWork& grid, const SmLimits& sm);

// Aligned, so that who fills in one does not take cache lines from whom another runs.
class alignas(128) Task {
 public:
  // What it is. Written before submission, constant afterwards.
  TaskKind kind = TaskKind::marker;
  int priority = 0;  ///< lower runs first, as CUDA counts
  GridWork grid;
  std::function<void()> function;
  std::function<bool()> condition;

  explicit Task(LaunchPages& pages) : pages_(pages) {}
  /// Copies the parameter block to where the kernel reads it, 128-byte aligned; a piece of an earlier use is
  /// kept if it is large enough, so the next launch of as many takes no memory.
  /// @returns false if the host has none; likewise below
  bool set_parameters(std::span<const std::byte> bytes);
  /// Gives a cooperative grid its workspace, zeroed: %envreg1:%envreg2 of cooperative groups.
  bool set_grid_workspace();
  /// For a grid that a kernel launches: memory for so many bytes of parameters, zeroed, which that kernel
  /// fills.
  bool provide_parameter_buffer(std::uint64_t bytes);
  std::uint64_t parameter_buffer() const { return reinterpret_cast<std::uint64_t>(buffer_.kernel); }
  /// What was filled in becomes the parameters.
  bool take_parameter_buffer() { return set_parameters({buffer_.host, parameter_bytes_}); }
  std::uint64_t parameter_bytes() const { return parameter_bytes_; }

  // Completion: 0 pending, 1 pending with sleepers, 2 done.
  std::atomic<std::uint32_t> state{0};
  bool done() const { return state.load(std::memory_order_acquire) == 2; }
  void wait();
  /// Set before completion. A task that was cancelled because of an earlier fault has FaultKind::cancelled.
  std::atomic<std::uint32_t> stop{0};  ///< FaultKind; non-zero: start nothing more of it, abandon what runs
  exec::Fault fault;                   ///< valid when done and stop is non-zero

  // Times in nanoseconds of the steady clock, 0 if unknown: first CTA granted, all done.
  std::atomic<std::uint64_t> started_ns{0};
  std::uint64_t finished_ns = 0;

  /// The grid as the distributor sees it; the launch controllers' own, under their lock.
  struct Distribution : Grid {
    Task* task = nullptr;     ///< this one, once it has been added
    std::uint64_t heard = 0;  ///< CTAs in the masks that were broadcast: the next one's launch index
  } distribution;

  // Owned by the task scheduler, under its lock.
  struct Graph {
    std::uint32_t waiting_for = 0;
    std::vector<Task*> successors;
    Task* next = nullptr;  ///< list of ready or pooled tasks
    bool submitted = false, complete = false;
  } graph;

  // A grid that launches others is complete when these are. Owned by the task scheduler.
  Task* parent = nullptr;                    ///< of a child; holds a reference
  std::atomic<std::uint32_t> unfinished{1};  ///< its own work, and its children
  /// What belongs to it as a parent; made at the first call.
  Children& family();
  Children* family_if_any() const { return family_.load(std::memory_order_acquire); }

  std::atomic<std::uint32_t> references{0};
  void reset();
  ~Task();

 private:
  std::byte* provide_buffer(std::uint64_t bytes);
  LaunchPages& pages_;
  std::atomic<Children*> family_{nullptr};
  LaunchPiece parameters_;
  LaunchPiece buffer_;  // workspace of a cooperative grid, or what take_parameter_buffer() takes
  std::uint64_t parameter_bytes_ = 0;
};

}  // namespace raddle::machine
