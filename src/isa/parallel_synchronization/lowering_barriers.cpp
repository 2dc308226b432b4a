// JIT: barriers of the CTA and of its cluster, memory fences, and what orders grids. A kernel of kind
// `regions` suspends at them; elsewhere the machine's services block the warp's fiber.
#include "isa/op.h"
#include "isa/parallel_synchronization/fences.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

/// Runs `then` with the executing lanes' bits if there are any.
void with_lanes(WarpEmitter& e, const std::function<void(llvm::Value*)>& then) {
  const Val lanes = e.bits(e.executing());
  if (e.cursor.instruction->guard == ptx::kNone) return then(lanes.v);
  e.if_any(lanes, [&] { then(lanes.v); });
}

/// Number of the barrier, and threads that it waits for, of the lanes that execute.
struct Barrier {
  llvm::Value *id, *threads;
};
Barrier barrier_at(WarpEmitter& e, unsigned k) {
  auto* lanes = e.bits(e.executing()).v;
  auto* id = e.registers.read_in_first(k, lanes);
  return {id, e.registers.read_in_first(k + 1, lanes)};
}

void sync(WarpEmitter& e) {
  if (e.kernel.kind() == exec::BlockKind::regions) return e.regions.suspend();
  if (e.meetings.met_barrier()) return;
  const Barrier barrier = barrier_at(e, 0);
  with_lanes(e, [&](llvm::Value* lanes) {
    e.context.call_service(exec::Service::barrier_sync, {barrier.id, barrier.threads, lanes});
  });
}

void arrive(WarpEmitter& e) {
  const Barrier barrier = barrier_at(e, 0);
  with_lanes(e, [&](llvm::Value* lanes) {
    e.context.call_service(exec::Service::barrier_arrive, {barrier.id, barrier.threads, lanes});
  });
}

/// Threads that arrived with their predicate held, and threads that arrived.
struct Counts {
  llvm::Value *held, *arrived;
};

Counts counts(WarpEmitter& e) {
  auto& ir = e.ir;
  if (auto* met = e.meetings.met_barrier()) {
    auto* held = e.context.barrier_field(met, offsetof(exec::Barrier, result_count), "held");
    return {held, e.context.barrier_field(met, offsetof(exec::Barrier, result_arrived), "arrived")};
  }
  const Barrier barrier = barrier_at(e, 1);
  const WarpValue predicate = e.in(3);
  const Mask executing = e.executing();
  auto* holds = e.bits(e.by_part([&](unsigned p) { return e.part(executing, p) & e.part(predicate, p); })).v;
  auto* all = e.code.entry_alloca(ir.getInt32Ty(), "arrived");
  auto* result = e.code.entry_alloca(ir.getInt32Ty(), "held");
  with_lanes(e, [&](llvm::Value* lanes) {
    auto* held = e.context.call_service(exec::Service::barrier_reduce,
                                        {barrier.id, barrier.threads, lanes, holds, all});
    ir.CreateStore(held, result);
  });
  auto* held = ir.CreateLoad(ir.getInt32Ty(), result);
  return {held, ir.CreateLoad(ir.getInt32Ty(), all)};
}

void reduce_predicate(WarpEmitter& e) {
  const auto [held, arrived] = counts(e);
  const Val total = e.word(held);
  e.out(0, e.get(ModKind::operation) == Mod::and_ ? eq(total, e.word(arrived)) : ne(total, e.word(0u)));
}

void reduce_count(WarpEmitter& e) { e.out(0, e.word(counts(e).held)); }

void order(WarpEmitter& e, llvm::AtomicOrdering ordering, Mod scope) {
  // A CTA stays on one worker: within it only the compiler must keep the order.
  e.ir.CreateFence(ordering, scope == Mod::cta ? llvm::SyncScope::SingleThread : llvm::SyncScope::System);
}

