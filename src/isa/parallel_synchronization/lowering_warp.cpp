// JIT: warp collectives: votes, match, redux, elect, activemask. A lane that a member mask names but that has
// exited, or never was, is as if it were not named: WarpEmitter::participants() are those that are there.
#include <llvm/IR/Intrinsics.h>

#include "isa/op.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

/// Lanes, of those that take part, for which a predicate operand holds, or does not.
Val ballot(WarpEmitter& e, const WarpValue& a, bool holds) {
  const Mask lanes = e.participants();
  return e.bits(e.by_part([&](unsigned p) {
    Val x = e.part(a, p);
    return e.part(lanes, p) & (holds ? x : ~x);
  }));
}

/// Gives make(member mask): once where the mask is uniform, else lane-wise.
template <class Make>
void out_by_members(WarpEmitter& e, Type type, const WarpValue& members, Make make) {
  if (members.shape.uniform()) return e.out(0, type, make(e.scalar(members).as(Type::u32)).v);
  e.out(0, type, e.by_part([&](unsigned p) { return make(e.part(members, p, Type::u32)); }));
}

/// The word, for every lane of a vector if `like` is one.
Val spread(WarpEmitter& e, Val word, Val like) { return like.is_vector() ? e.splat(word) : word; }

void vote_predicate(WarpEmitter& e, const WarpValue& a, const WarpValue& members) {
  const Val holds = ballot(e, a, true), fails = ballot(e, a, false);
  out_by_members(e, Type::pred, members, [&](Val m) {
    Val none_holds = eq(spread(e, holds, m) & m, m.like(0));
    Val none_fails = eq(spread(e, fails, m) & m, m.like(0));
    if (e.has(Mod::uni)) return none_holds | none_fails;
    return e.has(Mod::any) ? ~none_holds : none_fails;
  });
}

void vote_bits(WarpEmitter& e, const WarpValue& a, const WarpValue& members) {
  const Val holds = ballot(e, a, true);
  out_by_members(e, Type::b32, members, [&](Val m) { return spread(e, holds, m) & m; });
}

/// Mask of the lanes that have the same value, for each lane: every lane's is compared with all, and gives
/// those that equal it its bit. So nothing leaves the vectors, which a mask for each lane in turn would.
std::vector<llvm::Value*> equal_lanes(WarpEmitter& e, const WarpValue& a) {
  constexpr unsigned kAtOnce = 4;
  auto& ir = e.ir;
  // Frozen: a lane that takes no part may have no value, which no other lane is to get.
  auto parts = e.values.vectors(a);
  for (auto*& part : parts) part = ir.CreateFreeze(part);
  const LaneArray values = e.spill(parts);
  auto *before = ir.GetInsertBlock(), *loop = e.code.new_block("match"), *after = e.code.new_block("matched");
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  auto phi = [&](llvm::Value* first) {
    auto* made = ir.CreatePHI(first->getType(), 2);
    made->addIncoming(first, before);
    return made;
  };
  llvm::PHINode *first = phi(ir.getInt32(0)), *first_bit = phi(e.splat(ir.getInt32(1)));
  std::vector<llvm::PHINode*> so_far;
  for (std::size_t p = 0; p < parts.size(); ++p) so_far.push_back(phi(e.splat(ir.getInt32(0))));
  std::vector<llvm::Value*> equal(so_far.begin(), so_far.end());
  llvm::Value* bit = first_bit;
  for (unsigned k = 0; k < kAtOnce; ++k) {
    auto* its = e.splat(values[ir.CreateAdd(first, ir.getInt32(k), "", true, true)]);
    for (std::size_t p = 0; p < parts.size(); ++p)
      equal[p] = ir.CreateSelect(ir.CreateICmpEQ(parts[p], its), ir.CreateOr(equal[p], bit), equal[p]);
    bit = ir.CreateShl(bit, 1);
  }
  auto* next = ir.CreateAdd(first, ir.getInt32(kAtOnce), "", true, true);
  first->addIncoming(next, ir.GetInsertBlock());
  first_bit->addIncoming(bit, ir.GetInsertBlock());
  for (std::size_t p = 0; p < parts.size(); ++p) so_far[p]->addIncoming(equal[p], ir.GetInsertBlock());
  ir.CreateCondBr(ir.CreateICmpEQ(next, ir.getInt32(exec::kWarpSize)), after, loop);
  ir.SetInsertPoint(after);
  return equal;
}

