#include "jit/meetings.h"

#include "jit/holds.h"

namespace raddle::jit {

using ptx::Operand;

namespace {

bool is_cta_barrier(const ptx::Instruction& i) { return i.opcode->row->text->scope == isa::Scope::cta; }
/// How lanes wait that wait alone: which of them have to, and until none has to.
struct LoneWait {
  exec::Service waiting, wait;
};
LoneWait lone_wait_of(const ptx::Instruction& i) {
  if (i.opcode->row->text->scope == isa::Scope::cluster)
    return {exec::Service::cluster_waiting, exec::Service::cluster_wait};
  return {exec::Service::grid_waiting, exec::Service::grid_wait};
}

/// What the other lanes see of an instruction: its first source, unless that is the member mask.
unsigned brought_operand(const ptx::Instruction& i) {
  unsigned k = 0;
  while (k < i.operand_count && i.opcode->row->operands[k].is_destination) ++k;
  return k;
}

}  // namespace

Meetings::Meetings(FunctionBuilder& code, Cursor& cursor, WarpValues& values, Masks& masks, Context& context,
                   Registers& registers, LaneLoops& loops, ControlFlow& flow)
    : code_(code),
      ir_(code.ir),
      cursor_(cursor),
      plan_(cursor.plan),
      f_(cursor.function),
      values_(values),
      masks_(masks),
      context_(context),
      registers_(registers),
      loops_(loops),
      flow_(flow) {}

void Meetings::prepare() {
  if (plan_.is_holding() && plan_.awaits_phases()) masks_.prepare_held();
  auto make = [&](llvm::Type* type, const char* name) {
    auto* slot = code_.entry_alloca(type, name);
    ir_.CreateStore(llvm::Constant::getNullValue(type), slot);
    return slot;
  };
  auto* i32 = ir_.getInt32Ty();
  for (BlockId b : plan_.order.blocks) {
    auto places = meeting_places(plan_, b);
    if (places.empty()) continue;
    meetings_[b].places = places;
    for (BlockId x : places) meetings_[x];  // where a group here may have lanes to release
  }
  for (auto& [b, m] : meetings_) {
    const auto& first = f_.instructions[f_.blocks[b].begin];
    m.going = make(i32, "going");
    m.gathered = make(i32, "gathered");
    m.members = make(i32, "members");
    m.barrier = make(i32, "barrier");
    unsigned k = brought_operand(first);
    // Where all lanes come to one place (.aligned), nothing is brought to another.
    if (is_cta_barrier(first) || first.opcode->form->members < 0 || k + 1u >= first.operand_count) continue;
    const Type type = f_.operands_of(first)[k].type;
    llvm::Type* vector = code_.vector_of(code_.lane_type(type));
    if (type == Type::pred) vector = masks_.storage_type();
    for (unsigned p = 0; p < code_.parts(); ++p) m.values.push_back(make(vector, "brought"));
  }
  for (BlockId b : plan_.order.blocks)
    if (may_come_whole(b)) flow_.allow_whole_entry(b);
}

/// All lanes may come there together, which then only have to be found to be all.
bool Meetings::may_come_whole(BlockId b) const {
  return plan_.holds(b) && !meetings_.contains(b) && !plan_.awaits_phases() &&
         !waits_alone(f_.instructions[f_.blocks[b].begin]);
}

void Meetings::hold() {
  cursor_.instruction = &f_.instructions[f_.blocks[cursor_.block].begin];
  masks_.set_held(masks_.active(), false);
  if (waits_alone(*cursor_.instruction)) return hold_alone();
  auto found = meetings_.find(cursor_.block);
  if (found != meetings_.end())
    return is_cta_barrier(*cursor_.instruction) ? meet_at_barrier(found->second)
                                                : meet_in_warp(found->second);
  llvm::Value* missing = masks_.elsewhere();
  if (!is_cta_barrier(*cursor_.instruction)) missing = ir_.CreateAnd(missing, named_members());
  auto* hold = code_.new_block("hold");
  auto* proceed = code_.new_block("together");
  auto* checked = ir_.GetInsertBlock();
  ir_.CreateCondBr(ir_.CreateICmpNE(missing, ir_.getInt32(0)), hold, proceed);
  ir_.SetInsertPoint(hold);
  be_held();
  ir_.SetInsertPoint(proceed);
  flow_.join_whole(checked);
}

void Meetings::check_members() {
  if (f_.is_entry || !holds_lanes(cursor_.opcode()) || is_cta_barrier(*cursor_.instruction) ||
      waits_alone(*cursor_.instruction))
    return;
  auto* outside = ir_.CreateLoad(ir_.getInt32Ty(),
                                 context_.address_of_warp_field(offsetof(exec::WarpContext, outside_lanes)));
  auto* missing = ir_.CreateAnd(outside, named_members());
  auto* executing_lanes = masks_.bits(registers_.executing());
  auto* waits = ir_.CreateAnd(ir_.CreateICmpNE(missing, ir_.getInt32(0)),
                              ir_.CreateICmpNE(executing_lanes, ir_.getInt32(0)));
  code_.if_then(waits, [&] {
    context_.fault(exec::FaultKind::unsupported, ir_.CreateZExt(missing, ir_.getInt64Ty()),
                   masks_.first_lane(executing_lanes));
  });
}

Mask Meetings::participants() {
  if (!is_met()) return registers_.executing();
  return masks_.from_bits(ir_.CreateLoad(ir_.getInt32Ty(), met_->members));
}

WarpValue Meetings::collective(unsigned k) {
  if (!is_met() || k != brought_operand(*cursor_.instruction)) return registers_.read(k);
  WarpValue value;
  value.shape = Shape::varying();
  value.type = cursor_.operand(k).type;
  for (auto* a : met_->values) {
    llvm::Value* v = ir_.CreateLoad(a->getAllocatedType(), a);
    value.parts.push_back(value.type == Type::pred ? masks_.from_storage(v) : v);
  }
  return value;
}

llvm::Value* Meetings::met_barrier() {
  if (!is_met()) return nullptr;
  return ir_.CreateLoad(ir_.getInt32Ty(), met_->barrier);
}

/// Emits code for the lanes that wait at another block, as if its first instruction were the one at hand.
void Meetings::at_start_of(BlockId x, const std::function<void()>& body) {
  auto* saved = cursor_.instruction;
  Mask here = masks_.active();
  cursor_.instruction = &f_.instructions[f_.blocks[x].begin];
  masks_.set_active(masks_.waiting_at(x));
  body();
  cursor_.instruction = saved;
  masks_.set_active(here);
}

/// The lanes in m.going execute the operation; the rest of the group stays at the block.
void Meetings::continue_with(const Meeting& m) {
  auto* going = ir_.CreateLoad(ir_.getInt32Ty(), m.going);
  auto* staying = ir_.CreateAnd(masks_.bits(masks_.active()), ir_.CreateNot(going));
  masks_.add_waiting(cursor_.block, masks_.from_bits(staying));
  masks_.set_active(masks_.from_bits(going));
  met_ = &m;
  met_instruction_ = cursor_.instruction;
}

/// The active lanes wait here while others run.
void Meetings::stay() {
  masks_.add_waiting(cursor_.block, masks_.active());
  flow_.go(plan_.staying(cursor_.block));
}

/// The same where only other lanes of the warp let them go on.
void Meetings::be_held() {
  masks_.set_held(masks_.active(), true);
  stay();
}

// ---- of the warp ----

/// The active lanes' member masks; the whole warp where there are none.
WarpValue Meetings::member_masks() {
  const int members = cursor_.opcode().form->members;
  if (members < 0) return WarpValue::uniform(Type::u32, ir_.getInt32(0xffffffff));
  return registers_.read(static_cast<unsigned>(members));
}

bool Meetings::has_constant_members() const {
  const int members = cursor_.opcode().form->members;
  return members < 0 || plan_.constant(cursor_.operand(static_cast<unsigned>(members)));
}

/// All lanes that these masks name.
llvm::Value* Meetings::named_members() {
  WarpValue named = member_masks();
  if (named.shape.uniform()) return values_.scalar(named).v;
  llvm::Value* all = nullptr;
  for (unsigned p = 0; p < code_.parts(); ++p) {
    auto* v = values_.part(named, p).v;
    auto* none = llvm::Constant::getNullValue(v->getType());
    auto* joined = ir_.CreateOrReduce(ir_.CreateSelect(masks_.active()[p], v, none));
    all = all ? ir_.CreateOr(all, joined) : joined;
  }
  return all;
}

void Meetings::meet_in_warp(Meeting& m) {
  auto* i32 = ir_.getInt32Ty();
  auto* zero = ir_.getInt32(0);
  auto *released = code_.new_block("released"), *check = code_.new_block("check");
  auto *hold = code_.new_block("hold"), *met = code_.new_block("met"),
       *together = code_.new_block("together");
  auto* here = masks_.bits(masks_.active());
  auto* gathered = ir_.CreateLoad(i32, m.gathered);
  auto* passing = ir_.CreateAnd(gathered, here);
  ir_.CreateCondBr(ir_.CreateICmpNE(passing, zero), released, check);

  ir_.SetInsertPoint(released);  // all came while these lanes waited
  ir_.CreateStore(ir_.CreateAnd(gathered, ir_.CreateNot(passing)), m.gathered);
  ir_.CreateStore(passing, m.going);
  ir_.CreateBr(together);

  ir_.SetInsertPoint(check);
  auto* wanting = masks_.bits(registers_.executing());
  const Arrived arrived = arrived_elsewhere(m);
  auto* complete = complete_groups(m, wanting, arrived);
  auto* unguarded = ir_.CreateAnd(here, ir_.CreateNot(wanting));  // the guard lets these pass
  auto* going = ir_.CreateOr(ir_.CreateAnd(complete, here), unguarded);
  ir_.CreateStore(going, m.going);
  ir_.CreateCondBr(ir_.CreateICmpNE(going, zero), met, hold);

  ir_.SetInsertPoint(hold);
  be_held();

  ir_.SetInsertPoint(met);
  release(m, complete, arrived);
  ir_.CreateBr(together);

  ir_.SetInsertPoint(together);
  continue_with(m);
}

Meetings::Arrived Meetings::arrived_elsewhere(const Meeting& m) {
  Arrived arrived;
  for (BlockId x : m.places)
    at_start_of(x, [&] {
      auto* gone = ir_.CreateLoad(ir_.getInt32Ty(), meetings_.at(x).gathered);
      arrived[x] = ir_.CreateAnd(masks_.bits(registers_.executing()), ir_.CreateNot(gone));
    });
  return arrived;
}

/// Lanes at the operation, here and at other places, whose members have all come; 0 where none have.
/// @param wanting  lanes here that execute it
llvm::Value* Meetings::complete_groups(const Meeting& m, llvm::Value* wanting, const Arrived& arrived) {
  llvm::Value* at = wanting;
  for (const auto& [x, lanes_there] : arrived) at = ir_.CreateOr(at, lanes_there);
  auto* present = masks_.inside();
  bool constant = has_constant_members();
  const WarpValue own = member_masks();
  std::vector<llvm::Value*> masks = values_.vectors(own);
  for (BlockId x : m.places)
    at_start_of(x, [&] {
      constant = constant && has_constant_members();
      WarpValue theirs = member_masks();
      for (unsigned p = 0; p < code_.parts(); ++p)
        masks[p] = ir_.CreateSelect(masks_.active()[p], values_.part(theirs, p).v, masks[p]);
    });
  if (!constant) return complete_by_mask(masks, wanting, at, present);
  return if_complete(values_.scalar(own).v, at, present);  // places with other constants are none to meet at
}

/// The group if all its members have come that are there, else 0.
llvm::Value* Meetings::if_complete(llvm::Value* members, llvm::Value* group, llvm::Value* present) {
  auto* missing = ir_.CreateAnd(ir_.CreateAnd(members, present), ir_.CreateNot(group));
  return ir_.CreateSelect(ir_.CreateICmpEQ(missing, ir_.getInt32(0)), group, ir_.getInt32(0));
}

/// Lanes of each mask for themselves.
llvm::Value* Meetings::complete_by_mask(const std::vector<llvm::Value*>& masks, llvm::Value* wanting,
                                        llvm::Value* at, llvm::Value* present) {
  auto* i32 = ir_.getInt32Ty();
  auto* array = values_.spill_parts(masks);
  auto* left = code_.entry_alloca(i32, "left");
  auto* complete = code_.entry_alloca(i32, "complete");
  ir_.CreateStore(wanting, left);
  ir_.CreateStore(ir_.getInt32(0), complete);
  loops_.for_each(wanting, [&](llvm::Value* lane) {
    auto* rest = ir_.CreateLoad(i32, left);
    auto* is_left = ir_.CreateAnd(ir_.CreateLShr(rest, lane), ir_.getInt32(1));
    code_.if_then(ir_.CreateICmpNE(is_left, ir_.getInt32(0)), [&] {
      auto* members = values_.load_lane(array, i32, lane);
      Mask equal;
      for (unsigned p = 0; p < code_.parts(); ++p)
        equal.push_back(ir_.CreateICmpEQ(masks[p], code_.splat(members)));
      auto* same = ir_.CreateAnd(masks_.bits(equal), at);
      ir_.CreateStore(ir_.CreateAnd(rest, ir_.CreateNot(same)), left);
      auto* before = ir_.CreateLoad(i32, complete);
      ir_.CreateStore(ir_.CreateOr(before, if_complete(members, same, present)), complete);
    });
  });
  return ir_.CreateLoad(i32, complete);
}

/// What the lanes bring that meet, per part: each from its own place.
std::vector<llvm::Value*> Meetings::gather_brought(const Meeting& m) {
  unsigned k = brought_operand(*cursor_.instruction);
  std::vector<llvm::Value*> values;
  auto take = [&](unsigned p) {
    Val v = values_.part(registers_.read(k), p);
    return v.type == Type::pred ? v.v : v.as(isa::bits_type(v.bits())).v;
  };
  for (unsigned p = 0; p < code_.parts(); ++p) values.push_back(take(p));
  for (BlockId x : m.places)
    at_start_of(x, [&] {
      for (unsigned p = 0; p < code_.parts(); ++p)
        values[p] = ir_.CreateSelect(masks_.active()[p], take(p), values[p]);
    });
  return values;
}

/// Every place of those that meet keeps what all brought, until its own lanes have gone on.
void Meetings::release(const Meeting& m, llvm::Value* complete, const Arrived& arrived) {
  auto brought = m.values.empty() ? std::vector<llvm::Value*>{} : gather_brought(m);
  for (BlockId x : m.places) {
    Meeting& place = meetings_.at(x);
    auto* released = ir_.CreateAnd(arrived.at(x), complete);
    masks_.set_held(released, false);
    auto* waiting = keep_brought(place, released, complete, brought);
    ir_.CreateStore(ir_.CreateOr(waiting, released), place.gathered);
  }
  keep_brought(meetings_.at(cursor_.block), complete, complete, brought);
}

/// @returns  the lanes that waited there already to go on
llvm::Value* Meetings::keep_brought(Meeting& place, llvm::Value* lanes_there, llvm::Value* complete,
                                    const std::vector<llvm::Value*>& brought) {
  auto* i32 = ir_.getInt32Ty();
  auto* zero = ir_.getInt32(0);
  auto* concerned = ir_.CreateSelect(ir_.CreateICmpNE(lanes_there, zero), complete, zero);
  Mask which = masks_.from_bits(concerned);
  for (unsigned p = 0; p < place.values.size(); ++p) {
    llvm::Value* old = ir_.CreateLoad(place.values[p]->getAllocatedType(), place.values[p]);
    const bool predicate = brought[p]->getType()->getScalarType()->isIntegerTy(1);
    auto* v = ir_.CreateSelect(which[p], brought[p], predicate ? masks_.from_storage(old) : old);
    ir_.CreateStore(predicate ? masks_.to_storage(v) : v, place.values[p]);
  }
  auto* waiting = ir_.CreateLoad(i32, place.gathered);
  auto* known = ir_.CreateSelect(ir_.CreateICmpEQ(waiting, zero), zero, ir_.CreateLoad(i32, place.members));
  ir_.CreateStore(ir_.CreateOr(known, concerned), place.members);
  return waiting;
}

// ---- barriers of the block that a warp reaches on several paths ----

/// Lanes that have joined a phase which is not over.
llvm::Value* Meetings::waiting_at_barrier(const Meeting& m) {
  auto* i32 = ir_.getInt32Ty();
  auto* joined = ir_.CreateLoad(i32, m.gathered);
  auto* now =
      context_.barrier_field(ir_.CreateLoad(i32, m.barrier), offsetof(exec::Barrier, generation), "phase");
  auto* same = ir_.CreateICmpEQ(now, ir_.CreateLoad(i32, m.members));
  return ir_.CreateSelect(same, joined, ir_.getInt32(0));
}

/// Each group is counted when it comes and waits for the end of its phase; the warp as a whole waits only
/// when all its lanes do. Here m.gathered are the lanes counted, m.members the phase they were counted in.
void Meetings::meet_at_barrier(Meeting& m) {
  auto* i32 = ir_.getInt32Ty();
  auto* zero = ir_.getInt32(0);
  auto *hold = code_.new_block("hold"), *together = code_.new_block("together");
  auto* here = masks_.bits(masks_.active());
  auto* wanting = masks_.bits(registers_.executing());
  auto* joined = ir_.CreateLoad(i32, m.gathered);
  auto* over = ir_.CreateAnd(ir_.CreateICmpNE(joined, zero), ir_.CreateICmpEQ(waiting_at_barrier(m), zero));
  auto* fresh = ir_.CreateAnd(wanting, ir_.CreateNot(joined));
  auto* barrier = registers_.read_in_first(brought_operand(*cursor_.instruction), fresh);
  // Lanes for another barrier wait until those counted before them have gone on.
  auto* free =
      ir_.CreateOr(ir_.CreateICmpEQ(joined, zero), ir_.CreateICmpEQ(barrier, ir_.CreateLoad(i32, m.barrier)));
  auto* may_join = ir_.CreateAnd(ir_.CreateAnd(ir_.CreateNot(over), free), ir_.CreateICmpNE(fresh, zero));
  code_.if_then(may_join, [&] { join_barrier(m, barrier, fresh, joined); });
  auto* counted = ir_.CreateLoad(i32, m.gathered);
  auto* still = waiting_at_barrier(m);
  auto* unguarded = ir_.CreateAnd(here, ir_.CreateNot(wanting));
  auto* done = ir_.CreateAnd(counted, ir_.CreateNot(still));
  auto* going = ir_.CreateOr(ir_.CreateAnd(done, here), unguarded);
  ir_.CreateStore(going, m.going);
  ir_.CreateStore(still, m.gathered);
  ir_.CreateCondBr(ir_.CreateICmpNE(going, zero), together, hold);

  ir_.SetInsertPoint(hold);
  wait_if_all_do(m, still);
  stay();

  ir_.SetInsertPoint(together);
  continue_with(m);
}

/// Lanes that have come are counted. @param joined  those that have been counted before
void Meetings::join_barrier(const Meeting& m, llvm::Value* barrier, llvm::Value* fresh, llvm::Value* joined) {
  const unsigned first = brought_operand(*cursor_.instruction);
  llvm::Value* held = ir_.getInt32(0);
  if (cursor_.present(first + 2)) {
    WarpValue predicate = registers_.read(first + 2);
    Mask holds = masks_.active();
    for (unsigned p = 0; p < code_.parts(); ++p)
      holds[p] = ir_.CreateAnd(holds[p], values_.part(predicate, p).v);
    held = ir_.CreateAnd(masks_.bits(holds), fresh);
  }
  auto* threads = registers_.read_in_first(first + 1, fresh);
  auto* phase = context_.call_service(exec::Service::barrier_join, {barrier, threads, fresh, held});
  ir_.CreateStore(phase, m.members);
  ir_.CreateStore(barrier, m.barrier);
  ir_.CreateStore(ir_.CreateOr(joined, fresh), m.gathered);
}

/// The warp waits where none of its lanes can go on. @param still  lanes here that wait
void Meetings::wait_if_all_do(const Meeting& m, llvm::Value* still) {
  auto* zero = ir_.getInt32(0);
  llvm::Value* waiting = still;
  llvm::Value* barriers = barrier_bit(m, still);
  for (BlockId x : m.places) {
    const Meeting& place = meetings_.at(x);
    auto* there = waiting_at_barrier(place);
    barriers = ir_.CreateOr(barriers, barrier_bit(place, there));
    waiting = ir_.CreateOr(waiting, there);
  }
  code_.if_then(ir_.CreateICmpEQ(ir_.CreateAnd(masks_.inside(), ir_.CreateNot(waiting)), zero),
                [&] { context_.call_service(exec::Service::barrier_wait, {barriers}); });
}

/// The barrier that lanes there have joined as a mask, 0 for no lanes.
llvm::Value* Meetings::barrier_bit(const Meeting& m, llvm::Value* lanes) {
  auto* zero = ir_.getInt32(0);
  auto* one = ir_.CreateShl(ir_.getInt32(1), ir_.CreateLoad(ir_.getInt32Ty(), m.barrier));
  return ir_.CreateSelect(ir_.CreateICmpNE(lanes, zero), one, zero);
}

// ---- phases of mbarriers ----

void Meetings::wait_for_phases(llvm::Value* lanes, llvm::Value* asked, llvm::Value* addresses,
                               llvm::Value* odd) {
  auto* zero = ir_.getInt32(0);
  llvm::Value *waiting = ir_.CreateOr(lanes, masks_.held()), *barriers = zero;
  for (BlockId x : plan_.pending(cursor_.block)) {
    const auto place = meetings_.find(x);
    if (place == meetings_.end() || !is_cta_barrier(f_.instructions[f_.blocks[x].begin])) continue;
    auto* there = waiting_at_barrier(place->second);
    barriers = ir_.CreateOr(barriers, barrier_bit(place->second, there));
    waiting = ir_.CreateOr(waiting, there);
  }
  context_.note_line();
  code_.if_then(ir_.CreateICmpEQ(ir_.CreateAnd(masks_.inside(), ir_.CreateNot(waiting)), zero), [&] {
    context_.call_service(exec::Service::mbarrier_wait, {asked, addresses, odd, barriers});
  });
}

// ---- barriers of the cluster, grids before this one ----

/// Where other lanes of the warp may be elsewhere: those whose wait is over go on, the rest stays; the warp
/// as a whole waits only when all its lanes do.
void Meetings::hold_alone() {
  const LoneWait services = lone_wait_of(*cursor_.instruction);
  auto* i32 = ir_.getInt32Ty();
  auto* zero = ir_.getInt32(0);
  auto* slot = code_.entry_alloca(i32, "waiting");
  auto* hold = code_.new_block("hold");
  auto* together = code_.new_block("together");
  auto* here = masks_.bits(masks_.active());
  auto* wanting = masks_.bits(registers_.executing());
  ir_.CreateStore(zero, slot);
  code_.if_then(ir_.CreateICmpNE(wanting, zero), [&] {
    auto* waiting = context_.call_service(services.waiting, {wanting});
    ir_.CreateStore(waiting, slot);
    code_.if_then(ir_.CreateICmpEQ(waiting, masks_.inside()), [&] {
      context_.call_service(services.wait, {waiting});
      ir_.CreateStore(zero, slot);
    });
  });
  auto* going = ir_.CreateAnd(here, ir_.CreateNot(ir_.CreateLoad(i32, slot)));
  ir_.CreateCondBr(ir_.CreateICmpNE(going, zero), together, hold);

  ir_.SetInsertPoint(hold);
  context_.call_service(exec::Service::yield, {});
  stay();

  ir_.SetInsertPoint(together);
  masks_.add_waiting(cursor_.block, masks_.from_bits(ir_.CreateAnd(here, ir_.CreateNot(going))));
  masks_.set_active(masks_.from_bits(going));
  waited_ = cursor_.instruction;
}

}  // namespace raddle::jit
