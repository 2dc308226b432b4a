#include "jit/call_stack.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

namespace raddle::jit {

CallStack::CallStack(FunctionBuilder& code, const KernelPlan& kernel, const ptx::Function& function,
                     Masks& masks, Context& context, StateSpaces& spaces)
    : code_(code),
      ir_(code.ir),
      kernel_(kernel),
      f_(function),
      masks_(masks),
      context_(context),
      spaces_(spaces) {}

bool CallStack::moves_stack() const {
  return std::any_of(f_.instructions.begin(), f_.instructions.end(),
                     [](const ptx::Instruction& i) { return i.opcode->is(isa::Effects::stack); });
}

/// Calls of unknown depth get call_stack bytes of the host's stack from here on; what comes below belongs to
/// the chain of calls that follows the last check, and to services (engine.cpp reserves it).
void CallStack::limit_host_stack() {
  auto* here = ir_.CreateIntrinsic(llvm::Intrinsic::frameaddress, {ir_.getPtrTy()}, {ir_.getInt32(0)});
  auto* limit = ir_.CreateSub(ir_.CreatePtrToInt(here, ir_.getInt64Ty()), ir_.getInt64(kernel_.call_stack));
  ir_.CreateStore(limit, context_.address_of_warp_field(offsetof(exec::WarpContext, stack_limit)));
}

void CallStack::check_host_stack() {
  auto* here = ir_.CreateIntrinsic(llvm::Intrinsic::frameaddress, {ir_.getPtrTy()}, {ir_.getInt32(0)});
  auto* limit =
      context_.warp_field(offsetof(exec::WarpContext, stack_limit), ir_.getInt64Ty(), "stack_limit", false);
  code_.if_then(ir_.CreateICmpULT(ir_.CreatePtrToInt(here, ir_.getInt64Ty()), limit), [&] {
    context_.fault(exec::FaultKind::stack_overflow, ir_.getInt64(0), masks_.first_lane(code_.argument(1)));
  });
}

void CallStack::begin_kernel() {
  if (kernel_.open_depth) limit_host_stack();
  if (!kernel_.has_states()) begin_warp();
}

void CallStack::begin_warp() {
  if (!kernel_.has_dynamic_stack) return;
  ir_.CreateMemSet(spaces_.dynamic_stack(0), ir_.getInt8(0), sizeof(exec::WarpContext::dynamic_stack),
                   llvm::Align(4));
}

/// A device function's frame must end below local memory's end, and below what its lanes have allocated
/// there.
void CallStack::begin_device_function(const Mask& lanes) {
  if (kernel_.open_depth) check_host_stack();
  auto* i32 = ir_.getInt32Ty();
  auto* stack = ir_.CreateTrunc(spaces_.local_bytes(), i32);
  auto* end = ir_.CreateAdd(spaces_.local_frame(), ir_.getInt32(f_.local_bytes));
  code_.if_then(ir_.CreateICmpUGT(end, stack), [&] {
    context_.fault(exec::FaultKind::stack_overflow, ir_.CreateZExt(end, ir_.getInt64Ty()),
                   masks_.first_lane(code_.argument(1)));
  });
  if (!kernel_.has_dynamic_stack) return;
  Mask full;
  for (unsigned p = 0; p < code_.parts(); ++p) {
    auto* used = ir_.CreateAlignedLoad(code_.vector_of(i32), spaces_.dynamic_stack(p), llvm::Align(4));
    full.push_back(ir_.CreateAnd(lanes[p], ir_.CreateICmpUGT(used, code_.splat(ir_.CreateSub(stack, end)))));
  }
  context_.fault_lanes(exec::FaultKind::stack_overflow, full);
  if (moves_stack()) keep_dynamic_stack(Keep::save);
}

void CallStack::end() {
  if (kept_) keep_dynamic_stack(Keep::restore);
}

/// Only the lanes of the call can have moved their pointers.
void CallStack::keep_dynamic_stack(Keep what) {
  constexpr std::uint64_t kBytes = sizeof(exec::WarpContext::dynamic_stack);
  if (!kept_) kept_ = code_.entry_alloca(llvm::ArrayType::get(ir_.getInt8Ty(), kBytes), "stack", 4);
  llvm::Value *here = spaces_.dynamic_stack(0), *kept = kept_;
  const bool restore = what == Keep::restore;
  ir_.CreateMemCpy(restore ? here : kept, llvm::Align(4), restore ? kept : here, llvm::Align(4), kBytes);
}

}  // namespace raddle::jit
