// Reference semantics of control flow: each lane moves its own program counter.
#include "interp/reference.h"

#include "interp/lane.h"

namespace raddle::interp {

using isa::Op;
using ptx::Instruction;

template <>
void reference<Op::bra>(Lane& lane, const Instruction&) {
  lane.branch(lane.operand(0).index);
}

/// An index beyond the list is undefined in PTX; here it faults.
template <>
void reference<Op::brx_idx>(Lane& lane, const Instruction& i) {
  const auto& targets = lane.code().function->branch_targets[i.extra];
  std::uint32_t index = lane.in<std::uint32_t>(0);
  if (index >= targets.size()) lane.fault(exec::FaultKind::illegal_instruction, index);
  lane.branch(targets[index]);
}

template <>
void reference<Op::call>(Lane& lane, const Instruction& i) {
  lane.call(lane.code().function->calls[i.extra]);
}
template <>
void reference<Op::ret>(Lane& lane, const Instruction&) {
  lane.ret();
}
template <>
void reference<Op::exit>(Lane& lane, const Instruction&) {
  lane.exit();
}

}  // namespace raddle::interp
