// A worker: the one kernel-running OS thread of a core (K-1). It asks the distributor for runs of CTAs, runs
// them one after another on fibers, oldest first, and starts further blocks only when all started ones wait
// (K-7, K-10).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/fiber.h"
#include "base/past_caches.h"
#include "exec/barrier.h"
#include "exec/registers.h"
#include "machine/launch/launch_controllers.h"
#include "machine/memory/peer_memory.h"
#include "machine/sm/block.h"
#include "machine/sm/grants.h"
#include "machine/tma/adversary.h"
#include "machine/tma/look_ahead.h"

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
  const char* note = "";  ///< text before the description of the address
  bool is_write = false, access_known = false;
  bool address_known = true;  ///< false: the processor named none, as it is not canonical (or misaligned)
  const exec::SavedRegisters* registers = nullptr;  ///< at code_address, where there are any
  /// Of an illegal cluster address: what was found; none: what the tables say now.
  exec::ClusterProblem cluster_problem = exec::ClusterProblem::none;
};

/// Counters of one worker; read by others while it runs, so relaxed atomics written by one thread.
struct WorkerCounters {
  std::atomic<std::uint64_t> grants{0};        ///< runs received
  std::atomic<std::uint64_t> ctas_taken{0};    ///< that began otherwise than as the next of a row
  std::atomic<std::uint64_t> peak_started{0};  ///< blocks started at once
  std::atomic<std::uint64_t> sleeps{0};
  std::atomic<int> cpu{-1};  ///< pinned to; -1: not pinned
};

