#include "jit/regions.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <numeric>

#include "base/assert.h"
#include "base/round_up.h"
#include "jit/executable.h"

namespace raddle::jit {
namespace {

// In a frame, behind the mask of a warp at a barrier, of one that has parted: the lanes that take the branch,
// and whether it has come to no barrier yet.
constexpr std::uint32_t kTakenOffset = 4, kFirstOffset = 8;

const FunctionPlan& by_lanes(const KernelPlan& kernel, const FunctionPlan& plan) {
  return plan.together ? kernel.function(kernel.kernel) : plan;
}

std::vector<Registers::Variable> all_variables(const Registers::Slot& slot) {
  std::vector<Registers::Variable> all = slot.bases;
  all.insert(all.end(), slot.parts.begin(), slot.parts.end());
  if (slot.ok) all.push_back(*slot.ok);
  return all;
}

/// By register: whether a turn of the loop that begins there may change it; of other blocks, none does.
std::vector<bool> changed_in_turn(const FunctionPlan& plan, const Prelude& prelude, BlockId header) {
  std::vector<bool> changes(plan.function.registers.size());
  if (!prelude.is_turn[header]) return changes;
  ptx::RegisterUses uses;
  for_instructions(plan.function, plan.order.loops[plan.order.loop_of[header]],
                   [&](const ptx::Instruction& i) {
                     ptx::register_uses(plan.function, i, uses);
                     for (ptx::RegisterId r : uses.definitions) changes[r] = true;
                   });
  return changes;
}

}  // namespace

Regions::Regions(FunctionBuilder& code, ModuleBuilder& module, const Cursor& cursor, const Stream& stream,
                 WarpValues& values)
    : code_(code),
      ir_(code.ir),
      module_(module),
      cursor_(cursor),
      plan_(cursor.plan),
      by_lanes_(by_lanes(module.kernel, cursor.plan)),
      f_(cursor.function),
      prelude_(cursor.plan.together ? module.kernel.prelude() : nullptr),
      stream_(stream),
      values_(values) {}

void Regions::begin() {
  frame_ = code_.argument(1);
  state_ = code_.argument(2);
  if (prelude_ != nullptr) {
    pausing_ = ir_.CreateICmpUGE(state_, ir_.getInt32(kPausing));
    state_ = ir_.CreateAnd(state_, ir_.getInt32(~kPausing));
  }
  resume_ = ir_.CreateSwitch(state_, code_.exit());
}

void Regions::enter_at(llvm::BasicBlock* begin, const std::function<void()>& prepare) {
  auto* first = code_.new_block("first");
  resume_->setDefaultDest(first);
  resume_->moveBefore(*code_.body(), code_.body()->end());
  ir_.SetInsertPoint(first);
  std::set<const Registers::Fragment*> done;
  Registers& registers = stream_[0].registers;  // warps with matrices do not run together
  for (ptx::RegisterId r : in_frame_) {
    const Registers::Fragment* fragment = registers.fragment_of(r);
    if (done.insert(fragment).second && registers.is_read_first(*fragment))
      ir_.CreateMemSet(fragment->words, ir_.getInt8(0), fragment->bytes(), llvm::Align(64));
  }
  prepare();
  ir_.CreateBr(begin);
}

llvm::BasicBlock* Regions::resume_at(std::uint32_t state) {
  auto* resumed = code_.new_block("resumed");
  resume_->addCase(ir_.getInt32(state), resumed);
  return resumed;
}

void Regions::suspend() {
  for (BlockId x : plan_.pending(cursor_.block)) {  // none where warps run together
    Masks& masks = stream_[0].masks;
    code_.if_then(masks.any(masks.waiting_at(x)), [&] {
      stream_[0].context.fault(exec::FaultKind::illegal_barrier, ir_.getInt64(0),
                               masks.first_lane(masks.bits(masks.active())));
    });
  }
  const auto barrier = static_cast<std::uint32_t>(cursor_.instruction - f_.instructions.data());
  const FrameUse& use = uses_.at(barrier);
  const std::uint32_t state = states_.at(barrier);
  const bool all = module_.kernel.runs_all(by_lanes_, cursor_.block);
  for (unsigned w = 0; w < stream_.size(); ++w) {
    Masks& masks = stream_[w].masks;
    if (!all) ir_.CreateStore(masks.bits(masks.active()), frame_of(w));
    save(w, use.saved, places_);
  }
  if (!use.first.empty())
    code_.if_seldom(is_first_, [&] {
      for (unsigned w = 0; w < stream_.size(); ++w) save(w, use.first, places_);
    });
  const bool of_cluster = cursor_.opcode().row->text->scope == isa::Scope::cluster;
  if (of_cluster) stream_[0].context.note_line();
  ir_.CreateRet(ir_.getInt32(state | (of_cluster ? kAtCluster : 0)));
  // Together nobody comes back where lanes may be missing, or where registers are other than by lanes.
  if (plan_.together && !(all && may_resume(use))) return ir_.SetInsertPoint(code_.new_block("never"));
  if (plan_.together) module_.together_states.insert(state);
  ir_.SetInsertPoint(resume_at(state));
  if (plan_.together) leave_if_wrapped(use.loaded, state);
  for (unsigned w = 0; w < stream_.size(); ++w) {
    Masks& masks = stream_[w].masks;
    masks.forget_elsewhere();
    llvm::Value* bits = ir_.getInt32(0xffffffff);
    if (!all) bits = ir_.CreateLoad(ir_.getInt32Ty(), frame_of(w));
    masks.set_inside(bits);
    if (!all) masks.set_active(masks.from_bits(bits));
    transfer(w, use.loaded, places_, Transfer::load);
  }
}

/// Together there are no vectors of checked registers behind a barrier: a warp that has some goes on by
/// lanes.
void Regions::leave_if_wrapped(const std::vector<ptx::RegisterId>& registers, std::uint32_t state) {
  llvm::Value* ok = ir_.getTrue();
  for (unsigned w = 0; w < stream_.size(); ++w)
    for (ptx::RegisterId r : registers) {
      if (!by_lanes_.shape(r).checked || (w > 0 && plan_.same_in_all_warps(r))) continue;
      ok = ir_.CreateAnd(ok, ir_.CreateLoad(ir_.getInt1Ty(), frame_of(w, places_.at(r).back())));
    }
  if (llvm::isa<llvm::Constant>(ok)) return;
  auto *apart = code_.new_block("apart"), *whole = code_.new_block("whole");
  ir_.CreateCondBr(ok, whole, apart, llvm::MDBuilder(ir_.getContext()).createLikelyBranchWeights());
  ir_.SetInsertPoint(apart);
  ir_.CreateRet(ir_.getInt32(state | kParted));
  ir_.SetInsertPoint(whole);
}

bool Regions::may_resume(const FrameUse& use) const {
  return std::ranges::all_of(use.loaded, [&](ptx::RegisterId r) {
    Shape here = plan_.shape(r), there = by_lanes_.shape(r);
    here.low = there.low = {};
    return here == there;
  });
}

void Regions::part(const std::vector<llvm::Value*>& taken) {
  const Parting& parting = partings_.at(cursor_.block);
  for (unsigned w = 0; w < stream_.size(); ++w) {
    ir_.CreateStore(taken[w], frame_of(w, kTakenOffset));
    ir_.CreateStore(is_first_, frame_of(w, kFirstOffset));
    save_by_lanes(w, parting.held, parting.places);
  }
  ir_.CreateRet(ir_.getInt32(parting.state | kParted));
}

llvm::Value* Regions::go_on_parted() {
  const auto found = partings_.find(cursor_.block);
  if (plan_.together || found == partings_.end()) return nullptr;
  const Parting& parting = found->second;
  ir_.SetInsertPoint(resume_at(parting.state));
  Masks& masks = stream_[0].masks;
  masks.forget_elsewhere();
  masks.set_inside(ir_.getInt32(0xffffffff));
  masks.set_active(masks.all_lanes(true));
  transfer(0, parting.held, parting.places, Transfer::load);
  return ir_.CreateLoad(ir_.getInt32Ty(), frame_of(0, kTakenOffset));
}

llvm::Value* Regions::frame_of(unsigned warp, std::uint32_t offset) {
  return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), frame_,
                                        std::uint64_t{warp} * module_.frame_bytes + offset);
}

