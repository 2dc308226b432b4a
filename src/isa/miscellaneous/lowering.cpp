// JIT: trap, breakpoint, sleep and hints.
#include <llvm/IR/Intrinsics.h>

#include "isa/op.h"
#include "jit/function.h"

namespace raddle::jit {
namespace {

llvm::Value* first_lane(FunctionCompiler& f, llvm::Value* bits) {
  return f.ir.CreateIntrinsic(llvm::Intrinsic::cttz, {f.ir.getInt32Ty()}, {bits, f.ir.getFalse()});
}

void trap_lanes(FunctionCompiler& f) { f.fault_lanes(exec::FaultKind::trap, f.executing()); }

}  // namespace

template <>
void emit<Op::trap>(FunctionCompiler& f) {
  trap_lanes(f);
}
// Without a debugger attached a breakpoint ends the kernel, as on the device.
template <>
void emit<Op::brkpt>(FunctionCompiler& f) {
  trap_lanes(f);
}

template <>
void emit<Op::nanosleep>(FunctionCompiler& f) {
  auto& ir = f.ir;
  auto* bits = f.mask_bits(f.executing());
  f.if_then(ir.CreateICmpNE(bits, ir.getInt32(0)), [&] {
    auto* lane = first_lane(f, bits);
    f.call_service(exec::Service::nanosleep, {f.load_lane(f.spill(f.read(0)), ir.getInt32Ty(), lane)});
  });
}

template <>
void emit<Op::pmevent>(FunctionCompiler&) {}
// A hint about register files that a CPU does not have.
template <>
void emit<Op::setmaxnreg>(FunctionCompiler&) {}

}  // namespace raddle::jit
