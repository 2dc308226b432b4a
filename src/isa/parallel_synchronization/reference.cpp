// Reference semantics of barriers, fences, waits for grids and warp collectives. interp/warp.cpp decides
// which lanes wait for which: a `.sync` function runs when all of its living members have come. Atomics:
// reference_atomic.cpp.
#include "interp/reference.h"

#include <bit>

#include "interp/lane.h"
#include "interp/types.h"
#include "interp/warp.h"
#include "isa/parallel_synchronization/fences.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Instruction;

namespace {

// --- CTA barriers: operands are [result,] a, b [, predicate]; b may be absent ---

void wait(WarpStep& step) {
  step.each([](Lane& lane) {
    lane.wait_at_barrier({.id = lane.in<std::uint32_t>(0), .threads = lane.in<std::uint32_t>(1)});
  });
}

void reduce(WarpStep& step, BarrierWait::Kind kind) {
  step.each([&](Lane& lane) {
    lane.wait_at_barrier({.kind = kind,
                          .id = lane.in<std::uint32_t>(1),
                          .threads = lane.in<std::uint32_t>(2),
                          .predicate = lane.in<bool>(3)});
  });
}

BarrierWait::Kind reduction_of(const Instruction& i) {
  return i.opcode->has(Mod::and_) ? BarrierWait::Kind::all : BarrierWait::Kind::any;
}

/// Arrives for the lanes, those of one barrier and count together.
void arrive(WarpStep& step) {
  std::uint32_t rest = step.lanes();
  while (rest != 0) {
    Lane& leader = step.lane(static_cast<unsigned>(std::countr_zero(rest)));
    std::uint32_t id = leader.in<std::uint32_t>(0), threads = leader.in<std::uint32_t>(1), set = 0;
    if (id >= exec::kMaxBarriers) leader.fault(exec::FaultKind::illegal_barrier, id);
    step.each([&](Lane& lane) {
      if (lane.in<std::uint32_t>(0) == id && lane.in<std::uint32_t>(1) == threads) set |= 1u << lane.index();
    });
    rest &= ~set;
    leader.services().barrier_arrive(&step.context(), id, threads, set);
  }
}

// --- collectives ---

/// Lanes whose predicate operand k holds.
std::uint32_t ballot(WarpStep& step, unsigned k) {
  std::uint32_t votes = 0;
  step.each([&](Lane& lane) {
    if (lane.in<bool>(k)) votes |= 1u << lane.index();
  });
  return votes;
}

void vote(WarpStep& step, const Instruction& i) {
  std::uint32_t votes = ballot(step, 1);
  bool all = votes == step.lanes(), none = votes == 0;
  bool result = i.opcode->has(Mod::all) ? all : i.opcode->has(Mod::any) ? !none : all || none;
  step.each([&](Lane& lane) { lane.out<bool>(0, result); });
}

void vote_ballot(WarpStep& step) {
  std::uint32_t votes = ballot(step, 1);
  step.each([&](Lane& lane) { lane.out<std::uint32_t>(0, votes); });
}

/// For each lane the lanes that hold the same value in operand k.
template <class F>
void with_matches(WarpStep& step, const Instruction& i, unsigned k, F f) {
  bool wide = i.opcode->type() == Type::b64;
  std::uint64_t values[exec::kWarpSize];
  step.each([&](Lane& lane) {
    values[lane.index()] = wide ? lane.in<std::uint64_t>(k) : lane.in<std::uint32_t>(k);
  });
  step.each([&](Lane& lane) {
    std::uint32_t same = 0;
    step.each([&](Lane& other) {
      if (values[other.index()] == values[lane.index()]) same |= 1u << other.index();
    });
    f(lane, same);
  });
}

template <class T>
void reduce_warp(WarpStep& step, const Instruction& i) {
  bool first = true;
  T result{};
  step.each([&](Lane& lane) {
    T value = lane.in<T>(1);
    result = first ? value : combine_integers<T>(i.opcode->get(isa::ModKind::operation), result, value);
    first = false;
  });
  step.each([&](Lane& lane) { lane.out<T>(0, result); });
}

}  // namespace

template <>
void reference_warp<Op::bar_sync>(WarpStep& step, const Instruction&) {
  wait(step);
}
template <>
void reference_warp<Op::barrier_sync>(WarpStep& step, const Instruction&) {
  wait(step);
}
template <>
void reference_warp<Op::bar_arrive>(WarpStep& step, const Instruction&) {
  arrive(step);
}
template <>
void reference_warp<Op::barrier_arrive>(WarpStep& step, const Instruction&) {
  arrive(step);
}
template <>
void reference_warp<Op::bar_red>(WarpStep& step, const Instruction& i) {
  reduce(step, reduction_of(i));
}
template <>
void reference_warp<Op::barrier_red>(WarpStep& step, const Instruction& i) {
  reduce(step, reduction_of(i));
}
template <>
void reference_warp<Op::bar_red_popc>(WarpStep& step, const Instruction&) {
  reduce(step, BarrierWait::Kind::count);
}
template <>
void reference_warp<Op::barrier_red_popc>(WarpStep& step, const Instruction&) {
  reduce(step, BarrierWait::Kind::count);
}

