// JIT: warpgroups' matrix instructions. Each is a call of a function that its spelling has
// (matrix_warpgroup.h) and over when it returns, so that fences and groups have nothing to do; a run of them
// is one call. Code for devices where copies land late lets the machine make the call.
#include <llvm/IR/Intrinsics.h>

#include <optional>

#include "exec/wgmma.h"
#include "isa/fragment.h"
#include "isa/op.h"
#include "jit/matrix_late.h"
#include "jit/matrix_memory.h"
#include "jit/wgmma_run.h"
#include "ptx/fences.h"

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
  explicit WarpgroupProduct(WarpEmitter& e) : WarpgroupChecks(e), run_(run_of(e)), form_(form()) {}
  void run();

 private:
  static WgmmaRun run_of(const WarpEmitter& e);
  WarpgroupProductForm form() const;
  unsigned at(std::string_view name) const { return e_.opcode().form->operand(name).value_or(~0u); }
  std::int64_t constant(std::string_view name, std::int64_t otherwise) const {
    return e_.present(at(name)) ? e_.operand(at(name)).value : otherwise;
  }
  llvm::Value* scalar(unsigned k);
  void check_place(llvm::Value* descriptor, unsigned rows, unsigned row_bytes, bool transposed);
  llvm::Value* step(unsigned number);
  llvm::Value* a_in_memory();
  void keep_step();
  llvm::Value* name_of_b();
  llvm::Value* place(const ptx::Operand& element);
  llvm::Value* places();
  void issue();
  void call();

  const WgmmaRun run_;
  const WarpgroupProductForm form_;
  llvm::Value* own_shared_ = nullptr;
  llvm::Value *descriptor_a_ = nullptr, *descriptor_b_ = nullptr, *metadata_ = nullptr, *adds_ = nullptr;
  llvm::Value* a_ = nullptr;     ///< registers of the run, in memory; null if there are none
  llvm::Value* warp_ = nullptr;  ///< in its warpgroup
};

/// One that may end late is by itself.
WgmmaRun WarpgroupProduct::run_of(const WarpEmitter& e) {
  if (e.kernel.late_copies) return {};
  const ptx::Function& function = e.cursor.function;
  return wgmma_run(function, function.blocks[e.cursor.block], *e.cursor.instruction);
}

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
  form.steps = run_.count;
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
  auto* bytes = e_.spaces.shared_bytes();
  fault_if(
      ir_.CreateICmpUGT(end, bytes), WgmmaProblem::outside,
      ir_.CreateAdd(own_shared_, ir_.CreateZExt(ir_.CreateSub(end, ir_.getInt32(16)), ir_.getInt64Ty())));
}

void WarpgroupProduct::run() {
  WarpgroupChecks::run();
  auto* rank = ir_.CreateZExt(e_.spaces.rank_base(), ir_.getInt64Ty());
  own_shared_ = ir_.CreateAdd(e_.spaces.shared_base(), rank);
  descriptor_a_ = form_.a_in_registers ? ir_.getInt64(0) : scalar(at("a"));
  descriptor_b_ = scalar(at("b"));
  if (!form_.a_in_registers) check_place(descriptor_a_, 64, 32, form_.a_transposed);
  check_place(descriptor_b_, form_.n, form_.sparse ? 64 : 32, form_.b_transposed);
  metadata_ = form_.sparse ? in_memory(e_, {e_.operand(at("meta"))}, "wgmma_metadata", 32)
                           : llvm::Constant::getNullValue(ir_.getPtrTy());
  adds_ = ir_.CreateIsNotNull(scalar(at("scale_d")));
  auto* warp = e_.context.warp_field(offsetof(exec::WarpContext, warp_id), ir_.getInt32Ty(), "warp_id");
  warp_ = ir_.CreateAnd(warp, ir_.getInt32(exec::kWarpgroupWarps - 1));
  if (e_.kernel.late_copies) return issue();
  keep_step();
  if (run_.is_last()) call();
}

/// The WarpgroupStep of a wgmma of the run.
llvm::Value* WarpgroupProduct::step(unsigned number) {
  auto* type = llvm::ArrayType::get(ir_.getInt8Ty(), sizeof(WarpgroupStep) * kMostSteps);
  auto* steps = e_.code.shared_alloca(type, "wgmma_steps", alignof(WarpgroupStep));
  return e_.code.place_in(steps, number * sizeof(WarpgroupStep));
}

/// The run's, where it is in registers; those of the instruction at hand are put there.
llvm::Value* WarpgroupProduct::a_in_memory() {
  if (!form_.a_in_registers) return llvm::Constant::getNullValue(ir_.getPtrTy());
  const auto registers = e_.elements(1);
  FragmentMemory memory(e_, "wgmma_a", 32, static_cast<unsigned>(registers.size()) * kMostSteps);
  memory.store(registers, run_.step * static_cast<unsigned>(registers.size()));
  return memory.place();
}

void WarpgroupProduct::keep_step() {
  a_ = a_in_memory();
  const auto put = [&](std::size_t offset, llvm::Value* value) {
    ir_.CreateStore(value, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), step(run_.step), offset));
  };
  put(offsetof(WarpgroupStep, a), descriptor_a_);
  put(offsetof(WarpgroupStep, b), descriptor_b_);
  put(offsetof(WarpgroupStep, adds), ir_.CreateZExt(adds_, ir_.getInt64Ty()));
}

/// Made of the run's descriptors.
llvm::Value* WarpgroupProduct::name_of_b() {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  llvm::Value* name = ir_.getInt64(0);
  for (unsigned n = 0; n < run_.count; ++n) {
    auto* place = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), step(n), offsetof(WarpgroupStep, b));
    name = ir_.CreateAdd(ir_.CreateMul(name, ir_.getInt64(kOdd)), ir_.CreateLoad(ir_.getInt64Ty(), place));
  }
  return name;
}

