// What a task does, as data: streams record it, and whoever runs the task looks up the objects that it names.
// So a task can run again and do the same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "exec/executable.h"
#include "machine/distributor/grid.h"
#include "machine/memory/device_copy.h"
#include "raddle/word_condition.h"

namespace raddle::machine {

class AddressSpace;
class Task;
class TaskGraph;
class TaskQueue;
struct Conditional;

/// Nothing: complete with what the task waits for.
struct MarkerWork {
  bool at_trigger = false;   ///< a stream's point at which a grid lets dependent ones begin, not its end
  std::uint64_t number = 0;  ///< of that grid, and its priority, where another process runs it
  int priority = 0;
};

/// Everything a worker needs to run one grid. `context` is what generated code sees.
struct GridWork {
  AddressSpace* space = nullptr;  ///< whose grid it is; set when it is dispatched
  exec::Executable* executable = nullptr;
  const std::string* name = nullptr;  ///< of the kernel; outlives the task
  exec::LaunchContext context{};      ///< parameters is filled in by Task::set_parameters
  std::uint32_t threads_per_block = 0;
  std::uint64_t blocks = 0;
  /// Of a part of a grid: its first block, and the blocks from there on. 0: it is the whole grid.
  std::uint32_t first[3] = {}, part[3] = {};
  std::uint64_t shared_bytes = 0;        ///< of the shared window, reserved bytes and alignment included
  std::uint64_t shared_model_bytes = 0;  ///< what the modelled SM counts: reserved, static and dynamic bytes
  std::uint64_t local_stride = 0;        ///< bytes per thread
  std::uint32_t registers = 0;           ///< per thread; 0: unknown
  std::uint64_t time_limit_ns = 0;       ///< 0: none
  GridKind kind;                         ///< how its blocks form clusters
  std::uint32_t cap_per_sm = 0;          ///< most of its blocks on one SM (W-23); 0: what fits
  std::optional<PlacementMode> placement;  ///< none: as its space's
  std::uint32_t work_kind = 0;             ///< DistributorOptions::work_kinds
  bool cluster_memory = false;             ///< each outermost cluster has cluster-wide memory (W-24)
  std::uint64_t cluster_memory_slots = 0;  ///< device address of the first slot of that; set with `space`
  bool cooperative = false;                ///< all its blocks are resident at once; it has a grid workspace
  bool counts_triggers = false;            ///< its CTAs may let dependent grids begin: Task::triggered
  bool triggers_at_start = false;          ///< they do when they begin
  bool counts_begins = false;              ///< its CTAs say that they have begun: Task::begun
  std::uint64_t number = 0;                ///< by which another process knows it; 0: none does
  std::uint64_t behind = 0;     ///< of a grid after whose end that process starts it; 0: it may start at once
  bool behind_trigger = false;  ///< not after its end: when it lets dependent grids begin
  bool clears_reserved = false;  ///< the reserved bytes of shared memory are zero when a CTA starts
  /// Source position of a PTX line of the kernel, empty if unknown; for faults. `owner` outlives the task.
  std::string (*source_of)(const void* owner, std::uint32_t ptx_line) = nullptr;
  const void* owner = nullptr;
  /// What context.variables points to, where the launch has values of its own; null: that is the module's.
  std::shared_ptr<const std::vector<std::uint64_t>> variables = nullptr;
  std::uint64_t record = 0;  ///< address of the record that says all this; 0: none does
  bool at_head = false;      ///< waits before the others of its priority
  /// Of a queue task, whose blocks are its entries and may grow in number: `blocks` and the grid's extent say
  /// nothing of them. Null: a grid. Shared, as who appends may come when the task has just ended.
  std::shared_ptr<TaskQueue> queue = nullptr;

  /// Blocks along each axis.
  const std::uint32_t* extent() const { return part[0] != 0 ? part : context.nctaid; }
  /// Blocks of a cluster that share memory, as the kernel sees it; 1: no clusters.
  std::uint32_t cluster_size() const {
    return context.cluster_shape[0] * context.cluster_shape[1] * context.cluster_shape[2];
  }
};

/// What one block takes of a modelled SM.
CtaNeeds needs_of(const GridWork& grid, const SmLimits& sm);

/// Rows and slices of memory, of an address space or of the host.
struct MemoryRows {
  AddressSpace* space = nullptr;  ///< null: the host's. It outlives the task
  std::uint64_t address = 0;
  std::uint64_t pitch = 0, slice_pitch = 0;  ///< bytes; of no meaning for one row, one slice
};

inline MemoryRows of_host(const void* start) { return {nullptr, reinterpret_cast<std::uint64_t>(start)}; }

/// Copies `depth` slices of `height` rows of `width` bytes; kernels may watch memory of an address space.
struct CopyWork {
  MemoryRows to, from;
  std::uint64_t width = 0, height = 1, depth = 1;
  std::shared_ptr<const void> holds = nullptr;  ///< lives as long as the work
  bool is_empty() const { return width == 0 || height == 0 || depth == 0; }
};

/// Fills `height` rows with `width` words of `word_bytes` (1, 2, 4 or 8) each.
struct FillWork {
  MemoryRows to;
  std::uint64_t word = 0;
  unsigned word_bytes = 1;
  std::uint64_t width = 0, height = 1;
  bool is_empty() const { return width == 0 || height == 0; }
};

/// Calls a function of the host.
struct CallWork {
  enum class Thread : std::uint8_t {
    callbacks,     ///< runs also when what it waited for failed
    compilations,  ///< compiles what a kernel wants to launch
  };
  std::function<void()> function;
  Thread thread = Thread::callbacks;
  std::uint32_t answer = 0;  ///< the function's, for whoever waits for it
};

/// Waits until a word has a value that somebody writes there.
struct WaitWork {
  WordCondition until;
};

/// Starts a graph of tasks, and is complete when all of them are.
struct GraphWork {
  /// Another task that has to do with a node of this run alone.
  struct Beside {
    std::uint32_t node;
    std::shared_ptr<Task> task;
  };
  std::shared_ptr<TaskGraph> graph;
  std::vector<Beside> waits = {};   ///< the node comes after that task
  std::vector<Beside> points = {};  ///< that task, a marker, comes after the node
  bool is_claimed = false;          ///< by a kernel, until it is over
};

/// Chooses, when it runs, which graph runs and how often; it is complete after that.
struct ConditionalWork {
  std::shared_ptr<const Conditional> conditional;
};

using Work =
    std::variant<MarkerWork, GridWork, CopyWork, FillWork, CallWork, WaitWork, GraphWork, ConditionalWork>;

/// Whether the memory that it names is there; to be asked before each submission. @errors invalid
Result<void> check(const CopyWork& copy);
Result<void> check(const FillWork& fill);
/// Where the host has what was checked.
BoxSide box_of(const MemoryRows& rows);

/// Whether the word has the value now.
bool is_met(const WordCondition& condition);

}  // namespace raddle::machine
