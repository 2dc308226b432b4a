// Barriers of the CTA and of the cluster, and waits for grids, as a warp sees them. While all living lanes of
// the warp wait at one barrier the machine's blocking call does everything; lanes that wait apart (other
// barriers, or other lanes still running) are counted with barrier_join and released when the barrier's
// generation has changed.
#include <bit>

#include "base/assert.h"
#include "interp/warp.h"

namespace raddle::interp {
namespace {

bool same_barrier(const BarrierWait& a, const BarrierWait& b) {
  return a.id == b.id && a.threads == b.threads &&
         (a.kind == BarrierWait::Kind::sync) == (b.kind == BarrierWait::Kind::sync);
}

std::uint32_t result_of(BarrierWait::Kind kind, std::uint32_t count, std::uint32_t all) {
  switch (kind) {
    case BarrierWait::Kind::all:
      return count == all ? 1 : 0;
    case BarrierWait::Kind::any:
      return count != 0 ? 1 : 0;
    default:
      return count;
  }
}

}  // namespace

std::uint32_t Warp::line_of(std::uint32_t lanes) const {
  const Lane& first = lanes_[static_cast<unsigned>(std::countr_zero(lanes))];
  return first.current_ != nullptr ? first.current_->line : 0;
}

/// Blocks in the machine if every living lane waits, uncounted, at one barrier. @returns whether that was so
bool Warp::settle_barrier() {
  if (alive_ == 0) return false;
  const BarrierWait& wait = lanes_[static_cast<unsigned>(std::countr_zero(alive_))].barrier_;
  std::uint32_t predicates = 0, waiting = 0;
  each_lane(alive_, [&](unsigned k) {
    const Lane& lane = lanes_[k];
    if (lane.state_ != Lane::State::at_barrier || lane.barrier_.arrived || !same_barrier(lane.barrier_, wait))
      return;
    waiting |= 1u << k;
    if (lane.barrier_.predicate) predicates |= 1u << k;
  });
  if (waiting != alive_) return false;
  const exec::Services& services = *context_->cta->services;
  context_->line = line_of(waiting);
  std::uint32_t count = 0, all = 0;
  if (wait.kind == BarrierWait::Kind::sync) {
    services.barrier_sync(context_, wait.id, wait.threads, waiting);
  } else {
    count = services.barrier_reduce(context_, wait.id, wait.threads, waiting, predicates, &all);
  }
  deliver(waiting, count, all);
  return true;
}

/// Counts lanes that wait while others of the warp do not, so that other warps need not wait for those.
void Warp::arrive_pending() {
  std::uint32_t pending = 0;
  each_lane(alive_, [&](unsigned k) {
    if (lanes_[k].state_ == Lane::State::at_barrier && !lanes_[k].barrier_.arrived) pending |= 1u << k;
  });
  while (pending != 0) {
    const BarrierWait wait = lanes_[static_cast<unsigned>(std::countr_zero(pending))].barrier_;
    std::uint32_t set = 0, predicates = 0;
    each_lane(pending, [&](unsigned k) {
      if (!same_barrier(lanes_[k].barrier_, wait)) return;
      set |= 1u << k;
      if (lanes_[k].barrier_.predicate) predicates |= 1u << k;
    });
    pending &= ~set;
    context_->line = line_of(set);
    const std::uint32_t phase =
        context_->cta->services->barrier_join(context_, wait.id, wait.threads, set, predicates);
    each_lane(set, [&](unsigned k) {
      lanes_[k].barrier_.arrived = true;
      lanes_[k].barrier_.generation = phase;
    });
  }
}

/// Blocks until a barrier that lanes wait at completes a phase; every living lane has been counted at one.
void Warp::wait_for_barriers() {
  std::uint32_t barriers = 0;
  each_lane(lanes_in(Lane::State::at_barrier), [&](unsigned k) { barriers |= 1u << lanes_[k].barrier_.id; });
  context_->cta->services->barrier_wait(context_, barriers);
}

/// Releases counted lanes whose barrier has completed since. @returns whether there were any
bool Warp::check_released() {
  bool any = false;
  for (std::uint32_t id = 0; id < exec::kMaxBarriers; ++id) {
    const exec::Barrier& barrier = context_->cta->barriers[id];
    std::uint32_t released = 0;
    each_lane(alive_, [&](unsigned k) {
      const Lane& lane = lanes_[k];
      if (lane.state_ != Lane::State::at_barrier || !lane.barrier_.arrived || lane.barrier_.id != id) return;
      if (lane.barrier_.generation != barrier.generation) released |= 1u << k;
    });
    if (released == 0) continue;
    deliver(released, barrier.result_count, barrier.result_arrived);
    any = true;
  }
  return any;
}

void Warp::deliver(std::uint32_t lanes, std::uint32_t count, std::uint32_t all) {
  each_lane(lanes, [&](unsigned k) {
    Lane& lane = lanes_[k];
    lane.state_ = Lane::State::running;
    if (lane.barrier_.kind != BarrierWait::Kind::sync) {
      lane.out<std::uint32_t>(0, result_of(lane.barrier_.kind, count, all));
    }
    lane.barrier_ = {};
    ++lane.pc_;
  });
  idle_turns_ = 0;
  push_by_place(lanes);
}

void Warp::wait_for_cluster(std::uint32_t lanes) {
  const exec::Services& services = *context_->cta->services;
  wait_alone(lanes, services.cluster_waiting, services.cluster_wait);
}

void Warp::wait_for_grids(std::uint32_t lanes) {
  const exec::Services& services = *context_->cta->services;
  wait_alone(lanes, services.grid_waiting, services.grid_wait);
}

/// Lanes wait for something that no other lane of the warp can end by coming too.
/// @param waiting  the lanes that have to wait  @param wait  until none has to
void Warp::wait_alone(std::uint32_t lanes, AskMachine waiting, WaitInMachine wait) {
  staying_ = waiting(context_, lanes);
  if (staying_ == alive_) {
    wait(context_, lanes);
    staying_ = 0;
  }
  if (staying_ == 0) {
    idle_turns_ = 0;
    return;
  }
  budget_ = 0;
  may_wait_ = true;  // others end the wait: let them run when nobody else here can
}

}  // namespace raddle::interp
