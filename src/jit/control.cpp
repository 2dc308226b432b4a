// Control flow of FunctionCompiler: blocks in linear order, lanes waiting at blocks, exits, suspension at
// barriers.
#include <llvm/IR/Intrinsics.h>

#include "base/assert.h"
#include "isa/op.h"
#include "jit/function.h"

namespace raddle::jit {

using ptx::Exit;

FunctionCompiler::FunctionCompiler(ModuleContext& c, const FunctionPlan& p)
    : context(c),
      plan(p),
      f(p.function),
      ir(c.llvm.getContext()),
      slots_(f.registers.size()),
      blocks_(f.blocks.size()),
      masks_(f.blocks.size()) {}

llvm::Function* FunctionCompiler::compile() {
  emit_prologue();
  for (BlockId b : plan.order.blocks) {
    blocks_[b] = llvm::BasicBlock::Create(ir.getContext(),
                                          f.blocks[b].label.empty() ? "b" : f.blocks[b].label, function_);
    for (unsigned p = 0; p < parts(); ++p) masks_[b].push_back(entry_alloca(mask_storage_type(), "waiting"));
  }
  ir.SetInsertPoint(body_);
  for (BlockId b : plan.order.blocks)
    for (auto* a : masks_[b]) ir.CreateStore(llvm::Constant::getNullValue(a->getAllocatedType()), a);
  BlockId first = plan.order.blocks.front();
  store_mask(first, entry_mask_);
  inside_ = entry_alloca(ir.getInt32Ty(), "inside");
  ir.CreateStore(mask_bits(entry_mask_), inside_);
  prepare_meetings();
  if (resume_) lay_out_frame();
  if (!f.is_entry) load_register_formals();
  if (resume_) {
    resume_->setDefaultDest(blocks_[first]);
    resume_->moveBefore(*body_, body_->end());
  } else {
    ir.CreateBr(blocks_[first]);
  }
  for (BlockId b : plan.order.blocks) emit_block(b);
  ir.SetInsertPoint(exit_);
  if (kept_stack_) keep_stack(true);
  if (resume_)
    ir.CreateRet(ir.getInt32(0));
  else
    ir.CreateRetVoid();
  context.statistics.dispatched_loops += plan.order.dispatched_loops;
  return function_;
}

void FunctionCompiler::emit_prologue() {
  auto* pointer = ir.getPtrTy();
  bool regions = f.is_entry && context.kernel.kind() == exec::BlockKind::regions;
  llvm::FunctionType* type;
  if (!f.is_entry)
    type = llvm::FunctionType::get(ir.getVoidTy(),
                                   {pointer, ir.getInt32Ty(), pointer, pointer, ir.getInt32Ty()}, false);
  else if (regions)
    type = llvm::FunctionType::get(ir.getInt32Ty(), {pointer, pointer, ir.getInt32Ty()}, false);
  else
    type = llvm::FunctionType::get(ir.getVoidTy(), {pointer}, false);
  std::string name = (f.is_entry ? "kernel." : "function.") + f.name;
  function_ = context.llvm.getFunction(name);
  if (!function_)
    function_ = llvm::Function::Create(
        type, f.is_entry ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage, name,
        context.llvm);
  // LLVM would delete dead loads and treat a store to null as unreachable (decisions: null pointers are valid
  // addresses).
  function_->addFnAttr(llvm::Attribute::NullPointerIsValid);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  std::uint32_t first_line = f.instructions.empty() ? 0 : f.instructions.front().line;
  subprogram_ = context.debug.subprogram(name, first_line);
  function_->setSubprogram(subprogram_);
  at_line(0);
  entry_ = llvm::BasicBlock::Create(ir.getContext(), "entry", function_);
  body_ = llvm::BasicBlock::Create(ir.getContext(), "body", function_);
  exit_ = llvm::BasicBlock::Create(ir.getContext(), "exit", function_);
  Builder(entry_).CreateBr(body_);
  warp_ = function_->getArg(0);
  cta_ = warp_field(offsetof(exec::WarpContext, cta), pointer, "cta");
  ir.SetInsertPoint(body_);
  if (f.is_entry) {
    local_frame_ = ir.getInt32(0);
    if (context.kernel.open_depth) limit_host_stack();
    if (context.kernel.has_dynamic_stack && !regions)  // a block's regions start with cleared contexts
      ir.CreateMemSet(dynamic_stack(0), ir.getInt8(0), sizeof(exec::WarpContext::dynamic_stack),
                      llvm::Align(4));
    entry_mask_ = context.kernel.layout.full_warps
                      ? all_lanes(true)
                      : mask_from_bits(
                            warp_field(offsetof(exec::WarpContext, initial_lanes), ir.getInt32Ty(), "lanes"));
  } else {
    entry_mask_ = mask_from_bits(function_->getArg(1));
    parameters_ = function_->getArg(2);
    returns_ = function_->getArg(3);
    local_frame_ = function_->getArg(4);
    check_stack();
    if (!f.calls.empty()) poll();  // calls alone, without a loop, may go on for ever
    body_ = ir.GetInsertBlock();
  }
  if (regions) {
    frame_ = function_->getArg(1);
    resume_ = ir.CreateSwitch(function_->getArg(2), exit_);
  }
}

bool FunctionCompiler::moves_stack() const {
  return std::any_of(f.instructions.begin(), f.instructions.end(),
                     [](const ptx::Instruction& i) { return i.opcode->is(isa::Effects::stack); });
}

/// Calls of unknown depth get call_stack bytes of the host's stack from here on; what comes below belongs to
/// the chain of calls that follows the last check, and to services (engine.cpp reserves it).
void FunctionCompiler::limit_host_stack() {
  auto* here = ir.CreateIntrinsic(llvm::Intrinsic::frameaddress, {ir.getPtrTy()}, {ir.getInt32(0)});
  auto* limit =
      ir.CreateSub(ir.CreatePtrToInt(here, ir.getInt64Ty()), ir.getInt64(context.kernel.call_stack));
  ir.CreateStore(
      limit, ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), warp_, offsetof(exec::WarpContext, stack_limit)));
}

