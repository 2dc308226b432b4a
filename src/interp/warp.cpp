// Scheduling of a warp's lane groups; see warp.h.
#include "interp/warp.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"

namespace raddle::interp {
namespace {

/// Back-edges a group may take before the next one has its turn.
constexpr unsigned kTurnBackEdges = 64;
/// A loop that reads no memory waits for nobody: other warps get a chance only once in so many rounds.
constexpr unsigned kRoundsWithoutWaiting = 64;

unsigned first(std::uint32_t lanes) { return static_cast<unsigned>(std::countr_zero(lanes)); }

/// One spelling of modifiers or another: the same operation as far as waiting for each other goes.
bool same_operation(const isa::Opcode* a, const isa::Opcode* b) {
  return a == b || (a->op == b->op && a->mods == b->mods && a->types == b->types);
}

}  // namespace

Warp::Warp(const ModuleCode& module) : module_(module) { queue_.reserve(exec::kWarpSize); }

void Warp::fault(exec::FaultKind kind, std::uint64_t address, unsigned lane) {
  std::uint32_t line = lanes_[lane].current_ != nullptr ? lanes_[lane].current_->line : 0;
  context_->cta->services->fault(context_, kind, address, lane, line);
  RADDLE_UNREACHABLE("Services::fault returned");
}

void Warp::start() {
  const FunctionCode* kernel = module_.find(module_.kernel);
  queue_.clear();
  alive_ = context_->initial_lanes;
  exiting_ = 0;
  sleep_ = 0;
  idle_turns_ = 0;
  staying_ = 0;
  phase_waits_ = 0;
  for (unsigned k = 0; k < exec::kWarpSize; ++k) {
    lanes_[k].start(*this, k, *kernel);
    if ((alive_ >> k & 1) == 0) lanes_[k].state_ = Lane::State::exited;
  }
  if (alive_ != 0) queue_.push_back(alive_);
}

void Warp::run(exec::WarpContext& context) {
  context_ = &context;
  start();
  while (alive_ != 0) {
    if (lanes_in(Lane::State::at_barrier) != 0) check_released();
    if (queue_.empty()) {
      everyone_waits();
      continue;
    }
    turn(take_group());
    if (idle_turns_ > queue_.size()) yield_round();
  }
}

/// The group that waited longest; in deterministic mode a seeded choice, so that a search over seeds finds
/// other orders.
std::uint32_t Warp::take_group() {
  std::size_t choice = 0;
  if (context_->seed != 0 && queue_.size() > 1) {
    std::uint32_t x = context_->seed;  // xorshift: never becomes 0
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    context_->seed = x;
    choice = x % queue_.size();
  }
  std::uint32_t group = queue_[choice];
  queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(choice));
  return group;
}

/// Runs a group until it waits, ends, meets others, or has taken its share of back-edges.
void Warp::turn(std::uint32_t group) {
  budget_ = kTurnBackEdges;
  while (group != 0 && budget_ != 0) {
    if (!step(group)) break;
  }
  if (group == 0) {
    idle_turns_ = 0;
    return;
  }
  if (budget_ == 0) ++idle_turns_;
  push(group);
}

/// One instruction of a group. @returns false when the turn is over although lanes remain in the group
bool Warp::step(std::uint32_t& group) {
  Lane& leader = lanes_[first(group)];
  const FunctionCode& code = leader.code();
  if (leader.pc_ >= code.instructions.size()) {  // the text ends without ret
    each_lane(group, [&](unsigned k) { lanes_[k].ret(); });
    split(group, ptx::kNone);
    return true;
  }
  const InstructionCode& info = code.instructions[leader.pc_];
  if (info.is_join && arrive_at_join(group) && !queue_.empty()) return false;
  const ptx::Instruction& instruction = code.function->instructions[leader.pc_];
  context_->line = instruction.line;
  may_wait_ |= info.in_waiting_loop;
  if (info.reference.lane != nullptr) {
    std::uint32_t before = leader.pc_;
    execute_lanes(group, info, instruction);
    if (sleep_ != 0) fall_asleep();
    if (phase_waits_ != 0) wait_for_phases(group);
    if (!info.control) return true;
    split(group, info.join);
    if (group != 0 && lanes_[first(group)].pc_ <= before) back_edge();
    return true;
  }
  RADDLE_ASSERT(info.reference.warp != nullptr, "instruction without reference");
  execute_warp(group, info, instruction);
  return true;
}

