// Clusters of FunctionCompiler: what a CTA's own shared addresses start with, the check of accesses to other
// CTAs' shared memory (W-19), and lanes that wait for the cluster's barrier while others of their warp do
// not. Only code compiled for clusters (CompileOptions::clustered) knows that there are other CTAs (ADR
// 0021).
#include "exec/cluster.h"

#include <llvm/IR/Intrinsics.h>

#include "jit/function.h"

namespace raddle::jit {

using exec::ClusterContext;
using exec::CtaContext;
using isa::Mod;

llvm::Value* FunctionCompiler::rank_base() {
  if (!context.kernel.clustered) return ir.getInt32(0);
  return ir.CreateShl(cta_field(offsetof(CtaContext, cluster_rank), ir.getInt32Ty(), "rank"),
                      exec::kRankShift);
}

llvm::Value* FunctionCompiler::cluster_size() {
  return context.kernel.clustered ? cluster_field(offsetof(ClusterContext, cta_count), "ctas")
                                  : ir.getInt32(1);
}

llvm::Value* FunctionCompiler::cluster_field(std::size_t offset, const char* name) {
  auto* cluster = cta_field(offsetof(CtaContext, cluster), ir.getPtrTy(), "cluster");
  return ir.CreateLoad(ir.getInt32Ty(), ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), cluster, offset), name);
}

/// A quick test, true where some lane's address may lie in another CTA's memory. Of lanes at constant
/// distances only the outermost are looked at: these distances are shorter than the window.
llvm::Value* FunctionCompiler::may_be_remote(const WarpValue& address, Mod space, const Mask& mask) {
  auto* own = ir.CreateAdd(shared_base(), ir.CreateZExt(rank_base(), ir.getInt64Ty()));
  auto test = [&](llvm::Value* x) -> llvm::Value* {
    auto like = [&](llvm::Value* v) { return x->getType()->isVectorTy() ? splat(v) : v; };
    // A shared address is in the window; it is not the CTA's own beyond 16 MiB from its start.
    if (space == Mod::shared_cluster)
      return ir.CreateICmpUGE(ir.CreateSub(x, like(own)), like(ir.getInt64(exec::kSharedWindow)));
    return ir.CreateICmpULT(ir.CreateSub(x, like(shared_base())), like(ir.getInt64(1ull << 32)));
  };
  llvm::Value* any_lane = nullptr;
  auto join = [&](llvm::Value* one) { any_lane = any_lane ? ir.CreateOr(any_lane, one) : one; };
  if (address.shape.scalar()) {
    const auto [least, most] = offset_range(address.shape);
    for (auto* base : address.bases)
      for (std::int64_t distance : {least, most})
        if (distance == least || least != most)
          join(test(ir.CreateAdd(base, ir.getInt64(static_cast<std::uint64_t>(distance)))));
    return any_lane;
  }
  Mask remote;
  for (unsigned p = 0; p < parts(); ++p)
    remote.push_back(ir.CreateAnd(mask[p], test(part(address, p).as(Type::u64).v)));
  return any(remote);
}

void FunctionCompiler::check_remote(const ptx::Operand& operand, Mod space, const WarpValue& address,
                                    unsigned bytes, const Mask& mask) {
  if (!context.kernel.clustered || (space != Mod::shared_cluster && space != Mod::none)) return;
  if (operand.base == ptx::Operand::Base::variable) return;  // the CTA's own, or no shared one
  if_then(may_be_remote(address, space, mask), [&] {
    auto* i32 = ir.getInt32Ty();
    auto* size = cluster_field(offsetof(ClusterContext, shared_bytes), "shared_bytes");
    auto* room = ir.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, ir.CreateAdd(size, ir.getInt32(1)),
                                          ir.getInt32(bytes));  // offsets at which the access fits
    auto* live = llvm::cast<llvm::LoadInst>(cluster_field(offsetof(ClusterContext, live), "live"));
    live->setAtomic(llvm::AtomicOrdering::Acquire);
    live->setAlignment(llvm::Align(4));
    auto* own = ir.CreateLShr(rank_base(), exec::kRankShift);
    Mask wrong;
    for (unsigned p = 0; p < parts(); ++p) {
      auto* words = llvm::FixedVectorType::get(i32, lanes());
      auto* distance = ir.CreateSub(part(address, p).as(Type::u64).v, splat(shared_base()));
      auto* inside = ir.CreateICmpULT(distance, splat(ir.getInt64(1ull << 32)));
      auto* shared = ir.CreateTrunc(distance, words);
      auto* rank = ir.CreateLShr(shared, exec::kRankShift);
      auto* offset = ir.CreateAnd(shared, splat(ir.getInt32(exec::kSharedWindow - 1)));
      // No rank of a cluster is as high as 31: that bit is never set.
      auto* bit = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rank, splat(ir.getInt32(31)));
      auto* is_live = ir.CreateTrunc(ir.CreateLShr(splat(live), bit), mask[p]->getType());
      auto* fits = ir.CreateAnd(is_live, ir.CreateICmpULT(offset, splat(room)));
      auto* remote = ir.CreateAnd(inside, ir.CreateICmpNE(rank, splat(own)));
      wrong.push_back(ir.CreateAnd(mask[p], ir.CreateAnd(remote, ir.CreateNot(fits))));
    }
    auto* bits = mask_bits(wrong);
    if_then(ir.CreateICmpNE(bits, ir.getInt32(0)), [&] {
      auto* lane = first_lane(bits);
      fault(exec::FaultKind::illegal_cluster_address, load_lane(spill(address), ir.getInt64Ty(), lane), lane);
    });
  });
}

/// At barrier.cluster.wait, where other lanes of the warp may be elsewhere: those whose phase is over go on,
/// the rest stays; the warp as a whole waits only when all its lanes do.
void FunctionCompiler::hold_for_cluster() {
  auto* i32 = ir.getInt32Ty();
  auto* zero = ir.getInt32(0);
  auto* slot = entry_alloca(i32, "waiting");
  auto* hold = llvm::BasicBlock::Create(ir.getContext(), "hold", function_);
  auto* together = llvm::BasicBlock::Create(ir.getContext(), "together", function_);
  auto* here = mask_bits(active_);
  auto* wanting = mask_bits(executing());
  ir.CreateStore(zero, slot);
  if_then(ir.CreateICmpNE(wanting, zero), [&] {
    auto* waiting = call_service(exec::Service::cluster_waiting, {wanting});
    ir.CreateStore(waiting, slot);
    if_then(ir.CreateICmpEQ(waiting, lanes_inside()), [&] {
      call_service(exec::Service::cluster_wait, {waiting});
      ir.CreateStore(zero, slot);
    });
  });
  auto* going = ir.CreateAnd(here, ir.CreateNot(ir.CreateLoad(i32, slot)));
  ir.CreateCondBr(ir.CreateICmpNE(going, zero), together, hold);

  ir.SetInsertPoint(hold);
  call_service(exec::Service::yield, {});
  add_lanes(block, active_);
  go(plan.with(block, {block}));

  ir.SetInsertPoint(together);
  add_lanes(block, mask_from_bits(ir.CreateAnd(here, ir.CreateNot(going))));
  active_ = mask_from_bits(going);
  waited_ = instruction;
}

}  // namespace raddle::jit