void FunctionCompiler::check_host_stack() {
  auto* here = ir.CreateIntrinsic(llvm::Intrinsic::frameaddress, {ir.getPtrTy()}, {ir.getInt32(0)});
  auto* limit = warp_field(offsetof(exec::WarpContext, stack_limit), ir.getInt64Ty(), "stack_limit", false);
  if_then(ir.CreateICmpULT(ir.CreatePtrToInt(here, ir.getInt64Ty()), limit),
          [&] { fault(exec::FaultKind::stack_overflow, ir.getInt64(0), first_lane(function_->getArg(1))); });
}

/// A device function's frame must end below local memory's end, and below what its lanes have allocated
/// there.
void FunctionCompiler::check_stack() {
  if (context.kernel.open_depth) check_host_stack();
  auto* i32 = ir.getInt32Ty();
  auto* stack =
      ir.CreateTrunc(cta_field(offsetof(exec::CtaContext, local_stride), ir.getInt64Ty(), "stack"), i32);
  auto* end = ir.CreateAdd(local_frame_, ir.getInt32(f.local_bytes));
  if_then(ir.CreateICmpUGT(end, stack), [&] {
    fault(exec::FaultKind::stack_overflow, ir.CreateZExt(end, ir.getInt64Ty()),
          first_lane(function_->getArg(1)));
  });
  if (!context.kernel.has_dynamic_stack) return;
  Mask full;
  for (unsigned p = 0; p < parts(); ++p) {
    auto* used =
        ir.CreateAlignedLoad(llvm::FixedVectorType::get(i32, lanes()), dynamic_stack(p), llvm::Align(4));
    full.push_back(ir.CreateAnd(entry_mask_[p], ir.CreateICmpUGT(used, splat(ir.CreateSub(stack, end)))));
  }
  fault_lanes(exec::FaultKind::stack_overflow, full);
  if (moves_stack()) keep_stack(false);
}