inline void bump(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

class FaultBuffer;
class ThreadCopies;
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
  /// Ends the time slice of what has run since the last call. On the thread that counts slices.
  /// @returns whether the worker has work
  bool end_slice();
  /// Whether it is completing tasks. Any thread.
  bool completes() const { return completes_.load(std::memory_order_acquire); }
  /// A grid is ready. If the worker is completing the one before, which has ended here, and they are alike,
  /// the grid takes that one's place, and the worker goes on with it. On this worker's thread.
  /// @returns false: it has yet to be added
  bool take_over(Task& task);
  /// Whether it spins for the bell, or does not get its core while it would. Any thread.
  bool spins() const { return spins_.load(std::memory_order_relaxed); }
  /// As what it sleeps for the bell.
  std::uint32_t bell_bit() const { return 1u << id_ % 32; }
  int cpu() const { return cpu_; }  ///< -1: it is not pinned
  /// Whether it looks for work next instead of going on with some. On this worker's thread.
  bool unoccupied() const { return started_.empty() && grants_.empty(); }

  // --- for services and fibers, on this worker's thread ---
  Machine& machine() { return machine_; }
  /// Waits until lanes may go on; see exec::Services.
  bool arrive(Warp& warp, std::uint32_t id, const exec::Arrival& arrival);
  void wait_at_barrier(Warp& warp, std::uint32_t id);
  /// Waits until one of several barriers completes a phase; the warp's lanes have been counted already.
  void wait_at_barriers(Warp& warp, std::uint32_t barriers);
  /// Waits until the word has changed; a value that it has only for a moment may be missed.
  /// @param wait  in registers: copied from memory at once, it would wait for the stores that made it
  /// @param barriers  mask over barriers where the warp's lanes have been counted: a phase ends the wait too
  void wait_for_word(Warp& warp, const WordWait& wait, std::uint32_t barriers = 0) {
    wait_for_word(warp, wait.word, wait.mask, wait.value, wait.of, barriers);
  }
  /// Waits until the grids have ended before whose end the block's grid began.
  void wait_for_grids(Block& block, exec::WarpContext& warp);
  /// Where warps are no fibers: all threads of the block arrive at its cluster's barrier as one, and wait.
  void meet_cluster(Block& block);
  /// Waits until no child counts any more; the whole block is set aside, and holds nothing of its SM
  /// meanwhile.
  void wait_for_children(Block& block, exec::WarpContext& warp, const std::atomic<std::uint64_t>& children);
  /// Waits until a fault has been serviced. @param in_kernel  other warps and blocks may run meanwhile
  void wait_for_page(Block& block, FaultBuffer& faults, std::uint64_t fault, bool in_kernel);
  /// Whether nothing but the kernel is on the stack: no lock, nothing that has to be destroyed.
  bool in_kernel() const { return in_kernel_; }
  /// The block's CTA lets dependent grids begin, unless it has done so before.
  void trigger(Block& block);
  /// One more of the grid's CTAs has begun.
  void count_begin(Task& task);
  /// Lets the block's other warps run, those behind `warp` included, or other blocks.
  void yield(Block& block, exec::WarpContext* warp);
  /// After a barrier: a block that does nothing but pass barriers lets the others run now and then, since its
  /// loop may wait for one of them.
  void pause_after_many_phases(Warp& warp) {
    if (progress_ - turn_began_ >= kPhasesPerTurn) yield(*warp.block, &warp.context);
  }
  /// At a loop's back-edge: the task was stopped, or a time slice is over.
  void poll(Block& block, exec::WarpContext* warp);
  /// A kernel read a clock, in ticks or nanoseconds. One that looks again and again waits for a time, which
  /// passes for all that have been started: at its next back-edge others run.
  void look_at_clock(std::uint64_t now) {
    constexpr std::uint64_t kAgain = 400;
    constexpr unsigned kLooks = 4;
    looks_ = now - last_look_ < kAgain ? looks_ + 1 : 0;
    last_look_ = now;
    if (looks_ != kLooks) return;
    looks_ = 0;
    raise_poll();
  }
  /// A kernel meets the machine. Where copies land late, some may land and others may run; else some of what
  /// bulk loads will read is fetched.
  void meet(exec::WarpContext* warp) {
    if (adversary_)
      meet_adversary(warp);
    else
      look_ahead_.go_on();
  }
  /// What bulk loads will read, of the CTA that runs.
  LookAhead& look_ahead() { return look_ahead_; }
  // exec::Services::wgmma_issue and so on (wgmmas.cpp)
  void issue_wgmma(Warp& warp, const exec::IssuedWgmma& issued);
  void fence_wgmmas(Warp& warp);
  void commit_wgmmas(Warp& warp);
  void wait_for_wgmmas(Warp& warp, std::uint32_t groups);
  /// Where copies land late: a lane of the warp that runs is about to load, without order, or to store.
  /// @param line  of the PTX text
  void judge_access(const ByteRange& place, bool is_load, unsigned lane, std::uint32_t line);
  /// Null: copies land at once.
  Adversary* adversary() { return adversary_ ? &*adversary_ : nullptr; }
  void exit_lanes(Warp& warp, std::uint32_t lanes);
  [[noreturn]] void fault(Block& block, const RawFault& fault);
  /// A problem of the unit's last request, or of the copy that landed last.
  [[noreturn]] void fault(Block& block, const TmaRequester& culprit, const TmaProblem& problem);
  /// Of the SM that the block is on.
  TmaUnit& tma_of(const Block& block);
  /// Likewise, where copies land late.
  ThreadCopies& copies_of(const Block& block);
  [[noreturn]] void stop(Block& block);
  /// Stores of the CTA that runs have gone past the host's caches.
  void note_stores_past_caches() { stored_past_caches_ = true; }
  /// Before somebody learns that bulk stores, or CTAs, are over.
  void order_stores() {
    if (std::exchange(stored_past_caches_, false)) order_stores_past_caches();
  }
  std::uint64_t next_poll_clock() { return ++poll_clock_; }
  PeerLookups& peer_lookups() { return peer_lookups_; }

  /// Marks that the running code holds a lock or owns destructors: a signal is then no kernel fault. The mark
  /// does not outlast a switch to another fiber.
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
  static constexpr unsigned kTurnsInOneFiber = 1024;
  static constexpr std::uint64_t kPollsPerSlice = 1 << 16;  // deterministic mode has no other clock

  /// What the started blocks of one address space and priority have of the worker's turns.
  struct Share {
    std::uint64_t space = 0;  ///< AddressSpace::id(): one for all contexts of a program that is served
    int priority = 0;
    unsigned blocks = 0;    ///< 0: it is nobody's, and may become another's
    Block* next = nullptr;  ///< of its ring, whose turn is next
  };
  struct Moves {
    bool any = false, slice_over = false;
  };

  // worker.cpp: the loop
  void run();
  bool round();
  Block& take_turn(Block& block);
  bool is_set_aside(Block& block);
  void start_more();
  void end_turn();
  void admit_other();
  bool admit(const std::function<bool(const Task&)>& wanted);
  bool is_started(const Task& task) const;
  void shuffle_started();
  bool start_block();
  bool start_block_of(const Task& task);
  bool begin_block(CtaRun& grant);
  CtaRun* take_run(const std::function<bool(const Task&)>& wanted);
  bool more_urgent_than(const Task& task) const;
  bool fetch_grants();
  void drop_grants();
  void ring_if_recalled();
  void started(Block& block);
  bool has_news() const;
  void idle();
  Block& resume(Block& block);
  void settle(std::size_t position);
  void report_finished(const CtaRun& run);
  void measure_blocks();
  void begin_measurement();
  bool exchange(bool want_grants);
  bool report(bool want_grants);

  // succession.cpp: launch after launch of a stream
  bool may_hand_on();
  bool go_on_with_next();
  void handle_fault(Block& block);
  void look_at_stop(Block& block, const exec::WarpContext* warp);
  void locate_stop(Block& block, const exec::WarpContext* warp);

  // turns.cpp: whose turn it is
  std::size_t serve(std::size_t first, Moves& moves);
  void give_turn(Block& first, Moves& moves);
  Block& next_of(Share& share);
  void join_share(Block& block);
  void leave_share(Block& block);
  bool has_started_of(std::uint64_t space) const;

  // parking.cpp: blocks that leave their SMs before their end
  bool must_park(Block& block);
  void park(std::size_t position);
  bool unpark(CtaRun& grant);
  Block* parked_block(const Task& task, std::uint64_t cta);
  void give_up_parked(const CtaRun& run);
  void clear(Block& block);
  void land_all(Block& block);
  bool has_landed(Block& block);

  // block_start.cpp: giving CTAs to blocks
  bool bind(Block& block, const CtaRun& grant);
  bool bind_memory(Block& block);
  void take_cta(Block& block, CtaRun& grant);
  void begin_cta(Block& block);
  bool step(Block& block);
  std::uint32_t row_of(const Block& block, const CtaRun& run) const;
  void drop_with_followers(Block& block, CtaRun& grant);
  void count_followers(Block& block);
  bool take_entry(Block& block, CtaRun& grant);
  CtaRun* next_of_task(Block& block);
  bool slice_ends(const Task& task);
  void leave_cluster(Block& block);
  bool continue_with_next(Block& block);
  void prepare_warps(Block& block);
  bool provide_strands(Block& block);
  bool provide_runner(Block& block, std::uint32_t index);
  void hand_over(Block& block, exec::WarpContext& warp);
  void next_strand(Strand& strand);
  static void runner_main(void* runner);
  static void warp_main(void* warp);

  // copies.cpp: asynchronous copies that land late
  void meet_adversary(exec::WarpContext* warp);
  bool land_one(Block& block);
  void land(Block& block, std::size_t most);
  void warn(Block& block, const TmaRequester& culprit, const char* what, const std::string& problem);
  void report_mistakes(Block& block);
  void begin_copies(Block& block);
  void finish_copies(Block& block);
  void forget_copies(Block& block);

  // remote_errors.cpp: errors of such copies that are found in other CTAs
  AccessHistory& history_of(const Block& block);
  void send_back(const Block& block, const TmaProblem& problem);
  Block* started_in(const RemoteError& error) const;
  void raise(const RemoteError& error, Block& block);
  void return_errors(Block& block, bool all);

  // wgmmas.cpp: those that end late
  void execute_wgmmas(Warp& warp, std::size_t count);
  void execute_due_wgmmas(Warp& warp);

  // warps.cpp: the ring of warp fibers
  void wait_for_word(Warp& warp, const std::atomic<std::uint64_t>* word, std::uint64_t mask,
                     std::uint64_t value, WordWait::Of of, std::uint32_t barriers);
  std::uint64_t draw();
  std::uint32_t pick(std::uint32_t candidates, std::uint32_t current);
  void wait_until_runnable(Warp& warp);
  void switch_fibers(exec::CtaContext& cta, base::Fiber& from, base::Fiber& to);
  void switch_strand(Block& block, Strand& from, std::uint32_t to);
  void set_aside(Block& block, bool for_others);
  void leave_to_scheduler(Block& block, base::Fiber& from, Block::Status status);
  bool hand_turn_on(Block& block);
  void after_phase(Block& block, std::uint32_t id);
  void look_at_words(Block& block);
  void count_grid_waits(Block& block, std::uint32_t change);
  bool is_deadlock(Block& block);
  void unstick(Block& block);
  void finish_warp(Warp& warp);

  Machine& machine_;
  const unsigned id_;
  const int cpu_;
  const bool deterministic_;  // its slices end by the count of polls: poll_ is always raised
  std::thread thread_;
  WorkerCounters counters_;
  alignas(64) std::atomic<std::uint32_t> poll_{0};

  // Own thread only.
  volatile bool in_kernel_ = false;  // a signal now is the kernel's fault
  PeerLookups peer_lookups_;
  Block* running_ = nullptr;
  RawFault raw_fault_;
  exec::SavedRegisters fault_registers_;  // that raw_fault_ points to
  base::Fiber scheduler_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> free_blocks_;
  std::vector<Block*> parked_;
  std::vector<Block*> started_;  // the most urgent first, of these the oldest
  std::vector<Share> shares_;    // of these; a block knows its by number
  Grants grants_;
  std::array<CtaRun, LaunchControllers::kGrants> finished_{};
  std::size_t finished_count_ = 0;
  bool hands_on_ = false;  // what is in finished_ is the whole grid of a task that is being completed
  // Of grants that are measured: when they came, else 0; the kernel of the latest, and grants since.
  std::uint64_t granted_ns_ = 0;
  const exec::Executable* measured_ = nullptr;  // may be gone
  unsigned unmeasured_ = 0;
  std::uint64_t progress_ = 0;          // counts finished CTAs, and completed waits at barriers or for words
  std::uint64_t turn_began_ = 0;        // progress_ when the scheduler resumed a block last
  unsigned handed_on_ = 0;              // turns since that
  std::optional<Adversary> adversary_;  // where copies land late
  LookAhead look_ahead_;                // where they do not
  bool stored_past_caches_ = false;     // since order_stores()
  std::uint64_t random_ = 0;            // deterministic mode: state of the choices, 0 otherwise
  std::uint64_t poll_clock_ = 0;
  std::uint64_t last_look_ = 0;  // at a clock, and how many came soon after the one before
  unsigned looks_ = 0;
  std::uint64_t polls_ = 0;
  bool slice_over_ = false;       // of the block that was resumed last
  const Task* served_ = nullptr;  // whose slice ended last; may be gone
  unsigned fruitless_ = 0, start_more_ = 1;
  unsigned rounds_ = 0;
  std::uint32_t submissions_ = 0;  // when it was idle last

  std::atomic<bool> spins_{false};
  // For the thread that counts slices.
  std::atomic<std::uint64_t> turn_{0};  // counts what the scheduler resumed
  std::atomic<bool> occupied_{false};
  std::atomic<bool> completes_{false};
  std::uint64_t seen_turn_ = 0;  // that thread's own
};

/// The worker that runs on the calling thread, null on others.
Worker* current_worker();

}  // namespace raddle::machine
