// JIT: operations on mbarriers, lane after lane; the machine applies them to the object.
#include "exec/mbarrier.h"
#include "isa/op.h"
#include "jit/emitter.h"
#include "jit/mbarriers.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

using exec::MbarrierOperation;

/// An instruction that changes an mbarrier, by the numbers of its operands; -1: there is none.
struct Change {
  MbarrierOperation operation;
  unsigned address;
  int state = -1;  ///< receives the word before
  int count = -1, bytes = -1;
  std::uint32_t arrivals = 0, transactions = 0;  ///< where no operand counts them
};

void change(WarpEmitter& e, const Change& what) {
  auto& ir = e.ir;
  ++e.statistics.memory_operations;
  ++e.statistics.not_vectorised;
  const LaneValue address = e.lane_value(
      e.addresses.begin(e.operand(what.address), e.get(ModKind::space), exec::kMbarrierBytes).address);
  auto operand = [&](int k, std::uint32_t otherwise) {
    return k < 0 ? LaneValue(ir.getInt32(otherwise)) : e.lane_value(e.in(static_cast<unsigned>(k)));
  };
  const LaneValue count = operand(what.count, what.arrivals), bytes = operand(what.bytes, what.transactions);
  const bool wants = what.state >= 0 && e.wants(static_cast<unsigned>(what.state));
  std::optional<LaneArray> before;
  if (wants) before.emplace(e.lane_array(ir.getInt64Ty(), "before"));
  e.context.note_line();
  e.loops.for_each(e.bits(e.executing()).v, [&](llvm::Value* lane) {
    auto* word =
        e.context.call_service(exec::Service::mbarrier_change,
                               {lane, address[lane], ir.getInt32(static_cast<std::uint32_t>(what.operation)),
                                count[lane], bytes[lane]});
    if (wants) before->set(lane, word);
  });
  if (wants) e.out(static_cast<unsigned>(what.state), Type::b64, *before);
}

void arrive(WarpEmitter& e, bool drops) {
  const bool expects = e.has(Mod::expect_tx);
  const int operand = e.present(2) ? 2 : -1;
  change(e, {.operation = exec::arrival_of(drops, !e.has(Mod::no_complete)),
             .address = 1,
             .state = 0,
             .count = expects ? -1 : operand,
             .bytes = expects ? operand : -1,
             .arrivals = 1});
}

/// Lanes whose value has the bit that tells odd phases from even ones.
llvm::Value* odd_lanes(WarpEmitter& e, const WarpValue& phase) {
  return e
      .bits(e.by_part([&](unsigned p) {
        if (!e.has(Mod::parity)) return lt(e.part(phase, p, Type::s64), e.part(phase, p, Type::s64).like(0));
        const Val parity = e.part(phase, p, Type::u32);
        return ne(parity & parity.like(1), parity.like(0));
      }))
      .v;
}

/// What lanes of a warp ask: about a phase each.
struct Question {
  llvm::Value* lanes;    ///< that ask, at least one
  WarpValue place;       ///< of the objects
  LaneValue address;     ///< the same
  llvm::Value* odd;      ///< lanes that ask about a phase of odd parity
  llvm::Value* first;    ///< the lowest lane that asks
  llvm::Value* is_same;  ///< all of them ask what it asks
};

Question question(WarpEmitter& e, const WarpValue& place, const WarpValue& phase, llvm::Value* lanes) {
  auto& ir = e.ir;
  Question q{.lanes = lanes, .place = place, .address = e.lane_value(place), .odd = odd_lanes(e, phase)};
  q.first = e.masks.first_lane(lanes);
  llvm::Value* others = ir.getInt32(0);
  if (!place.shape.uniform()) {
    auto* address = q.address[q.first];
    others = e.bits(e.by_part([&](unsigned p) {
                const Val own = e.part(place, p);
                return ne(own, e.splat(Val{&ir, address, own.type}));
              })).v;
  }
  if (!phase.shape.uniform()) {
    auto* odd = ir.CreateAnd(ir.CreateLShr(q.odd, q.first), 1);
    others = ir.CreateOr(others, ir.CreateXor(q.odd, ir.CreateNeg(odd)));
  }
  q.is_same = ir.CreateICmpEQ(ir.CreateAnd(others, lanes), ir.getInt32(0));
  return q;
}

