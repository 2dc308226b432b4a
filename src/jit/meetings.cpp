// Lanes of a warp that wait for each other, as code: a group holds where lanes that its operation names are
// elsewhere, and meets those that stand at the same operation in another block. Which blocks those are is
// holds.cpp's business.
#include <llvm/IR/Intrinsics.h>

#include "jit/function.h"
#include "jit/holds.h"

namespace raddle::jit {

using ptx::Operand;

namespace {
bool is_cta_barrier(const ptx::Instruction& i) { return i.opcode->row->text->scope == isa::Scope::cta; }
bool is_cluster_barrier(const ptx::Instruction& i) {
  return i.opcode->row->text->scope == isa::Scope::cluster;
}

/// What the other lanes see of an instruction: its first source, unless that is the member mask.
unsigned brought_operand(const ptx::Instruction& i) {
  unsigned k = 0;
  while (i.opcode->row->operands[k].is_destination) ++k;
  return k;
}
}  // namespace

void FunctionCompiler::prepare_meetings() {
  auto make = [&](llvm::Type* type, const char* name) {
    auto* slot = entry_alloca(type, name);
    ir.CreateStore(llvm::Constant::getNullValue(type), slot);
    return slot;
  };
  auto* i32 = ir.getInt32Ty();
  for (BlockId b : plan.order.blocks) {
    auto places = meeting_places(plan, b);
    if (places.empty()) continue;
    meetings_[b].places = places;
    for (BlockId x : places) meetings_[x];  // where a group here may have lanes to release
  }
  for (auto& [b, m] : meetings_) {
    const auto& first = f.instructions[f.blocks[b].begin];
    m.going = make(i32, "going");
    m.gathered = make(i32, "gathered");
    m.members = make(i32, "members");
    m.barrier = make(i32, "barrier");
    unsigned k = brought_operand(first);
    if (is_cta_barrier(first) || k + 1u >= first.operand_count) continue;
    bool predicate = f.operands_of(first)[k].type == Type::pred;
    auto* vector = predicate ? mask_storage_type()
                             : llvm::FixedVectorType::get(lane_type(f.operands_of(first)[k].type), lanes());
    for (unsigned p = 0; p < parts(); ++p) m.values.push_back(make(vector, "brought"));
  }
}

/// Emits code for the lanes that wait at another block, as if its first instruction were the one at hand.
void FunctionCompiler::at_start_of(BlockId x, const std::function<void()>& body) {
  auto* saved = instruction;
  Mask here = active_;
  instruction = &f.instructions[f.blocks[x].begin];
  active_ = load_mask(x);
  body();
  instruction = saved;
  active_ = here;
}

/// Lanes that have come into the function and not left it: here or waiting at some block.
llvm::Value* FunctionCompiler::lanes_inside() { return ir.CreateLoad(ir.getInt32Ty(), inside_); }

/// Lanes that wait at other blocks.
llvm::Value* FunctionCompiler::lanes_elsewhere() {
  return ir.CreateAnd(lanes_inside(), ir.CreateNot(mask_bits(active_)));
}

/// Lanes pending elsewhere that this operation names must come here first, or to the same operation.
void FunctionCompiler::emit_hold() {
  instruction = &f.instructions[f.blocks[block].begin];
  if (is_cluster_barrier(*instruction)) return hold_for_cluster();
  auto found = meetings_.find(block);
  if (found != meetings_.end())
    return is_cta_barrier(*instruction) ? meet_at_barrier(found->second) : meet_in_warp(found->second);
  llvm::Value* missing = lanes_elsewhere();
  if (!is_cta_barrier(*instruction)) missing = ir.CreateAnd(missing, named_members());
  auto* hold = llvm::BasicBlock::Create(ir.getContext(), "hold", function_);
  auto* proceed = llvm::BasicBlock::Create(ir.getContext(), "together", function_);
  ir.CreateCondBr(ir.CreateICmpNE(missing, ir.getInt32(0)), hold, proceed);
  ir.SetInsertPoint(hold);
  add_lanes(block, active_);
  go(plan.with(block, {block}));
  ir.SetInsertPoint(proceed);
}

/// All lanes that the active lanes' member masks name; the whole warp where there is none.
llvm::Value* FunctionCompiler::named_members() {
  if (opcode().form->members < 0) return ir.getInt32(0xffffffff);
  WarpValue named = read(operand(static_cast<unsigned>(opcode().form->members)));
  if (named.shape.uniform()) return scalar(named).v;
  llvm::Value* all = nullptr;
  for (unsigned p = 0; p < parts(); ++p) {
    auto* v = part(named, p).v;
    auto* joined =
        ir.CreateOrReduce(ir.CreateSelect(active_[p], v, llvm::Constant::getNullValue(v->getType())));
    all = all ? ir.CreateOr(all, joined) : joined;
  }
  return all;
}

/// In a device function: an operation cannot wait for lanes outside the call, which wait for its end.
void FunctionCompiler::check_members() {
  if (f.is_entry || !holds_lanes(opcode()) || is_cta_barrier(*instruction) ||
      is_cluster_barrier(*instruction))
    return;
  auto* outside = ir.CreateLoad(
      ir.getInt32Ty(),
      ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), warp_, offsetof(exec::WarpContext, outside_lanes)));
  auto* missing = ir.CreateAnd(outside, named_members());
  auto* executing_lanes = mask_bits(executing());
  auto* waits = ir.CreateAnd(ir.CreateICmpNE(missing, ir.getInt32(0)),
                             ir.CreateICmpNE(executing_lanes, ir.getInt32(0)));
  if_then(waits, [&] {
    fault(exec::FaultKind::unsupported, ir.CreateZExt(missing, ir.getInt64Ty()), first_lane(executing_lanes));
  });
}