WarpValue everyone(WarpEmitter& e) { return WarpValue::uniform(Type::u32, e.ir.getInt32(0xffffffff)); }

}  // namespace

template <>
void emit<Op::vote_sync>(WarpEmitter& e) {
  vote_predicate(e, e.collective(1), e.in(2));
}
template <>
void emit<Op::vote_sync_ballot>(WarpEmitter& e) {
  vote_bits(e, e.collective(1), e.in(2));
}
template <>
void emit<Op::vote>(WarpEmitter& e) {
  vote_predicate(e, e.in(1), everyone(e));
}
template <>
void emit<Op::vote_ballot>(WarpEmitter& e) {
  vote_bits(e, e.in(1), everyone(e));
}

template <>
void emit<Op::activemask>(WarpEmitter& e) {
  const Val lanes = e.splat(e.bits(e.executing()));
  e.out(0, Type::b32, e.by_part([&](unsigned) { return lanes; }));
}

template <>
void emit<Op::match_any>(WarpEmitter& e) {
  const WarpValue a = e.collective(1), members = e.in(2);
  const Val present = e.splat(e.bits(e.participants()));
  const auto equal = equal_lanes(e, a);
  e.out(0, Type::b32,
        e.by_part([&](unsigned p) { return e.word(equal[p]) & present & e.part(members, p, Type::u32); }));
}

template <>
void emit<Op::match_all>(WarpEmitter& e) {
  const WarpValue a = e.collective(2), members = e.in(3);
  const LaneArray values = e.spill(a), masks = e.spill(members);
  const LaneArray matches = e.lane_array(e.ir.getInt32Ty(), "matches");
  const Val present = e.bits(e.participants());
  e.for_each_lane(e.bits(e.executing()), [&](llvm::Value* lane) {
    auto* mine = e.splat(values[lane]);
    const Val group = e.word(masks[lane]) & present;
    Mask different;
    for (unsigned p = 0; p < e.parts(); ++p) different.push_back(e.ir.CreateICmpNE(e.part(a, p).v, mine));
    const Val none = eq(e.bits(different) & group, e.word(0u));
    matches.set(lane, select(none, group, e.word(0u)).v);
  });
  const auto groups = matches.parts();
  e.out(0, Type::b32, groups);
  if (!e.wants(1)) return;
  e.out(1, Type::pred, e.by_part([&](unsigned p) {
    Val group = e.word(groups[p]);
    return ne(group, group.like(0));
  }));
}