void Regions::add_moves(unsigned warp, const Registers::Slot& slot, const std::vector<std::uint32_t>& places,
                        Moves& moves) {
  auto offset = places.begin();
  for (const auto& a : slot.bases) moves.always.push_back({warp, a, *offset++});
  for (const auto& a : slot.parts) (slot.ok ? moves.wrapped : moves.always).push_back({warp, a, *offset++});
  if (slot.ok) moves.flags.push_back({warp, *slot.ok, *offset++});
}

/// Between registers and frame. Vectors of checked registers only where one of these has wrapped.
void Regions::transfer(unsigned warp, const std::vector<ptx::RegisterId>& registers, const Places& places,
                       Transfer direction) {
  Moves moves;
  for (ptx::RegisterId r : registers) {
    if (!by_lanes_.shape(r).known || in_frame_.contains(r)) continue;
    if (warp > 0 && plan_.same_in_all_warps(r)) continue;  // the first warp's, for all
    add_moves(warp, stream_[warp].registers.slot(r), places.at(r), moves);
  }
  if (plan_.together) {  // leave_if_wrapped
    for (const Move& m : moves.always) move(m, direction);
    for (const Move& m : moves.flags) ir_.CreateStore(ir_.getTrue(), m.variable.at);
    for (const Move& m : moves.wrapped)
      ir_.CreateStore(llvm::PoisonValue::get(m.variable.type), m.variable.at);
    return;
  }
  move(moves, direction);
}

