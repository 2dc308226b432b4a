#include "jit/state_spaces.h"

#include <algorithm>

#include "exec/cluster.h"

namespace raddle::jit {

using exec::ClusterContext;
using exec::CtaContext;
using exec::LaunchContext;
using exec::WarpContext;

StateSpaces::StateSpaces(FunctionBuilder& code, const KernelPlan& kernel, const ptx::Function& function,
                         Context& context)
    : code_(code),
      ir_(code.ir),
      kernel_(kernel),
      f_(function),
      context_(context),
      local_frame_(f_.is_entry ? ir_.getInt32(0) : code.argument(4)) {}

llvm::Value* StateSpaces::aligned(llvm::Value* bytes) {
  return ir_.CreateAnd(bytes, ir_.getInt64(~std::uint64_t{15}));
}

llvm::Value* StateSpaces::shared_base() {
  return aligned(context_.cta_field(offsetof(CtaContext, shared), ir_.getInt64Ty(), "shared"));
}

llvm::Value* StateSpaces::parameter_base() {
  return context_.launch_field(offsetof(LaunchContext, parameters), ir_.getInt64Ty(), "parameters");
}

llvm::Value* StateSpaces::window_start() {
  return context_.launch_field(offsetof(LaunchContext, window.start), ir_.getInt64Ty(), "window");
}

llvm::Value* StateSpaces::shared_bytes() {
  return context_.cluster_field(offsetof(ClusterContext, shared_bytes), "shared_bytes");
}

llvm::Value* StateSpaces::past_caches() {
  return context_.launch_field(offsetof(LaunchContext, past_caches), ir_.getInt32Ty(), "past_caches");
}

llvm::Value* StateSpaces::window_bytes() {
  return context_.launch_field(offsetof(LaunchContext, window.bytes), ir_.getInt64Ty(), "window_bytes");
}

llvm::Value* StateSpaces::local_bytes() {
  return context_.cta_field(offsetof(CtaContext, local_stride), ir_.getInt64Ty(), "local_stride");
}

llvm::Value* StateSpaces::dynamic_stack(unsigned p) {
  return context_.address_of_warp_field(offsetof(WarpContext, dynamic_stack) +
                                        std::uint64_t{p} * code_.lanes() * 4);
}

llvm::Value* StateSpaces::frame_end() {
  // Never empty where the depth is unknown: a place to return to, as on a GPU.
  const bool needs_one = kernel_.open_depth && !f_.is_entry;
  const std::uint64_t bytes = ptx::frame_bytes(std::max(f_.local_bytes, needs_one ? 1u : 0u));
  return ir_.CreateAdd(local_frame_, ir_.getInt32(static_cast<std::uint32_t>(bytes)));
}

std::vector<llvm::Value*> StateSpaces::local_base() {
  if (!local_base_.empty()) return local_base_;
  Builder::InsertPointGuard back(ir_);
  auto* i64 = ir_.getInt64Ty();
  llvm::Value* base = context_.cta_field(offsetof(CtaContext, local), i64, "local");
  llvm::Value* stride = local_bytes();
  auto* warp_id = context_.warp_field(offsetof(WarpContext, warp_id), ir_.getInt32Ty(), "warpid");
  ir_.SetInsertPoint(code_.entry_end());
  base = aligned(base);
  stride = aligned(stride);
  auto* first = ir_.CreateShl(ir_.CreateZExt(warp_id, i64), 5);
  for (unsigned p = 0; p < code_.parts(); ++p) {
    auto* thread = ir_.CreateAdd(code_.splat(first), code_.lane_numbers(64, p));
    local_base_.push_back(ir_.CreateAdd(code_.splat(base), ir_.CreateMul(thread, code_.splat(stride))));
  }
  return local_base_;
}

llvm::Value* StateSpaces::variable_address(ptx::VariableId id) {
  const ptx::Variable& v = kernel_.module.variables[id];
  auto* i64 = ir_.getInt64Ty();
  switch (v.space) {
    case ptx::Space::shared: {
      const bool dynamic = v.size == 0;
      llvm::Value* offset = dynamic ? context_.launch_field(offsetof(LaunchContext, dynamic_shared_offset),
                                                            ir_.getInt32Ty(), "dynamic")
                                    : static_cast<llvm::Value*>(ir_.getInt32(kernel_.shared.offset[id]));
      return ir_.CreateZExt(ir_.CreateAdd(rank_base(), offset), i64);
    }
    case ptx::Space::local:
      return ir_.CreateAdd(ir_.CreateZExt(local_frame_, i64), ir_.getInt64(v.offset));
    case ptx::Space::param:
      return ir_.getInt64(v.offset);
    default: {
      auto* table = context_.launch_field(offsetof(LaunchContext, variables), ir_.getPtrTy(), "variables");
      Builder at(code_.entry_end());
      auto* address = at.CreateLoad(i64, at.CreateConstInBoundsGEP1_64(i64, table, id), v.name);
      address->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ir_.getContext(), {}));
      return address;
    }
  }
}

llvm::Value* StateSpaces::generic_constant(llvm::Value* address) {
  constexpr std::uint64_t kNarrow = 0xffffffff;
  const ptx::VariableId id = kernel_.module.first_constant();
  if (id == ptx::kNone) return address;
  auto* window = ir_.CreateAnd(variable_address(id), ~kNarrow);
  if (address->getType()->isVectorTy()) window = code_.splat(window);
  auto* is_narrow = ir_.CreateICmpULE(address, llvm::ConstantInt::get(address->getType(), kNarrow));
  return ir_.CreateSelect(is_narrow, ir_.CreateOr(address, window), address);
}

llvm::Value* StateSpaces::rank_base() {
  if (!kernel_.clustered) return ir_.getInt32(0);
  return ir_.CreateShl(context_.cta_field(offsetof(CtaContext, cluster_rank), ir_.getInt32Ty(), "rank"),
                       exec::kRankShift);
}

llvm::Value* StateSpaces::cluster_size() {
  return kernel_.clustered ? context_.cluster_field(offsetof(ClusterContext, cta_count), "ctas")
                           : ir_.getInt32(1);
}

llvm::Value* StateSpaces::in_cluster(llvm::Value* address) {
  auto like = [&](llvm::Value* v) { return address->getType()->isVectorTy() ? code_.splat(v) : v; };
  auto* ctas = ir_.CreateZExt(cluster_size(), ir_.getInt64Ty());
  auto* bytes = ir_.CreateMul(ctas, ir_.getInt64(exec::kSharedWindow));
  return ir_.CreateICmpULT(ir_.CreateSub(address, like(shared_base())), like(bytes));
}

}  // namespace raddle::jit
