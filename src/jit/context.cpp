// What kernel code reads from the CTA, warp and launch contexts (exec/abi.h), and its calls back into the
// machine.
#include <llvm/IR/MDBuilder.h>

#include "base/assert.h"
#include "exec/cluster.h"
#include "jit/function.h"

namespace raddle::jit {

using exec::CtaContext;
using exec::LaunchContext;
using exec::WarpContext;
using ptx::SpecialRegister;

namespace {
/// Fields that never change while the code runs may be hoisted out of loops over warps and CTAs.
llvm::Value* load_field(Builder& ir, llvm::Value* base, std::size_t offset, llvm::Type* type,
                        const char* name, bool constant) {
  auto* at = ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), base, offset);
  auto* load = ir.CreateLoad(type, at, name);
  if (constant)
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ir.getContext(), {}));
  return load;
}
}  // namespace

llvm::Value* FunctionCompiler::warp_field(std::size_t offset, llvm::Type* type, const char* name,
                                          bool constant) {
  if (!constant) return load_field(ir, warp_, offset, type, name, false);
  auto& cached = fields_[{offset, 0}];
  if (!cached) {
    Builder at(entry_->getTerminator());
    cached = load_field(at, warp_, offset, type, name,
                        false);  // the block function builds warps in place: not invariant
  }
  return cached;
}

llvm::Value* FunctionCompiler::cta_field(std::size_t offset, llvm::Type* type, const char* name,
                                         bool constant) {
  if (!constant) return load_field(ir, cta_, offset, type, name, false);
  auto& cached = fields_[{offset, 1}];
  if (!cached) {
    Builder at(entry_->getTerminator());
    cached = load_field(at, cta_, offset, type, name, true);
  }
  return cached;
}

llvm::Value* FunctionCompiler::launch_field(std::size_t offset, llvm::Type* type, const char* name) {
  auto* launch = cta_field(offsetof(CtaContext, launch), ir.getPtrTy(), "launch");
  auto& cached = fields_[{offset, 2}];
  if (!cached) {
    Builder at(entry_->getTerminator());
    cached = load_field(at, launch, offset, type, name, true);
  }
  return cached;
}