/// What a function allocates goes when it returns: keeps the warp's pointers, or puts them back. Only the
/// lanes of the call can have moved theirs.
void FunctionCompiler::keep_stack(bool restore) {
  constexpr std::uint64_t kBytes = sizeof(exec::WarpContext::dynamic_stack);
  if (!restore) kept_stack_ = entry_alloca(llvm::ArrayType::get(ir.getInt8Ty(), kBytes), "stack", 4);
  llvm::Value *here = dynamic_stack(0), *kept = kept_stack_;
  ir.CreateMemCpy(restore ? here : kept, llvm::Align(4), restore ? kept : here, llvm::Align(4), kBytes);
}

void FunctionCompiler::at_line(std::uint32_t line, LaneRun lanes) {
  ir.SetCurrentDebugLocation(llvm::DILocation::get(ir.getContext(), line, lanes.column(), subprogram_));
}

void FunctionCompiler::emit_block(BlockId b) {
  block = b;
  instruction = nullptr;
  nobody_elsewhere_ = nullptr;
  met_ = nullptr;
  at_line(0);
  ir.SetInsertPoint(blocks_[b]);
  active_ = load_mask(b);
  store_mask(b, all_lanes(false));
  if (plan.may_be_empty(b)) {
    auto* run = llvm::BasicBlock::Create(ir.getContext(), "run", function_);
    auto* skip = llvm::BasicBlock::Create(ir.getContext(), "skip", function_);
    ir.CreateCondBr(any(active_), run, skip);
    ir.SetInsertPoint(skip);
    go(plan.pending(b));
    ir.SetInsertPoint(run);
  }
  if (runs_all(b)) active_ = all_lanes(true);
  if (plan.holds(b)) emit_hold();
  const ptx::Instruction* last = nullptr;
  for (std::uint32_t n = f.blocks[b].begin; n < f.blocks[b].end; ++n) {
    instruction = &f.instructions[n];
    at_line(instruction->line);
    bool transfers = opcode().is(isa::Effects::control) && instruction->extra == ptx::kNone;
    if (opcode().op == Op::brx_idx) transfers = true;
    if (transfers && n + 1 == f.blocks[b].end)
      last = instruction;
    else {
      check_members();
      emit_instruction();
    }
  }
  emit_terminator(last);
}

/// Known when it is compiled: all 32 lanes run b, so that its accesses need no masks.
bool FunctionCompiler::runs_all(BlockId b) const {
  return f.is_entry && context.kernel.layout.full_warps && !context.kernel.functions_may_exit() &&
         plan.runs_all(b);
}

void FunctionCompiler::add_lanes(BlockId target, const Mask& lanes_added) {
  Mask waiting = load_mask(target);
  for (unsigned p = 0; p < parts(); ++p) waiting[p] = ir.CreateOr(waiting[p], lanes_added[p]);
  store_mask(target, waiting);
}

void FunctionCompiler::poll() {
  auto* poll_word = cta_field(offsetof(exec::CtaContext, poll), ir.getPtrTy(), "poll");
  auto* word = ir.CreateAlignedLoad(ir.getInt32Ty(), poll_word, llvm::Align(4), "polled");
  word->setAtomic(llvm::AtomicOrdering::Monotonic);
  if_then(ir.CreateICmpNE(word, ir.getInt32(0)), [&] { call_service(exec::Service::poll, {}); });
}

void FunctionCompiler::go(const std::vector<BlockId>& set) {
  for (const Target& t : plan.targets(block, set)) {
    llvm::BasicBlock* destination = blocks_[t.block];
    auto* arrive = destination;
    if (t.backward) {
      arrive = llvm::BasicBlock::Create(ir.getContext(), "back", function_);
      auto at = ir.saveIP();
      ir.SetInsertPoint(arrive);
      poll();
      if (plan.order.waiting_header[t.block]) {
        if (!spin_counter_) {
          spin_counter_ = entry_alloca(ir.getInt32Ty(), "spins");
          Builder(body_, body_->begin()).CreateStore(ir.getInt32(0), spin_counter_);
        }
        auto* spins = ir.CreateAdd(ir.CreateLoad(ir.getInt32Ty(), spin_counter_), ir.getInt32(1));
        ir.CreateStore(spins, spin_counter_);
        if_then(ir.CreateICmpEQ(ir.CreateAnd(spins, ir.getInt32(15)), ir.getInt32(0)),
                [&] { call_service(exec::Service::yield, {}); });
      }
      ir.CreateBr(destination);
      ir.restoreIP(at);
    }
    if (!t.tested) {
      ir.CreateBr(arrive);
      return;
    }
    auto* next = llvm::BasicBlock::Create(ir.getContext(), "next", function_);
    ir.CreateCondBr(any(load_mask(t.block)), arrive, next);
    ir.SetInsertPoint(next);
  }
  ir.CreateBr(exit_);
}

