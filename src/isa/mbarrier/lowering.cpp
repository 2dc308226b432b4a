// JIT: operations on mbarriers, lane after lane; the machine applies them to the object.
#include "exec/mbarrier.h"
#include "isa/op.h"
#include "jit/emitter.h"
#include "jit/mbarriers.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

using exec::MbarrierOperation;

/// A value per lane, or one for all of them.
struct PerLane {
  WarpEmitter& e;
  Val shared;
  std::optional<LaneArray> array;

  PerLane(WarpEmitter& emitter, const WarpValue& value) : e(emitter) {
    if (value.shape.uniform())
      shared = e.scalar(value);
    else
      array.emplace(e.spill(value));
  }
  bool is_uniform() const { return !array; }
  llvm::Value* of(llvm::Value* lane) const { return is_uniform() ? shared.v : (*array)[lane]; }
};

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
  const PerLane address(
      e, e.addresses.begin(e.operand(what.address), e.get(ModKind::space), exec::kMbarrierBytes).address);
  auto operand = [&](int k, std::uint32_t otherwise) {
    return k < 0 ? PerLane(e, WarpValue::uniform(Type::u32, ir.getInt32(otherwise)))
                 : PerLane(e, e.in(static_cast<unsigned>(k)));
  };
  const PerLane count = operand(what.count, what.arrivals), bytes = operand(what.bytes, what.transactions);
  const bool wants = what.state >= 0 && e.wants(static_cast<unsigned>(what.state));
  std::optional<LaneArray> before;
  if (wants) before.emplace(e.lane_array(ir.getInt64Ty(), "before"));
  e.context.note_line();
  e.loops.for_each(e.bits(e.executing()).v, [&](llvm::Value* lane) {
    auto* word = e.context.call_service(
        exec::Service::mbarrier_change,
        {lane, address.of(lane), ir.getInt32(static_cast<std::uint32_t>(what.operation)), count.of(lane),
         bytes.of(lane)});
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

/// Lanes that wait for one phase of one object ask once.
void test(WarpEmitter& e) {
  auto& ir = e.ir;
  ++e.statistics.memory_operations;
  ++e.statistics.not_vectorised;
  const WarpValue place = e.addresses.begin(e.operand(1)).address;
  const PerLane address(e, place), phase(e, e.in(2));
  auto* executing = e.bits(e.executing()).v;
  e.context.note_line();
  auto is_odd = [&](llvm::Value* lane) {
    auto* value = phase.of(lane);
    return e.has(Mod::parity) ? ir.CreateAnd(value, ir.getInt32(1))
                              : ir.CreateTrunc(ir.CreateLShr(value, 63), ir.getInt32Ty());
  };
  auto ask = [&](llvm::Value* lane) {
    return e.context.call_service(exec::Service::mbarrier_is_over, {lane, address.of(lane), is_odd(lane)});
  };
  auto* over = e.code.entry_alloca(ir.getInt32Ty(), "over");
  ir.CreateStore(ir.getInt32(0), over);
  auto* zero = ir.getInt32(0);
  if (address.is_uniform() && phase.is_uniform()) {
    e.if_any(e.word(executing), [&] {
      auto* is_over = ask(e.masks.first_lane(executing));
      ir.CreateStore(ir.CreateSelect(ir.CreateICmpNE(is_over, zero), executing, zero), over);
    });
  } else {
    e.loops.for_each(executing, [&](llvm::Value* lane) {
      auto* bit = ir.CreateShl(ask(lane), lane);
      ir.CreateStore(ir.CreateOr(ir.CreateLoad(ir.getInt32Ty(), over), bit), over);
    });
  }
  if (e.cursor.plan.is_awaited(*e.cursor.instruction)) {
    auto* none = ir.CreateICmpEQ(ir.CreateLoad(ir.getInt32Ty(), over), zero);
    e.code.if_then(none, [&] {
      auto* odd = e.code.entry_alloca(ir.getInt32Ty(), "odd");
      ir.CreateStore(zero, odd);
      e.loops.for_each(executing, [&](llvm::Value* lane) {
        auto* bit = ir.CreateShl(is_odd(lane), lane);
        ir.CreateStore(ir.CreateOr(ir.CreateLoad(ir.getInt32Ty(), odd), bit), odd);
      });
      e.meetings.wait_for_phases(executing, e.spill(place).pointer(), ir.CreateLoad(ir.getInt32Ty(), odd));
    });
  }
  auto* answers = ir.CreateLoad(ir.getInt32Ty(), over);
  if (address.is_uniform() && phase.is_uniform()) return e.out(0, Type::pred, ir.CreateICmpNE(answers, zero));
  const Mask lanes = e.masks.from_bits(answers);
  e.out(0, Type::pred, e.by_part([&](unsigned p) { return e.part(lanes, p); }));
}

}  // namespace

void complete_transactions(WarpEmitter& e, unsigned k, std::uint32_t bytes) {
  change(e, {.operation = MbarrierOperation::complete, .address = k, .transactions = bytes});
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
