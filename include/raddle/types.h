// Plain data of the C++ API: options, configurations, reports.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "raddle/asynchrony.h"
#include "raddle/bounds.h"
#include "raddle/cluster.h"
#include "raddle/contexts.h"
#include "raddle/device_ptr.h"
#include "raddle/distributor.h"
#include "raddle/fault_kind.h"
#include "raddle/limit.h"
#include "raddle/matrix_arithmetic.h"
#include "raddle/placement.h"
#include "raddle/translation.h"
#include "raddle/word_condition.h"

namespace raddle {

class Device;
class Stream;

/// Extents of a grid in blocks, or of a block in threads.
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

struct DeviceOptions {
  /// Path of the socket of a `raddle serve` whose machine runs the kernels, with #INSTANCE@CONTEXT behind it
  /// for one of its instances and device contexts, either of which may be left out; empty: this process does.
  /// Its machine, engine and distributor count then, not these.
  std::string server;
  std::string shape = "h200";  ///< of the machine: h200, a100, tiny, host, or a path that ends in .json
  /// Devices that ask for the same share a machine; this tells alike ones apart, which have a machine each.
  unsigned ordinal = 0;
  unsigned device_count = 1;       ///< what cudaGetDeviceCount answers in kernels
  std::uint64_t memory_bytes = 0;  ///< at most so much device memory; 0: what shape and host give
  std::string policy = "lake";  ///< of the work distributor: which SM runs which block; `raddle distribute`
                                ///< names them
  DistributorOptions distributor;          ///< caps, credits, order of SMs, tie-breaks
  std::optional<PlacementMode> placement;  ///< of launches that name none; none: as the policy has it
  SmLimit sm_limit;                        ///< which SMs its blocks may use, and how many at one time
  std::uint32_t work_kind = 0;             ///< of launches that name none (DistributorOptions::work_kinds)
  /// The device context that it is an address space of, by name; empty: the machine's first. On a server, the
  /// server's name says it.
  std::string context;
  /// How the device contexts of the machine share it; none: in turns where `context` is named, else there is
  /// one.
  std::optional<ContextMode> contexts;
  std::string engine;  ///< "jit", "interp"; empty: jit where it is built
  std::string simd;    ///< widest vectors of jit: "avx512", "avx2", "sse42"; empty: what the host has
  std::string tier;    ///< of jit: "quick" (soon ready), "balanced", "optimised"; empty: by size, then by use
  std::string code_cache;  ///< directory of compiled code; "off": none; empty: RADDLE_CACHE, ~/.cache/raddle
  unsigned workers = 0;    ///< kernel-running threads; 0: one per usable core
  bool pin = true;         ///< pin them to cores; RADDLE_PIN=off overrides
  std::optional<std::uint64_t>
      deterministic;      ///< one worker, order drawn from this seed (0: the natural order)
  Asynchrony asynchrony;  ///< of copies; all but `eager` are deterministic
  MatrixArithmetic matrix_arithmetic = MatrixArithmetic::reference;
  Translation translation = Translation::direct;  ///< of kernels' addresses
  Bounds bounds = Bounds::exact;                  ///< of allocations
  /// Addresses for this device's memory alone, in bytes, at least a gigabyte: kernels of a windowed device
  /// then reach no other device's, nor memory that all share (pinned, pooled, mapped). 0: they lie with the
  /// process's other ones.
  std::uint64_t window_bytes = 0;
  bool reaches_shared = false;  ///< also from such a window: memory that all devices share
  /// Of modelled devices: sizes of what translates, as "l1=32,l2=512", and where page tables lie (`raddle run
  /// --help`); empty: the usual.
  std::string tlb;
  std::chrono::milliseconds time_limit{0};  ///< of each launch from its first block on; 0: none
  std::uint64_t heap_bytes = 8u << 20;      ///< for malloc in kernels (cudaLimitMallocHeapSize)
  /// Per thread, for calls whose depth is unknown before the launch (recursion, function pointers) and alloca
  /// (cudaLimitStackSize); known frames come on top. At most 512 KiB.
  std::uint32_t stack_bytes = 16u << 10;
  /// Room for the text that kernels print between two synchronisations (cudaLimitPrintfFifoSize): more text
  /// overwrites the oldest lines, as in CUDA, whose default is 1 MiB. 0: nothing is lost.
  std::uint64_t print_bytes = 0;
  std::function<std::optional<int>(int)>
      attribute;  ///< answers cudaDeviceGetAttribute in kernels; none: nothing
  std::function<void(std::string_view)>
      output;  ///< receives printf of kernels at synchronisation; none: stdout
};

struct DeviceProperties {
  std::string shape, engine;
  std::uint32_t sm_count = 0, workers = 0, capability = 0;  ///< capability: compute capability * 10
  std::uint64_t memory_bytes = 0;                           ///< that may be allocated
  std::uint32_t shared_bytes_per_block = 0, threads_per_block = 0;
  std::string warning;  ///< what programs may miss on this machine (W-13); empty: nothing
};

/// The cause of the device's sticky error.
struct Failure {
  FaultKind kind = FaultKind::none;
  std::string text;  ///< kernel, block, thread, line, address, in a sentence
};

/// A piece of device memory.
struct Region {
  DevicePtr address;
  std::uint64_t bytes = 0;
  std::uint64_t id = 0;     ///< of the allocation; never used again in this process
  bool is_shared = false;   ///< all devices of the process know it, not this one alone
  bool is_managed = false;  ///< a variable that is marked .managed
};

/// Where other processes find a piece of device memory.
struct SharedPages {
  int descriptor = -1;       ///< of a file in memory; the device's, closed when the memory is freed
  std::uint64_t offset = 0;  ///< of the piece in the file, bytes
};

/// Where a copy reads or writes: rows `pitch` bytes apart, slices of rows `slice_pitch` bytes apart.
struct CopySide {
  Device* device = nullptr;  ///< whose memory it is; null: the host program's
  std::uint64_t address = 0;
  std::uint64_t pitch = 0, slice_pitch = 0;  ///< of no meaning for one row, one slice
};

/// Copies `depth` slices of `height` rows of `width` bytes.
struct BoxCopy {
  CopySide to, from;
  std::uint64_t width = 0, height = 1, depth = 1;
  std::shared_ptr<const void> holds = nullptr;  ///< lives until the copy is done
};

/// Fills `height` rows, `pitch` bytes apart, with `width` words of `word_bytes` (1, 2, 4 or 8) each.
struct RowFill {
  DevicePtr to;  ///< aligned to the words, as is the pitch
  std::uint64_t word = 0;
  unsigned word_bytes = 1;
  std::uint64_t width = 0, height = 1, pitch = 0;
  Device* device = nullptr;  ///< whose memory; null: of the stream's device
};

/// Some of a grid's blocks: those from `first` on, `extent` of them along each axis.
struct GridPart {
  Dim3 first{0, 0, 0}, extent;
};

struct LaunchConfig {
  Dim3 grid, block;
  /// Launches these blocks alone; kernels see the whole grid's extents. Made of whole clusters, in a launch
  /// that is not cooperative. None: all blocks.
  std::optional<GridPart> part = std::nullopt;
  std::uint64_t shared_bytes = 0;  ///< dynamic shared memory per block
  Stream* stream = nullptr;        ///< null: the device's default stream
  /// All blocks are resident at once, so that they may wait for one another (cooperative groups' grid.sync).
  bool cooperative = false;
  std::optional<int> priority;  ///< instead of the stream's; lower numbers run first
  /// Programmatic dependent launch: may begin when all blocks of the launch before it in the stream have
  /// ended or called for that (griddepcontrol.launch_dependents). Its griddepcontrol.wait waits for that
  /// launch's end.
  bool begins_early = false;
  bool triggers_at_start = false;  ///< each block calls for dependent launches as it begins
  bool tells_begin = false;        ///< Stream::record_begin() is asked for its blocks' begin

