// JIT: trap, breakpoint, sleep and hints.
#include "isa/op.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

void trap_lanes(WarpEmitter& e) { e.context.fault_lanes(exec::FaultKind::trap, e.executing()); }

}  // namespace

template <>
void emit<Op::trap>(WarpEmitter& e) {
  trap_lanes(e);
}
// Without a debugger attached a breakpoint ends the kernel, as on the device.
template <>
void emit<Op::brkpt>(WarpEmitter& e) {
  trap_lanes(e);
}

template <>
void emit<Op::nanosleep>(WarpEmitter& e) {
  const Val lanes = e.bits(e.executing());
  e.if_any(lanes, [&] {
    auto* lane = trailing_zeros(lanes).v;
    e.context.call_service(exec::Service::nanosleep, {e.spill(e.in(0))[lane]});
  });
}

template <>
void emit<Op::pmevent>(WarpEmitter&) {}
// A hint about register files that a CPU does not have.
template <>
void emit<Op::setmaxnreg>(WarpEmitter&) {}

}  // namespace raddle::jit
