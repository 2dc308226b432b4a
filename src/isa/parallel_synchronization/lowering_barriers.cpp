// JIT: barriers of the CTA and of its cluster, and memory fences. A kernel of kind `regions` suspends at
// `bar.sync 0`; elsewhere the machine's services block the warp's fiber.
#include "isa/op.h"
#include "jit/function.h"

namespace raddle::jit {
namespace {

using exec::Services;

/// Runs `then` with the executing lanes' bits if there are any.
void with_lanes(FunctionCompiler& f, const std::function<void(llvm::Value*)>& then) {
  auto* bits = f.mask_bits(f.executing());
  if (f.instruction->guard == ptx::kNone) return then(bits);
  f.if_then(f.ir.CreateICmpNE(bits, f.ir.getInt32(0)), [&] { then(bits); });
}

void sync(FunctionCompiler& f) {
  if (f.context.kernel.kind() == exec::BlockKind::regions) return f.emit_barrier_region();
  if (f.met_barrier()) return;
  auto* first = f.mask_bits(f.executing());
  auto* id = f.of_first(0, first);
  auto* threads = f.of_first(1, first);
  with_lanes(f,
             [&](llvm::Value* lanes) { f.call_service(exec::Service::barrier_sync, {id, threads, lanes}); });
}

void arrive(FunctionCompiler& f) {
  auto* first = f.mask_bits(f.executing());
  auto* id = f.of_first(0, first);
  auto* threads = f.of_first(1, first);
  with_lanes(
      f, [&](llvm::Value* lanes) { f.call_service(exec::Service::barrier_arrive, {id, threads, lanes}); });
}

/// Threads that arrived with their predicate held, and threads that arrived.
std::pair<llvm::Value*, llvm::Value*> counts(FunctionCompiler& f) {
  auto& ir = f.ir;
  if (auto* met = f.met_barrier())
    return {f.barrier_field(met, offsetof(exec::Barrier, result_count), "held"),
            f.barrier_field(met, offsetof(exec::Barrier, result_arrived), "arrived")};
  auto* first = f.mask_bits(f.executing());
  auto* id = f.of_first(1, first);
  auto* threads = f.of_first(2, first);
  WarpValue predicate = f.read(3);
  Mask holds = f.executing();
  for (unsigned p = 0; p < f.parts(); ++p) holds[p] = ir.CreateAnd(holds[p], f.part(predicate, p).v);
  auto* held = f.mask_bits(holds);
  auto* all = f.entry_alloca(ir.getInt32Ty(), "arrived");
  auto* result = f.entry_alloca(ir.getInt32Ty(), "held");
  with_lanes(f, [&](llvm::Value* lanes) {
    ir.CreateStore(f.call_service(exec::Service::barrier_reduce, {id, threads, lanes, held, all}), result);
  });
  return {ir.CreateLoad(ir.getInt32Ty(), result), ir.CreateLoad(ir.getInt32Ty(), all)};
}

void reduce(FunctionCompiler& f, bool count) {
  auto& ir = f.ir;
  auto [total, arrived] = counts(f);
  llvm::Value* answer = total;
  if (!count) {
    answer = f.opcode().get(ModKind::operation) == Mod::and_ ? ir.CreateICmpEQ(total, arrived)
                                                             : ir.CreateICmpNE(total, ir.getInt32(0));
  }
  f.write_uniform(f.operand(0), count ? Type::u32 : Type::pred, answer);
}

void order(FunctionCompiler& f, llvm::AtomicOrdering ordering, Mod scope) {
  // A CTA stays on one worker: within it only the compiler must keep the order.
  f.ir.CreateFence(ordering, scope == Mod::cta ? llvm::SyncScope::SingleThread : llvm::SyncScope::System);
}

}  // namespace

template <>
void emit<Op::bar_sync>(FunctionCompiler& f) {
  sync(f);
}
template <>
void emit<Op::barrier_sync>(FunctionCompiler& f) {
  sync(f);
}
template <>
void emit<Op::bar_arrive>(FunctionCompiler& f) {
  arrive(f);
}
template <>
void emit<Op::barrier_arrive>(FunctionCompiler& f) {
  arrive(f);
}
template <>
void emit<Op::bar_red>(FunctionCompiler& f) {
  reduce(f, false);
}
template <>
void emit<Op::barrier_red>(FunctionCompiler& f) {
  reduce(f, false);
}
template <>
void emit<Op::bar_red_popc>(FunctionCompiler& f) {
  reduce(f, true);
}
template <>
void emit<Op::barrier_red_popc>(FunctionCompiler& f) {
  reduce(f, true);
}

template <>
void emit<Op::barrier_cluster_arrive>(FunctionCompiler& f) {
  with_lanes(f, [&](llvm::Value* lanes) { f.call_service(exec::Service::cluster_arrive, {lanes}); });
}
template <>
void emit<Op::barrier_cluster_wait>(FunctionCompiler& f) {
  if (f.has_waited()) return;
  with_lanes(f, [&](llvm::Value* lanes) { f.call_service(exec::Service::cluster_wait, {lanes}); });
}

template <>
void emit<Op::membar>(FunctionCompiler& f) {
  order(f, llvm::AtomicOrdering::SequentiallyConsistent, f.opcode().get(ModKind::scope));
}
template <>
void emit<Op::fence>(FunctionCompiler& f) {
  auto ordering = [&] {
    switch (f.opcode().get(ModKind::semantics)) {
      case Mod::sc:
        return llvm::AtomicOrdering::SequentiallyConsistent;
      case Mod::acquire:
        return llvm::AtomicOrdering::Acquire;
      case Mod::release:
        return llvm::AtomicOrdering::Release;
      default:
        return llvm::AtomicOrdering::AcquireRelease;
    }
  }();
  order(f, ordering, f.opcode().get(ModKind::scope));
}

// Kernels of one stream run one after another, so a dependent grid never starts early and never has to wait.
template <>
void emit<Op::griddepcontrol>(FunctionCompiler&) {}

}  // namespace raddle::jit