/// Lanes at the operation, here and at other places, whose members have all come; 0 where none have.
/// @param arrived  lanes that wait for their members, by place
llvm::Value* FunctionCompiler::complete_groups(const Meeting& m, llvm::Value* wanting,
                                               const std::map<BlockId, llvm::Value*>& arrived) {
  auto* i32 = ir.getInt32Ty();
  llvm::Value* at = wanting;
  for (const auto& [x, lanes_there] : arrived) at = ir.CreateOr(at, lanes_there);
  auto* present = lanes_inside();
  auto missing = [&](llvm::Value* members, llvm::Value* same) {
    return ir.CreateAnd(ir.CreateAnd(members, present), ir.CreateNot(same));
  };
  const Operand& mask_operand = operand(instruction->operand_count - 1u);
  bool constant = plan.constant(mask_operand) != nullptr;
  std::vector<llvm::Value*> masks;
  WarpValue own = read(mask_operand);
  for (unsigned p = 0; p < parts(); ++p) masks.push_back(part(own, p).v);
  for (BlockId x : m.places)
    at_start_of(x, [&] {
      const Operand& there = operand(instruction->operand_count - 1u);
      constant = constant && plan.constant(there);
      WarpValue theirs = read(there);
      for (unsigned p = 0; p < parts(); ++p)
        masks[p] = ir.CreateSelect(active_[p], part(theirs, p).v, masks[p]);
    });
  if (constant) {  // places with other constants are none to meet at
    auto* none = ir.CreateICmpEQ(missing(scalar(own).v, at), ir.getInt32(0));
    return ir.CreateSelect(none, at, ir.getInt32(0));
  }
  auto* array = spill_parts(masks);
  auto* left = entry_alloca(i32, "left");
  auto* complete = entry_alloca(i32, "complete");
  ir.CreateStore(wanting, left);
  ir.CreateStore(ir.getInt32(0), complete);
  for_each_lane(wanting, [&](llvm::Value* lane) {
    auto* rest = ir.CreateLoad(i32, left);
    auto* is_left = ir.CreateAnd(ir.CreateLShr(rest, lane), ir.getInt32(1));
    if_then(ir.CreateICmpNE(is_left, ir.getInt32(0)), [&] {
      auto* members = load_lane(array, i32, lane);
      Mask equal;
      for (unsigned p = 0; p < parts(); ++p) equal.push_back(ir.CreateICmpEQ(masks[p], splat(members)));
      auto* same = ir.CreateAnd(mask_bits(equal), at);
      ir.CreateStore(ir.CreateAnd(rest, ir.CreateNot(same)), left);
      auto* before = ir.CreateLoad(i32, complete);
      auto* none = ir.CreateICmpEQ(missing(members, same), ir.getInt32(0));
      ir.CreateStore(ir.CreateOr(before, ir.CreateSelect(none, same, ir.getInt32(0))), complete);
    });
  });
  return ir.CreateLoad(i32, complete);
}

