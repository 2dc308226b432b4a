// Reference semantics of operations on mbarriers, for one lane; the machine applies them to the object.
#include "interp/reference.h"

#include "exec/mbarrier.h"
#include "interp/lane.h"
#include "interp/mbarriers.h"

namespace raddle::interp {

using exec::MbarrierOperation;
using isa::Mod;
using isa::Op;
using ptx::Instruction;

namespace {

std::uint64_t change(Lane& lane, unsigned address, MbarrierOperation operation, std::uint32_t count,
                     std::uint32_t bytes) {
  const auto at = reinterpret_cast<std::uint64_t>(lane.access(address, exec::kMbarrierBytes));
  return lane.services().mbarrier_change(&lane.context(), lane.index(), at,
                                         static_cast<std::uint32_t>(operation), count, bytes);
}

void arrive(Lane& lane, const Instruction& i, bool drops) {
  const bool expects = i.opcode->has(Mod::expect_tx);
  const auto operand = lane.has(2) ? lane.in<std::uint32_t>(2) : 1;
  const auto operation = exec::arrival_of(drops, !i.opcode->has(Mod::no_complete));
  const std::uint64_t state = change(lane, 1, operation, expects ? 1 : operand, expects ? operand : 0);
  lane.out<std::uint64_t>(0, state);
}

void test(Lane& lane, const Instruction& i) {
  const bool odd = i.opcode->has(Mod::parity) ? (lane.in<std::uint32_t>(2) & 1) != 0
                                              : (lane.in<std::uint64_t>(2) & exec::kMbarrierPhaseBit) != 0;
  const auto at = reinterpret_cast<std::uint64_t>(lane.access(1, exec::kMbarrierBytes));
  const bool is_over = lane.services().mbarrier_is_over(&lane.context(), lane.index(), at, odd) != 0;
  if (!is_over) lane.note_phase(at, odd);
  lane.out<bool>(0, is_over);
}

}  // namespace

void complete_transactions(Lane& lane, std::byte* mbarrier, std::uint32_t bytes) {
  lane.services().mbarrier_change(&lane.context(), lane.index(), reinterpret_cast<std::uint64_t>(mbarrier),
                                  static_cast<std::uint32_t>(MbarrierOperation::complete), 0, bytes);
}

void arrive_for_copies(Lane& lane, unsigned k, bool is_expected) {
  const auto at = reinterpret_cast<std::uint64_t>(lane.access(k, exec::kMbarrierBytes));
  if (lane.services().thread_copy_arrive(&lane.context(), lane.index(), at, is_expected) != 0) return;
  const auto operation = is_expected ? MbarrierOperation::arrive : MbarrierOperation::arrive_expected;
  lane.services().mbarrier_change(&lane.context(), lane.index(), at, static_cast<std::uint32_t>(operation), 1,
                                  0);
}

template <>
void reference<Op::mbarrier_init>(Lane& lane, const Instruction&) {
  change(lane, 0, MbarrierOperation::init, lane.in<std::uint32_t>(1), 0);
}
template <>
void reference<Op::mbarrier_inval>(Lane& lane, const Instruction&) {
  change(lane, 0, MbarrierOperation::invalidate, 0, 0);
}
template <>
void reference<Op::mbarrier_expect_tx>(Lane& lane, const Instruction&) {
  change(lane, 0, MbarrierOperation::expect, 0, lane.in<std::uint32_t>(1));
}
template <>
void reference<Op::mbarrier_complete_tx>(Lane& lane, const Instruction&) {
  change(lane, 0, MbarrierOperation::complete, 0, lane.in<std::uint32_t>(1));
}
template <>
void reference<Op::mbarrier_arrive>(Lane& lane, const Instruction& i) {
  arrive(lane, i, false);
}
template <>
void reference<Op::mbarrier_arrive_drop>(Lane& lane, const Instruction& i) {
  arrive(lane, i, true);
}
template <>
void reference<Op::mbarrier_test_wait>(Lane& lane, const Instruction& i) {
  test(lane, i);
}
template <>
void reference<Op::mbarrier_try_wait>(Lane& lane, const Instruction& i) {
  test(lane, i);
}
template <>
void reference<Op::mbarrier_pending_count>(Lane& lane, const Instruction&) {
  lane.out<std::uint32_t>(0, exec::pending_count(lane.in<std::uint64_t>(1)));
}

}  // namespace raddle::interp
