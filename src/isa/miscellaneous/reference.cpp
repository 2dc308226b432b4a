// Reference semantics of trap, sleep and hints.
#include "interp/reference.h"

#include "interp/lane.h"
#include "interp/warp.h"

namespace raddle::interp {

using isa::Op;
using ptx::Instruction;

// Without a debugger attached a breakpoint ends the kernel as trap does.
template <>
void reference<Op::brkpt>(Lane& lane, const Instruction&) {
  lane.fault(exec::FaultKind::trap);
}
template <>
void reference<Op::trap>(Lane& lane, const Instruction&) {
  lane.fault(exec::FaultKind::trap);
}

/// Zero to twice the time is allowed; at least one nanosecond, so that the lane gives others a turn.
template <>
void reference<Op::nanosleep>(Lane& lane, const Instruction&) {
  lane.warp().sleep(std::max(lane.in<std::uint32_t>(0), 1u));
}

// Performance monitor events and register budgets have no effect on results.
template <>
void reference<Op::pmevent>(Lane&, const Instruction&) {}
template <>
void reference_warp<Op::setmaxnreg>(WarpStep&, const Instruction&) {}

}  // namespace raddle::interp
