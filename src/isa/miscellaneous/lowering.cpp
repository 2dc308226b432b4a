// JIT: trap, breakpoint, sleep and hints.
#include <llvm/IR/Intrinsics.h>

#include "isa/op.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

llvm::Value* first_lane(WarpEmitter& e, llvm::Value* bits) {
  return e.ir.CreateIntrinsic(llvm::Intrinsic::cttz, {e.ir.getInt32Ty()}, {bits, e.ir.getFalse()});
}

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
  auto& ir = e.ir;
  auto* bits = e.masks.bits(e.executing());
  e.code.if_then(ir.CreateICmpNE(bits, ir.getInt32(0)), [&] {
    auto* lane = first_lane(e, bits);
    e.context.call_service(exec::Service::nanosleep,
                           {e.values.load_lane(e.values.spill(e.in(0)), ir.getInt32Ty(), lane)});
  });
}

template <>
void emit<Op::pmevent>(WarpEmitter&) {}
// A hint about register files that a CPU does not have.
template <>
void emit<Op::setmaxnreg>(WarpEmitter&) {}

}  // namespace raddle::jit
