#include "jit/terminators.h"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <map>
#include <span>

#include "isa/op.h"

namespace raddle::jit {

using isa::Mod;
using isa::ModKind;
using isa::Op;
using ptx::Exit;
using ptx::Operand;

Terminators::Terminators(FunctionBuilder& code, ModuleBuilder& module, const Cursor& cursor,
                         WarpValues& values, const Stream& stream, ControlFlow& flow, Parameters& parameters,
                         Regions& regions)
    : code_(code),
      ir_(code.ir),
      module_(module),
      cursor_(cursor),
      plan_(cursor.plan),
      f_(cursor.function),
      values_(values),
      stream_(stream),
      masks_(stream[0].masks),
      context_(stream[0].context),
      registers_(stream[0].registers),
      flow_(flow),
      parameters_(parameters),
      regions_(regions) {}

void Terminators::emit() {
  emit_exit();
  if (auto* taken = regions_.go_on_parted()) emit_parted(taken);
}

/// As the block's exit, for a warp whose lanes all come to it and of which these take the branch.
void Terminators::emit_parted(llvm::Value* taken) {
  const auto& node = plan_.cfg.nodes[cursor_.block];
  const bool may_end = node.exit == Exit::conditional_end;
  const BlockId otherwise = may_end ? node.successors[0] : node.successors[1];
  if (!plan_.divergent(cursor_.block)) {
    auto *yes = code_.new_block("taken"), *no = code_.new_block("otherwise");
    ir_.CreateCondBr(ir_.CreateICmpNE(taken, ir_.getInt32(0)), yes, no);
    ir_.SetInsertPoint(yes);
    may_end ? end() : flow_.go_to(node.successors[0]);
    ir_.SetInsertPoint(no);
    return flow_.go_to(otherwise);
  }
  const Mask lanes = masks_.from_bits(taken);
  masks_.add_waiting(otherwise, masks_.from_bits(ir_.CreateNot(taken)));
  if (may_end) {
    leave(stream_[0], lanes);
    return flow_.go(plan_.with(cursor_.block, {otherwise}));
  }
  masks_.add_waiting(node.successors[0], lanes);
  flow_.go(plan_.with(cursor_.block, {node.successors[0], otherwise}));
}

void Terminators::go_to(BlockId target) {
  regions_.pause_before(target, flow_.block(target));
  flow_.go_to(target);
}

void Terminators::emit_exit() {
  const auto& node = plan_.cfg.nodes[cursor_.block];
  switch (node.exit) {
    case Exit::fallthrough:
    case Exit::branch:
      return go_to(node.successors[0]);
    case Exit::conditional:
      return branch(node.successors[0], node.successors[1]);
    case Exit::conditional_end:
      return end_or_go_to(node.successors[0]);
    case Exit::end:
      return end();
    case Exit::indexed:
      return plan_.divergent(cursor_.block) ? branch_by_lane() : branch_by_index();
  }
}

void Terminators::branch(BlockId to, BlockId otherwise) {
  if (!plan_.divergent(cursor_.block)) return split([&] { go_to(to); }, [&] { go_to(otherwise); });
  split_by_scalars([&] { flow_.go_to(to); }, [&] { flow_.go_to(otherwise); });
  separate(otherwise, [&](const StreamWarp& warp, const Mask& taken) { warp.masks.add_waiting(to, taken); });
  flow_.go(plan_.with(cursor_.block, {to, otherwise}));
}

void Terminators::end_or_go_to(BlockId otherwise) {
  if (!plan_.divergent(cursor_.block)) return split([&] { end(); }, [&] { go_to(otherwise); });
  split_by_scalars([&] { end(); }, [&] { flow_.go_to(otherwise); });
  separate(otherwise, [&](const StreamWarp& warp, const Mask& taken) { leave(warp, taken); });
  flow_.go(plan_.with(cursor_.block, {otherwise}));
}

void Terminators::end() {
  for_each_warp(code_, stream_, [&](const StreamWarp& warp) { leave(warp, warp.masks.active()); });
  flow_.go(plan_.pending_behind(cursor_.block));
}

/// A comparison of numbers that lie at constant distances, the first lowest, with a limit that lanes share.
struct Terminators::Limited {
  const Operand &lanes, &limit;
  bool is_within;  // a lane at the limit counts as below
  bool are_taken;  // lanes below take the branch, others do not; or the other way round
};

/// What decides the branch at hand, should scalars tell that all lanes are below a limit, or none: on hosts
/// without mask registers, where comparing vectors is half of a short loop (docs/adr/0158).
std::optional<Terminators::Limited> Terminators::limited_lanes() const {
  const ptx::Instruction& branch = *cursor_.instruction;
  if (code_.has_mask_registers() || &branch == &f_.instructions[f_.blocks[cursor_.block].begin]) return {};
  const ptx::Instruction& i = *(&branch - 1);
  const auto operands = f_.operands_of(i);
  if (i.op() != Op::setp || i.guard != ptx::kNone || i.opcode->form->operand("c") ||
      operands[0].index != branch.guard)
    return {};
  const Mod relation = i.opcode->get(ModKind::compare);
  const bool below = relation == Mod::lt || relation == Mod::le;
  if (!below && relation != Mod::ge && relation != Mod::gt) return {};
  const Operand &lanes = operands[2], &limit = operands[3];
  const Shape shape = plan_.operand_shape(lanes);
  if (isa::is_float(lanes.type) || isa::bit_size(lanes.type) != 32 || !shape.scalar() || shape.per_part ||
      shape.equal_lanes() || values_.offset_range(shape).first < 0 || !plan_.operand_shape(limit).uniform())
    return {};
  return Limited{lanes, limit, relation == Mod::le || relation == Mod::gt, below != branch.guard_negated};
}

/// Whether all lanes of all warps are below (i1): the last of each is, in numbers that do not wrap.
llvm::Value* Terminators::all_are_below(const Limited& limited) {
  const auto wide = [&](const Val& v) {
    auto* i64 = ir_.getInt64Ty();
    return isa::is_signed(limited.lanes.type) ? ir_.CreateSExt(v.v, i64) : ir_.CreateZExt(v.v, i64);
  };
  llvm::Value* all = ir_.getTrue();
  for_each_warp(code_, stream_, [&](const StreamWarp& warp) {
    const WarpValue lanes = warp.registers.read(limited.lanes);
    const auto most = static_cast<std::uint64_t>(values_.offset_range(lanes.shape).second);
    auto* last = ir_.CreateAdd(wide(values_.scalar(lanes)), ir_.getInt64(most));
    auto* limit = wide(values_.scalar_of_uniform(warp.registers.read(limited.limit)));
    all = ir_.CreateAnd(all,
                        limited.is_within ? ir_.CreateICmpSLE(last, limit) : ir_.CreateICmpSLT(last, limit));
  });
  return all;
}

/// Whether none is below (i1): the first of each warp is not, and the last has not wrapped.
llvm::Value* Terminators::none_is_below(const Limited& limited) {
  const std::int64_t greatest = isa::is_signed(limited.lanes.type) ? INT32_MAX : UINT32_MAX;
  llvm::Value* none = ir_.getTrue();
  for_each_warp(code_, stream_, [&](const StreamWarp& warp) {
    const WarpValue lanes = warp.registers.read(limited.lanes);
    const Val first = values_.scalar(lanes),
              limit = values_.scalar_of_uniform(warp.registers.read(limited.limit));
    const Val wraps_behind = first.like(greatest - values_.offset_range(lanes.shape).second);
    const Val is_beyond = limited.is_within ? gt(first, limit) : ge(first, limit);
    none = ir_.CreateAnd(none, ir_.CreateAnd(is_beyond.v, le(first, wraps_behind).v));
  });
  return none;
}

/// The same where lanes may part.
void Terminators::split_together(const std::function<void()>& taken, const std::function<void()>& otherwise) {
  auto *yes = code_.new_block("taken"), *some = code_.new_block("some"), *no = code_.new_block("otherwise"),
       *apart = code_.new_block("apart");
  if (const auto limited = limited_lanes()) {
    auto* at_limit = code_.new_block("at_limit");
    ir_.CreateCondBr(all_are_below(*limited), limited->are_taken ? yes : no, at_limit);
    ir_.SetInsertPoint(at_limit);
    auto* across = code_.new_block("across");
    ir_.CreateCondBr(none_is_below(*limited), limited->are_taken ? no : yes, across);
    ir_.SetInsertPoint(across);
  }
  std::vector<llvm::Value*> bits;
  llvm::Value *every = nullptr, *any = nullptr;
  for_each_warp(code_, stream_, [&](const StreamWarp& warp) {
    const Mask lanes = warp.registers.executing();
    for (llvm::Value* part : lanes) {
      every = every ? ir_.CreateAnd(every, part) : part;
      any = any ? ir_.CreateOr(any, part) : part;
    }
    bits.push_back(warp.masks.bits(lanes));
  });
  auto word = [&](llvm::Value* part) { return ir_.CreateBitCast(part, ir_.getIntNTy(code_.lanes())); };
  ir_.CreateCondBr(ir_.CreateICmpEQ(word(every), llvm::Constant::getAllOnesValue(word(every)->getType())),
                   yes, some);
  ir_.SetInsertPoint(some);
  ir_.CreateCondBr(ir_.CreateICmpEQ(word(any), llvm::Constant::getNullValue(word(any)->getType())), no,
                   apart);
  ir_.SetInsertPoint(yes);
  taken();
  ir_.SetInsertPoint(no);
  otherwise();
  ir_.SetInsertPoint(apart);
  regions_.part(bits);
}

/// On hosts without mask registers, where a scalar takes six instructions to be a mask; of one warp, as each
/// of several has scalars of its own.
void Terminators::find_parts() {
  parts_.reset();
  if (code_.has_mask_registers() || stream_.size() != 1) return;
  parts_ = parts_of_branch(plan_, cursor_.block);
}

/// The branch at hand for all lanes, if the scalars among the parts of its guard decide it. What is written
/// then is for the lanes that they leave to the rest.
void Terminators::split_by_scalars(const std::function<void()>& taken,
                                   const std::function<void()>& otherwise) {
  find_parts();
  if (!parts_) return;
  llvm::Value* decided = nullptr;
  for (const ptx::Operand& part : parts_->uniform) {
    llvm::Value* holds = values_.scalar_of_uniform(registers_.read(part)).v;
    llvm::Value* decides = parts_->any_decides ? holds : ir_.CreateNot(holds);
    decided = decided ? ir_.CreateOr(decided, decides) : decides;
  }
  auto *all = code_.new_block("all_alike"), *rest = code_.new_block("by_lane");
  ir_.CreateCondBr(decided, all, rest);
  ir_.SetInsertPoint(all);
  parts_->any_decides != cursor_.instruction->guard_negated ? taken() : otherwise();
  ir_.SetInsertPoint(rest);
}

/// Of a warp, the lanes that take the branch.
Mask Terminators::taking(const StreamWarp& warp) {
  if (!parts_) return warp.registers.executing();
  const auto mask_of = [&](const ptx::Operand& part) { return values_.vectors(warp.registers.read(part)); };
  Mask lanes = mask_of(parts_->by_lane.front());
  for (const ptx::Operand& part : std::span(parts_->by_lane).subspan(1)) {
    const Mask more = mask_of(part);
    for (unsigned p = 0; p < code_.parts(); ++p)
      lanes[p] = parts_->any_decides ? ir_.CreateOr(lanes[p], more[p]) : ir_.CreateAnd(lanes[p], more[p]);
  }
  for (unsigned p = 0; p < code_.parts(); ++p) {
    auto* take = cursor_.instruction->guard_negated ? ir_.CreateNot(lanes[p]) : lanes[p];
    lanes[p] = ir_.CreateAnd(warp.masks.active()[p], take);
  }
  return lanes;
}

/// Of each warp, the lanes that take the branch, and those that wait at `otherwise`.
void Terminators::separate(BlockId otherwise,
                           const std::function<void(const StreamWarp&, const Mask&)>& taken) {
  for_each_warp(code_, stream_, [&](const StreamWarp& warp) {
    const Mask lanes = taking(warp);
    Mask rest = lanes;
    for (unsigned p = 0; p < code_.parts(); ++p)
      rest[p] = ir_.CreateAnd(warp.masks.active()[p], ir_.CreateNot(lanes[p]));
    taken(warp, lanes);
    warp.masks.add_waiting(otherwise, rest);
  });
}

/// One way or the other for all lanes.
void Terminators::split(const std::function<void()>& taken, const std::function<void()>& otherwise) {
  if (plan_.may_part(cursor_.block)) return split_together(taken, otherwise);
  auto *yes = code_.new_block("taken"), *no = code_.new_block("otherwise");
  ir_.CreateCondBr(registers_.guard_scalar(*cursor_.instruction), yes, no);
  ir_.SetInsertPoint(yes);
  taken();
  ir_.SetInsertPoint(no);
  otherwise();
}

/// Lanes exit or return.
void Terminators::leave(const StreamWarp& warp, const Mask& lanes) {
  const exec::BlockKind kind = module_.kernel.kind();
  const bool thread_ends = f_.is_entry || (cursor_.instruction && cursor_.opcode().op == Op::exit);
  const bool others_remain = !plan_.pending_behind(cursor_.block).empty() ||
                             plan_.cfg.nodes[cursor_.block].exit == Exit::conditional_end;
  auto* bits = warp.masks.bits(lanes);
  if (others_remain) warp.masks.set_inside(ir_.CreateAnd(warp.masks.inside(), ir_.CreateNot(bits)));
  if (!thread_ends) return parameters_.store_register_returns(lanes);
  if (f_.is_entry && (kind != exec::BlockKind::fibers || !others_remain)) return;
  auto* live = warp.context.address_of_warp_field(offsetof(exec::WarpContext, live_lanes));
  if (kind == exec::BlockKind::fibers) {
    code_.if_then(ir_.CreateICmpNE(bits, ir_.getInt32(0)),
                  [&] { warp.context.call_service(exec::Service::exit_lanes, {bits}); });
  } else {
    ir_.CreateStore(ir_.CreateAnd(ir_.CreateLoad(ir_.getInt32Ty(), live), ir_.CreateNot(bits)), live);
  }
}

void Terminators::branch_by_lane() {
  const ptx::Instruction& last = *cursor_.instruction;
  const auto& targets = f_.branch_targets[last.extra];
  const auto& successors = plan_.cfg.nodes[cursor_.block].successors;
  WarpValue index = registers_.read(f_.operands_of(last)[0]);
  Mask branching = registers_.executing(), astray = branching, staying = branching;
  std::vector<BlockId> set = plan_.pending_behind(cursor_.block);
  for (BlockId s : successors)
    if (auto at = std::lower_bound(set.begin(), set.end(), s); at == set.end() || *at != s) set.insert(at, s);
  std::vector<BlockId> distinct = targets;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const bool by_table = distinct.size() < targets.size();
  if (by_table) index = look_up_target(index, targets, distinct);
  const auto& numbered = by_table ? distinct : targets;
  for (std::size_t n = 0; n < numbered.size(); ++n) {
    Mask chosen = branching;
    for (unsigned p = 0; p < code_.parts(); ++p) {
      Val i = values_.part(index, p).as(Type::u32);
      chosen[p] = ir_.CreateAnd(branching[p], eq(i, i.like(static_cast<std::int64_t>(n))).v);
      astray[p] = ir_.CreateAnd(astray[p], ir_.CreateNot(chosen[p]));
    }
    masks_.add_waiting(numbered[n], chosen);
  }
  context_.fault_lanes(exec::FaultKind::illegal_instruction, astray);
  if (last.guard != ptx::kNone) {
    for (unsigned p = 0; p < code_.parts(); ++p)
      staying[p] = ir_.CreateAnd(masks_.active()[p], ir_.CreateNot(branching[p]));
    masks_.add_waiting(successors.back(), staying);
  }
  flow_.go(set);
}

/// Many indices may name few targets: which of the distinct ones each lane's names, their number if none.
WarpValue Terminators::look_up_target(const WarpValue& index, const std::vector<BlockId>& targets,
                                      const std::vector<BlockId>& distinct) {
  std::vector<std::uint32_t> places;
  for (BlockId target : targets)
    places.push_back(static_cast<std::uint32_t>(std::lower_bound(distinct.begin(), distinct.end(), target) -
                                                distinct.begin()));
  places.push_back(static_cast<std::uint32_t>(distinct.size()));
  auto* data = llvm::ConstantDataArray::get(ir_.getContext(), places);
  auto* table = new llvm::GlobalVariable(module_.llvm, data->getType(), true,
                                         llvm::GlobalValue::PrivateLinkage, data, "targets");
  auto* i32 = ir_.getInt32Ty();
  WarpValue result{.shape = {}, .type = Type::u32, .bases = {}, .ok = nullptr, .parts = {}};
  for (unsigned p = 0; p < code_.parts(); ++p) {
    Val i = values_.part(index, p).as(Type::u32);
    auto* at = min(i, i.like(static_cast<std::int64_t>(targets.size()))).v;
    llvm::Value* places_of = llvm::PoisonValue::get(llvm::FixedVectorType::get(i32, code_.lanes()));
    for (unsigned lane = 0; lane < code_.lanes(); ++lane) {
      auto* from = ir_.CreateInBoundsGEP(
          i32, table, ir_.CreateZExt(ir_.CreateExtractElement(at, lane), ir_.getInt64Ty()));
      places_of = ir_.CreateInsertElement(places_of, ir_.CreateLoad(i32, from), lane);
    }
    result.parts.push_back(places_of);
  }
  return result;
}

void Terminators::branch_by_index() {
  const ptx::Instruction& last = *cursor_.instruction;
  const auto& targets = f_.branch_targets[last.extra];
  if (last.guard != ptx::kNone) {
    auto *branching = code_.new_block("branching"), *staying = code_.new_block("staying");
    ir_.CreateCondBr(registers_.guard_scalar(last), branching, staying);
    ir_.SetInsertPoint(staying);
    flow_.go_to(plan_.cfg.nodes[cursor_.block].successors.back());
    ir_.SetInsertPoint(branching);
  }
  auto* astray = code_.new_block("astray");
  auto* choice =
      ir_.CreateSwitch(values_.scalar(registers_.read(f_.operands_of(last)[0])).as(Type::u32).v, astray);
  std::map<BlockId, llvm::BasicBlock*> ways;
  for (std::size_t n = 0; n < targets.size(); ++n) {
    auto& way = ways[targets[n]];
    if (!way) {
      way = code_.new_block("target");
      ir_.SetInsertPoint(way);
      flow_.go_to(targets[n]);
    }
    choice->addCase(ir_.getInt32(static_cast<std::uint32_t>(n)), way);
  }
  ir_.SetInsertPoint(astray);
  context_.fault_lanes(exec::FaultKind::illegal_instruction, masks_.active());
  ir_.CreateBr(code_.exit());
}

}  // namespace raddle::jit
