#include "jit/context.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "base/assert.h"

namespace raddle::jit {

using exec::CtaContext;
using exec::LaunchContext;
using exec::WarpContext;

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

/// Lets LLVM see that sums of small numbers do not wrap.
void is_below(llvm::Value* loaded, unsigned limit) {
  auto* load = llvm::cast<llvm::LoadInst>(loaded);
  const llvm::APInt zero(load->getType()->getIntegerBitWidth(), 0), end(zero.getBitWidth(), limit);
  load->setMetadata(llvm::LLVMContext::MD_range, llvm::MDBuilder(load->getContext()).createRange(zero, end));
}

/// Such a call does nothing, or does not return: it suspends no warp and sees no more than where it runs.
bool only_faults(exec::Service service) {
  using enum exec::Service;
  return service == check_access || service == fault || service == wgmma_fault || service == assert_fail;
}

llvm::Type* type_of(Builder& ir, exec::ServiceValue value) {
  switch (value) {
    case exec::ServiceValue::none:
      return ir.getVoidTy();
    case exec::ServiceValue::word:
      return ir.getInt32Ty();
    case exec::ServiceValue::wide:
      return ir.getInt64Ty();
    case exec::ServiceValue::pointer:
      return ir.getPtrTy();
  }
  RADDLE_UNREACHABLE("a service's value of no kind");
}

}  // namespace

Context::Context(FunctionBuilder& code, const Cursor& cursor, Masks& masks, Context* first, unsigned number)
    : code_(code),
      ir_(code.ir),
      cursor_(cursor),
      masks_(masks),
      first_(first),
      number_(number),
      warp_(code.argument(0)) {
  if (first_ == nullptr) {
    cta_ = warp_field(offsetof(WarpContext, cta), ir_.getPtrTy(), "cta");
    return;
  }
  Builder at(code_.entry_end());
  warp_ = at.CreateConstInBoundsGEP1_64(at.getInt8Ty(), warp_, number * sizeof(WarpContext), "warp");
  cta_ = first_->cta();
}

/// Of warps that run together, from the first one's, so that LLVM sees how they follow from it.
llvm::Value* Context::warp_id() {
  auto* first = first_->warp_field(offsetof(WarpContext, warp_id), ir_.getInt32Ty(), "warpid");
  Builder at(code_.entry_end());
  return at.CreateAdd(first, at.getInt32(number_));
}

llvm::Value* Context::address_of_warp_field(std::size_t offset) {
  return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), warp_, offset);
}

llvm::Value* Context::warp_field(std::size_t offset, llvm::Type* type, const char* name, bool constant) {
  if (!constant) return load_field(ir_, warp_, offset, type, name, false);
  auto& cached = fields_[{offset, 0}];
  if (!cached && first_ != nullptr && offset == offsetof(WarpContext, warp_id)) cached = warp_id();
  if (!cached) {
    Builder at(code_.entry_end());
    // The block function builds warps in place: not invariant.
    cached = load_field(at, warp_, offset, type, name, false);
    if (offset == offsetof(WarpContext, warp_id)) is_below(cached, exec::kMaxWarps);
  }
  return cached;
}

llvm::Value* Context::cta_field(std::size_t offset, llvm::Type* type, const char* name, bool constant) {
  if (!constant) return load_field(ir_, cta_, offset, type, name, false);
  if (first_ != nullptr) return first_->cta_field(offset, type, name);
  auto& cached = fields_[{offset, 1}];
  if (!cached) {
    Builder at(code_.entry_end());
    cached = load_field(at, cta_, offset, type, name, true);
  }
  return cached;
}

llvm::Value* Context::launch_field(std::size_t offset, llvm::Type* type, const char* name) {
  if (first_ != nullptr) return first_->launch_field(offset, type, name);
  auto* launch = cta_field(offsetof(CtaContext, launch), ir_.getPtrTy(), "launch");
  auto& cached = fields_[{offset, 2}];
  if (!cached) {
    Builder at(code_.entry_end());
    cached = load_field(at, launch, offset, type, name, true);
    if (offset >= offsetof(LaunchContext, ntid) && offset < offsetof(LaunchContext, nctaid))
      is_below(cached, exec::kMaxWarps * exec::kWarpSize + 1);
  }
  return cached;
}

