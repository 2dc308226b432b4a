// A worker: the one kernel-running OS thread of a core (K-1). It asks the distributor for runs of CTAs, runs
// them one after another on fibers, oldest first, and starts further blocks only when all started ones wait
// (K-7, K-10).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/fiber.h"
#include "exec/barrier.h"
#include "exec/registers.h"
#include "machine/launch/launch_controllers.h"
#include "machine/sm/block.h"

namespace raddle::machine {

class Machine;

/// What a fault looks like before it becomes an exec::Fault: filled in a signal handler, so plain data.
struct RawFault {
  exec::FaultKind kind = exec::FaultKind::none;
  std::uint64_t address = 0;
  std::uint64_t code_address = 0;  ///< of the faulting instruction, 0 if raised by a call
  std::uint32_t lane = 0;          ///< 1 + lane, 0: unknown
  std::uint32_t warp = 0;          ///< 1 + warp, 0: unknown
  std::uint32_t line = 0;
  const char* note = "";  ///< before what is said of the address
  bool is_write = false, access_known = false;
  bool address_known = true;  ///< false: the processor named none, as it is not canonical (or misaligned)
  const exec::SavedRegisters* registers = nullptr;  ///< at code_address, where there are any
};

/// Counters of one worker; read by others while it runs, so relaxed atomics written by one thread.
struct WorkerCounters {
  std::atomic<std::uint64_t> ctas{0};          ///< run to completion
  std::atomic<std::uint64_t> grants{0};        ///< runs received
  std::atomic<std::uint64_t> peak_started{0};  ///< blocks started at once
  std::atomic<std::uint64_t> sleeps{0};
  std::atomic<int> cpu{-1};  ///< pinned to; -1: not pinned
};

class Worker {
 public:
  /// @param cpu  to pin to, -1 for none
  Worker(Machine& machine, unsigned id, int cpu);
  ~Worker();
  void start();
  void join();

  const WorkerCounters& counters() const { return counters_; }
  /// Makes running code call Services::poll at its next back-edge. Any thread.
  void raise_poll() { poll_.store(1, std::memory_order_release); }
  /// Whether it looks for work next instead of going on with some. On this worker's thread.
  bool unoccupied() const { return started_.empty() && grant_count_ == 0; }

  // --- for services and fibers, on this worker's thread ---
  Machine& machine() { return machine_; }
  /// Waits until lanes may go on; see exec::Services.
  bool arrive(Warp& warp, std::uint32_t id, const exec::Arrival& arrival);
  void wait_at_barrier(Warp& warp, std::uint32_t id);
  /// Waits until one of several barriers completes a phase; the warp's lanes have been counted already.
  void wait_at_barriers(Warp& warp, std::uint32_t barriers);
  void wait_for_cluster(Warp& warp);
  void yield(Block& block);
  /// After a barrier: a block that does nothing but pass barriers lets the others run now and then, as what
  /// it waits for in its loop may be one of them.
  void pause_after_many_phases(Block& block) {
    if (progress_ - turn_began_ >= kPhasesPerTurn) yield(block);
  }
  /// @param warp  that looks; null: the one of `block` that runs
  void poll(Block& block, const exec::WarpContext* warp = nullptr);
  void exit_lanes(Warp& warp, std::uint32_t lanes);
  [[noreturn]] void fault(Block& block, const RawFault& fault);
  [[noreturn]] void stop(Block& block);
  std::uint64_t next_poll_clock() { return ++poll_clock_; }

  /// Marks that this thread holds a lock or owns destructors: a signal then is no kernel fault.
  class Busy {
   public:
    explicit Busy(Worker& worker) : worker_(worker), before_(worker.in_kernel_) {
      worker_.in_kernel_ = false;
    }
    ~Busy() { worker_.in_kernel_ = before_; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    Worker& worker_;
    bool before_;
  };

 private:
  friend struct SignalAccess;
  static constexpr std::uint64_t kPhasesPerTurn = 1024;

  // worker.cpp: the loop
  void run();
  bool round();
  void shuffle_started();
  bool start_block();
  bool fetch_grants();
  void drop_stopped_grants();
  void idle();
  void resume(Block& block);
  void settle(std::size_t position);
  void report_finished(const CtaRun& run);
  bool exchange(bool want_grants);
  void handle_fault(Block& block);
  void locate_stop(Block& block, const exec::WarpContext* warp);

  // block_start.cpp: giving CTAs to blocks
  bool bind(Block& block, const CtaRun& grant);
  bool bind_memory(Block& block);
  void take_cta(Block& block);
  bool continue_with_next(Block& block);
  void prepare_warps(Block& block);
  static void runner_main(void* block);
  static void warp_main(void* warp);

  // warps.cpp: the ring of warp fibers
  std::uint64_t draw();
  std::uint32_t pick(std::uint32_t candidates, std::uint32_t current);
  void wait_for_phase(Warp& warp);
  void switch_warp(Block& block, Warp& from, std::uint32_t to);
  void leave_to_scheduler(Block& block, base::Fiber& from, Block::Status status);
  void after_phase(Block& block, std::uint32_t id);
  void look_at_cluster(Block& block);
  void unstick(Block& block);
  void finish_warp(Warp& warp);

  Machine& machine_;
  const unsigned id_;
  const int cpu_;
  std::thread thread_;
  WorkerCounters counters_;
  alignas(64) std::atomic<std::uint32_t> poll_{0};

  // Own thread only.
  volatile bool in_kernel_ = false;  // a signal now is the kernel's fault
  Block* running_ = nullptr;
  RawFault raw_fault_;
  exec::SavedRegisters fault_registers_;  // that raw_fault_ points to
  base::Fiber scheduler_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> free_blocks_;
  std::vector<Block*> started_;  // oldest first
  std::array<CtaRun, LaunchControllers::kGrants> grants_{};
  std::size_t grant_head_ = 0, grant_count_ = 0;
  std::array<CtaRun, 16> finished_{};
  std::size_t finished_count_ = 0;
  std::uint64_t progress_ = 0;    // counts finished CTAs and completed barrier phases
  std::uint64_t turn_began_ = 0;  // progress_ when the running block was resumed
  std::uint64_t random_ = 0;      // deterministic mode: state of the choices, 0 otherwise
  std::uint64_t poll_clock_ = 0;
  unsigned fruitless_ = 0, start_more_ = 1;
  unsigned endless_ = 0;  // rounds since a CTA ended, in which blocks only passed barriers
};

/// The worker that runs on the calling thread, null on others.
Worker* current_worker();

}  // namespace raddle::machine
