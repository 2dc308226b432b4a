// JIT: warp collectives: votes, match, redux, elect, activemask. A lane that a member mask names but that has
// exited, or never was, is as if it were not named: FunctionCompiler::participants() are those that are
// there.
#include <llvm/IR/Intrinsics.h>

#include "isa/op.h"
#include "jit/function.h"

namespace raddle::jit {
namespace {

/// Per part, each lane's own member mask as u32.
Val members(FunctionCompiler& f, const WarpValue& membermask, unsigned p) {
  return f.part(membermask, p).as(Type::u32);
}

/// The participating lanes for which a predicate operand holds.
llvm::Value* ballot_bits(FunctionCompiler& f, const WarpValue& a, bool inverted) {
  Mask mask = f.participants();
  for (unsigned p = 0; p < f.parts(); ++p) {
    auto* holds = f.part(a, p).v;
    mask[p] = f.ir.CreateAnd(mask[p], inverted ? f.ir.CreateNot(holds) : holds);
  }
  return f.mask_bits(mask);
}

/// Writes make(member mask) once where the mask is uniform, else lane-wise.
template <class Make>
void write_by_members(FunctionCompiler& f, Type type, const WarpValue& membermask, Make make) {
  if (membermask.shape.uniform())
    return f.write_uniform(f.operand(0), type, make(f.scalar(membermask).as(Type::u32)).v);
  std::vector<llvm::Value*> parts;
  for (unsigned p = 0; p < f.parts(); ++p) parts.push_back(make(members(f, membermask, p)).v);
  f.write_parts(f.operand(0), type, parts);
}

Val widen(FunctionCompiler& f, llvm::Value* bits, Val like) {
  return {&f.ir, like.is_vector() ? f.splat(bits) : bits, Type::u32};
}

void vote_predicate(FunctionCompiler& f, const WarpValue& a, const WarpValue& membermask) {
  Mod mode = f.opcode().get(ModKind::vote);
  bool uniform_mode = f.opcode().has(Mod::uni);
  auto* holds = ballot_bits(f, a, false);
  auto* fails = ballot_bits(f, a, true);
  write_by_members(f, Type::pred, membermask, [&](Val m) {
    Val none_holds = eq(widen(f, holds, m) & m, m.like(0)),
        none_fails = eq(widen(f, fails, m) & m, m.like(0));
    if (uniform_mode) return none_holds | none_fails;
    return mode == Mod::any ? ~none_holds : none_fails;
  });
}

void vote_bits(FunctionCompiler& f, const WarpValue& a, const WarpValue& membermask) {
  auto* holds = ballot_bits(f, a, false);
  write_by_members(f, Type::b32, membermask, [&](Val m) { return widen(f, holds, m) & m; });
}

WarpValue everyone(FunctionCompiler& f) {
  WarpValue v;
  v.shape = Shape::uniform_value();
  v.type = Type::u32;
  v.bases = {f.ir.getInt32(0xffffffff)};
  return v;
}

/// Runs body(lanes of one group as a mask, its bits) for each group of lanes that `group_of(first lane)`
/// joins.
void for_each_group(FunctionCompiler& f, const std::function<llvm::Value*(llvm::Value* lane)>& group_of,
                    const std::function<void(llvm::Value* bits)>& body) {
  auto& ir = f.ir;
  auto* left_slot = f.entry_alloca(ir.getInt32Ty(), "left");
  ir.CreateStore(f.mask_bits(f.executing()), left_slot);
  f.for_each_lane(f.mask_bits(f.executing()), [&](llvm::Value* lane) {
    auto* left = ir.CreateLoad(ir.getInt32Ty(), left_slot);
    auto* is_left = ir.CreateAnd(ir.CreateLShr(left, lane), ir.getInt32(1));
    f.if_then(ir.CreateICmpNE(is_left, ir.getInt32(0)), [&] {
      auto* bits = group_of(lane);
      body(bits);
      ir.CreateStore(ir.CreateAnd(left, ir.CreateNot(ir.CreateOr(bits, ir.CreateShl(ir.getInt32(1), lane)))),
                     left_slot);
    });
  });
}

}  // namespace

template <>
void emit<Op::vote_sync>(FunctionCompiler& f) {
  vote_predicate(f, f.collective(1), f.read(2));
}
template <>
void emit<Op::vote_sync_ballot>(FunctionCompiler& f) {
  vote_bits(f, f.collective(1), f.read(2));
}
template <>
void emit<Op::vote>(FunctionCompiler& f) {
  vote_predicate(f, f.read(1), everyone(f));
}
template <>
void emit<Op::vote_ballot>(FunctionCompiler& f) {
  vote_bits(f, f.read(1), everyone(f));
}

template <>
void emit<Op::activemask>(FunctionCompiler& f) {
  f.write_parts(f.operand(0), Type::b32,
                std::vector<llvm::Value*>(f.parts(), f.splat(f.mask_bits(f.executing()))));
}

template <>
void emit<Op::match_any>(FunctionCompiler& f) {
  auto& ir = f.ir;
  WarpValue a = f.collective(1), membermask = f.read(2);
  auto* values = f.spill(a);
  auto* element = ir.getIntNTy(isa::bit_size(a.type));
  auto* results = f.entry_alloca(llvm::ArrayType::get(ir.getInt32Ty(), exec::kWarpSize), "matches", 64);
  auto* members_here = f.mask_bits(f.participants());
  std::vector<llvm::Value*> parts;
  for (unsigned p = 0; p < f.parts(); ++p) parts.push_back(f.part(a, p).v);
  f.for_each_lane(f.mask_bits(f.executing()), [&](llvm::Value* lane) {
    auto* mine = f.splat(f.load_lane(values, element, lane));
    Mask same;
    for (unsigned p = 0; p < f.parts(); ++p) same.push_back(ir.CreateICmpEQ(parts[p], mine));
    f.store_lane(results, ir.CreateAnd(f.mask_bits(same), members_here), lane);
  });
  auto matches = f.reload(results, ir.getInt32Ty());
  for (unsigned p = 0; p < f.parts(); ++p) matches[p] = ir.CreateAnd(matches[p], members(f, membermask, p).v);
  f.write_parts(f.operand(0), Type::b32, matches);
}

template <>
void emit<Op::match_all>(FunctionCompiler& f) {
  auto& ir = f.ir;
  WarpValue a = f.collective(2), membermask = f.read(3);
  auto* values = f.spill(a);
  auto* masks = f.spill(membermask);
  auto* element = ir.getIntNTy(isa::bit_size(a.type));
  auto* results = f.entry_alloca(llvm::ArrayType::get(ir.getInt32Ty(), exec::kWarpSize), "matches", 64);
  auto* members_here = f.mask_bits(f.participants());
  f.for_each_lane(f.mask_bits(f.executing()), [&](llvm::Value* lane) {
    auto* mine = f.splat(f.load_lane(values, element, lane));
    auto* group = ir.CreateAnd(f.load_lane(masks, ir.getInt32Ty(), lane), members_here);
    Mask different;
    for (unsigned p = 0; p < f.parts(); ++p) different.push_back(ir.CreateICmpNE(f.part(a, p).v, mine));
    auto* none = ir.CreateICmpEQ(ir.CreateAnd(f.mask_bits(different), group), ir.getInt32(0));
    f.store_lane(results, ir.CreateSelect(none, group, ir.getInt32(0)), lane);
  });
  auto matches = f.reload(results, ir.getInt32Ty());
  f.write_parts(f.operand(0), Type::b32, matches);
  if (!f.wants(1)) return;
  for (auto*& m : matches) m = ir.CreateICmpNE(m, llvm::Constant::getNullValue(m->getType()));
  f.write_parts(f.operand(1), Type::pred, matches);
}

namespace {
llvm::Value* reduce(FunctionCompiler& f, const WarpValue& a, const Mask& members_of_group) {
  auto& ir = f.ir;
  bool is_signed = isa::is_signed(f.opcode().type(0));
  struct Operation {
    llvm::Intrinsic::ID across;
    std::uint32_t identity;
  };
  Operation op = [&]() -> Operation {
    switch (f.opcode().get(ModKind::operation)) {
      case Mod::add:
        return {llvm::Intrinsic::vector_reduce_add, 0};
      case Mod::min:
        return is_signed ? Operation{llvm::Intrinsic::vector_reduce_smin, 0x7fffffff}
                         : Operation{llvm::Intrinsic::vector_reduce_umin, 0xffffffff};
      case Mod::max:
        return is_signed ? Operation{llvm::Intrinsic::vector_reduce_smax, 0x80000000}
                         : Operation{llvm::Intrinsic::vector_reduce_umax, 0};
      case Mod::and_:
        return {llvm::Intrinsic::vector_reduce_and, 0xffffffff};
      case Mod::or_:
        return {llvm::Intrinsic::vector_reduce_or, 0};
      default:
        return {llvm::Intrinsic::vector_reduce_xor, 0};
    }
  }();
  auto* all = f.entry_alloca(llvm::ArrayType::get(ir.getInt32Ty(), exec::kWarpSize), "reduced", 64);
  for (unsigned p = 0; p < f.parts(); ++p) {
    auto* v = ir.CreateSelect(members_of_group[p], f.part(a, p).v, f.splat(ir.getInt32(op.identity)));
    ir.CreateAlignedStore(v, ir.CreateConstInBoundsGEP1_32(ir.getInt32Ty(), all, p * f.lanes()),
                          llvm::Align(16));
  }
  auto* whole = llvm::FixedVectorType::get(ir.getInt32Ty(), exec::kWarpSize);
  return ir.CreateIntrinsic(op.across, {whole}, {ir.CreateAlignedLoad(whole, all, llvm::Align(64))});
}
}  // namespace

template <>
void emit<Op::redux>(FunctionCompiler& f) {
  auto& ir = f.ir;
  WarpValue a = f.collective(1), membermask = f.read(2);
  Mask running = f.participants();
  if (membermask.shape.uniform()) {
    Mask named = f.mask_from_bits(f.scalar(membermask).v);
    for (unsigned p = 0; p < f.parts(); ++p) named[p] = ir.CreateAnd(named[p], running[p]);
    return f.write_uniform(f.operand(0), Type::b32, reduce(f, a, named));
  }
  auto* masks = f.spill(membermask);
  auto* results = f.entry_alloca(llvm::ArrayType::get(ir.getInt32Ty(), exec::kWarpSize), "results", 64);
  auto* bits = f.mask_bits(running);
  for_each_group(
      f, [&](llvm::Value* lane) { return ir.CreateAnd(f.load_lane(masks, ir.getInt32Ty(), lane), bits); },
      [&](llvm::Value* group) {
        auto* value = reduce(f, a, f.mask_from_bits(group));
        f.for_each_lane(group, [&](llvm::Value* lane) { f.store_lane(results, value, lane); });
      });
  f.write_spilled(f.operand(0), Type::b32, results);
}

template <>
void emit<Op::elect>(FunctionCompiler& f) {
  auto& ir = f.ir;
  WarpValue membermask = f.read(2);
  auto* running = f.splat(f.mask_bits(f.participants()));
  std::vector<llvm::Value*> leaders, elected;
  for (unsigned p = 0; p < f.parts(); ++p) {
    auto* named = ir.CreateAnd(members(f, membermask, p).v, running);
    auto* leader = ir.CreateIntrinsic(llvm::Intrinsic::cttz, {named->getType()}, {named, ir.getFalse()});
    leaders.push_back(leader);
    elected.push_back(ir.CreateICmpEQ(leader, f.lane_numbers(32, p)));
  }
  if (f.wants(0)) f.write_parts(f.operand(0), Type::b32, leaders);
  if (f.wants(1)) f.write_parts(f.operand(1), Type::pred, elected);
}

// The lanes of a group execute in order within one host thread: what they wrote is visible to each other
// already.
template <>
void emit<Op::bar_warp_sync>(FunctionCompiler&) {}

}  // namespace raddle::jit