WarpValue FunctionCompiler::special(const ptx::Operand& o) {
  auto* i32 = ir.getInt32Ty();
  WarpValue value;
  value.type = Type::u32;
  value.shape = Shape::uniform_value();
  auto uniform = [&](llvm::Value* v, Type t = Type::u32) {
    value.type = t;
    value.bases = {v};
    return value;
  };
  auto launch32 = [&](std::size_t offset, const char* name) {
    return uniform(launch_field(offset, i32, name));
  };
  auto varying = [&](const std::function<llvm::Value*(unsigned)>& make) {
    value.shape = Shape::varying();
    for (unsigned p = 0; p < parts(); ++p) value.parts.push_back(make(p));
    return value;
  };
  auto ones_shifted = [&](unsigned p, bool include, bool upward) {
    auto* lane = lane_numbers(32, p);
    auto* bit = ir.CreateShl(splat(ir.getInt32(1)), lane);
    auto* below = ir.CreateSub(bit, splat(ir.getInt32(1)));
    auto* low = include ? ir.CreateOr(below, bit) : below;  // le or lt
    if (!upward) return low;
    return ir.CreateNot(include ? below : ir.CreateOr(below, bit));  // ge or gt
  };
  unsigned c = o.component;
  auto dimension = [&](std::size_t array, const char* name) { return launch32(array + 4 * c, name); };
  auto ctaid = [&] { return cta_field(offsetof(CtaContext, ctaid) + 4 * c, i32, "ctaid"); };
  auto cluster_extent = [&](unsigned axis) -> llvm::Value* {
    if (!context.clustered) return ir.getInt32(1);  // every CTA is a cluster of its own
    return launch_field(offsetof(LaunchContext, cluster_shape) + 4 * axis, i32, "cluster");
  };
  switch (static_cast<SpecialRegister>(o.index)) {
    case SpecialRegister::tid:
      return thread_coordinate(c);
    case SpecialRegister::ntid:
      return c == 3 ? uniform(ir.getInt32(0)) : dimension(offsetof(LaunchContext, ntid), "ntid");
    case SpecialRegister::nctaid:
      return c == 3 ? uniform(ir.getInt32(0)) : dimension(offsetof(LaunchContext, nctaid), "nctaid");
    case SpecialRegister::ctaid:
      return uniform(c == 3 ? ir.getInt32(0) : ctaid());
    case SpecialRegister::laneid:
      value.shape = Shape::strided(1);
      value.bases = {ir.getInt32(0)};
      return value;
    case SpecialRegister::warpid:
      return uniform(warp_field(offsetof(WarpContext, warp_id), i32, "warpid"));
    case SpecialRegister::nwarpid:
      return uniform(cta_field(offsetof(CtaContext, warp_count), i32, "nwarpid"));
    case SpecialRegister::smid:
      return uniform(cta_field(offsetof(CtaContext, smid), i32, "smid"));
    case SpecialRegister::nsmid:
      return launch32(offsetof(LaunchContext, nsmid), "nsmid");
    case SpecialRegister::gridid:
      return uniform(launch_field(offsetof(LaunchContext, grid_id), ir.getInt64Ty(), "gridid"), Type::u64);
    case SpecialRegister::is_explicit_cluster:
      return uniform(
          ir.CreateICmpNE(launch_field(offsetof(LaunchContext, explicit_cluster), i32, "explicit_cluster"),
                          ir.getInt32(0)),
          Type::pred);
    case SpecialRegister::clusterid:
      return uniform(c == 3 ? ir.getInt32(0) : ir.CreateUDiv(ctaid(), cluster_extent(c)));
    case SpecialRegister::nclusterid:
      return uniform(c == 3
                         ? ir.getInt32(0)
                         : ir.CreateUDiv(launch_field(offsetof(LaunchContext, nctaid) + 4 * c, i32, "nctaid"),
                                         cluster_extent(c)));
    case SpecialRegister::cluster_ctaid:
      return uniform(c == 3 ? ir.getInt32(0) : ir.CreateURem(ctaid(), cluster_extent(c)));
    case SpecialRegister::cluster_nctaid:
      return uniform(c == 3 ? ir.getInt32(0) : cluster_extent(c));
    case SpecialRegister::cluster_ctarank:
      return uniform(ir.CreateLShr(rank_base(), exec::kRankShift));
    case SpecialRegister::cluster_nctarank:
      return uniform(ir.CreateMul(ir.CreateMul(cluster_extent(0), cluster_extent(1)), cluster_extent(2)));
    case SpecialRegister::lanemask_eq:
      return varying([&](unsigned p) { return ir.CreateShl(splat(ir.getInt32(1)), lane_numbers(32, p)); });
    case SpecialRegister::lanemask_le:
      return varying([&](unsigned p) { return ones_shifted(p, true, false); });
    case SpecialRegister::lanemask_lt:
      return varying([&](unsigned p) { return ones_shifted(p, false, false); });
    case SpecialRegister::lanemask_ge:
      return varying([&](unsigned p) { return ones_shifted(p, true, true); });
    case SpecialRegister::lanemask_gt:
      return varying([&](unsigned p) { return ones_shifted(p, false, true); });
    case SpecialRegister::clock64:
    case SpecialRegister::clock:
    case SpecialRegister::clock_hi:
    case SpecialRegister::globaltimer:
    case SpecialRegister::globaltimer_lo:
    case SpecialRegister::globaltimer_hi:
      return uniform_time(static_cast<SpecialRegister>(o.index));
    case SpecialRegister::dynamic_smem_size:
      return launch32(offsetof(LaunchContext, dynamic_shared), "dynamic_smem");
    case SpecialRegister::total_smem_size:
    case SpecialRegister::aggr_smem_size: {
      auto* s = launch_field(offsetof(LaunchContext, static_shared), i32, "static_smem");
      auto* d = launch_field(offsetof(LaunchContext, dynamic_shared), i32, "dynamic_smem");
      return uniform(ir.CreateAdd(s, d));
    }
    case SpecialRegister::reserved_smem_offset_begin:
    case SpecialRegister::reserved_smem_offset_0:
    case SpecialRegister::reserved_smem_offset_1:
      return uniform(rank_base());
    case SpecialRegister::reserved_smem_offset_end:
      return uniform(ir.CreateAdd(rank_base(), ir.getInt32(exec::kReservedShared)));
    case SpecialRegister::reserved_smem_offset_cap:
      return uniform(ir.getInt32(exec::kReservedShared));
    case SpecialRegister::envreg: {
      auto* workspace = launch_field(offsetof(LaunchContext, grid_workspace), ir.getInt64Ty(), "workspace");
      if (c == 1) return uniform(ir.CreateTrunc(ir.CreateLShr(workspace, 32), i32));
      if (c == 2) return uniform(ir.CreateTrunc(workspace, i32));
      return uniform(ir.getInt32(0));
    }
    case SpecialRegister::pm64:
    case SpecialRegister::current_graph_exec:
      return uniform(ir.getInt64(0), Type::u64);
    default:
      return uniform(ir.getInt32(0));  // %pm counters read zero
  }
}