/// What the lanes bring that meet, per part: each from its own place.
std::vector<llvm::Value*> FunctionCompiler::gather_brought(const Meeting& m) {
  unsigned k = brought_operand(*instruction);
  std::vector<llvm::Value*> values;
  auto take = [&](unsigned p) {
    Val v = part(read(k), p);
    return v.type == Type::pred ? v.v : v.as(isa::bits_type(v.bits())).v;
  };
  for (unsigned p = 0; p < parts(); ++p) values.push_back(take(p));
  for (BlockId x : m.places)
    at_start_of(x, [&] {
      for (unsigned p = 0; p < parts(); ++p) values[p] = ir.CreateSelect(active_[p], take(p), values[p]);
    });
  return values;
}

/// Every place of those that meet keeps what all brought, until its own lanes have gone on.
void FunctionCompiler::release(const Meeting& m, llvm::Value* complete,
                               const std::map<BlockId, llvm::Value*>& arrived) {
  auto* i32 = ir.getInt32Ty();
  auto brought = m.values.empty() ? std::vector<llvm::Value*>{} : gather_brought(m);
  auto keep = [&](Meeting& place, llvm::Value* lanes_there) {
    auto* concerned = ir.CreateSelect(ir.CreateICmpNE(lanes_there, ir.getInt32(0)), complete, ir.getInt32(0));
    Mask which = mask_from_bits(concerned);
    for (unsigned p = 0; p < place.values.size(); ++p) {
      llvm::Value* old = ir.CreateLoad(place.values[p]->getAllocatedType(), place.values[p]);
      bool predicate = brought[p]->getType()->getScalarType()->isIntegerTy(1);
      auto* v = ir.CreateSelect(which[p], brought[p], predicate ? mask_from_storage(old) : old);
      ir.CreateStore(predicate ? mask_to_storage(v) : v, place.values[p]);
    }
    auto* waiting = ir.CreateLoad(i32, place.gathered);
    auto* known = ir.CreateSelect(ir.CreateICmpEQ(waiting, ir.getInt32(0)), ir.getInt32(0),
                                  ir.CreateLoad(i32, place.members));
    ir.CreateStore(ir.CreateOr(known, concerned), place.members);
    return waiting;
  };
  for (BlockId x : m.places) {
    Meeting& place = meetings_.at(x);
    auto* released = ir.CreateAnd(arrived.at(x), complete);
    auto* waiting = keep(place, released);
    ir.CreateStore(ir.CreateOr(waiting, released), place.gathered);
  }
  keep(meetings_.at(block), complete);
}