void FunctionCompiler::leave(const Mask& lanes_leaving) {
  bool thread_ends = f.is_entry || (instruction && opcode().op == Op::exit);
  bool others_remain = !plan.pending(block).empty() || plan.cfg.nodes[block].exit == Exit::conditional_end;
  auto* bits = mask_bits(lanes_leaving);
  if (others_remain) ir.CreateStore(ir.CreateAnd(lanes_inside(), ir.CreateNot(bits)), inside_);
  if (!thread_ends) return store_register_returns(lanes_leaving);
  if (f.is_entry && (context.kernel.kind() != exec::BlockKind::fibers || !others_remain)) return;
  auto* live = ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), warp_, offsetof(exec::WarpContext, live_lanes));
  if (context.kernel.kind() == exec::BlockKind::fibers) {
    if_then(ir.CreateICmpNE(bits, ir.getInt32(0)), [&] { call_service(exec::Service::exit_lanes, {bits}); });
  } else {
    ir.CreateStore(ir.CreateAnd(ir.CreateLoad(ir.getInt32Ty(), live), ir.CreateNot(bits)), live);
  }
}

void FunctionCompiler::emit_terminator(const ptx::Instruction* last) {
  instruction = last;
  if (auto faults = last ? emission_of(last->op()) : nullptr) faults(*this);  // trap: faults, then ends
  const auto& node = plan.cfg.nodes[block];
  auto negate = [&](Mask m) {
    for (unsigned p = 0; p < parts(); ++p) m[p] = ir.CreateAnd(active_[p], ir.CreateNot(m[p]));
    return m;
  };
  auto split = [&](const std::function<void()>& taken, const std::function<void()>& otherwise) {
    auto* yes = llvm::BasicBlock::Create(ir.getContext(), "taken", function_);
    auto* no = llvm::BasicBlock::Create(ir.getContext(), "otherwise", function_);
    ir.CreateCondBr(guard_scalar(*last), yes, no);
    ir.SetInsertPoint(yes);
    taken();
    ir.SetInsertPoint(no);
    otherwise();
  };
  auto go_to = [&](BlockId s) {
    add_lanes(s, active_);
    go(plan.with(block, {s}));
  };
  switch (node.exit) {
    case Exit::fallthrough:
    case Exit::branch:
      go_to(node.successors[0]);
      return;
    case Exit::conditional: {
      if (!plan.divergent(block)) {
        split([&] { go_to(node.successors[0]); }, [&] { go_to(node.successors[1]); });
        return;
      }
      Mask taken = executing();
      Mask rest = negate(taken);
      add_lanes(node.successors[0], taken);
      add_lanes(node.successors[1], rest);
      go(plan.with(block, {node.successors[0], node.successors[1]}));
      return;
    }
    case Exit::conditional_end: {
      auto end = [&] {
        leave(active_);
        go(plan.pending(block));
      };
      if (!plan.divergent(block)) {
        split(end, [&] { go_to(node.successors[0]); });
        return;
      }
      Mask taken = executing();
      Mask rest = negate(taken);
      leave(taken);
      add_lanes(node.successors[0], rest);
      go(plan.with(block, {node.successors[0]}));
      return;
    }
    case Exit::end:
      leave(active_);
      go(plan.pending(block));
      return;
    case Exit::indexed:
      emit_indexed(*last);
      return;
  }
}

