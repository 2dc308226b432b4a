#include "jit/function_compiler.h"

#include <llvm/IR/Intrinsics.h>

#include "isa/op.h"

namespace raddle::jit {

using isa::Op;

FunctionCompiler::WarpCode::WarpCode(FunctionCompiler& c, unsigned number, WarpCode* first)
    : masks(c.code_, c.cursor_),
      context(c.code_, c.cursor_, masks, first != nullptr ? &first->context : nullptr, number),
      spaces(c.code_, c.kernel_, c.f_, context),
      specials(c.code_, c.kernel_, context, spaces),
      registers(c.code_, c.cursor_, c.values_, masks, spaces, specials,
                first != nullptr ? &first->registers : nullptr),
      loops(c.code_, context),
      meetings(c.code_, c.cursor_, c.values_, masks, context, registers, loops, c.flow_),
      parameters(c.code_, c.kernel_, c.cursor_, c.values_, masks, registers),
      addresses(c.code_, c.module_, c.cursor_, c.values_, masks, context, spaces, registers),
      memory(c.code_, c.module_, c.cursor_, c.values_, masks, registers, loops, addresses, parameters),
      calls(c.code_, c.module_, c.cursor_, c.values_, masks, context, spaces, registers, loops, parameters),
      lowering(c.code_, c.cursor_, c.values_, masks, registers),
      emitter{.ir = c.code_.ir,
              .kernel = c.kernel_,
              .cursor = c.cursor_,
              .code = c.code_,
              .values = c.values_,
              .masks = masks,
              .context = context,
              .spaces = spaces,
              .registers = registers,
              .loops = loops,
              .addresses = addresses,
              .memory = memory,
              .meetings = meetings,
              .regions = c.regions_,
              .statistics = c.module_.statistics} {
  c.stream_.push_back({masks, context, registers});
}

FunctionCompiler::FunctionCompiler(ModuleBuilder& module, const FunctionPlan& plan)
    : module_(module),
      kernel_(module.kernel),
      plan_(plan),
      f_(plan.function),
      cursor_(plan),
      code_(module, plan),
      values_(code_),
      check_groups_(plan),
      flow_(code_, cursor_, stream_),
      regions_(code_, module, cursor_, stream_, values_),
      warps_(make_warps()),
      stack_(code_, kernel_, f_, first().masks, first().context, first().spaces),
      terminators_(code_, module, cursor_, values_, stream_, flow_, first().parameters, regions_) {}

std::vector<std::unique_ptr<FunctionCompiler::WarpCode>> FunctionCompiler::make_warps() {
  std::vector<std::unique_ptr<WarpCode>> made;
  for (unsigned w = 0; w < plan_.warps; ++w)
    made.push_back(std::make_unique<WarpCode>(*this, w, w == 0 ? nullptr : made.front().get()));
  return made;
}

template <class Body>
void FunctionCompiler::each_warp(const Body& body) {
  for (unsigned w = 0; w < warps_.size(); ++w) {
    code_.at_warp(w);
    body(*warps_[w]);
  }
  code_.at_warp(0);
}

llvm::Function* FunctionCompiler::compile() {
  const Mask lanes = f_.is_entry ? begin_kernel() : begin_device_function();
  prepare_blocks(lanes);
  for (BlockId b : plan_.order.blocks) emit_block(b);
  end();
  if (!plan_.together) module_.statistics.dispatched_loops += plan_.order.dispatched_loops;
  return code_.function();
}

/// @returns the lanes that begin; where warps run together, of each
Mask FunctionCompiler::begin_kernel() {
  stack_.begin_kernel();
  auto existing = [&] {
    return first().context.warp_field(offsetof(exec::WarpContext, initial_lanes), code_.ir.getInt32Ty(),
                                      "lanes");
  };
  if (plan_.one_by_one) return begin_thread();
  Masks& masks = first().masks;
  Mask lanes = kernel_.layout.full_warps ? masks.all_lanes(true) : masks.from_bits(existing());
  if (kernel_.has_states()) regions_.begin();
  return lanes;
}

/// One by one: what follows is run for each thread of the warp.
Mask FunctionCompiler::begin_thread() {
  auto& ir = code_.ir;
  auto *thread = code_.new_block("thread"), *begin = code_.new_block("begin");
  auto* all =
      first().context.warp_field(offsetof(exec::WarpContext, initial_lanes), ir.getInt32Ty(), "lanes");
  auto* before = ir.GetInsertBlock();
  ir.CreateBr(thread);
  ir.SetInsertPoint(thread);
  threads_left_ = ir.CreatePHI(ir.getInt32Ty(), 2, "threads");
  threads_left_->addIncoming(all, before);
  auto* lane = ir.CreateIntrinsic(llvm::Intrinsic::cttz, {ir.getInt32Ty()}, {threads_left_, ir.getTrue()});
  code_.of_thread(lane);
  first().context.mark_lane(lane);
  ir.CreateBr(begin);
  ir.SetInsertPoint(begin);
  code_.body_begins_here();
  thread_ = first().masks.from_bits(ir.CreateShl(ir.getInt32(1), lane, "", true));
  return thread_;
}

/// The next thread's turn, if there is one.
void FunctionCompiler::end_thread() {
  auto& ir = code_.ir;
  auto* done = code_.new_block("done");
  auto* left = ir.CreateAnd(threads_left_, ir.CreateSub(threads_left_, ir.getInt32(1)));
  threads_left_->addIncoming(left, ir.GetInsertBlock());
  ir.CreateCondBr(ir.CreateICmpEQ(left, ir.getInt32(0)), done, threads_left_->getParent());
  ir.SetInsertPoint(done);
  code_.of_thread(nullptr);
  first().context.mark_lane(nullptr);
}

Mask FunctionCompiler::begin_device_function() {
  Mask lanes = first().masks.from_bits(code_.argument(1));
  stack_.begin_device_function(lanes);
  if (!f_.calls.empty()) first().context.poll();  // calls alone, without a loop, may go on for ever
  code_.body_begins_here();
  return lanes;
}

void FunctionCompiler::prepare_blocks(const Mask& lanes) {
  const auto& blocks = plan_.order.blocks;
  for (BlockId b : blocks) {
    flow_.prepare(b);
    for (const auto& warp : warps_) warp->masks.prepare_waiting(b);
  }
  code_.ir.SetInsertPoint(code_.body());
  for (const auto& warp : warps_) {
    warp->masks.clear_waiting();
    warp->masks.enter(blocks.front(), lanes);
    warp->meetings.prepare();
  }
  if (regions_.is_used()) regions_.lay_out();
  if (!f_.is_entry) first().parameters.load_register_formals();
  auto* begin = flow_.block(blocks.front());
  if (regions_.is_used())
    regions_.enter_at(begin, [&] { stack_.begin_warp(); });
  else
    code_.ir.CreateBr(begin);
}

void FunctionCompiler::emit_block(BlockId b) {
  cursor_.block = b;
  cursor_.instruction = nullptr;
  code_.at_line(0);
  code_.ir.SetInsertPoint(flow_.block(b));
  for (const auto& warp : warps_) {
    warp->masks.forget_elsewhere();
    warp->meetings.begin_block();
    warp->masks.set_active(warp->masks.waiting_at(b));
    warp->masks.set_waiting(b, warp->masks.all_lanes(false));
  }
  if (plan_.one_by_one) first().masks.set_active(thread_);
  if (plan_.may_be_empty(b)) skip_if_empty();
  if (kernel_.runs_all(plan_, b))
    for (const auto& warp : warps_) warp->masks.set_active(warp->masks.all_lanes(true));
  const auto& text = f_.blocks[b];
  const bool ends_region = regions_.is_used() && text.begin < text.end &&
                           f_.instructions[text.begin].op() == Op::barrier_cluster_wait;
  if (plan_.holds(b) && !ends_region) first().meetings.hold();
  const bool has_last = text.begin < text.end && transfers(f_.instructions[text.end - 1]);
  const std::uint32_t end = has_last ? text.end - 1 : text.end;
  std::uint32_t n = text.begin;
  if (module_.listener == nullptr)
    for (const CheckGroup& group : check_groups_.of(b)) {
      for (; n < group.begin; ++n) emit_instruction(f_.instructions[n]);
      emit_twice(group);
      n = group.end;
    }
  for (; n < end; ++n) emit_instruction(f_.instructions[n]);
  emit_terminator(has_last ? &f_.instructions[end] : nullptr);
}

/// From where a check fails, the rest of the group is written for what has wrapped.
void FunctionCompiler::emit_twice(const CheckGroup& group) {
  auto& ir = code_.ir;
  std::vector<llvm::BasicBlock*> left(group.end - group.begin);  // by instruction
  for (std::uint32_t n = group.begin; n < group.end; ++n) {
    code_.write_likely(&left[n - group.begin]);
    emit_instruction(f_.instructions[n]);
  }
  auto* after = code_.new_block("after");
  ir.CreateBr(after);
  code_.write_otherwise();
  bool comes_here = false;
  for (std::uint32_t n = group.begin; n < group.end; ++n) {
    if (auto* here = left[n - group.begin]) {
      if (comes_here) ir.CreateBr(here);
      ir.SetInsertPoint(here);
      comes_here = true;
    }
    if (comes_here) emit_instruction(f_.instructions[n]);
  }
  if (comes_here) ir.CreateBr(after);
  code_.write_both();
  ir.SetInsertPoint(after);
}

void FunctionCompiler::skip_if_empty() {
  auto *run = code_.new_block("run"), *skip = code_.new_block("skip");
  Mask any = first().masks.active();
  for (std::size_t w = 1; w < warps_.size(); ++w)
    for (unsigned p = 0; p < code_.parts(); ++p)
      any[p] = code_.ir.CreateOr(any[p], warps_[w]->masks.active()[p]);
  code_.ir.CreateCondBr(first().masks.any(any), run, skip);
  code_.ir.SetInsertPoint(skip);
  flow_.go(plan_.pending(cursor_.block));
  code_.ir.SetInsertPoint(run);
}

bool FunctionCompiler::transfers(const ptx::Instruction& i) {
  if (i.op() == Op::brx_idx) return true;
  return i.opcode->is(isa::Effects::control) && i.extra == ptx::kNone;
}

/// A barrier is one for all warps that run together, and so is what is equal for all of them.
void FunctionCompiler::emit_instruction(const ptx::Instruction& i) {
  cursor_.instruction = &i;
  const isa::Scope scope = i.opcode->row->text->scope;
  if ((scope != isa::Scope::lane && !isa::is_of_warps(scope)) || plan_.is_for_all(i))
    emit_instruction(first(), i);
  else
    each_warp([&](WarpCode& warp) { emit_instruction(warp, i); });
  code_.write_ways();
}

void FunctionCompiler::emit_instruction(WarpCode& warp, const ptx::Instruction& i) {
  code_.at_line(i.line);
  warp.meetings.check_members();
  warp.registers.keep_guard();
  if (i.extra != ptx::kNone && i.opcode->is(isa::Effects::control))
    warp.calls.emit();
  else if (auto emit = emission_of(i.op()))
    emit(warp.emitter);
  else
    warp.lowering.emit();
}

void FunctionCompiler::emit_terminator(const ptx::Instruction* last) {
  cursor_.instruction = last;
  if (last) {
    code_.at_line(last->line);
    if (auto faults = emission_of(last->op())) faults(first().emitter);  // trap: faults, then ends
  }
  terminators_.emit();
}

void FunctionCompiler::end() {
  module_.calls_services |= code_.calls_services;
  regions_.go_on_paused();
  code_.ir.SetInsertPoint(code_.exit());
  if (plan_.one_by_one) end_thread();
  stack_.end();
  if (regions_.is_used())
    code_.ir.CreateRet(code_.ir.getInt32(0));
  else
    code_.ir.CreateRetVoid();
}

}  // namespace raddle::jit
