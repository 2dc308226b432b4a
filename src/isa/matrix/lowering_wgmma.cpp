// JIT: warpgroups' matrix instructions. Each is a call of a function that its spelling has
// (matrix_warpgroup.h) and over when it returns, so that fences and groups have nothing to do.
#include <llvm/IR/Intrinsics.h>

#include <optional>

#include "exec/wgmma.h"
#include "isa/fragment.h"
#include "isa/op.h"
#include "jit/matrix_memory.h"
#include "jit/matrix_warpgroup.h"

namespace raddle::jit {
namespace {

using exec::WgmmaProblem;

constexpr unsigned kMostRegisters = 128;  // of D

/// What every instruction of a warpgroup wants: whole warps of a whole warpgroup.
class WarpgroupChecks {
 public:
  explicit WarpgroupChecks(WarpEmitter& e) : e_(e), ir_(e.ir) {}
  void run();
  void fault_if(llvm::Value* wrong, WgmmaProblem problem, llvm::Value* address = nullptr);

 protected:
  WarpEmitter& e_;
  Builder& ir_;
};

class WarpgroupProduct : WarpgroupChecks {
 public:
  explicit WarpgroupProduct(WarpEmitter& e) : WarpgroupChecks(e), form_(form()) {}
  void run();

 private:
  WarpgroupProductForm form() const;
  unsigned at(std::string_view name) const { return e_.opcode().form->operand(name).value_or(~0u); }
  std::int64_t constant(std::string_view name, std::int64_t otherwise) const {
    return e_.present(at(name)) ? e_.operand(at(name)).value : otherwise;
  }
  llvm::Value* scalar(unsigned k);
  void check_place(llvm::Value* descriptor, unsigned rows, unsigned row_bytes, bool transposed);
  llvm::Value* in_memory(const std::vector<ptx::Operand>& registers, const char* name);