void Warp::execute_lanes(std::uint32_t group, const InstructionCode& info,
                         const ptx::Instruction& instruction) {
  each_lane(group, [&](unsigned k) {
    Lane& lane = lanes_[k];
    ++lane.pc_;
    if (!lane.guard(instruction)) return;
    lane.begin(instruction);
    info.reference.lane(lane, instruction);
  });
}

std::uint32_t Warp::guarded(std::uint32_t group, const ptx::Instruction& instruction) {
  std::uint32_t active = 0;
  each_lane(group, [&](unsigned k) {
    if (lanes_[k].guard(instruction)) active |= 1u << k;
  });
  return active;
}

/// Lanes in the group are at the instruction; those whose guard is false pass it by.
void Warp::execute_warp(std::uint32_t& group, const InstructionCode& info,
                        const ptx::Instruction& instruction) {
  std::uint32_t active = guarded(group, instruction), together = group;
  each_lane(group & ~active, [&](unsigned k) { ++lanes_[k].pc_; });
  each_lane(active, [&](unsigned k) { lanes_[k].begin(instruction); });
  if (active == 0) return;
  if (info.gathers) {
    group &= ~active;
    wait_for_members(active, instruction);
    return;
  }
  WarpStep together_step(*this, active);
  info.reference.warp(together_step, instruction);
  std::uint32_t waiting = 0;
  const std::uint32_t staying = std::exchange(staying_, 0);
  each_lane(active & ~staying, [&](unsigned k) {
    if (lanes_[k].state_ == Lane::State::at_barrier) {
      waiting |= 1u << k;
    } else {
      ++lanes_[k].pc_;
    }
  });
  group &= ~waiting;
  if (waiting != 0) {
    settle_barrier();
  } else if (active != together || staying != 0) {
    split(group, ptx::kNone);
  }
}

void Warp::wait_for_members(std::uint32_t active, const ptx::Instruction& instruction) {
  const int members = instruction.opcode->form->members;
  each_lane(active, [&](unsigned k) {
    Lane& lane = lanes_[k];
    lane.member_mask_ = members < 0 ? ~0u : lane.in<std::uint32_t>(static_cast<unsigned>(members));
    lane.state_ = Lane::State::at_members;
  });
  recheck_members();
}

/// Lets those sets of lanes go on for which every living member has come: same operation, same mask.
void Warp::recheck_members() {
  std::uint32_t waiting = lanes_in(Lane::State::at_members);
  while (waiting != 0) {
    const Lane& leader = lanes_[first(waiting)];
    std::uint32_t set = 0;
    each_lane(waiting, [&](unsigned k) {
      const Lane& lane = lanes_[k];
      if (lane.member_mask_ != leader.member_mask_) return;
      if (same_operation(lane.current_->opcode, leader.current_->opcode)) set |= 1u << k;
    });
    waiting &= ~set;
    std::uint32_t missing = leader.member_mask_ & alive_ & ~set;
    if (missing == 0) complete_members(set);
  }
}

void Warp::complete_members(std::uint32_t lanes) {
  const Lane& leader = lanes_[first(lanes)];
  each_lane(lanes, [&](unsigned k) { lanes_[k].state_ = Lane::State::running; });
  WarpStep members(*this, lanes);
  reference_of(leader.current_->op()).warp(members, *leader.current_);
  each_lane(lanes, [&](unsigned k) { ++lanes_[k].pc_; });
  idle_turns_ = 0;
  push_by_place(lanes);
}

bool Warp::arrive_at_join(std::uint32_t group) {
  bool popped = false;
  each_lane(group, [&](unsigned k) { popped |= lanes_[k].pop_joins_here(); });
  return popped;
}

bool Warp::same_place(unsigned a, unsigned b) const {
  const Lane &x = lanes_[a], &y = lanes_[b];
  return x.pc_ == y.pc_ && x.depth_ == y.depth_ && &x.code() == &y.code();
}