llvm::Value* Context::call_service(exec::Service service, std::initializer_list<llvm::Value*> arguments) {
  const exec::ServiceSignature& signature = exec::signature_of(service);
  std::vector<llvm::Type*> types{warp_->getType()};
  for (const exec::ServiceValue value : signature.parameters)
    if (value != exec::ServiceValue::none) types.push_back(type_of(ir_, value));
  std::vector<llvm::Value*> values{warp_};
  values.insert(values.end(), arguments);
  RADDLE_ASSERT(std::ranges::equal(types, values, {}, {}, &llvm::Value::getType),
                "other arguments than the service has");
  auto* services = load_field(ir_, cta_, offsetof(CtaContext, services), ir_.getPtrTy(), "services", true);
  auto* target = load_field(ir_, services, signature.offset, ir_.getPtrTy(), signature.name, true);
  note_line();
  code_.calls_services |= !only_faults(service);
  auto* call =
      ir_.CreateCall(llvm::FunctionType::get(type_of(ir_, signature.result), types, false), target, values);
  if (signature.is_seldom) call->setCallingConv(llvm::CallingConv::PreserveMost);
  return call;
}

void Context::note_line() {
  if (!cursor_.instruction) return;
  auto* at = address_of_warp_field(offsetof(WarpContext, line));
  ir_.CreateStore(ir_.getInt32(cursor_.instruction->line), at);
}

void Context::mark_lane(llvm::Value* lane) {
  auto* at = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), cta_, offsetof(CtaContext, running_lane));
  if (lane == nullptr) lane = code_.thread();
  auto* number = lane ? ir_.CreateAdd(lane, ir_.getInt32(1)) : ir_.getInt32(0);
  ir_.CreateStore(number, at, true);  // volatile: it belongs before the access
}

void Context::fault(exec::FaultKind kind, llvm::Value* address, llvm::Value* lane) {
  call_service(exec::Service::fault, {ir_.getInt32(static_cast<std::uint32_t>(kind)), address, lane,
                                      ir_.getInt32(cursor_.instruction ? cursor_.instruction->line : 0)});
}

void Context::fault_lanes(exec::FaultKind kind, const Mask& lanes) {
  auto* bits = masks_.bits(lanes);
  code_.if_then(ir_.CreateICmpNE(bits, ir_.getInt32(0)), [&] {
    auto* first = ir_.CreateIntrinsic(llvm::Intrinsic::cttz, {ir_.getInt32Ty()}, {bits, ir_.getFalse()});
    fault(kind, ir_.getInt64(0), first);
  });
}

llvm::Value* Context::cluster_field(std::size_t offset, const char* name) {
  auto* cluster = cta_field(offsetof(CtaContext, cluster), ir_.getPtrTy(), "cluster");
  return ir_.CreateLoad(ir_.getInt32Ty(), ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), cluster, offset),
                        name);
}

llvm::Value* Context::barrier_field(llvm::Value* barrier, std::size_t offset, const char* name) {
  auto* at = ir_.CreateMul(barrier, ir_.getInt32(sizeof(exec::Barrier)));
  at = ir_.CreateAdd(at,
                     ir_.getInt32(static_cast<std::uint32_t>(offsetof(exec::CtaContext, barriers) + offset)));
  auto* load = ir_.CreateLoad(ir_.getInt32Ty(), ir_.CreateGEP(ir_.getInt8Ty(), cta_, at), name);
  load->setVolatile(true);  // other warps change it while this one waits
  return load;
}

void Context::poll() {
  auto* poll_word = cta_field(offsetof(exec::CtaContext, poll), ir_.getPtrTy(), "poll");
  auto* word = ir_.CreateAlignedLoad(ir_.getInt32Ty(), poll_word, llvm::Align(4), "polled");
  word->setAtomic(llvm::AtomicOrdering::Monotonic);
  code_.if_seldom(ir_.CreateICmpNE(word, ir_.getInt32(0)), [&] { call_service(exec::Service::poll, {}); });
}

}  // namespace raddle::jit