void FunctionCompiler::meet_in_warp(Meeting& m) {
  auto* i32 = ir.getInt32Ty();
  auto* zero = ir.getInt32(0);
  auto new_block = [&](const char* name) {
    return llvm::BasicBlock::Create(ir.getContext(), name, function_);
  };
  auto *released = new_block("released"), *check = new_block("check"), *hold = new_block("hold"),
       *met = new_block("met"), *together = new_block("together");
  auto* here = mask_bits(active_);
  auto* gathered = ir.CreateLoad(i32, m.gathered);
  auto* passing = ir.CreateAnd(gathered, here);
  ir.CreateCondBr(ir.CreateICmpNE(passing, zero), released, check);

  ir.SetInsertPoint(released);  // all came while these lanes waited
  ir.CreateStore(ir.CreateAnd(gathered, ir.CreateNot(passing)), m.gathered);
  ir.CreateStore(passing, m.going);
  ir.CreateBr(together);

  ir.SetInsertPoint(check);
  auto* wanting = mask_bits(executing());
  std::map<BlockId, llvm::Value*> arrived;
  for (BlockId x : m.places)
    at_start_of(x, [&] {
      auto* gone = ir.CreateLoad(i32, meetings_.at(x).gathered);
      arrived[x] = ir.CreateAnd(mask_bits(executing()), ir.CreateNot(gone));
    });
  auto* complete = complete_groups(m, wanting, arrived);
  auto* unguarded = ir.CreateAnd(here, ir.CreateNot(wanting));  // the guard lets these pass
  auto* going = ir.CreateOr(ir.CreateAnd(complete, here), unguarded);
  ir.CreateStore(going, m.going);
  ir.CreateCondBr(ir.CreateICmpNE(going, zero), met, hold);

  ir.SetInsertPoint(hold);
  add_lanes(block, active_);
  go(plan.with(block, {block}));

  ir.SetInsertPoint(met);
  release(m, complete, arrived);
  ir.CreateBr(together);

  ir.SetInsertPoint(together);
  continue_with(m);
}

/// The lanes in m.going execute the operation; the rest of the group stays at the block.
void FunctionCompiler::continue_with(const Meeting& m) {
  auto* going = ir.CreateLoad(ir.getInt32Ty(), m.going);
  add_lanes(block, mask_from_bits(ir.CreateAnd(mask_bits(active_), ir.CreateNot(going))));
  active_ = mask_from_bits(going);
  met_ = &m;
  met_instruction_ = instruction;
}

Mask FunctionCompiler::participants() {
  if (!met_ || met_instruction_ != instruction) return executing();
  return mask_from_bits(ir.CreateLoad(ir.getInt32Ty(), met_->members));
}

WarpValue FunctionCompiler::collective(unsigned k) {
  if (!met_ || met_instruction_ != instruction || k != brought_operand(*instruction)) return read(k);
  WarpValue value;
  value.shape = Shape::varying();
  value.type = operand(k).type;
  for (auto* a : met_->values) {
    llvm::Value* v = ir.CreateLoad(a->getAllocatedType(), a);
    value.parts.push_back(value.type == Type::pred ? mask_from_storage(v) : v);
  }
  return value;
}

// ---- barriers of the block that a warp reaches on several paths ----

llvm::Value* FunctionCompiler::barrier_field(llvm::Value* barrier, std::size_t offset, const char* name) {
  auto* at = ir.CreateMul(barrier, ir.getInt32(sizeof(exec::Barrier)));
  at = ir.CreateAdd(at,
                    ir.getInt32(static_cast<std::uint32_t>(offsetof(exec::CtaContext, barriers) + offset)));
  auto* load = ir.CreateLoad(ir.getInt32Ty(), ir.CreateGEP(ir.getInt8Ty(), cta_, at), name);
  load->setVolatile(true);  // other warps change it while this one waits
  return load;
}

llvm::Value* FunctionCompiler::met_barrier() {
  if (!met_ || met_instruction_ != instruction) return nullptr;
  return ir.CreateLoad(ir.getInt32Ty(), met_->barrier);
}

llvm::Value* FunctionCompiler::of_first(unsigned k, llvm::Value* bits) {
  if (!present(k)) return ir.getInt32(0);
  WarpValue v = read(k);
  if (v.shape.uniform()) return scalar(v).v;
  return load_lane(spill(v), ir.getInt32Ty(), first_lane(bits));
}

llvm::Value* FunctionCompiler::first_lane(llvm::Value* bits) {
  auto* lane = ir.CreateIntrinsic(llvm::Intrinsic::cttz, {ir.getInt32Ty()}, {bits, ir.getFalse()});
  return ir.CreateAnd(lane, ir.getInt32(31));
}