void Regions::move(const Move& m, Transfer direction) {
  auto* place = frame_of(m.warp, m.offset);
  const llvm::Align align(FrameLayout::alignment(stored_size(m.variable.type)));
  if (direction == Transfer::load)
    ir_.CreateStore(ir_.CreateAlignedLoad(m.variable.type, place, align), m.variable.at);
  else
    ir_.CreateAlignedStore(ir_.CreateLoad(m.variable.type, m.variable.at), place, align);
}

void Regions::move(const Moves& moves, Transfer direction) {
  for (const Move& m : moves.always) move(m, direction);
  for (const Move& m : moves.flags) move(m, direction);
  if (moves.wrapped.empty()) return;
  llvm::Value* ok = ir_.getTrue();
  for (const Move& m : moves.flags) ok = ir_.CreateAnd(ok, ir_.CreateLoad(ir_.getInt1Ty(), m.variable.at));
  if (direction == Transfer::load)
    for (const Move& m : moves.wrapped)
      ir_.CreateStore(llvm::PoisonValue::get(m.variable.type), m.variable.at);
  code_.if_then(ir_.CreateNot(ok), [&] {
    for (const Move& m : moves.wrapped) move(m, direction);
  });
}

void Regions::save(unsigned warp, const std::vector<ptx::RegisterId>& registers, const Places& places) {
  plan_.together ? save_by_lanes(warp, registers, places) : transfer(warp, registers, places, Transfer::save);
}

/// As the form by lanes holds them: what that one does not know to follow from a scalar, as vectors. Those of
/// checked registers only where one of these has wrapped.
void Regions::save_by_lanes(unsigned warp, const std::vector<ptx::RegisterId>& registers,
                            const Places& places) {
  struct Vectors {
    WarpValue value;
    const std::uint32_t* places;
  };
  std::vector<Vectors> wrapped;
  llvm::Value* ok = ir_.getTrue();
  auto keep = [&](llvm::Value* v, std::uint32_t offset) {
    const llvm::Align align(FrameLayout::alignment(stored_size(v->getType())));
    ir_.CreateAlignedStore(v, frame_of(warp, offset), align);
  };
  auto bits = [&](const Val& v) {
    return v.type == isa::Type::pred ? v.v : v.as(isa::bits_type(v.bits())).v;
  };
  auto keep_vectors = [&](const Vectors& of) {
    for (unsigned p = 0; p < code_.parts(); ++p) {
      auto* part = bits(values_.part(of.value, p));
      if (of.value.type == isa::Type::pred) part = stream_[warp].masks.to_storage(part);
      keep(part, of.places[p]);
    }
  };
  for (ptx::RegisterId r : registers) {
    const Shape& to = by_lanes_.shape(r);
    if (!to.known) continue;
    const std::uint32_t* offset = places.at(r).data();
    ptx::Operand whole;
    whole.kind = ptx::Operand::Kind::reg;
    whole.index = r;
    const Vectors of{stream_[warp].registers.read(whole), offset + (to.affine ? bases_of(to) : 0)};
    if (to.affine)
      for (unsigned g = 0; g < bases_of(to); ++g) keep(bits(values_.scalar(of.value, g)), *offset++);
    if (!to.affine) keep_vectors(of);
    if (!to.checked) continue;
    auto* its = of.value.ok != nullptr ? of.value.ok : ir_.getTrue();
    keep(its, of.places[code_.parts()]);
    ok = ir_.CreateAnd(ok, its);
    wrapped.push_back(of);
  }
  code_.if_seldom(ir_.CreateNot(ok), [&] {
    for (const Vectors& of : wrapped) keep_vectors(of);
  });
}