/// Lanes whose phase is over. Those that all wait for one phase of one object ask once.
llvm::Value* answers_to(WarpEmitter& e, const Question& q) {
  auto& ir = e.ir;
  auto* zero = ir.getInt32(0);
  auto* over = e.code.entry_alloca(ir.getInt32Ty(), "over");
  auto ask = [&](llvm::Value* lane) {
    auto* odd = ir.CreateAnd(ir.CreateLShr(q.odd, lane), 1);
    return e.context.call_service(exec::Service::mbarrier_is_over, {lane, q.address[lane], odd});
  };
  ir.CreateStore(zero, over);
  auto* asked = ir.CreateSelect(q.is_same, ir.CreateShl(ir.getInt32(1), q.first), q.lanes);
  e.loops.for_each(asked, [&](llvm::Value* lane) {
    auto* bit = ir.CreateShl(ask(lane), lane);
    ir.CreateStore(ir.CreateOr(ir.CreateLoad(ir.getInt32Ty(), over), bit), over);
  });
  auto* answers = ir.CreateLoad(ir.getInt32Ty(), over);
  auto* all = ir.CreateSelect(ir.CreateICmpNE(answers, zero), q.lanes, zero);
  return ir.CreateSelect(q.is_same, all, answers);
}

void test(WarpEmitter& e) {
  auto& ir = e.ir;
  ++e.statistics.memory_operations;
  ++e.statistics.not_vectorised;
  const WarpValue place = e.addresses.begin(e.operand(1)).address, phase = e.in(2);
  const Val executing = e.bits(e.executing());
  auto* zero = ir.getInt32(0);
  auto* over = e.code.entry_alloca(ir.getInt32Ty(), "answers");
  ir.CreateStore(zero, over);
  e.context.note_line();
  e.if_any(executing, [&] {
    const Question q = question(e, place, phase, executing.v);
    auto* answers = answers_to(e, q);
    ir.CreateStore(answers, over);
    if (!e.cursor.plan.is_awaited(*e.cursor.instruction)) return;
    e.code.if_then(ir.CreateICmpEQ(answers, zero), [&] {
      auto* asked = ir.CreateSelect(q.is_same, ir.CreateShl(ir.getInt32(1), q.first), q.lanes);
      e.meetings.wait_for_phases(q.lanes, asked, e.spill(place).pointer(), q.odd);
    });
  });
  auto* answers = ir.CreateLoad(ir.getInt32Ty(), over);
  if (place.shape.uniform() && phase.shape.uniform())
    return e.out(0, Type::pred, ir.CreateICmpNE(answers, zero));
  const Mask lanes = e.masks.from_bits(answers);
  e.out(0, Type::pred, e.by_part([&](unsigned p) { return e.part(lanes, p); }));
}

}  // namespace

void complete_transactions(WarpEmitter& e, unsigned k, std::uint32_t bytes) {
  change(e, {.operation = MbarrierOperation::complete, .address = k, .transactions = bytes});
}

void arrive_for_copies(WarpEmitter& e, unsigned k, bool is_expected) {
  if (e.kernel.late_copies) {
    const LaneValue address =
        e.lane_value(e.addresses.begin(e.operand(k), e.get(ModKind::space), exec::kMbarrierBytes).address);
    e.context.note_line();
    return e.for_each_lane(e.bits(e.executing()), [&](llvm::Value* lane) {
      e.context.call_service(exec::Service::thread_copy_arrive,
                             {lane, address[lane], e.ir.getInt32(is_expected)});
    });
  }
  Change what{.operation = is_expected ? MbarrierOperation::arrive : MbarrierOperation::arrive_expected,
              .address = k};
  what.arrivals = 1;
  change(e, what);
}

template <>
void emit<Op::mbarrier_init>(WarpEmitter& e) {
  change(e, {.operation = MbarrierOperation::init, .address = 0, .count = 1});
}
template <>
void emit<Op::mbarrier_inval>(WarpEmitter& e) {
  change(e, {.operation = MbarrierOperation::invalidate, .address = 0});
}
template <>
void emit<Op::mbarrier_expect_tx>(WarpEmitter& e) {
  change(e, {.operation = MbarrierOperation::expect, .address = 0, .bytes = 1});
}
template <>
void emit<Op::mbarrier_complete_tx>(WarpEmitter& e) {
  change(e, {.operation = MbarrierOperation::complete, .address = 0, .bytes = 1});
}
template <>
void emit<Op::mbarrier_arrive>(WarpEmitter& e) {
  arrive(e, false);
}
template <>
void emit<Op::mbarrier_arrive_drop>(WarpEmitter& e) {
  arrive(e, true);
}
template <>
void emit<Op::mbarrier_test_wait>(WarpEmitter& e) {
  test(e);
}
template <>
void emit<Op::mbarrier_try_wait>(WarpEmitter& e) {
  test(e);
}
template <>
void lower<Op::mbarrier_pending_count>(Emitter& e) {
  const Val state = e.in(1, Type::u64);
  e.out((shr(state, 21) & state.like(exec::kMbarrierMost)).to(Type::u32));
}

}  // namespace raddle::jit