/// After lanes went different ways: the group keeps those furthest back, which the others will meet again;
/// the rest queue.
void Warp::split(std::uint32_t& group, std::uint32_t join) {
  if (exiting_ != 0) retire(group);
  if (group == 0) return;
  std::uint32_t rest = group, kept = 0;
  std::array<std::uint32_t, exec::kWarpSize> parts;
  unsigned count = 0;
  while (rest != 0) {
    std::uint32_t part = 0;
    each_lane(rest, [&](unsigned k) {
      if (same_place(k, first(rest))) part |= 1u << k;
    });
    rest &= ~part;
    parts[count++] = part;
    if (kept == 0 || lanes_[first(part)].pc_ < lanes_[first(kept)].pc_) kept = part;
  }
  if (count == 1) return;
  if (join != ptx::kNone) each_lane(group, [&](unsigned k) { lanes_[k].push_join(join); });
  group = kept;
  for (unsigned k = 0; k < count; ++k) {
    if (parts[k] != kept) push(parts[k]);
  }
}

void Warp::retire(std::uint32_t& group) {
  std::uint32_t gone = exiting_;
  exiting_ = 0;
  group &= ~gone;
  alive_ &= ~gone;
  context_->cta->services->exit_lanes(context_, gone);
  context_->live_lanes &= ~gone;
  recheck_members();
  settle_barrier();
}

/// Queues a group, together with one that waits for its turn at the same place.
void Warp::push(std::uint32_t group) {
  for (std::uint32_t& other : queue_) {
    if (same_place(first(other), first(group))) {
      other |= group;
      return;
    }
  }
  queue_.push_back(group);
}

void Warp::push_by_place(std::uint32_t lanes) {
  while (lanes != 0) {
    std::uint32_t part = 0;
    each_lane(lanes, [&](unsigned k) {
      if (same_place(k, first(lanes))) part |= 1u << k;
    });
    lanes &= ~part;
    push(part);
  }
}

void Warp::back_edge() {
  if (budget_ != 0) --budget_;
  const exec::CtaContext& cta = *context_->cta;
  if (cta.poll->load(std::memory_order_relaxed) != 0) cta.services->poll(context_);
}

void Warp::fall_asleep() {
  std::uint32_t nanoseconds = sleep_;
  sleep_ = 0;
  if (queue_.empty()) {
    context_->cta->services->nanosleep(context_, nanoseconds);
  } else {
    budget_ = 0;
    may_wait_ = true;
  }
}

/// Lanes of the group wait for phases of mbarriers; the warp does where none of its other lanes can go on.
void Warp::wait_for_phases(std::uint32_t group) {
  const std::uint32_t waiting = std::exchange(phase_waits_, 0);
  may_wait_ = true;
  budget_ = 0;
  if (waiting != group || !queue_.empty() || check_released()) return;
  arrive_pending();
  if (check_released()) return;
  std::uint32_t barriers = 0;
  each_lane(lanes_in(Lane::State::at_barrier), [&](unsigned k) { barriers |= 1u << lanes_[k].barrier_.id; });
  context_->cta->services->mbarrier_wait(context_, waiting, phase_addresses_.data(), odd_phases_, barriers);
  budget_ = kTurnBackEdges;
  idle_turns_ = 0;
}

std::uint32_t Warp::lanes_in(Lane::State state) const {
  std::uint32_t lanes = 0;
  each_lane(alive_, [&](unsigned k) {
    if (lanes_[k].state_ == state) lanes |= 1u << k;
  });
  return lanes;
}

/// Every group had its turn and only looped: what they wait for must come from elsewhere.
void Warp::yield_round() {
  if (!may_wait_ && idle_turns_ < kRoundsWithoutWaiting * (queue_.size() + 1)) return;
  idle_turns_ = 0;
  may_wait_ = false;
  arrive_pending();
  context_->cta->services->yield(context_);
}

/// No group can run: let the CTA's other warps complete a barrier, or find that nothing ever will.
void Warp::everyone_waits() {
  if (settle_barrier()) return;
  if (lanes_in(Lane::State::at_barrier) == 0) {
    // Each lane waits for members that wait for something else.
    fault(exec::FaultKind::deadlock, 0, first(alive_));
  }
  arrive_pending();
  if (!check_released()) wait_for_barriers();
}

}  // namespace raddle::interp