namespace {

/// An operation over lanes, and what it makes no difference to.
struct Reduction {
  llvm::Intrinsic::ID across;
  std::uint32_t identity;
};

Reduction reduction_of(const isa::Opcode& opcode) {
  const bool is_signed = isa::is_signed(opcode.type(0));
  switch (opcode.get(ModKind::operation)) {
    case Mod::add:
      return {llvm::Intrinsic::vector_reduce_add, 0};
    case Mod::min:
      if (is_signed) return {llvm::Intrinsic::vector_reduce_smin, 0x7fffffff};
      return {llvm::Intrinsic::vector_reduce_umin, 0xffffffff};
    case Mod::max:
      if (is_signed) return {llvm::Intrinsic::vector_reduce_smax, 0x80000000};
      return {llvm::Intrinsic::vector_reduce_umax, 0};
    case Mod::and_:
      return {llvm::Intrinsic::vector_reduce_and, 0xffffffff};
    case Mod::or_:
      return {llvm::Intrinsic::vector_reduce_or, 0};
    default:
      return {llvm::Intrinsic::vector_reduce_xor, 0};
  }
}

llvm::Value* reduce(WarpEmitter& e, const WarpValue& a, const Mask& members) {
  auto& ir = e.ir;
  const Reduction reduction = reduction_of(e.opcode());
  auto* i32 = ir.getInt32Ty();
  auto* all = e.code.entry_alloca(llvm::ArrayType::get(i32, exec::kWarpSize), "reduced", 64);
  for (unsigned p = 0; p < e.parts(); ++p) {
    auto* v = ir.CreateSelect(members[p], e.part(a, p).v, e.splat(ir.getInt32(reduction.identity)));
    ir.CreateAlignedStore(v, ir.CreateConstInBoundsGEP1_32(i32, all, p * e.lanes()), llvm::Align(16));
  }
  auto* whole = llvm::FixedVectorType::get(i32, exec::kWarpSize);
  return ir.CreateIntrinsic(reduction.across, {whole}, {ir.CreateAlignedLoad(whole, all, llvm::Align(64))});
}

/// Runs body(its lanes) for each group of lanes that `group_of(a lane)` joins.
void for_each_group(WarpEmitter& e, const std::function<Val(llvm::Value* lane)>& group_of,
                    const std::function<void(Val group)>& body) {
  auto& ir = e.ir;
  auto* left = e.code.entry_alloca(ir.getInt32Ty(), "left");
  ir.CreateStore(e.bits(e.executing()).v, left);
  e.for_each_lane(e.bits(e.executing()), [&](llvm::Value* lane) {
    const Val rest = e.word(ir.CreateLoad(ir.getInt32Ty(), left));
    e.if_any(shift_right(rest, e.word(lane)) & e.word(1), [&] {
      const Val group = group_of(lane);
      body(group);
      ir.CreateStore((rest & ~(group | shift_left(e.word(1), e.word(lane)))).v, left);
    });
  });
}

}  // namespace

template <>
void emit<Op::redux>(WarpEmitter& e) {
  const WarpValue a = e.collective(1), members = e.in(2);
  const Mask running = e.participants();
  if (members.shape.uniform()) {
    const Mask named = e.masks.from_bits(e.scalar(members).v);
    return e.out(0, Type::b32,
                 reduce(e, a, e.by_part([&](unsigned p) { return e.part(named, p) & e.part(running, p); })));
  }
  const LaneArray masks = e.spill(members), results = e.lane_array(e.ir.getInt32Ty(), "results");
  const Val bits = e.bits(running);
  for_each_group(
      e, [&](llvm::Value* lane) { return e.word(masks[lane]) & bits; },
      [&](Val group) {
        auto* value = reduce(e, a, e.masks.from_bits(group.v));
        e.for_each_lane(group, [&](llvm::Value* lane) { results.set(lane, value); });
      });
  e.out(0, Type::b32, results);
}

template <>
void emit<Op::elect>(WarpEmitter& e) {
  const WarpValue members = e.in(2);
  const Val running = e.splat(e.bits(e.participants()));
  std::vector<llvm::Value*> leaders, elected;
  for (unsigned p = 0; p < e.parts(); ++p) {
    const Val leader = trailing_zeros(e.part(members, p, Type::u32) & running);
    leaders.push_back(leader.v);
    elected.push_back(eq(leader, e.lane_numbers(p).as(Type::u32)).v);
  }
  if (e.wants(0)) e.out(0, Type::b32, leaders);
  if (e.wants(1)) e.out(1, Type::pred, elected);
}

// The lanes of a group execute in order within one host thread: what they wrote is visible to each other
// already.
template <>
void emit<Op::bar_warp_sync>(WarpEmitter&) {}

}  // namespace raddle::jit
