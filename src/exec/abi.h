// The per-CTA contract between engines (interp, jit) and the machine: plain C layout, read by generated code
// through offsetof. Frozen by docs/adr/0002-kernel-abi.md; extend at the end of a struct only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "raddle/fault_kind.h"

namespace raddle::exec {

inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kMaxBarriers = 16;
inline constexpr std::uint32_t kReservedShared = 1024;  ///< first bytes of a CTA's shared window, as on sm_90
inline constexpr std::uint64_t kSharedWindow = 1ull
                                               << 24;  ///< 16 MiB per CTA rank; 16 ranks per cluster slot

/// What differs between launches, not between the CTAs of one. Immutable while it runs.
struct LaunchContext {
  std::uint32_t ntid[3];
  std::uint32_t nctaid[3];
  std::uint32_t dynamic_shared;  ///< bytes
  std::uint32_t
      static_shared;  ///< bytes; static variables start at kReservedShared, dynamic ones after, 1,024-aligned
  std::uint32_t dynamic_shared_offset;  ///< window offset of `extern .shared`
  std::uint32_t nsmid;
  std::uint64_t grid_id;
  const std::byte* parameters;  ///< 128-byte aligned copy of the parameter block
  const std::uint64_t*
      variables;          ///< by VariableId: device address of module-scope .global and .const variables
  const void* functions;  ///< by index in the checked function table: engine's own entries
  std::uint32_t function_count;
  std::uint32_t cluster_shape[3] = {1, 1, 1};  ///< CTAs per cluster; 1,1,1 without clusters
  /// %envreg1:%envreg2, 0 if not cooperative: two words, the workspace's size and the barrier of the grid.
  std::uint64_t grid_workspace;
  std::uint32_t explicit_cluster;  ///< %is_explicit_cluster: the launch or the kernel asks for clusters
  std::uint32_t largest_shared;    ///< bytes of shared memory that no CTA of the machine can exceed
};

/// State of one named barrier (PTX bar.*), in threads. Logic in exec/barrier.h.
struct Barrier {
  std::uint32_t arrived;     ///< threads arrived in this phase
  std::uint32_t expected;    ///< 0: all live threads of the CTA
  std::uint32_t generation;  ///< phases completed
  std::uint32_t predicate_count,
      result_count;  ///< bar.red: threads whose predicate held; of the completed phase
  std::uint32_t result_arrived;
};

struct ClusterContext;
struct CtaContext;
struct WarpContext;
struct TextureLanes;
struct SurfaceLanes;
struct TextureQueryLanes;

using raddle::FaultKind;

/// Calls from kernel code into the machine. None may unwind; `fault` does not return.
/// `lane` is the lane concerned; `line` the PTX line; both feed the fault's message.
struct Services {
  /// Blocks until the barrier's phase completes. @param lanes lanes arriving; @param threads expected, 0 =
  /// all live threads
  void (*barrier_sync)(WarpContext*, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes);
  void (*barrier_arrive)(WarpContext*, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes);
  /// bar.red: as sync; returns threads of the phase whose predicate held. `*all` receives the threads that
  /// arrived.
  std::uint32_t (*barrier_reduce)(WarpContext*, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes,
                                  std::uint32_t predicate, std::uint32_t* all);
  /// Lets other warps and CTAs run: a loop that waits for memory calls it when it makes no progress.
  void (*yield)(WarpContext*);
  /// Called at a back-edge that found *poll != 0: preemption, time limit, cancellation. May not return.
  void (*poll)(WarpContext*);
  void (*fault)(WarpContext*, FaultKind, std::uint64_t address, std::uint32_t lane, std::uint32_t line)
      __attribute__((noreturn));
  /// Lanes have exited (ret, exit): barriers stop counting them (K-6). Updates live_lanes and live_threads;
  /// calling it again for the same lanes is harmless. The machine calls it for what is left when run_warp
  /// returns.
  void (*exit_lanes)(WarpContext*, std::uint32_t lanes);
  std::int32_t (*vprintf)(WarpContext*, std::uint32_t lane, std::uint64_t format, std::uint64_t arguments);
  void (*assert_fail)(WarpContext*, std::uint32_t lane, std::uint64_t message, std::uint64_t file,
                      std::uint32_t line, std::uint64_t function) __attribute__((noreturn));
  std::uint64_t (*malloc)(WarpContext*, std::uint64_t bytes);
  void (*free)(WarpContext*, std::uint64_t address);
  void (*nanosleep)(WarpContext*, std::uint32_t nanoseconds);
  std::uint64_t (*clock)(WarpContext*);        ///< cycles; polls when deterministic
  std::uint64_t (*globaltimer)(WarpContext*);  ///< ns
  /// Counts part of a warp at a barrier without waiting. @param predicates lanes whose predicate holds
  /// @returns the phase they are counted in: over once Barrier::generation differs from it
  std::uint32_t (*barrier_join)(WarpContext*, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes,
                                std::uint32_t predicates);
  /// Blocks a warp all of whose lanes have joined barriers, until a phase of one of these completes.
  /// @param barriers mask over barriers; none of the phases joined may be over
  void (*barrier_wait)(WarpContext*, std::uint32_t barriers);
  /// The texture unit: one instruction of a warp for `lanes`; see exec/texture.h. @param word  of the request
  void (*texture)(WarpContext*, std::uint32_t word, std::uint32_t lanes, TextureLanes*);
  void (*surface)(WarpContext*, std::uint32_t word, std::uint32_t lanes, SurfaceLanes*);
  void (*texture_query)(WarpContext*, std::uint32_t query, std::uint32_t lanes, TextureQueryLanes*);
  /// Calls a function of CUDA's device runtime for a lane. @param function  ptx::DeviceRuntimeFunction
  /// @param arguments  in order, a value for each; for a structure, a value for each of its 32-bit words
  std::uint64_t (*device_runtime)(WarpContext*, std::uint32_t lane, std::uint32_t function,
                                  const std::uint64_t* arguments);
  /// The cluster's barrier (exec/cluster.h). Counts lanes; fault: illegal_barrier for those that have arrived
  /// already and not waited since.
  void (*cluster_arrive)(WarpContext*, std::uint32_t lanes);
  /// Lanes of those given whose phase is not over; the others have waited. For warps of which only some lanes
  /// have come. Fault: illegal_barrier for lanes that have not arrived.
  std::uint32_t (*cluster_waiting)(WarpContext*, std::uint32_t lanes);
  /// Blocks until the phase in which all these lanes arrived is over. Fault: as above.
  void (*cluster_wait)(WarpContext*, std::uint32_t lanes);
};

/// Most values that a function of the device runtime takes.
inline constexpr unsigned kDeviceRuntimeArguments = 16;

/// Most CTAs of a cluster that share memory.
inline constexpr unsigned kMaxClusterSize = 16;

/// One cluster while it is resident; workers share it. Logic in exec/cluster.h.
struct ClusterContext {
  std::byte* window;  ///< host address of shared address 0; rank r's memory starts r * kSharedWindow above
  std::uint32_t cta_count;  ///< of the cluster
  std::uint32_t local_id;   ///< among the clusters of its GPC (W-16)
  std::uint32_t gpc;
  std::uint32_t shared_bytes;          ///< that each CTA has, from the start of its part of the window
  std::atomic<std::uint32_t> live;     ///< mask of the ranks that are resident and have not exited
  std::atomic<std::uint32_t> traffic;  ///< remote accesses in flight: the cluster's id waits for them (W-16)
  std::atomic<std::uint64_t> barrier;  ///< generation << 32 | CTAs arrived << 16 | CTAs that have not exited
  std::uint64_t cluster_memory;        ///< device address of its slot of cluster-wide memory, 0: none (W-24)
};

/// One CTA while it is started on a worker.
struct CtaContext {
  const LaunchContext* launch;
  const Services* services;
  const std::atomic<std::uint32_t>* poll;  ///< non-zero: call Services::poll at the next back-edge
  std::byte* shared;                       ///< host address of shared address 0 of this CTA (its window)
  std::byte* local;            ///< local memory of thread 0; thread t's lies at local + t * local_stride
  std::uint64_t local_stride;  ///< bytes per thread
  std::uint32_t ctaid[3];
  std::uint32_t smid;
  std::uint32_t thread_count, warp_count;
  std::uint32_t live_threads;  ///< not yet exited
  std::uint32_t cluster_rank;
  Barrier barriers[kMaxBarriers];
  void* machine;               ///< the machine's own state for this CTA
  std::uint32_t running_warp;  ///< block kinds loops and regions: 1 + warp whose code runs, for faults
  std::uint32_t running_lane;  ///< 1 + lane that touches memory right now; 0: unknown, or several
  std::uint32_t running_line;  ///< PTX line of the service that runs, 0: none does, the code tells
  /// Its cluster, never null: without clusters the CTA is a cluster of its own. `shared` above is the
  /// cluster's window, so that a shared address is rank << 24 | offset; `cluster_rank` is this CTA's.
  ClusterContext* cluster;
  std::uint32_t cluster_phase;    ///< phases of the cluster's barrier in which all its threads have arrived
  std::uint32_t cluster_arrived;  ///< live threads that have arrived in the phase after these
};

/// One warp. Warp w holds threads 32w .. 32w+31 in linear order (x fastest).
struct WarpContext {
  CtaContext* cta;
  std::uint32_t warp_id;
  std::uint32_t initial_lanes;                  ///< mask of lanes that exist: all ones but in the last warp
  std::uint32_t live_lanes;                     ///< not yet exited
  std::uint32_t seed;                           ///< deterministic mode: state of the warp's choices
  std::uint32_t wait_barrier, wait_generation;  ///< while blocked in barrier_sync
  std::uint32_t line;                           ///< last PTX line known, for faults; engines may leave it 0
  void* machine;
  std::uint32_t lane;                      ///< 1 + lane that touches memory right now, for faults; 0: unknown
  std::uint32_t dynamic_stack[kWarpSize];  ///< by lane: bytes in use at the end of local memory (PTX alloca);
                                           ///< the engine's own, cleared by it
  std::uint32_t outside_lanes;   ///< in a device function: lanes of the warp that wait outside the call;
                                 ///< the engine's own
  std::uint32_t cluster_joined;  ///< lanes that have arrived at the cluster's barrier and not waited yet
  std::uint32_t cluster_parity;  ///< of these: lanes that arrived in a phase of odd number
  std::uint64_t stack_limit;     ///< host address that the stack of calls must not pass; the engine's own
};

}  // namespace raddle::exec