/// Lanes that have joined a phase which is not over.
llvm::Value* FunctionCompiler::waiting_at_barrier(const Meeting& m) {
  auto* i32 = ir.getInt32Ty();
  auto* joined = ir.CreateLoad(i32, m.gathered);
  auto* now = barrier_field(ir.CreateLoad(i32, m.barrier), offsetof(exec::Barrier, generation), "phase");
  auto* same = ir.CreateICmpEQ(now, ir.CreateLoad(i32, m.members));
  return ir.CreateSelect(same, joined, ir.getInt32(0));
}

/// Each group is counted when it comes and waits for the end of its phase; the warp as a whole waits only
/// when all its lanes do. Here m.gathered are the lanes counted, m.members the phase they were counted in.
void FunctionCompiler::meet_at_barrier(Meeting& m) {
  auto* i32 = ir.getInt32Ty();
  auto* zero = ir.getInt32(0);
  auto new_block = [&](const char* name) {
    return llvm::BasicBlock::Create(ir.getContext(), name, function_);
  };
  auto *hold = new_block("hold"), *together = new_block("together");
  auto* here = mask_bits(active_);
  auto* wanting = mask_bits(executing());
  auto* joined = ir.CreateLoad(i32, m.gathered);
  auto* over = ir.CreateAnd(ir.CreateICmpNE(joined, zero), ir.CreateICmpEQ(waiting_at_barrier(m), zero));
  auto* fresh = ir.CreateAnd(wanting, ir.CreateNot(joined));
  unsigned first = brought_operand(*instruction);
  auto* barrier = of_first(first, fresh);
  // Lanes for another barrier wait until those counted before them have gone on.
  auto* free =
      ir.CreateOr(ir.CreateICmpEQ(joined, zero), ir.CreateICmpEQ(barrier, ir.CreateLoad(i32, m.barrier)));
  auto* may_join = ir.CreateAnd(ir.CreateAnd(ir.CreateNot(over), free), ir.CreateICmpNE(fresh, zero));
  if_then(may_join, [&] {
    llvm::Value* held = zero;
    if (present(first + 2)) {
      WarpValue predicate = read(first + 2);
      Mask holds = active_;
      for (unsigned p = 0; p < parts(); ++p) holds[p] = ir.CreateAnd(holds[p], part(predicate, p).v);
      held = ir.CreateAnd(mask_bits(holds), fresh);
    }
    auto* phase =
        call_service(exec::Service::barrier_join, {barrier, of_first(first + 1, fresh), fresh, held});
    ir.CreateStore(phase, m.members);
    ir.CreateStore(barrier, m.barrier);
    ir.CreateStore(ir.CreateOr(joined, fresh), m.gathered);
  });
  auto* counted = ir.CreateLoad(i32, m.gathered);
  auto* still = waiting_at_barrier(m);
  auto* unguarded = ir.CreateAnd(here, ir.CreateNot(wanting));
  auto* done = ir.CreateAnd(counted, ir.CreateNot(still));
  auto* going = ir.CreateOr(ir.CreateAnd(done, here), unguarded);
  ir.CreateStore(going, m.going);
  ir.CreateStore(still, m.gathered);
  ir.CreateCondBr(ir.CreateICmpNE(going, zero), together, hold);

  ir.SetInsertPoint(hold);
  llvm::Value* waiting = still;
  auto bit = [&](const Meeting& place, llvm::Value* lanes_there) {
    auto* one = ir.CreateShl(ir.getInt32(1), ir.CreateLoad(i32, place.barrier));
    return ir.CreateSelect(ir.CreateICmpNE(lanes_there, zero), one, zero);
  };
  llvm::Value* barriers = bit(m, still);
  for (BlockId x : m.places) {
    const Meeting& place = meetings_.at(x);
    auto* there = waiting_at_barrier(place);
    barriers = ir.CreateOr(barriers, bit(place, there));
    waiting = ir.CreateOr(waiting, there);
  }
  if_then(ir.CreateICmpEQ(ir.CreateAnd(lanes_inside(), ir.CreateNot(waiting)), zero),
          [&] { call_service(exec::Service::barrier_wait, {barriers}); });
  add_lanes(block, active_);
  go(plan.with(block, {block}));

  ir.SetInsertPoint(together);
  continue_with(m);
}

}  // namespace raddle::jit