void FunctionCompiler::emit_barrier_region() {
  for (BlockId x : plan.pending(block))
    if_then(any(load_mask(x)),
            [&] { fault(exec::FaultKind::illegal_barrier, ir.getInt64(0), first_lane(mask_bits(active_))); });
  const FrameUse& use = frame_uses_.at(static_cast<std::uint32_t>(instruction - f.instructions.data()));
  const bool all = runs_all(block);
  if (!all) ir.CreateStore(mask_bits(active_), frame_);
  transfer_frame(use.saved, false);
  std::uint32_t state = resume_->getNumCases() + 1;
  ir.CreateRet(ir.getInt32(state));
  auto* resumed = llvm::BasicBlock::Create(ir.getContext(), "resumed", function_);
  resume_->addCase(ir.getInt32(state), resumed);
  ir.SetInsertPoint(resumed);
  nobody_elsewhere_ = nullptr;
  llvm::Value* bits = ir.getInt32(0xffffffff);
  if (!all) bits = ir.CreateLoad(ir.getInt32Ty(), frame_);
  ir.CreateStore(bits, inside_);
  if (!all) active_ = mask_from_bits(bits);
  transfer_frame(use.loaded, true);
}

/// Between registers and frame. Vectors of checked registers only where one of these has wrapped.
void FunctionCompiler::transfer_frame(const std::vector<ptx::RegisterId>& registers, bool load) {
  std::vector<llvm::AllocaInst*> always, wrapped, flags;
  for (ptx::RegisterId r : registers) {
    if (!plan.shape(r).known) continue;
    const Slot& s = slot(r);
    always.insert(always.end(), s.bases.begin(), s.bases.end());
    auto& vectors = s.ok ? wrapped : always;
    vectors.insert(vectors.end(), s.parts.begin(), s.parts.end());
    if (s.ok) flags.push_back(s.ok);
  }
  always.insert(always.end(), flags.begin(), flags.end());
  auto transfer = [&](llvm::AllocaInst* a) {
    auto* type = a->getAllocatedType();
    auto* place = ir.CreateConstInBoundsGEP1_32(ir.getInt8Ty(), frame_, frame_offsets_.at(a));
    const llvm::Align align(FrameLayout::alignment(stored_size(a)));
    if (load)
      ir.CreateStore(ir.CreateAlignedLoad(type, place, align), a);
    else
      ir.CreateAlignedStore(ir.CreateLoad(type, a), place, align);
  };
  for (auto* a : always) transfer(a);
  if (wrapped.empty()) return;
  llvm::Value* ok = ir.getTrue();
  for (auto* a : flags) ok = ir.CreateAnd(ok, ir.CreateLoad(ir.getInt1Ty(), a));
  if (load)
    for (auto* a : wrapped) ir.CreateStore(llvm::PoisonValue::get(a->getAllocatedType()), a);
  if_then(ir.CreateNot(ok), [&] {
    for (auto* a : wrapped) transfer(a);
  });
}

/// Where a register lives in the function, all its parts.
std::vector<llvm::AllocaInst*> FunctionCompiler::variables_of(ptx::RegisterId r) {
  if (!plan.shape(r).known) return {};
  const Slot& s = slot(r);
  std::vector<llvm::AllocaInst*> all = s.bases;
  all.insert(all.end(), s.parts.begin(), s.parts.end());
  if (s.ok) all.push_back(s.ok);
  return all;
}

std::uint32_t FunctionCompiler::stored_size(const llvm::AllocaInst* a) const {
  return static_cast<std::uint32_t>(context.llvm.getDataLayout().getTypeStoreSize(a->getAllocatedType()));
}

/// Regions: gives each register that some barrier holds its place in the frame.
void FunctionCompiler::lay_out_frame() {
  frame_uses_ = frame_uses(f, plan.cfg, plan.live);
  std::map<ptx::RegisterId, std::vector<std::uint32_t>> holding;  // register -> barriers
  std::uint32_t barrier = 0;
  for (const auto& [n, use] : frame_uses_) {
    for (ptx::RegisterId r : use.held) holding[r].push_back(barrier);
    ++barrier;
  }
  FrameLayout frame;
  for (const auto& [r, barriers] : holding)
    for (auto* a : variables_of(r)) frame_offsets_[a] = frame.place(stored_size(a), barriers);
  context.frame_bytes = std::max(context.frame_bytes, (frame.bytes() + 63) / 64 * 64);
}

}  // namespace raddle::jit
