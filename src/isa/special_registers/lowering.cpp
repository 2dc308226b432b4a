// JIT: special registers, as values of a warp whose shape FunctionPlan::special_shape derives from the row.
// Source: PTX ISA "Special Registers".
#include "exec/cluster.h"
#include "jit/special_registers.h"

namespace raddle::jit {

using exec::CtaContext;
using exec::LaunchContext;
using exec::WarpContext;
using isa::SpecialRegister;

namespace {

WarpValue uniform(llvm::Value* value, Type type = Type::u32) { return WarpValue::uniform(type, value); }

WarpValue by_lane(SpecialRegisters& s, const std::function<llvm::Value*(llvm::Value* lane)>& make) {
  WarpValue result;
  result.shape = Shape::varying();
  result.type = Type::u32;
  for (unsigned p = 0; p < s.code.parts(); ++p) result.parts.push_back(make(s.code.lane_numbers(32, p)));
  return result;
}
llvm::Value* bit_of(SpecialRegisters& s, llvm::Value* lane) {
  return s.ir.CreateShl(s.code.splat(s.ir.getInt32(1)), lane);
}
/// Bits of the lanes below.
llvm::Value* below(SpecialRegisters& s, llvm::Value* lane) {
  return s.ir.CreateSub(bit_of(s, lane), s.code.splat(s.ir.getInt32(1)));
}
llvm::Value* up_to(SpecialRegisters& s, llvm::Value* lane) {
  return s.ir.CreateOr(below(s, lane), bit_of(s, lane));
}

llvm::Value* launch32(SpecialRegisters& s, std::size_t offset, const char* name) {
  return s.context.launch_field(offset, s.ir.getInt32Ty(), name);
}
llvm::Value* cta32(SpecialRegisters& s, std::size_t offset, const char* name) {
  return s.context.cta_field(offset, s.ir.getInt32Ty(), name);
}

/// Component .w of a vector reads zero.
template <class Make>
WarpValue axis(SpecialRegisters& s, unsigned component, Make make) {
  return uniform(component < 3 ? make(4 * component) : s.ir.getInt32(0));
}
/// x is the warp's where the code goes on from CTA to CTA.
llvm::Value* ctaid(SpecialRegisters& s, unsigned offset) {
  if (offset == 0 && s.kernel.kind() == exec::BlockKind::loops)
    return s.context.warp_field(offsetof(WarpContext, ctaid_x), s.ir.getInt32Ty(), "ctaid.x");
  return cta32(s, offsetof(CtaContext, ctaid) + offset, "ctaid");
}
llvm::Value* nctaid(SpecialRegisters& s, unsigned offset) {
  return launch32(s, offsetof(LaunchContext, nctaid) + offset, "nctaid");
}
llvm::Value* cluster_extent(SpecialRegisters& s, unsigned offset) {
  if (!s.kernel.clustered) return s.ir.getInt32(1);  // every CTA is a cluster of its own
  return launch32(s, offsetof(LaunchContext, cluster_shape) + offset, "cluster");
}

/// Static and dynamic, in the units in which SMs give it.
llvm::Value* user_shared(SpecialRegisters& s) {
  auto* bytes = s.ir.CreateAdd(launch32(s, offsetof(LaunchContext, static_shared), "static_smem"),
                               launch32(s, offsetof(LaunchContext, dynamic_shared), "dynamic_smem"));
  auto* up = s.ir.CreateAdd(bytes, s.ir.getInt32(isa::kSharedUnit - 1));
  return s.ir.CreateAnd(up, s.ir.getInt32(~(isa::kSharedUnit - 1)));
}

enum class Half { low, high };
WarpValue half_of_time(SpecialRegisters& s, exec::Service service, Half half) {
  auto* now = s.context.call_service(service, {});
  if (half == Half::high) now = s.ir.CreateLShr(now, 32);
  return uniform(s.ir.CreateTrunc(now, s.ir.getInt32Ty()));
}

}  // namespace

// clang-format off: a row a line
/// A register that is one expression of `s` and `component`.
#define EMIT(id, ...) template <> WarpValue special_register<SpecialRegister::id>([[maybe_unused]] SpecialRegisters& s, [[maybe_unused]] unsigned component) { return __VA_ARGS__; }
EMIT(tid, s.thread_coordinate(component))
EMIT(ntid, axis(s, component, [&](unsigned at) { return launch32(s, offsetof(LaunchContext, ntid) + at, "ntid"); }))
EMIT(warpid, uniform(s.context.warp_field(offsetof(WarpContext, warp_id), s.ir.getInt32Ty(), "warpid")))
EMIT(nwarpid, uniform(cta32(s, offsetof(CtaContext, warp_count), "nwarpid")))
EMIT(ctaid, axis(s, component, [&](unsigned at) { return ctaid(s, at); }))
EMIT(nctaid, axis(s, component, [&](unsigned at) { return nctaid(s, at); }))
EMIT(smid, uniform(s.context.cta_field(offsetof(CtaContext, smid), s.ir.getInt32Ty(), "smid", s.kernel.kind() != exec::BlockKind::loops)))
EMIT(nsmid, uniform(launch32(s, offsetof(LaunchContext, nsmid), "nsmid")))
EMIT(gridid, uniform(s.context.launch_field(offsetof(LaunchContext, grid_id), s.ir.getInt64Ty(), "gridid"), Type::u64))
EMIT(is_explicit_cluster, uniform(s.ir.CreateICmpNE(launch32(s, offsetof(LaunchContext, explicit_cluster), "explicit_cluster"), s.ir.getInt32(0)), Type::pred))
EMIT(clusterid, axis(s, component, [&](unsigned at) { return s.ir.CreateUDiv(ctaid(s, at), cluster_extent(s, at)); }))
EMIT(nclusterid, axis(s, component, [&](unsigned at) { return s.ir.CreateUDiv(nctaid(s, at), cluster_extent(s, at)); }))
EMIT(cluster_ctaid, axis(s, component, [&](unsigned at) { return s.ir.CreateURem(ctaid(s, at), cluster_extent(s, at)); }))
EMIT(cluster_nctaid, axis(s, component, [&](unsigned at) { return cluster_extent(s, at); }))
EMIT(cluster_ctarank, uniform(s.ir.CreateLShr(s.spaces.rank_base(), exec::kRankShift)))
EMIT(cluster_nctarank, uniform(s.ir.CreateMul(s.ir.CreateMul(cluster_extent(s, 0), cluster_extent(s, 4)), cluster_extent(s, 8))))
EMIT(lanemask_eq, by_lane(s, [&](llvm::Value* lane) { return bit_of(s, lane); }))
EMIT(lanemask_le, by_lane(s, [&](llvm::Value* lane) { return up_to(s, lane); }))
EMIT(lanemask_lt, by_lane(s, [&](llvm::Value* lane) { return below(s, lane); }))
EMIT(lanemask_ge, by_lane(s, [&](llvm::Value* lane) { return s.ir.CreateNot(below(s, lane)); }))
EMIT(lanemask_gt, by_lane(s, [&](llvm::Value* lane) { return s.ir.CreateNot(up_to(s, lane)); }))
EMIT(clock, half_of_time(s, exec::Service::clock, Half::low))
EMIT(clock_hi, half_of_time(s, exec::Service::clock, Half::high))
EMIT(clock64, uniform(s.context.call_service(exec::Service::clock, {}), Type::u64))
EMIT(globaltimer, uniform(s.context.call_service(exec::Service::globaltimer, {}), Type::u64))
EMIT(globaltimer_lo, half_of_time(s, exec::Service::globaltimer, Half::low))
EMIT(globaltimer_hi, half_of_time(s, exec::Service::globaltimer, Half::high))
EMIT(total_smem_size, uniform(user_shared(s)))
EMIT(aggr_smem_size, uniform(s.ir.CreateAdd(user_shared(s), s.ir.getInt32(exec::kReservedShared))))
EMIT(dynamic_smem_size, uniform(launch32(s, offsetof(LaunchContext, dynamic_shared), "dynamic_smem")))
EMIT(reserved_smem_offset_begin, uniform(s.spaces.rank_base()))
EMIT(reserved_smem_offset_end, uniform(s.ir.CreateAdd(s.spaces.rank_base(), s.ir.getInt32(exec::kReservedShared))))
EMIT(reserved_smem_offset_cap, uniform(s.ir.getInt32(exec::kReservedShared)))
EMIT(reserved_smem_offset_0, uniform(s.spaces.rank_base()))
EMIT(reserved_smem_offset_1, uniform(s.spaces.rank_base()))
EMIT(current_graph_exec, uniform(s.context.launch_field(offsetof(LaunchContext, graph_exec), s.ir.getInt64Ty(), "graph_exec"), Type::u64))
// Performance counters: nothing counts.
EMIT(pm, uniform(s.ir.getInt32(0)))
EMIT(pm64, uniform(s.ir.getInt64(0), Type::u64))
#undef EMIT
// clang-format on

template <>
WarpValue special_register<SpecialRegister::laneid>(SpecialRegisters& s, unsigned) {
  WarpValue value = uniform(s.ir.getInt32(0));
  value.shape = Shape::strided(1);
  return value;
}

/// 1 and 2 hold the address of a cooperative grid's workspace, as cudart's grid synchronisation reads it.
template <>
WarpValue special_register<SpecialRegister::envreg>(SpecialRegisters& s, unsigned component) {
  if (component != 1 && component != 2) return uniform(s.ir.getInt32(0));
  auto* i32 = s.ir.getInt32Ty();
  auto* workspace =
      s.context.launch_field(offsetof(LaunchContext, grid_workspace), s.ir.getInt64Ty(), "workspace");
  return uniform(s.ir.CreateTrunc(component == 1 ? s.ir.CreateLShr(workspace, 32) : workspace, i32));
}

}  // namespace raddle::jit
