// Reference semantics of special registers. Source: PTX ISA "Special Registers".
#include "base/round_up.h"
#include "exec/abi.h"
#include "exec/cluster.h"
#include "interp/lane.h"
#include "interp/special_registers.h"

namespace raddle::interp {

using isa::SpecialRegister;

namespace {

const exec::CtaContext& cta_of(const Lane& lane) { return *lane.context().cta; }
const exec::LaunchContext& launch_of(const Lane& lane) { return *cta_of(lane).launch; }

/// .w of a vector reads zero.
std::uint32_t axis(const std::uint32_t (&values)[3], unsigned component) {
  return component < 3 ? values[component] : 0;
}
std::uint32_t bit_of(const Lane& lane) { return 1u << lane.index(); }
std::uint64_t clock_of(const Lane& lane) { return lane.services().clock(&lane.context()); }
std::uint64_t timer_of(const Lane& lane) { return lane.services().globaltimer(&lane.context()); }

/// Static and dynamic, in the units in which SMs give it.
std::uint32_t user_shared(const exec::LaunchContext& launch) {
  return static_cast<std::uint32_t>(round_up(launch.static_shared + launch.dynamic_shared, isa::kSharedUnit));
}
std::uint32_t window_of(const Lane& lane) { return cta_of(lane).cluster_rank << exec::kRankShift; }

}  // namespace

// clang-format off: a row a line
/// A register that is one expression of `lane` and `component`.
#define READ(id, ...) template <> std::uint64_t special_register<SpecialRegister::id>([[maybe_unused]] const Lane& lane, [[maybe_unused]] unsigned component) { return __VA_ARGS__; }
READ(ntid, axis(launch_of(lane).ntid, component))
READ(laneid, lane.index())
READ(warpid, lane.context().warp_id)
READ(nwarpid, cta_of(lane).warp_count)
READ(ctaid, axis(cta_of(lane).ctaid, component))
READ(nctaid, axis(launch_of(lane).nctaid, component))
READ(smid, cta_of(lane).smid)
READ(nsmid, launch_of(lane).nsmid)
READ(gridid, launch_of(lane).grid_id)
READ(is_explicit_cluster, launch_of(lane).explicit_cluster)
READ(clusterid, component < 3 ? cta_of(lane).ctaid[component] / launch_of(lane).cluster_shape[component] : 0)
READ(nclusterid, component < 3 ? launch_of(lane).nctaid[component] / launch_of(lane).cluster_shape[component] : 0)
READ(cluster_ctaid, component < 3 ? cta_of(lane).ctaid[component] % launch_of(lane).cluster_shape[component] : 0)
READ(cluster_nctaid, axis(launch_of(lane).cluster_shape, component))
READ(cluster_ctarank, cta_of(lane).cluster_rank)
READ(cluster_nctarank, launch_of(lane).cluster_shape[0] * launch_of(lane).cluster_shape[1] * launch_of(lane).cluster_shape[2])
READ(lanemask_eq, bit_of(lane))
READ(lanemask_le, bit_of(lane) | (bit_of(lane) - 1))
READ(lanemask_lt, bit_of(lane) - 1)
READ(lanemask_ge, ~(bit_of(lane) - 1))
READ(lanemask_gt, ~(bit_of(lane) | (bit_of(lane) - 1)))
READ(clock, static_cast<std::uint32_t>(clock_of(lane)))
READ(clock_hi, clock_of(lane) >> 32)
READ(clock64, clock_of(lane))
READ(globaltimer, timer_of(lane))
READ(globaltimer_lo, static_cast<std::uint32_t>(timer_of(lane)))
READ(globaltimer_hi, timer_of(lane) >> 32)
READ(total_smem_size, user_shared(launch_of(lane)))
READ(aggr_smem_size, exec::kReservedShared + user_shared(launch_of(lane)))
READ(dynamic_smem_size, launch_of(lane).dynamic_shared)
READ(reserved_smem_offset_begin, window_of(lane))
READ(reserved_smem_offset_end, window_of(lane) + exec::kReservedShared)
READ(reserved_smem_offset_cap, exec::kReservedShared)
READ(reserved_smem_offset_0, window_of(lane))
READ(reserved_smem_offset_1, window_of(lane))
READ(current_graph_exec, launch_of(lane).graph_exec)
// Performance counters: nothing counts.
READ(pm, 0)
READ(pm64, 0)
#undef READ
// clang-format on

template <>
std::uint64_t special_register<SpecialRegister::tid>(const Lane& lane, unsigned component) {
  const std::uint32_t thread = lane.linear_thread();
  const auto& ntid = launch_of(lane).ntid;
  const std::uint32_t coordinates[] = {thread % ntid[0], thread / ntid[0] % ntid[1],
                                       thread / ntid[0] / ntid[1]};
  return axis(coordinates, component);
}

/// 1 and 2 hold the address of a cooperative grid's workspace, as cudart's grid synchronisation reads it.
template <>
std::uint64_t special_register<SpecialRegister::envreg>(const Lane& lane, unsigned component) {
  const std::uint64_t workspace = launch_of(lane).grid_workspace;
  if (component == 1) return workspace >> 32;
  return component == 2 ? static_cast<std::uint32_t>(workspace) : 0;
}

}  // namespace raddle::interp