WarpValue FunctionCompiler::uniform_time(SpecialRegister which) {
  bool timer = which == SpecialRegister::globaltimer || which == SpecialRegister::globaltimer_lo ||
               which == SpecialRegister::globaltimer_hi;
  llvm::Value* now =
      call_service(timer ? offsetof(exec::Services, globaltimer) : offsetof(exec::Services, clock),
                   ir.getInt64Ty(), {warp_});
  WarpValue value;
  value.shape = Shape::uniform_value();
  value.type = Type::u64;
  if (which == SpecialRegister::clock_hi || which == SpecialRegister::globaltimer_hi)
    now = ir.CreateLShr(now, 32);
  if (which != SpecialRegister::clock64 && which != SpecialRegister::globaltimer) {
    now = ir.CreateTrunc(now, ir.getInt32Ty());
    value.type = Type::u32;
  }
  value.bases = {now};
  return value;
}

WarpValue FunctionCompiler::thread_coordinate(unsigned c) {
  auto* i32 = ir.getInt32Ty();
  WarpValue value;
  value.type = Type::u32;
  value.shape = Shape::uniform_value();
  if (c == 3) {
    value.bases = {ir.getInt32(0)};
    return value;
  }
  // Computed once, in the entry block: divisions.
  Builder::InsertPointGuard back(ir);
  ir.SetInsertPoint(entry_->getTerminator());
  auto* first = ir.CreateShl(warp_field(offsetof(WarpContext, warp_id), i32, "warpid"), 5);
  auto* nx = launch_field(offsetof(LaunchContext, ntid), i32, "ntid.x");
  auto* ny = launch_field(offsetof(LaunchContext, ntid) + 4, i32, "ntid.y");
  ir.SetInsertPoint(entry_->getTerminator());
  auto coordinate = [&](llvm::Value* thread) -> llvm::Value* {
    if (c == 0) return ir.CreateURem(thread, nx);
    auto* row = ir.CreateUDiv(thread, nx);
    return c == 1 ? ir.CreateURem(row, ny) : ir.CreateUDiv(row, ny);
  };
  switch (context.layout.layout) {
    case LaneLayout::one_dimension:
      if (c == 0) value.shape = Shape::strided(1);
      value.bases = {c == 0 ? first : ir.getInt32(0)};
      break;
    case LaneLayout::whole_warps:
      if (c == 0) value.shape = Shape::strided(1);
      value.bases = {coordinate(first)};
      break;
    case LaneLayout::whole_parts:
      value.shape = Shape::strided(c == 0 ? 1 : 0, true);
      for (unsigned p = 0; p < parts(); ++p)
        value.bases.push_back(coordinate(ir.CreateAdd(first, ir.getInt32(p * lanes()))));
      break;
    case LaneLayout::general:
      value.shape = Shape::varying();
      for (unsigned p = 0; p < parts(); ++p) {
        // Thread and dimensions are at most 1,024: (t + 0.5) / n in single precision has the exact integer
        // part.
        auto* type = llvm::FixedVectorType::get(ir.getFloatTy(), lanes());
        auto divide = [&](llvm::Value* a, llvm::Value* n) {
          auto* quotient =
              ir.CreateFDiv(ir.CreateFAdd(ir.CreateUIToFP(a, type), llvm::ConstantFP::get(type, 0.5)),
                            splat(ir.CreateUIToFP(n, ir.getFloatTy())));
          return ir.CreateFPToUI(quotient, a->getType());
        };
        auto* thread = ir.CreateAdd(splat(first), lane_numbers(32, p));
        auto* row = divide(thread, nx);
        auto* plane = divide(row, ny);
        value.parts.push_back(c == 0   ? ir.CreateSub(thread, ir.CreateMul(row, splat(nx)))
                              : c == 1 ? ir.CreateSub(row, ir.CreateMul(plane, splat(ny)))
                                       : plane);
      }
      break;
  }
  return value;
}

llvm::Value* FunctionCompiler::aligned(llvm::Value* bytes) {
  return ir.CreateAnd(bytes, ir.getInt64(~std::uint64_t{15}));
}

llvm::Value* FunctionCompiler::shared_base() {
  return aligned(cta_field(offsetof(CtaContext, shared), ir.getInt64Ty(), "shared"));
}

llvm::Value* FunctionCompiler::dynamic_stack(unsigned p) {
  return ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), warp_,
                                       offsetof(WarpContext, dynamic_stack) + std::uint64_t{p} * lanes() * 4);
}

llvm::Value* FunctionCompiler::frame_end() {
  constexpr std::uint32_t kAlign = 16;
  std::uint32_t bytes = (f.local_bytes + kAlign - 1) / kAlign * kAlign;
  // Never empty where the depth is unknown: a place to return to, as on a GPU.
  if (context.open_depth && !f.is_entry) bytes = std::max(bytes, kAlign);
  return ir.CreateAdd(local_frame_, ir.getInt32(bytes));
}

