// The per-CTA contract between engines (interp, jit) and the machine: plain C layout, read by generated code
// through offsetof. See docs/adr/0002-kernel-abi.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "raddle/fault_kind.h"

namespace raddle::exec {

inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kMaxWarps = 32;  ///< of a CTA
inline constexpr unsigned kMaxBarriers = 16;
/// Behind those that kernels name: one for each warpgroup, whose warps meet where they wait for their wgmmas.
inline constexpr unsigned kWarpgroupBarriers = 8;
inline constexpr unsigned kBarriers = kMaxBarriers + kWarpgroupBarriers;
/// Warps of a warpgroup; the number of its first one is a multiple.
inline constexpr unsigned kWarpgroupWarps = 4;
inline constexpr std::uint32_t kReservedShared = 1024;  ///< first bytes of a CTA's shared window, as on sm_90
inline constexpr std::uint32_t kSharedUnit =
    128;  ///< bytes in which an SM gives shared memory to CTAs (an H200)
inline constexpr std::uint64_t kSharedWindow = 1ull
                                               << 24;  ///< 16 MiB per CTA rank; 16 ranks per cluster slot

/// Addresses [start, start + bytes); without values all there are.
struct AddressRange {
  std::uint64_t start = 0, bytes = ~std::uint64_t{0};
  /// Whether `size` bytes at an address lie in it.
  bool holds(std::uint64_t address, std::uint64_t size) const {
    return size <= bytes && address - start <= bytes - size;
  }
  bool is_everything() const { return bytes == ~std::uint64_t{0}; }
};

/// The values that differ between launches, not between the CTAs of one. Immutable while the launch runs.
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
      variables;  ///< by VariableId: device address of module-scope .global and .const variables
  std::uint32_t cluster_shape[3] = {1, 1, 1};  ///< CTAs per cluster; 1,1,1 without clusters
  /// %envreg1:%envreg2, 0 if not cooperative: two words, the workspace's size and the barrier of the grid.
  std::uint64_t grid_workspace;
  std::uint32_t explicit_cluster;  ///< %is_explicit_cluster: the launch or the kernel asks for clusters
  std::uint32_t largest_shared;    ///< bytes of shared memory that no CTA of the machine can exceed
  AddressRange window;  ///< of its address space: where its kernels may go besides their block's own memory
  std::uint32_t
      asid;  ///< of a modelled space, whose window is empty: Services::translate says where addresses
             ///< lead. 0: addresses are the host's
  std::uint64_t graph_exec;  ///< %current_graph_exec: the graph that it is of, as kernels name it; 0: of none
  /// If each thread stores so many bytes, these are more than the host's caches hold: stores of whole warps
  /// go past them (base/past_caches.h). 0: never.
  std::uint32_t past_caches;
  bool outgrows_caches(std::uint32_t bytes_of_thread) const { return past_caches - 1 < bytes_of_thread; }
  /// Of ntid's x and y, 2^32 / n rounded up: times the number of a thread, or of a row of threads, it has
  /// their quotient above bit 32. Exact for products below 2^32, as all of a CTA's are.
  std::uint64_t ntid_inverse[2];
  /// The extents of a CTA, none of them 0.
  void set_ntid(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    ntid[0] = x, ntid[1] = y, ntid[2] = z;
    for (unsigned axis = 0; axis < 2; ++axis)
      ntid_inverse[axis] = ((1ull << 32) + ntid[axis] - 1) / ntid[axis];
  }
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

class ClusterNetwork;
struct ClusterContext;
struct CtaContext;
struct WarpContext;
struct TextureLanes;
struct SurfaceLanes;
struct TextureQueryLanes;
struct BulkRequest;
struct IssuedWgmma;

using raddle::FaultKind;

/// Calls from kernel code into the machine (services.def).
struct Services {
#define SERVICE(result, name, ...) result (*name)(WarpContext * __VA_OPT__(, ) __VA_ARGS__);
#define SERVICE_NO_RETURN(name, ...) void (*name)(WarpContext*, __VA_ARGS__) __attribute__((noreturn));
#define SERVICE_SELDOM(result, name, ...) \
  result (*name)(WarpContext * __VA_OPT__(, ) __VA_ARGS__) __attribute__((preserve_most));
#include "exec/services.def"
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
  std::uint32_t shared_bytes;  ///< that each CTA has, from the start of its part of the window
  /// Mask of the ranks whose memory may be accessed. It follows the tables: compiled code does not walk them.
  std::atomic<std::uint32_t> live;
  /// By rank: its remote accesses in flight. Its flush waits for them (W-20).
  std::atomic<std::uint32_t> traffic[kMaxClusterSize];
  std::atomic<std::uint64_t>*
      barrier;                   ///< generation << 32 | CTAs arrived << 16 | members that have not left
  std::uint64_t cluster_memory;  ///< device address of its slot of cluster-wide memory, 0: none (W-24)
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
  /// CTAs behind this one that run_block goes on with by itself, each one further along x and `smid_step` SMs
  /// further, as long as *poll is 0. It counts them down, and 0 stops it. Only where the code goes on at all
  /// (Executable::goes_on); where it begins ahead, a hint.
  std::uint32_t following, smid_step;
  std::uint32_t thread_count, warp_count;
  std::uint32_t live_threads;  ///< not yet exited
  std::uint32_t cluster_rank;
  Barrier barriers[kBarriers];
  void* machine;  ///< the machine's own state for this CTA
  /// 1 + warp whose code runs, for faults: of block kinds loops and regions, and while a copy lands.
  std::uint32_t running_warp;
  std::uint32_t running_lane;  ///< 1 + lane that touches memory right now; 0: unknown, or several
  std::uint32_t running_line;  ///< PTX line of the service that runs, 0: none does, the code tells
  /// Its cluster, never null: without clusters the CTA is a cluster of its own. `shared` above is the
  /// cluster's window, so that a shared address is rank << 24 | offset; `cluster_rank` is this CTA's.
  ClusterContext* cluster;
  std::uint32_t cluster_phase;    ///< phases of the cluster's barrier in which all its threads have arrived
  std::uint32_t cluster_arrived;  ///< live threads that have arrived in the phase after these
  /// In a cluster of several CTAs: where remote accesses pass, and each warp's slot on its SM (routing.h).
  const ClusterNetwork* network;
  const std::uint16_t* warp_slots;
};

/// One warp. Warp w holds threads 32w .. 32w+31 in linear order (x fastest).
struct WarpContext {
  CtaContext* cta;
  std::uint32_t warp_id;
  std::uint32_t ctaid_x;        ///< block kind loops: CtaContext::ctaid[0], where it changes (goes_on)
  std::uint32_t initial_lanes;  ///< mask of lanes that exist: all ones but in the last warp
  std::uint32_t live_lanes;     ///< not yet exited
  std::uint32_t seed;           ///< deterministic mode: state of the warp's choices
  /// Block kinds loops and regions run a CTA's warps one after the other on one fiber. When the machine
  /// suspends a warp (in Services::poll or yield), another fiber of the CTA takes over those behind it: it
  /// calls Executable::run_warp with the context of the suspended warp, runs the warps that run_block has not
  /// begun, and returns when all have begun. The flag is then not 0. A loop over warps clears it before each
  /// warp and, if it counts its warps itself, ends after a warp that has it set.
  std::uint32_t handed_over;
  std::uint32_t line;  ///< last PTX line known, for faults; engines may leave it 0
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