  const WarpgroupProductForm form_;
  llvm::Value* own_shared_ = nullptr;
};

WarpgroupProductForm WarpgroupProduct::form() const {
  WarpgroupProductForm form{.d = e_.type(0), .a = e_.type(1), .b = e_.type(2)};
  form.n = isa::matrix_shape(e_.opcode()).n;
  form.sparse = e_.has(Mod::sp);
  form.saturates = e_.has(Mod::satfinite);
  form.a_in_registers = e_.operand(1).kind == ptx::Operand::Kind::vector;
  form.a_transposed = constant("trans_a", 0) != 0;
  form.b_transposed = constant("trans_b", 0) != 0;
  form.negates = constant("scale_a", 1) != constant("scale_b", 1);
  form.selector = static_cast<unsigned>(constant("selector", 0));
  return form;
}

void WarpgroupChecks::fault_if(llvm::Value* wrong, WgmmaProblem problem, llvm::Value* address) {
  e_.code.if_then(wrong, [&] {
    e_.context.call_service(exec::Service::wgmma_fault,
                            {ir_.getInt32(static_cast<std::uint32_t>(problem)),
                             address ? address : ir_.getInt64(0), ir_.getInt32(e_.cursor.instruction->line)});
  });
}

/// The one value of an operand.
llvm::Value* WarpgroupProduct::scalar(unsigned k) {
  const WarpValue value = e_.in(k);
  if (value.shape.uniform()) return e_.scalar(value).v;
  llvm::Value *first = nullptr, *differs = ir_.getFalse();
  for (unsigned p = 0; p < e_.parts(); ++p) {
    auto* lanes = e_.part(value, p).v;
    if (!first) first = ir_.CreateExtractElement(lanes, std::uint64_t{0});
    differs = ir_.CreateOr(differs, ir_.CreateOrReduce(ir_.CreateICmpNE(lanes, e_.splat(first))));
  }
  fault_if(differs, WgmmaProblem::differing);
  return first;
}

void WarpgroupChecks::run() {
  auto* all = ir_.CreateICmpEQ(e_.bits(e_.executing()).v, ir_.getInt32(~0u));
  fault_if(ir_.CreateNot(all), WgmmaProblem::diverged);
  auto* warp = e_.context.warp_field(offsetof(exec::WarpContext, warp_id), ir_.getInt32Ty(), "warp_id");
  auto* threads = e_.context.cta_field(offsetof(exec::CtaContext, thread_count), ir_.getInt32Ty(), "threads");
  auto* last = ir_.CreateOr(warp, ir_.getInt32(exec::kWarpgroupWarps - 1));
  auto* needed = ir_.CreateMul(ir_.CreateAdd(last, ir_.getInt32(1)), ir_.getInt32(exec::kWarpSize));
  fault_if(ir_.CreateICmpUGT(needed, threads), WgmmaProblem::no_warpgroup);
}

/// All rows of the matrix lie in the block's memory; of a swizzled one, all of the lines that they are in.
void WarpgroupProduct::check_place(llvm::Value* descriptor, unsigned rows, unsigned row_bytes,
                                   bool transposed) {
  const auto field = [&](unsigned from, unsigned bits) {
    return ir_.CreateTrunc(ir_.CreateAnd(ir_.CreateLShr(descriptor, from), (1u << bits) - 1),
                           ir_.getInt32Ty());
  };
  const auto times = [&](llvm::Value* a, unsigned b) { return ir_.CreateMul(a, ir_.getInt32(b)); };
  auto *start = ir_.CreateShl(field(0, 14), 4), *leading = ir_.CreateShl(field(16, 14), 4);
  auto *stride = ir_.CreateShl(field(32, 14), 4), *mode = field(62, 2);
  auto* plain = ir_.CreateICmpEQ(mode, ir_.getInt32(0));
  auto* width = ir_.CreateSelect(plain, ir_.getInt32(16), ir_.CreateLShr(ir_.getInt32(256), mode));
  llvm::Value* last = nullptr;
  if (!transposed) {
    auto* chunk = ir_.CreateSelect(plain, leading, ir_.getInt32(16));
    last = ir_.CreateAdd(times(stride, rows / 8 - 1), times(chunk, row_bytes / 16 - 1));
  } else {
    const unsigned columns = row_bytes / 2;
    auto* whole = ir_.CreateAdd(times(stride, rows / 8 - 1), times(leading, columns / 8 - 1));
    auto* atoms = ir_.CreateUDiv(ir_.getInt32(rows * 2 - 1), width);
    auto* units = ir_.CreateSub(
        ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, width, ir_.getInt32(rows * 2)), ir_.getInt32(16));
    auto* swizzled = ir_.CreateAdd(ir_.CreateMul(leading, atoms), times(stride, columns / 8 - 1));
    last = ir_.CreateSelect(plain, whole, ir_.CreateAdd(swizzled, units));
  }
  last = ir_.CreateAdd(ir_.CreateAdd(start, last), times(width, 7));
  auto* end = ir_.CreateAdd(ir_.CreateOr(last, ir_.CreateSub(width, ir_.getInt32(1))), ir_.getInt32(1));
  auto* bytes = e_.context.cluster_field(offsetof(exec::ClusterContext, shared_bytes), "shared_bytes");
  fault_if(
      ir_.CreateICmpUGT(end, bytes), WgmmaProblem::outside,
      ir_.CreateAdd(own_shared_, ir_.CreateZExt(ir_.CreateSub(end, ir_.getInt32(16)), ir_.getInt64Ty())));
}

llvm::Value* WarpgroupProduct::in_memory(const std::vector<ptx::Operand>& registers, const char* name) {
  FragmentMemory memory(e_, name, 32);
  memory.store(registers);
  return memory.place();
}

void WarpgroupProduct::run() {
  WarpgroupChecks::run();
  auto* rank = ir_.CreateZExt(e_.spaces.rank_base(), ir_.getInt64Ty());
  own_shared_ = ir_.CreateAdd(e_.spaces.shared_base(), rank);
  const unsigned row_bytes = form_.sparse ? 64 : 32;
  auto* nothing = llvm::Constant::getNullValue(ir_.getPtrTy());
  auto* a = form_.a_in_registers ? in_memory(e_.elements(1), "wgmma_a") : nothing;
  auto* descriptor_a = form_.a_in_registers ? ir_.getInt64(0) : scalar(at("a"));
  auto* descriptor_b = scalar(at("b"));
  if (!form_.a_in_registers) check_place(descriptor_a, 64, 32, form_.a_transposed);
  check_place(descriptor_b, form_.n, row_bytes, form_.b_transposed);
  auto* metadata = form_.sparse ? in_memory({e_.operand(at("meta"))}, "wgmma_metadata") : nothing;
  auto* adds = ir_.CreateIsNotNull(scalar(at("scale_d")));
  const auto registers = e_.elements(0);
  auto* d = e_.registers.fragment(registers);
  std::optional<FragmentMemory> copy;
  if (d == nullptr) {
    copy.emplace(e_, "wgmma_d", 32, kMostRegisters);
    copy->store(registers);
    d = copy->place();
  }
  auto* warp = e_.context.warp_field(offsetof(exec::WarpContext, warp_id), ir_.getInt32Ty(), "warp_id");
  auto* in_group = ir_.CreateAnd(warp, ir_.getInt32(exec::kWarpgroupWarps - 1));
  e_.context.note_line();
  auto* function =
      warpgroup_product(*e_.code.function()->getParent(),
                        {.lanes = e_.lanes(), .mask_registers = e_.code.has_mask_registers()}, form_);
  ir_.CreateCall(function,
                 {d, a, metadata, e_.code.pointer(own_shared_), descriptor_a, descriptor_b, in_group, adds});
  if (copy) copy->load(registers);
}

/// Nothing where no thread of the warp executes it.
void multiply_in_warpgroup(WarpEmitter& e) {
  e.addresses.note();
  e.if_any(e.bits(e.executing()), [&] { WarpgroupProduct(e).run(); });
}

}  // namespace

template <>
void emit<Op::wgmma_mma_async>(WarpEmitter& e) {
  multiply_in_warpgroup(e);
}
template <>
void emit<Op::wgmma_mma_async_sp>(WarpEmitter& e) {
  multiply_in_warpgroup(e);
}
template <>
void emit<Op::wgmma_fence>(WarpEmitter&) {}
template <>
void emit<Op::wgmma_commit_group>(WarpEmitter&) {}
/// One warp that goes on may tell others, for all of the warpgroup, that shared memory was read: so they
/// meet.
template <>
void emit<Op::wgmma_wait_group>(WarpEmitter& e) {
  e.if_any(e.bits(e.executing()), [&] {
    WarpgroupChecks(e).run();
    e.context.call_service(exec::Service::warpgroup_sync, {});
  });
}

}  // namespace raddle::jit
