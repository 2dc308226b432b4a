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
  using Emit = WarpValue (*)(FunctionCompiler&, unsigned component);
  static constexpr Emit kEmits[] = {
#define PTX_SREG(id, ...) &special_register<isa::SpecialRegister::id>,
#include "isa/special_registers/registers.def"
#undef PTX_SREG
  };
  return kEmits[o.index](*this, o.component);
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
  switch (context.kernel.layout.layout) {
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
  // Never empty where the depth is unknown: a place to return to, as on a GPU.
  const bool needs_one = context.kernel.open_depth && !f.is_entry;
  const std::uint64_t bytes = ptx::frame_bytes(std::max(f.local_bytes, needs_one ? 1u : 0u));
  return ir.CreateAdd(local_frame_, ir.getInt32(static_cast<std::uint32_t>(bytes)));
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
  const ptx::Variable& v = context.kernel.module.variables[id];
  auto* i64 = ir.getInt64Ty();
  switch (v.space) {
    case ptx::Space::shared: {
      bool dynamic = v.size == 0;
      llvm::Value* offset =
          dynamic ? launch_field(offsetof(LaunchContext, dynamic_shared_offset), ir.getInt32Ty(), "dynamic")
                  : static_cast<llvm::Value*>(ir.getInt32(context.kernel.shared.offset[id]));
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

llvm::Value* FunctionCompiler::generic_constant(llvm::Value* address) {
  constexpr std::uint64_t kNarrow = 0xffffffff;
  const ptx::VariableId id = context.kernel.module.first_constant();
  if (id == ptx::kNone) return address;
  auto* window = ir.CreateAnd(variable_address(id), ~kNarrow);
  if (address->getType()->isVectorTy()) window = splat(window);
  auto* is_narrow = ir.CreateICmpULE(address, llvm::ConstantInt::get(address->getType(), kNarrow));
  return ir.CreateSelect(is_narrow, ir.CreateOr(address, window), address);
}

llvm::Value* FunctionCompiler::call_service(exec::Service service,
                                            std::initializer_list<llvm::Value*> arguments) {
  const exec::ServiceSignature& signature = exec::signature_of(service);
  const auto type_of = [&](exec::ServiceValue value) -> llvm::Type* {
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
  };
  std::vector<llvm::Type*> types{warp_->getType()};
  for (const exec::ServiceValue value : signature.parameters)
    if (value != exec::ServiceValue::none) types.push_back(type_of(value));
  std::vector<llvm::Value*> values{warp_};
  values.insert(values.end(), arguments);
  RADDLE_ASSERT(std::ranges::equal(types, values, {}, {}, &llvm::Value::getType),
                "other arguments than the service has");
  auto* services = load_field(ir, cta_, offsetof(CtaContext, services), ir.getPtrTy(), "services", true);
  auto* target = load_field(ir, services, signature.offset, ir.getPtrTy(), signature.name, true);
  note_line();
  return ir.CreateCall(llvm::FunctionType::get(type_of(signature.result), types, false), target, values);
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
  call_service(exec::Service::fault, {ir.getInt32(static_cast<std::uint32_t>(kind)), address, lane,
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