/// The machine orders memory at the barrier whether or not the arrival says .relaxed.
template <>
void reference_warp<Op::barrier_cluster_arrive>(WarpStep& step, const Instruction&) {
  step.context().cta->services->cluster_arrive(&step.context(), step.lanes());
}
template <>
void reference_warp<Op::barrier_cluster_wait>(WarpStep& step, const Instruction&) {
  step.wait_for_cluster();
}

/// The waiting is all there is to it; memory is ordered because a warp's lanes run on one host thread.
template <>
void reference_warp<Op::bar_warp_sync>(WarpStep&, const Instruction&) {}

template <>
void reference<Op::membar>(Lane&, const Instruction&) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
template <>
void reference<Op::fence>(Lane&, const Instruction& i) {
  if (i.opcode->has(Mod::acquire)) return __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (i.opcode->has(Mod::release)) return __atomic_thread_fence(__ATOMIC_RELEASE);
  if (i.opcode->has(Mod::acq_rel)) return __atomic_thread_fence(__ATOMIC_ACQ_REL);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/// What one proxy has written, another one sees at once, but where copies land late: a fence between threads
/// is all there is to it.
namespace {
void proxy_fence(const Instruction& i) {
  if (i.opcode->has(Mod::acquire)) return __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (i.opcode->has(Mod::release)) return __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_thread_fence(__ATOMIC_ACQ_REL);
}
}  // namespace
template <>
void reference_warp<Op::fence_proxy>(WarpStep& step, const Instruction& i) {
  proxy_fence(i);
  if (isa::publishes_to_copies(*i.opcode)) step.context().cta->services->proxy_fence(&step.context());
}
template <>
void reference<Op::membar_proxy>(Lane&, const Instruction& i) {
  proxy_fence(i);
}
template <>
void reference<Op::fence_mbarrier_init>(Lane&, const Instruction& i) {
  proxy_fence(i);
}
template <>
void reference<Op::fence_restrict>(Lane&, const Instruction& i) {
  proxy_fence(i);
}

template <>
void reference<Op::griddepcontrol_launch_dependents>(Lane& lane, const Instruction&) {
  lane.services().launch_dependents(&lane.warp().context());
}
template <>
void reference_warp<Op::griddepcontrol_wait>(WarpStep& step, const Instruction&) {
  step.wait_for_grids();
}

template <>
void reference_warp<Op::vote_sync>(WarpStep& step, const Instruction& i) {
  vote(step, i);
}
template <>
void reference_warp<Op::vote>(WarpStep& step, const Instruction& i) {
  vote(step, i);
}
template <>
void reference_warp<Op::vote_sync_ballot>(WarpStep& step, const Instruction&) {
  vote_ballot(step);
}
template <>
void reference_warp<Op::vote_ballot>(WarpStep& step, const Instruction&) {
  vote_ballot(step);
}

template <>
void reference_warp<Op::match_any>(WarpStep& step, const Instruction& i) {
  with_matches(step, i, 1, [](Lane& lane, std::uint32_t same) { lane.out<std::uint32_t>(0, same); });
}
template <>
void reference_warp<Op::match_all>(WarpStep& step, const Instruction& i) {
  with_matches(step, i, 2, [&](Lane& lane, std::uint32_t same) {
    bool all = same == step.lanes();
    lane.out<std::uint32_t>(0, all ? same : 0);
    if (lane.has(1)) lane.out<bool>(1, all);
  });
}

template <>
void reference_warp<Op::activemask>(WarpStep& step, const Instruction&) {
  step.each([&](Lane& lane) { lane.out<std::uint32_t>(0, step.lanes()); });
}

template <>
void reference_warp<Op::redux>(WarpStep& step, const Instruction& i) {
  if (i.opcode->type() == Type::s32) {
    reduce_warp<std::int32_t>(step, i);
  } else {
    reduce_warp<std::uint32_t>(step, i);
  }
}

/// The lowest member leads.
template <>
void reference_warp<Op::elect>(WarpStep& step, const Instruction&) {
  auto leader = static_cast<std::uint32_t>(std::countr_zero(step.lanes()));
  step.each([&](Lane& lane) {
    lane.out<std::uint32_t>(0, leader);
    lane.out<bool>(1, lane.index() == leader);
  });
}

}  // namespace raddle::interp
