// JIT: special registers, as values of a warp whose shape FunctionPlan::special_shape derives from the row.
// Source: PTX ISA "Special Registers".
#include "exec/cluster.h"
#include "jit/function.h"

namespace raddle::jit {

using exec::CtaContext;
using exec::LaunchContext;
using exec::WarpContext;
using isa::SpecialRegister;

namespace {

WarpValue uniform(llvm::Value* value, Type type = Type::u32) {
  WarpValue result;
  result.shape = Shape::uniform_value();
  result.type = type;
  result.bases = {value};
  return result;
}

WarpValue by_lane(FunctionCompiler& f, const std::function<llvm::Value*(llvm::Value* lane)>& make) {
  WarpValue result;
  result.shape = Shape::varying();
  result.type = Type::u32;
  for (unsigned p = 0; p < f.parts(); ++p) result.parts.push_back(make(f.lane_numbers(32, p)));
  return result;
}
llvm::Value* bit_of(FunctionCompiler& f, llvm::Value* lane) {
  return f.ir.CreateShl(f.splat(f.ir.getInt32(1)), lane);
}
/// Bits of the lanes below.
llvm::Value* below(FunctionCompiler& f, llvm::Value* lane) {
  return f.ir.CreateSub(bit_of(f, lane), f.splat(f.ir.getInt32(1)));
}
llvm::Value* up_to(FunctionCompiler& f, llvm::Value* lane) {
  return f.ir.CreateOr(below(f, lane), bit_of(f, lane));
}

llvm::Value* launch32(FunctionCompiler& f, std::size_t offset, const char* name) {
  return f.launch_field(offset, f.ir.getInt32Ty(), name);
}
llvm::Value* cta32(FunctionCompiler& f, std::size_t offset, const char* name) {
  return f.cta_field(offset, f.ir.getInt32Ty(), name);
}

/// Component .w of a vector reads zero.
template <class Make>
WarpValue axis(FunctionCompiler& f, unsigned component, Make make) {
  return uniform(component < 3 ? make(4 * component) : f.ir.getInt32(0));
}
llvm::Value* ctaid(FunctionCompiler& f, unsigned offset) {
  return cta32(f, offsetof(CtaContext, ctaid) + offset, "ctaid");
}
llvm::Value* nctaid(FunctionCompiler& f, unsigned offset) {
  return launch32(f, offsetof(LaunchContext, nctaid) + offset, "nctaid");
}
llvm::Value* cluster_extent(FunctionCompiler& f, unsigned offset) {
  if (!f.context.kernel.clustered) return f.ir.getInt32(1);  // every CTA is a cluster of its own
  return launch32(f, offsetof(LaunchContext, cluster_shape) + offset, "cluster");
}

/// Static and dynamic, in the units in which SMs give it.
llvm::Value* user_shared(FunctionCompiler& f) {
  auto* bytes = f.ir.CreateAdd(launch32(f, offsetof(LaunchContext, static_shared), "static_smem"),
                               launch32(f, offsetof(LaunchContext, dynamic_shared), "dynamic_smem"));
  auto* up = f.ir.CreateAdd(bytes, f.ir.getInt32(isa::kSharedUnit - 1));
  return f.ir.CreateAnd(up, f.ir.getInt32(~(isa::kSharedUnit - 1)));
}

enum class Half { low, high };
WarpValue half_of_time(FunctionCompiler& f, exec::Service service, Half half) {
  auto* now = f.call_service(service, {});
  if (half == Half::high) now = f.ir.CreateLShr(now, 32);
  return uniform(f.ir.CreateTrunc(now, f.ir.getInt32Ty()));
}

}  // namespace

// clang-format off: a row a line
/// A register that is one expression of `f` and `component`.
#define EMIT(id, ...) template <> WarpValue special_register<SpecialRegister::id>([[maybe_unused]] FunctionCompiler& f, [[maybe_unused]] unsigned component) { return __VA_ARGS__; }
EMIT(tid, f.thread_coordinate(component))
EMIT(ntid, axis(f, component, [&](unsigned at) { return launch32(f, offsetof(LaunchContext, ntid) + at, "ntid"); }))
EMIT(warpid, uniform(f.warp_field(offsetof(WarpContext, warp_id), f.ir.getInt32Ty(), "warpid")))
EMIT(nwarpid, uniform(cta32(f, offsetof(CtaContext, warp_count), "nwarpid")))
EMIT(ctaid, axis(f, component, [&](unsigned at) { return ctaid(f, at); }))
EMIT(nctaid, axis(f, component, [&](unsigned at) { return nctaid(f, at); }))
EMIT(smid, uniform(cta32(f, offsetof(CtaContext, smid), "smid")))
EMIT(nsmid, uniform(launch32(f, offsetof(LaunchContext, nsmid), "nsmid")))
EMIT(gridid, uniform(f.launch_field(offsetof(LaunchContext, grid_id), f.ir.getInt64Ty(), "gridid"), Type::u64))
EMIT(is_explicit_cluster, uniform(f.ir.CreateICmpNE(launch32(f, offsetof(LaunchContext, explicit_cluster), "explicit_cluster"), f.ir.getInt32(0)), Type::pred))
EMIT(clusterid, axis(f, component, [&](unsigned at) { return f.ir.CreateUDiv(ctaid(f, at), cluster_extent(f, at)); }))
EMIT(nclusterid, axis(f, component, [&](unsigned at) { return f.ir.CreateUDiv(nctaid(f, at), cluster_extent(f, at)); }))
EMIT(cluster_ctaid, axis(f, component, [&](unsigned at) { return f.ir.CreateURem(ctaid(f, at), cluster_extent(f, at)); }))
EMIT(cluster_nctaid, axis(f, component, [&](unsigned at) { return cluster_extent(f, at); }))
EMIT(cluster_ctarank, uniform(f.ir.CreateLShr(f.rank_base(), exec::kRankShift)))
EMIT(cluster_nctarank, uniform(f.ir.CreateMul(f.ir.CreateMul(cluster_extent(f, 0), cluster_extent(f, 4)), cluster_extent(f, 8))))
EMIT(lanemask_eq, by_lane(f, [&](llvm::Value* lane) { return bit_of(f, lane); }))
EMIT(lanemask_le, by_lane(f, [&](llvm::Value* lane) { return up_to(f, lane); }))
EMIT(lanemask_lt, by_lane(f, [&](llvm::Value* lane) { return below(f, lane); }))
EMIT(lanemask_ge, by_lane(f, [&](llvm::Value* lane) { return f.ir.CreateNot(below(f, lane)); }))
EMIT(lanemask_gt, by_lane(f, [&](llvm::Value* lane) { return f.ir.CreateNot(up_to(f, lane)); }))
EMIT(clock, half_of_time(f, exec::Service::clock, Half::low))
EMIT(clock_hi, half_of_time(f, exec::Service::clock, Half::high))
EMIT(clock64, uniform(f.call_service(exec::Service::clock, {}), Type::u64))
EMIT(globaltimer, uniform(f.call_service(exec::Service::globaltimer, {}), Type::u64))
EMIT(globaltimer_lo, half_of_time(f, exec::Service::globaltimer, Half::low))
EMIT(globaltimer_hi, half_of_time(f, exec::Service::globaltimer, Half::high))
EMIT(total_smem_size, uniform(user_shared(f)))
EMIT(aggr_smem_size, uniform(f.ir.CreateAdd(user_shared(f), f.ir.getInt32(exec::kReservedShared))))
EMIT(dynamic_smem_size, uniform(launch32(f, offsetof(LaunchContext, dynamic_shared), "dynamic_smem")))
EMIT(reserved_smem_offset_begin, uniform(f.rank_base()))
EMIT(reserved_smem_offset_end, uniform(f.ir.CreateAdd(f.rank_base(), f.ir.getInt32(exec::kReservedShared))))
EMIT(reserved_smem_offset_cap, uniform(f.ir.getInt32(exec::kReservedShared)))
EMIT(reserved_smem_offset_0, uniform(f.rank_base()))
EMIT(reserved_smem_offset_1, uniform(f.rank_base()))
EMIT(current_graph_exec, uniform(f.ir.getInt64(0), Type::u64))
// Performance counters: nothing counts.
EMIT(pm, uniform(f.ir.getInt32(0)))
EMIT(pm64, uniform(f.ir.getInt64(0), Type::u64))
#undef EMIT
// clang-format on

template <>
WarpValue special_register<SpecialRegister::laneid>(FunctionCompiler& f, unsigned) {
  WarpValue value = uniform(f.ir.getInt32(0));
  value.shape = Shape::strided(1);
  return value;
}

/// 1 and 2 hold the address of a cooperative grid's workspace, as cudart's grid synchronisation reads it.
template <>
WarpValue special_register<SpecialRegister::envreg>(FunctionCompiler& f, unsigned component) {
  if (component != 1 && component != 2) return uniform(f.ir.getInt32(0));
  auto* i32 = f.ir.getInt32Ty();
  auto* workspace = f.launch_field(offsetof(LaunchContext, grid_workspace), f.ir.getInt64Ty(), "workspace");
  return uniform(f.ir.CreateTrunc(component == 1 ? f.ir.CreateLShr(workspace, 32) : workspace, i32));
}

}  // namespace raddle::jit