llvm::AtomicOrdering ordering_of_fence(Mod semantics) {
  switch (semantics) {
    case Mod::sc:
      return llvm::AtomicOrdering::SequentiallyConsistent;
    case Mod::acquire:
      return llvm::AtomicOrdering::Acquire;
    case Mod::release:
      return llvm::AtomicOrdering::Release;
    default:
      return llvm::AtomicOrdering::AcquireRelease;
  }
}

}  // namespace

template <>
void emit<Op::bar_sync>(WarpEmitter& e) {
  sync(e);
}
template <>
void emit<Op::barrier_sync>(WarpEmitter& e) {
  sync(e);
}
template <>
void emit<Op::bar_arrive>(WarpEmitter& e) {
  arrive(e);
}
template <>
void emit<Op::barrier_arrive>(WarpEmitter& e) {
  arrive(e);
}
template <>
void emit<Op::bar_red>(WarpEmitter& e) {
  reduce_predicate(e);
}
template <>
void emit<Op::barrier_red>(WarpEmitter& e) {
  reduce_predicate(e);
}
template <>
void emit<Op::bar_red_popc>(WarpEmitter& e) {
  reduce_count(e);
}
template <>
void emit<Op::barrier_red_popc>(WarpEmitter& e) {
  reduce_count(e);
}

template <>
void emit<Op::barrier_cluster_arrive>(WarpEmitter& e) {
  if (e.kernel.kind() == exec::BlockKind::regions) return;  // the block does, where it waits
  with_lanes(e, [&](llvm::Value* lanes) { e.context.call_service(exec::Service::cluster_arrive, {lanes}); });
}
template <>
void emit<Op::barrier_cluster_wait>(WarpEmitter& e) {
  if (e.kernel.kind() == exec::BlockKind::regions) return e.regions.suspend();
  if (e.meetings.has_waited()) return;
  with_lanes(e, [&](llvm::Value* lanes) { e.context.call_service(exec::Service::cluster_wait, {lanes}); });
}

template <>
void emit<Op::membar>(WarpEmitter& e) {
  order(e, llvm::AtomicOrdering::SequentiallyConsistent, e.get(ModKind::scope));
}
template <>
void emit<Op::fence>(WarpEmitter& e) {
  order(e, ordering_of_fence(e.get(ModKind::semantics)), e.get(ModKind::scope));
}

// What one proxy of memory has written, another one sees at once, but where copies land late: between threads
// these order memory as the fences of their semantics and scope do.
namespace {
void proxy_fence(WarpEmitter& e) {
  if (e.kernel.late_copies && isa::publishes_to_copies(e.opcode()))
    with_lanes(e, [&](llvm::Value*) { e.context.call_service(exec::Service::proxy_fence, {}); });
  const Mod scope = e.get(ModKind::scope);
  if (e.has(Mod::acquire)) return order(e, llvm::AtomicOrdering::Acquire, scope);
  if (e.has(Mod::release)) return order(e, llvm::AtomicOrdering::Release, scope);
  order(e, llvm::AtomicOrdering::AcquireRelease, scope);
}
}  // namespace

template <>
void emit<Op::fence_proxy>(WarpEmitter& e) {
  proxy_fence(e);
}
template <>
void emit<Op::membar_proxy>(WarpEmitter& e) {
  proxy_fence(e);
}
template <>
void emit<Op::fence_mbarrier_init>(WarpEmitter& e) {
  proxy_fence(e);
}
template <>
void emit<Op::fence_restrict>(WarpEmitter& e) {
  proxy_fence(e);
}

template <>
void emit<Op::griddepcontrol_launch_dependents>(WarpEmitter& e) {
  with_lanes(e, [&](llvm::Value*) { e.context.call_service(exec::Service::launch_dependents, {}); });
}
template <>
void emit<Op::griddepcontrol_wait>(WarpEmitter& e) {
  if (e.meetings.has_waited()) return;
  with_lanes(e, [&](llvm::Value* lanes) { e.context.call_service(exec::Service::grid_wait, {lanes}); });
}

}  // namespace raddle::jit