std::vector<llvm::Value*> FunctionCompiler::local_base() {
  if (!local_base_.empty()) return local_base_;
  Builder::InsertPointGuard back(ir);
  auto* i64 = ir.getInt64Ty();
  llvm::Value* base = cta_field(offsetof(CtaContext, local), i64, "local");
  llvm::Value* stride = cta_field(offsetof(CtaContext, local_stride), i64, "local_stride");
  auto* warp_id = warp_field(offsetof(WarpContext, warp_id), ir.getInt32Ty(), "warpid");
  ir.SetInsertPoint(entry_->getTerminator());
  base = aligned(base);
  stride = aligned(stride);
  auto* first = ir.CreateShl(ir.CreateZExt(warp_id, i64), 5);
  for (unsigned p = 0; p < parts(); ++p) {
    auto* thread = ir.CreateAdd(splat(first), lane_numbers(64, p));
    local_base_.push_back(ir.CreateAdd(splat(base), ir.CreateMul(thread, splat(stride))));
  }
  return local_base_;
}

llvm::Value* FunctionCompiler::variable_address(ptx::VariableId id) {
  const ptx::Variable& v = context.module.variables[id];
  auto* i64 = ir.getInt64Ty();
  switch (v.space) {
    case ptx::Space::shared: {
      bool dynamic = v.size == 0;
      llvm::Value* offset =
          dynamic ? launch_field(offsetof(LaunchContext, dynamic_shared_offset), ir.getInt32Ty(), "dynamic")
                  : static_cast<llvm::Value*>(ir.getInt32(context.shared.offset[id]));
      return ir.CreateZExt(ir.CreateAdd(rank_base(), offset), i64);
    }
    case ptx::Space::local:
      return ir.CreateAdd(ir.CreateZExt(local_frame_, i64), ir.getInt64(v.offset));
    case ptx::Space::param:
      return ir.getInt64(v.offset);
    default: {
      auto* table = launch_field(offsetof(LaunchContext, variables), ir.getPtrTy(), "variables");
      Builder at(entry_->getTerminator());
      auto* address = at.CreateLoad(i64, at.CreateConstInBoundsGEP1_64(i64, table, id), v.name);
      address->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ir.getContext(), {}));
      return address;
    }
  }
}

llvm::Value* FunctionCompiler::constant_window() {
  const ptx::VariableId id = context.module.first_constant();
  if (id == ptx::kNone) return nullptr;
  return ir.CreateAnd(variable_address(id), ~std::uint64_t{0xffffffff});
}

llvm::Value* FunctionCompiler::call_service(std::size_t offset, llvm::Type* result,
                                            std::vector<llvm::Value*> arguments) {
  auto* services = load_field(ir, cta_, offsetof(CtaContext, services), ir.getPtrTy(), "services", true);
  auto* target = load_field(ir, services, offset, ir.getPtrTy(), "service", true);
  std::vector<llvm::Type*> types;
  for (auto* a : arguments) types.push_back(a->getType());
  note_line();
  return ir.CreateCall(llvm::FunctionType::get(result, types, false), target, arguments);
}

void FunctionCompiler::note_line() {
  if (!instruction) return;
  auto* at = ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), warp_, offsetof(WarpContext, line));
  ir.CreateStore(ir.getInt32(instruction->line), at);
}

void FunctionCompiler::mark_lane(llvm::Value* lane) {
  auto* at = ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), cta_, offsetof(CtaContext, running_lane));
  auto* number = lane ? ir.CreateAdd(lane, ir.getInt32(1)) : ir.getInt32(0);
  ir.CreateStore(number, at, true);  // volatile: it belongs before the access
}

void FunctionCompiler::fault(exec::FaultKind kind, llvm::Value* address, llvm::Value* lane) {
  call_service(offsetof(exec::Services, fault), ir.getVoidTy(),
               {warp_, ir.getInt32(static_cast<std::uint32_t>(kind)), address, lane,
                ir.getInt32(instruction ? instruction->line : 0)});
}

void FunctionCompiler::fault_lanes(exec::FaultKind kind, const Mask& lanes) {
  auto* bits = mask_bits(lanes);
  if_then(ir.CreateICmpNE(bits, ir.getInt32(0)), [&] {
    auto* first = ir.CreateIntrinsic(llvm::Intrinsic::cttz, {ir.getInt32Ty()}, {bits, ir.getFalse()});
    fault(kind, ir.getInt64(0), first);
  });
}

}  // namespace raddle::jit