  /// Blocks of a cluster: resident at once in one GPC, with a barrier and each other's shared memory. It
  /// divides the grid. 0: what the kernel was compiled for (.reqnctapercluster), else no clusters.
  Dim3 cluster{0, 0, 0};
  /// Clusters of clusters, outermost first, instead of `cluster`; each level's domain lies inside the one
  /// before. The grid is divided by the product of the extents. Kernels see the last level as their cluster
  /// if its domain is a GPC or less, else none.
  std::vector<ClusterLevel> clusters;
  DistributionMode distribution = DistributionMode::load_balance;  ///< of the blocks of a cluster
  bool allow_non_portable_cluster = false;  ///< up to 16 blocks share memory instead of 8
  std::uint32_t cap_per_sm = 0;             ///< most blocks of this grid on one SM; 0: what fits
  std::optional<PlacementMode> placement;   ///< none: as DeviceOptions::placement
  std::optional<std::uint32_t> work_kind;   ///< none: as DeviceOptions::work_kind
  bool cluster_memory =
      false;  ///< each outermost cluster has a slot of cluster-wide global memory (own extension)

  /// Blocks that are launched, along each axis.
  Dim3 launched() const { return part ? part->extent : grid; }
};

/// How a kernel was compiled and what a launch took.
struct LaunchReport {
  std::string engine;                   ///< "jit", "interp"
  std::string block_kind;               ///< "loops", "regions", "fibers": how its blocks run
  std::uint32_t memory_operations = 0;  ///< static loads, stores and atomics
  std::uint32_t not_vectorised = 0;     ///< of those: gathers, scatters and lane loops
  std::uint32_t dispatched_loops = 0;   ///< loops run by fair dispatch between lane groups
  /// Warps of a block that run together, in one stream of instructions, as long as all their lanes go the
  /// same way; 0: each warp runs by itself.
  std::uint32_t warps_together = 0;
  bool one_by_one = false;  ///< a warp's threads run one behind the other, as lanes would seldom be alike
  double compile_seconds = 0;
  bool from_cache = false;  ///< the code was taken from the code cache
  bool is_quick = false;    ///< compiled in the quick tier
  double seconds = 0;       ///< first block to last, 0 before a launch
};

struct KernelParameter {
  std::string name, type;  ///< type as in PTX: "u64", "f32", "b8"
  std::size_t bytes = 0;
  std::size_t offset = 0;   ///< in the parameter block
  bool is_pointer = false;  ///< marked .ptr
};

/// What a kernel needs, known before any launch (K-8).
struct KernelInfo {
  std::string name;
  std::vector<KernelParameter> parameters;
  std::uint32_t parameter_bytes = 0, registers = 0, barriers = 0;
  std::uint64_t static_shared_bytes = 0, local_bytes_per_thread = 0, constant_bytes = 0;
  bool uses_dynamic_shared = false;
  Dim3 required_block{0, 0, 0}, largest_block{0, 0, 0};  ///< .reqntid, .maxntid; 0: not given
  Dim3 required_cluster{0, 0, 0};                        ///< .reqnctapercluster; 0: not given
  std::uint32_t largest_cluster = 0;                     ///< .maxclusterrank, in blocks; 0: not given
  bool needs_cluster = false;  ///< .explicitcluster: a launch must give a cluster size
  /// .blocksareclusters: launches count their grid in clusters, and blocks have the shape of required_block,
  /// whatever the launch says.
  bool blocks_are_clusters = false;
  bool lets_dependents_begin = false;    ///< griddepcontrol.launch_dependents
  bool calls_device_runtime = false;     ///< may launch grids itself
  std::uint32_t ptx_capability = 0;      ///< 75 for PTX of `.target sm_75`
  std::vector<std::string> unsupported;  ///< why it cannot run; empty: no reason known
};

/// A view of one kernel argument: any trivially copyable value, whose size must match the kernel's parameter.
class Argument {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  Argument(const T& value) : data_(&value), bytes_(sizeof(T)) {}
  Argument(const void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  const void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  const void* data_;
  std::size_t bytes_;
};

}  // namespace raddle