/// What a register is held as by lanes, all its parts, in the order of Registers::Slot.
std::vector<llvm::Type*> Regions::variables_of(ptx::RegisterId r) {
  const Shape& shape = by_lanes_.shape(r);
  if (!shape.known) return {};
  auto* lane = code_.lane_type(f_.registers[r].type);
  std::vector<llvm::Type*> all;
  if (shape.affine) all.assign(bases_of(shape), lane);
  if (!shape.affine || shape.checked) {
    auto* vector = lane->isIntegerTy(1) ? stream_[0].masks.storage_type() : code_.vector_of(lane);
    all.insert(all.end(), code_.parts(), vector);
  }
  if (shape.checked) all.push_back(ir_.getInt1Ty());
  return all;
}

std::uint32_t Regions::stored_size(llvm::Type* type) const {
  return static_cast<std::uint32_t>(module_.llvm.getDataLayout().getTypeStoreSize(type));
}

/// Matrices that a barrier holds live in the frame, so that none moves them.
void Regions::lay_out_fragments(Holding& holding, FrameLayout& frame) {
  std::vector<std::uint32_t> all(uses_.size());
  std::iota(all.begin(), all.end(), 0);
  for (const auto& [held, barriers] : Holding(holding)) {
    Registers::Fragment* fragment = stream_[0].registers.fragment_of(held);
    if (fragment == nullptr || in_frame_.contains(held)) continue;
    RADDLE_ASSERT(fragment->words == nullptr, "its place is not yet used");
    Builder entry(code_.entry(), code_.entry()->begin());
    auto* at = entry.CreateConstInBoundsGEP1_32(ir_.getInt8Ty(), frame_, frame.place(fragment->bytes(), all));
    fragment->words = llvm::cast<llvm::Instruction>(at);
    for (ptx::RegisterId r : fragment->registers) in_frame_.insert(r), holding.erase(r);
  }
}

void Regions::lay_out() {
  uses_ = frame_uses(f_, plan_.cfg, plan_.live,
                     [this](BlockId b, const ptx::Instruction& i) { return read_to_prefetch(b, i); });
  Holding holding;
  std::uint32_t barrier = 0;
  for (const auto& [n, use] : uses_) {
    for (ptx::RegisterId r : use.held) holding[r].push_back(barrier);
    states_[n] = ++barrier;
  }
  FrameLayout frame;
  lay_out_fragments(holding, frame);
  for (const auto& [r, barriers] : holding)
    for (llvm::Type* type : variables_of(r)) places_[r].push_back(frame.place(stored_size(type), barriers));
  module_.frame_bytes = static_cast<std::uint32_t>(round_up(frame.bytes(), 64));
  if (module_.kernel.together() != nullptr) lay_out_partings(module_.frame_bytes);
  if (prelude_ != nullptr) lay_out_pauses();
  tell_first();
}

/// Who has parted knows it from the frame; others have paused, or begin.
void Regions::tell_first() {
  const auto barriers = static_cast<std::uint32_t>(uses_.size());
  is_first_ = ir_.CreateICmpUGE(ir_.CreateSub(state_, ir_.getInt32(1)), ir_.getInt32(barriers));
  if (partings_.empty() || plan_.together) return;
  auto* begins = ir_.CreateICmpEQ(state_, ir_.getInt32(0));
  auto* had_none = ir_.CreateLoad(ir_.getInt1Ty(), frame_of(0, kFirstOffset));
  is_first_ = ir_.CreateSelect(begins, begins, ir_.CreateAnd(is_first_, had_none));
}

/// A load that prefetches what the next turn will read needs the step of its address there.
std::vector<ptx::RegisterId> Regions::read_to_prefetch(BlockId b, const ptx::Instruction& i) const {
  std::vector<ptx::RegisterId> read;
  if (!i.opcode->is(isa::Effects::reads)) return read;
  for (const ptx::Operand& o : f_.operands_of(i)) {
    if (o.kind != ptx::Operand::Kind::address || o.base != ptx::Operand::Base::reg) continue;
    const auto step = plan_.turns.step(b, o.index);
    if (!step) continue;
    for (const TurnStep::Term& term : step->terms)
      for (const ptx::Operand* factor : term.factors) read.push_back(factor->index);
  }
  return read;
}