/// All of the run.
void WarpgroupProduct::call() {
  const auto registers = e_.elements(0);
  auto* d = e_.registers.fragment(registers);
  std::optional<FragmentMemory> copy;
  if (d == nullptr) {
    copy.emplace(e_, "wgmma_d", 32, kMostRegisters);
    copy->store(registers);
    d = copy->place();
  }
  WarpgroupProductForm form = form_;
  form.shares_b = true;
  auto* function = warpgroup_product(*e_.code.function()->getParent(), e_.code.simd(), form);
  auto* code = ir_.CreatePtrToInt(function, ir_.getInt64Ty());
  auto* b = e_.context.call_service(exec::Service::wgmma_operands,
                                    {name_of_b(), code, ir_.getInt32(operand_bytes(e_.code.simd(), form))});
  auto* is_there = ir_.CreateTrunc(b, ir_.getInt1Ty());
  b = e_.code.pointer(ir_.CreateAnd(b, ~std::uint64_t{1}));
  ir_.CreateCall(function, {d, a_, metadata_, e_.code.pointer(own_shared_), step(0), warp_, b, is_there});
  if (copy) copy->load(registers);
}

/// Where the words of the lanes are. A constant, too, stays until the wgmma is executed.
llvm::Value* WarpgroupProduct::place(const ptx::Operand& element) {
  if (element.kind == ptx::Operand::Kind::reg) return e_.registers.place(element.index);
  auto* words = llvm::FixedVectorType::get(ir_.getInt32Ty(), exec::kWarpSize);
  auto* constant = e_.code.entry_alloca(words, "wgmma_constant", 64);
  auto* value = e_.scalar(e_.registers.read(element)).as(Type::b32).v;
  ir_.CreateStore(ir_.CreateVectorSplat(exec::kWarpSize, value), constant);
  return constant;
}

/// The addresses of D's registers, and of A's behind them.
llvm::Value* WarpgroupProduct::places() {
  std::vector<ptx::Operand> registers = e_.elements(0);
  if (form_.a_in_registers)
    for (const ptx::Operand& of_a : e_.elements(1)) registers.push_back(of_a);
  auto* places = e_.code.entry_alloca(llvm::ArrayType::get(ir_.getPtrTy(), registers.size()), "wgmma_places");
  for (unsigned i = 0; i < registers.size(); ++i)
    ir_.CreateStore(place(registers[i]), ir_.CreateConstInBoundsGEP1_32(ir_.getPtrTy(), places, i));
  return places;
}

void WarpgroupProduct::issue() {
  using exec::IssuedWgmma;
  auto* type = llvm::ArrayType::get(ir_.getInt8Ty(), sizeof(IssuedWgmma));
  auto* issued = e_.code.shared_alloca(type, "issued_wgmma", alignof(IssuedWgmma));
  const auto field = [&](std::size_t offset) {
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), issued, offset);
  };
  const auto put = [&](std::size_t offset, llvm::Value* value) { ir_.CreateStore(value, field(offset)); };
  put(offsetof(IssuedWgmma, execute), late_product(*e_.code.function()->getParent(), e_.code.simd(), form_));
  put(offsetof(IssuedWgmma, registers), places());
  put(offsetof(IssuedWgmma, a), descriptor_a_);
  put(offsetof(IssuedWgmma, b), descriptor_b_);
  put(offsetof(IssuedWgmma, warp), warp_);
  put(offsetof(IssuedWgmma, line), ir_.getInt32(e_.cursor.instruction->line));
  put(offsetof(IssuedWgmma, adds), ir_.CreateZExt(adds_, ir_.getInt32Ty()));
  put(offsetof(IssuedWgmma, is_fenced), ir_.getInt32(e_.cursor.plan.is_fenced(*e_.cursor.instruction)));
  put(offsetof(IssuedWgmma, in_call), ir_.getInt32(!e_.cursor.function.is_entry));
  if (form_.sparse)
    ir_.CreateMemCpy(field(offsetof(IssuedWgmma, metadata)), llvm::Align(4), metadata_, llvm::Align(4),
                     sizeof(IssuedWgmma::metadata));
  e_.context.call_service(exec::Service::wgmma_issue, {issued});
}

/// Nothing where no thread of the warp executes it.
void multiply_in_warpgroup(WarpEmitter& e) {
  e.addresses.note();
  e.if_any(e.bits(e.executing()), [&] { WarpgroupProduct(e).run(); });
}

void tell_late_wgmmas(WarpEmitter& e, exec::Service service) {
  if (!e.kernel.late_copies) return;
  e.if_any(e.bits(e.executing()), [&] { e.context.call_service(service, {}); });
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
void emit<Op::wgmma_fence>(WarpEmitter& e) {
  tell_late_wgmmas(e, exec::Service::wgmma_fence);
}
template <>
void emit<Op::wgmma_commit_group>(WarpEmitter& e) {
  tell_late_wgmmas(e, exec::Service::wgmma_commit);
}
/// One warp that goes on may tell others, for all of the warpgroup, that shared memory was read: so they
/// meet.
template <>
void emit<Op::wgmma_wait_group>(WarpEmitter& e) {
  e.if_any(e.bits(e.executing()), [&] {
    WarpgroupChecks(e).run();
    const auto groups = static_cast<std::uint32_t>(e.operand(0).value);
    e.context.call_service(exec::Service::wgmma_wait, {e.ir.getInt32(groups)});
  });
}

}  // namespace raddle::jit
