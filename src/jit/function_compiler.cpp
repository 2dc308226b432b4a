#include "jit/function_compiler.h"

#include "isa/op.h"

namespace raddle::jit {

using isa::Op;

FunctionCompiler::FunctionCompiler(ModuleBuilder& module, const FunctionPlan& plan)
    : module_(module),
      kernel_(module.kernel),
      plan_(plan),
      f_(plan.function),
      cursor_(plan),
      code_(module, f_),
      values_(code_),
      masks_(code_, cursor_),
      context_(code_, cursor_, masks_),
      spaces_(code_, kernel_, f_, context_),
      specials_(code_, kernel_, context_, spaces_),
      registers_(code_, cursor_, values_, masks_, spaces_, specials_),
      loops_(code_, context_),
      flow_(code_, cursor_, masks_, context_),
      meetings_(code_, cursor_, values_, masks_, context_, registers_, loops_, flow_),
      parameters_(code_, kernel_, cursor_, values_, masks_, registers_),
      addresses_(code_, module, cursor_, values_, masks_, context_, spaces_, registers_),
      memory_(code_, module, cursor_, values_, masks_, registers_, loops_, addresses_, parameters_),
      calls_(code_, module, cursor_, values_, masks_, context_, spaces_, registers_, loops_, parameters_),
      stack_(code_, kernel_, f_, masks_, context_, spaces_),
      regions_(code_, module, cursor_, masks_, context_, registers_),
      lowering_(code_, cursor_, values_, masks_, registers_),
      terminators_(code_, module, cursor_, values_, masks_, context_, registers_, flow_, parameters_),
      emitter_{.ir = code_.ir,
               .kernel = kernel_,
               .cursor = cursor_,
               .code = code_,
               .values = values_,
               .masks = masks_,
               .context = context_,
               .spaces = spaces_,
               .registers = registers_,
               .loops = loops_,
               .addresses = addresses_,
               .memory = memory_,
               .meetings = meetings_,
               .regions = regions_,
               .statistics = module.statistics} {}

llvm::Function* FunctionCompiler::compile() {
  const Mask lanes = f_.is_entry ? begin_kernel() : begin_device_function();
  prepare_blocks(lanes);
  for (BlockId b : plan_.order.blocks) emit_block(b);
  end();
  module_.statistics.dispatched_loops += plan_.order.dispatched_loops;
  return code_.function();
}

/// @returns the lanes that begin
Mask FunctionCompiler::begin_kernel() {
  stack_.begin_kernel();
  auto existing = [&] {
    return context_.warp_field(offsetof(exec::WarpContext, initial_lanes), code_.ir.getInt32Ty(), "lanes");
  };
  Mask lanes = kernel_.layout.full_warps ? masks_.all_lanes(true) : masks_.from_bits(existing());
  if (kernel_.kind() == exec::BlockKind::regions) regions_.begin();
  return lanes;
}

Mask FunctionCompiler::begin_device_function() {
  Mask lanes = masks_.from_bits(code_.argument(1));
  stack_.begin_device_function(lanes);
  if (!f_.calls.empty()) context_.poll();  // calls alone, without a loop, may go on for ever
  code_.body_begins_here();
  return lanes;
}

void FunctionCompiler::prepare_blocks(const Mask& lanes) {
  const auto& blocks = plan_.order.blocks;
  for (BlockId b : blocks) {
    flow_.prepare(b);
    masks_.prepare_waiting(b);
  }
  code_.ir.SetInsertPoint(code_.body());
  masks_.clear_waiting();
  masks_.enter(blocks.front(), lanes);
  meetings_.prepare();
  if (regions_.is_used()) regions_.lay_out();
  if (!f_.is_entry) parameters_.load_register_formals();
  auto* first = flow_.block(blocks.front());
  if (regions_.is_used())
    regions_.enter_at(first);
  else
    code_.ir.CreateBr(first);
}

void FunctionCompiler::emit_block(BlockId b) {
  cursor_.block = b;
  cursor_.instruction = nullptr;
  masks_.forget_elsewhere();
  meetings_.begin_block();
  code_.at_line(0);
  code_.ir.SetInsertPoint(flow_.block(b));
  masks_.set_active(masks_.waiting_at(b));
  masks_.set_waiting(b, masks_.all_lanes(false));
  if (plan_.may_be_empty(b)) skip_if_empty();
  if (kernel_.runs_all(plan_, b)) masks_.set_active(masks_.all_lanes(true));
  const auto& text = f_.blocks[b];
  const bool ends_region = regions_.is_used() && text.begin < text.end &&
                           f_.instructions[text.begin].op() == Op::barrier_cluster_wait;
  if (plan_.holds(b) && !ends_region) meetings_.hold();
  const bool has_last = text.begin < text.end && transfers(f_.instructions[text.end - 1]);
  const std::uint32_t end = has_last ? text.end - 1 : text.end;
  for (std::uint32_t n = text.begin; n < end; ++n) emit_instruction(f_.instructions[n]);
  emit_terminator(has_last ? &f_.instructions[end] : nullptr);
}

void FunctionCompiler::skip_if_empty() {
  auto *run = code_.new_block("run"), *skip = code_.new_block("skip");
  code_.ir.CreateCondBr(masks_.any(masks_.active()), run, skip);
  code_.ir.SetInsertPoint(skip);
  flow_.go(plan_.pending(cursor_.block));
  code_.ir.SetInsertPoint(run);
}

bool FunctionCompiler::transfers(const ptx::Instruction& i) {
  if (i.op() == Op::brx_idx) return true;
  return i.opcode->is(isa::Effects::control) && i.extra == ptx::kNone;
}

void FunctionCompiler::emit_instruction(const ptx::Instruction& i) {
  cursor_.instruction = &i;
  code_.at_line(i.line);
  meetings_.check_members();
  registers_.keep_guard();
  if (i.extra != ptx::kNone && i.opcode->is(isa::Effects::control))
    calls_.emit();
  else if (auto emit = emission_of(i.op()))
    emit(emitter_);
  else
    lowering_.emit();
}

void FunctionCompiler::emit_terminator(const ptx::Instruction* last) {
  cursor_.instruction = last;
  if (last) {
    code_.at_line(last->line);
    if (auto faults = emission_of(last->op())) faults(emitter_);  // trap: faults, then ends
  }
  terminators_.emit();
}

void FunctionCompiler::end() {
  code_.ir.SetInsertPoint(code_.exit());
  stack_.end();
  if (regions_.is_used())
    code_.ir.CreateRet(code_.ir.getInt32(0));
  else
    code_.ir.CreateRetVoid();
}

}  // namespace raddle::jit