/// Behind what barriers hold, as a warp comes to others of them after it has parted. One place serves all
/// branches.
void Regions::lay_out_partings(std::uint32_t end) {
  auto state = static_cast<std::uint32_t>(uses_.size());
  for (BlockId b : plan_.order.blocks) {
    if (!module_.kernel.together()->may_part(b)) continue;
    Parting& parting = partings_[b];
    parting.state = ++state;
    std::uint32_t at = end;
    for (ptx::RegisterId r = 0; r < f_.registers.size(); ++r) {
      const auto& next = plan_.cfg.nodes[b].successors;
      if (std::ranges::none_of(next, [&](BlockId s) { return plan_.live.live(s, r); })) continue;
      parting.held.push_back(r);
      auto& places = parting.places[r];
      for (llvm::Type* type : variables_of(r)) {
        const std::uint32_t size = stored_size(type);
        at = static_cast<std::uint32_t>(round_up(at, FrameLayout::alignment(size)));
        places.push_back(at);
        at += size;
      }
    }
    module_.frame_bytes = std::max(module_.frame_bytes, static_cast<std::uint32_t>(round_up(at, 64)));
  }
}

/// Before all barriers, and while no warp has parted, the frames of the warps are free: what they have lies
/// side by side in them, as other CTAs' does beside it in the cache.
void Regions::lay_out_pauses() {
  auto state = static_cast<std::uint32_t>(uses_.size() + partings_.size());
  for (BlockId b : plan_.order.blocks) {
    if (!prelude_->is_turn[b] && !prelude_->is_end[b]) continue;
    Pause& pause = pauses_[b];
    pause.state = ++state;
    const std::vector<bool> changes = changed_in_turn(plan_, *prelude_, b);
    std::uint32_t end = FrameLayout::kBegin;
    for (unsigned w = 0; w < stream_.size(); ++w)
      for (ptx::RegisterId r = 0; r < f_.registers.size(); ++r) {
        if (!plan_.live.live(b, r) || !plan_.shape(r).known || (w > 0 && plan_.same_in_all_warps(r)))
          continue;
        std::vector<std::uint32_t> places;
        for (const Registers::Variable& v : all_variables(stream_[w].registers.slot(r))) {
          const std::uint32_t size = stored_size(v.type);
          end = static_cast<std::uint32_t>(round_up(end, FrameLayout::alignment(size)));
          places.push_back(end);
          end += size;
        }
        add_moves(0, stream_[w].registers.slot(r), places, changes[r] ? pause.turns : pause.before);
      }
    const auto each = static_cast<std::uint32_t>((end + stream_.size() - 1) / stream_.size());
    module_.frame_bytes = std::max(module_.frame_bytes, static_cast<std::uint32_t>(round_up(each, 64)));
  }
}

void Regions::pause_before(BlockId to, llvm::BasicBlock* arrive) {
  if (prelude_ == nullptr || !prelude_->may_pause(cursor_.block, to)) return;
  Pause& pause = pauses_.at(to);
  pause.arrive = arrive;
  auto *paused = code_.new_block("pause"), *first = code_.new_block("first"), *turn = code_.new_block("turn"),
       *on = code_.new_block("on");
  ir_.CreateCondBr(pausing_, paused, on);
  ir_.SetInsertPoint(paused);
  // Who has paused here before finds in the frame what does not change from turn to turn.
  ir_.CreateCondBr(ir_.CreateICmpEQ(state_, ir_.getInt32(pause.state)), turn, first);
  ir_.SetInsertPoint(first);
  move(pause.before, Transfer::save);
  ir_.CreateBr(turn);
  ir_.SetInsertPoint(turn);
  move(pause.turns, Transfer::save);
  ir_.CreateRet(ir_.getInt32(pause.state));
  ir_.SetInsertPoint(on);
}

void Regions::go_on_paused() {
  for (const auto& [to, pause] : pauses_) {
    if (pause.arrive == nullptr) continue;
    module_.together_states.insert(pause.state);
    if (prelude_->is_turn[to]) module_.turn_states.insert(pause.state);
    ir_.SetInsertPoint(resume_at(pause.state));
    for (unsigned w = 0; w < stream_.size(); ++w) {
      Masks& masks = stream_[w].masks;
      masks.set_inside(ir_.getInt32(0xffffffff));
      masks.add_waiting(to, masks.all_lanes(true));
    }
    move(pause.before, Transfer::load);
    move(pause.turns, Transfer::load);
    ir_.CreateBr(pause.arrive);
  }
}

}  // namespace raddle::jit
