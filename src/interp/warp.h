// One warp being interpreted: 32 lanes with a program counter and a call stack each, run in groups that share
// a pc. Groups take fair turns, so a lane that spins never starves the one it waits for (docs/adr/0004).
// Nothing here lives on the fiber's stack: a fault abandons the fiber without unwinding it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "exec/abi.h"
#include "interp/code.h"
#include "interp/lane.h"

namespace raddle::interp {

/// Lanes that execute a warp- or CTA-scope instruction together, as its reference function sees them.
class WarpStep {
 public:
  WarpStep(Warp& warp, std::uint32_t lanes) : warp_(warp), lanes_(lanes) {}
  std::uint32_t lanes() const { return lanes_; }  ///< lanes that execute it; their guards hold
  Lane& lane(unsigned index) const;
  exec::WarpContext& context() const;
  const ModuleCode& module() const;
  Warp& warp() const { return warp_; }
  /// Lets `use` see the operands of an instruction of the kernel that the warp has been at.
  template <class Use>
  void with(const ptx::Instruction& instruction, Use use) const;
  bool is_in_call() const;                                    ///< of a device function
  bool is_fenced(const ptx::Instruction& instruction) const;  ///< ptx/fences.h
  /// Lanes for which the cluster's barrier is not over stay at the instruction.
  void wait_for_cluster();
  /// All of them do while a grid runs before whose end this one began.
  void wait_for_grids();
  template <class F>
  void each(F f) const {
    for (std::uint32_t rest = lanes_; rest != 0; rest &= rest - 1)
      f(lane(static_cast<unsigned>(__builtin_ctz(rest))));
  }

 private:
  Warp& warp_;
  std::uint32_t lanes_;
};

class Warp {
 public:
  explicit Warp(const ModuleCode& module);
  Warp(const Warp&) = delete;
  Warp& operator=(const Warp&) = delete;

  /// Runs the warp to the end of all its lanes.
  void run(exec::WarpContext& context);

  exec::WarpContext& context() { return *context_; }
  const ModuleCode& module() const { return module_; }
  Lane& lane(unsigned index) { return lanes_[index]; }
  bool is_in_call() const { return lanes_[0].depth_ != 0; }
  template <class Use>
  void with(const ptx::Instruction& instruction, Use use);
  [[noreturn]] void fault(exec::FaultKind kind, std::uint64_t address, unsigned lane);
  void exit_lane(unsigned lane) { exiting_ |= 1u << lane; }
  /// barrier.cluster.wait: blocks if all living lanes must wait; else those that must look again later.
  void wait_for_cluster(std::uint32_t lanes);
  /// The lane waits for a phase of an mbarrier and does nothing else.
  void wait_for_phase(unsigned lane, std::uint64_t address, bool odd) {
    phase_waits_ |= 1u << lane;
    phase_addresses_[lane] = address;
    odd_phases_ = odd ? odd_phases_ | 1u << lane : odd_phases_ & ~(1u << lane);
  }
  void wait_for_grids(std::uint32_t lanes);  ///< griddepcontrol.wait: likewise
  /// A lane asks to wait: other groups go first; without any, the machine waits.
  void sleep(std::uint32_t nanoseconds) { sleep_ = std::max(sleep_, nanoseconds); }

 private:
  void start();
  std::uint32_t take_group();
  void turn(std::uint32_t group);
  bool step(std::uint32_t& group);
  void execute_lanes(std::uint32_t group, const InstructionCode& code, const ptx::Instruction& instruction);
  std::uint32_t guarded(std::uint32_t group, const ptx::Instruction& instruction);
  void execute_warp(std::uint32_t& group, const InstructionCode& code, const ptx::Instruction& instruction);
  void wait_for_members(std::uint32_t active, const ptx::Instruction& instruction);
  void complete_members(std::uint32_t lanes);
  bool arrive_at_join(std::uint32_t group);
  void split(std::uint32_t& group, std::uint32_t join);
  void retire(std::uint32_t& group);
  void push(std::uint32_t group);
  void push_by_place(std::uint32_t lanes);
  bool same_place(unsigned a, unsigned b) const;
  void back_edge();
  void fall_asleep();
  void wait_for_phases(std::uint32_t group);
  void everyone_waits();
  void recheck_members();
  // Barriers of the CTA (interp/barriers.cpp).
  std::uint32_t lanes_in(Lane::State state) const;
  bool settle_barrier();
  std::uint32_t line_of(std::uint32_t lanes) const;  ///< that the first of them executes or waits at
  void arrive_pending();
  void wait_for_barriers();
  bool check_released();
  using AskMachine = std::uint32_t (*)(exec::WarpContext*, std::uint32_t lanes);
  using WaitInMachine = void (*)(exec::WarpContext*, std::uint32_t lanes);
  void wait_alone(std::uint32_t lanes, AskMachine waiting, WaitInMachine wait);
  void deliver(std::uint32_t lanes, std::uint32_t count, std::uint32_t all);
  void yield_round();

  const ModuleCode& module_;
  exec::WarpContext* context_ = nullptr;
  std::array<Lane, exec::kWarpSize> lanes_;
  std::vector<std::uint32_t> queue_;  ///< disjoint groups of lanes waiting for a turn, oldest first
  std::uint32_t exiting_ = 0;         ///< lanes that exited in the current step
  std::uint32_t alive_ = 0;
  std::uint32_t staying_ = 0;  ///< lanes that execute the current instruction again in a later turn
  unsigned budget_ = 0;        ///< back-edges left in this turn
  std::uint32_t sleep_ = 0;    ///< nanoseconds that the group's lanes asked to wait, at most
  std::uint32_t phase_waits_ =
      0;  ///< lanes for which the current instruction waits for a phase of an mbarrier
  std::uint32_t odd_phases_ = 0;  ///< of these: of odd parity
  std::array<std::uint64_t, exec::kWarpSize> phase_addresses_{};
  unsigned idle_turns_ = 0;  ///< turns since something other than looping happened
  bool may_wait_ = false;    ///< the turn was in a loop that may wait for others
};

inline void WarpStep::wait_for_cluster() { warp_.wait_for_cluster(lanes_); }
inline void WarpStep::wait_for_grids() { warp_.wait_for_grids(lanes_); }
inline bool WarpStep::is_fenced(const ptx::Instruction& instruction) const {
  const FunctionCode& code = warp_.lane(0).code();
  return code.instructions[static_cast<std::size_t>(&instruction - code.function->instructions.data())]
      .is_fenced;
}
inline bool WarpStep::is_in_call() const { return warp_.is_in_call(); }
template <class Use>
void WarpStep::with(const ptx::Instruction& instruction, Use use) const {
  warp_.with(instruction, use);
}
template <class Use>
void Warp::with(const ptx::Instruction& instruction, Use use) {
  std::array<std::uint32_t, exec::kWarpSize> depths{};
  std::array<const ptx::Instruction*, exec::kWarpSize> instructions{};
  for (Lane& lane : lanes_) {
    instructions[lane.index_] = lane.current_;
    depths[lane.index_] = std::exchange(lane.depth_, 0);
    lane.begin(instruction);
  }
  use();
  for (Lane& lane : lanes_) {
    lane.depth_ = depths[lane.index_];
    lane.begin(*instructions[lane.index_]);
  }
}
inline Lane& WarpStep::lane(unsigned index) const { return warp_.lane(index); }
inline exec::WarpContext& WarpStep::context() const { return warp_.context(); }
inline const ModuleCode& WarpStep::module() const { return warp_.module(); }

}  // namespace raddle::interp
