// A started block: its CTA and warp contexts, its memory, its fibers. Lives on one worker, is reused for
// block after block and for kernel after kernel; everything in it is allocated once (K-10).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/fiber.h"
#include "exec/abi.h"
#include "exec/wgmma_operands.h"
#include "machine/launch/launch_controllers.h"
#include "machine/launch/rasteriser.h"
#include "machine/memory/block_memory.h"
#include "machine/sm/wgmma_queue.h"
#include "machine/tasks/task.h"
#include "raddle/task_record.h"

namespace raddle::machine {

class Worker;
struct Block;

/// What a warp can wait for besides the barriers of its block: a word of memory that another warp, another
/// worker or the host changes. Nobody notifies the block; it looks.
struct WordWait {
  enum class Of : std::uint8_t {
    others,           ///< somebody outside of the block's cluster may change it
    cluster_barrier,  ///< ClusterContext::barrier
    mbarrier,         ///< in the cluster's shared memory
  };
  const std::atomic<std::uint64_t>* word = nullptr;
  std::uint64_t mask = 0, value = 0;
  Of of = Of::others;

  bool is_over() const { return (word->load(std::memory_order_acquire) & mask) != value; }
  bool operator==(const WordWait&) const = default;
};

/// A fiber of a block. Its block switches among those that can run.
struct Strand {
  base::Fiber fiber;
  Block* block = nullptr;
  std::uint32_t index = 0;
  bool prepared = false;  ///< the fiber stands at the end of its main function, ready for a CTA
};

/// Block kind `fibers`: runs one warp.
struct Warp : Strand {
  exec::WarpContext context{};
  std::uint32_t counted = 0;  ///< lanes that cta.live_threads still counts
  WgmmaQueue wgmmas;
};

/// Block kinds `loops` and `regions`: runs one warp after the other. The first one begins a CTA; another one
/// takes the warps behind one that was suspended.
struct Runner : Strand {
  exec::WarpContext* suspended = nullptr;  ///< null: the CTA begins
};

struct Block {
  enum class Status : std::uint8_t {
    idle,     ///< no CTA: its fibers are parked
    waiting,  ///< yielded, or just given a CTA
    faulted,  ///< Worker::raw_fault_ says why; its fibers are lost
    stopped,  ///< its task was stopped; its fibers are lost
  };

  exec::CtaContext cta{};
  exec::ClusterContext alone{};  ///< of a block that belongs to no cluster
  std::atomic<std::uint64_t> barrier_alone{0};
  Worker* worker = nullptr;
  Task* task = nullptr;
  Cluster* cluster = nullptr;                     ///< that it shares memory in; null: none
  CtaRun run;                                     ///< its CTA, to be reported
  CtaRun* grant = nullptr;                        ///< the CTAs behind it
  std::uint32_t followers = 0;                    ///< of these: with how many
  std::uint32_t row = 0;                          ///< of these: to how many the worker steps (Worker::step)
  std::uint64_t began_ns = 0;                     ///< when it started, if somebody records
  std::uint64_t parked_ns = 0, parked_at_ns = 0;  ///< likewise: so long, so far; since when
  Rasteriser rasteriser;                          ///< of the grid
  const CtaPosition* position = nullptr;          ///< of its CTA, the rasteriser's
  std::uint64_t grid_id = 0;                      ///< that the rasteriser stands on
  Status status = Status::idle;
  exec::BlockKind kind = exec::BlockKind::loops;

  // Masks over its fibers: warps, or runners.
  std::uint32_t unfinished = 0;
  std::uint32_t runnable = 0;  ///< neither finished nor waiting at a barrier or for a word
  std::uint32_t yielded = 0;   ///< runnable ones that yielded since the block last made progress
  std::uint32_t current = 0;   ///< the one that runs, or is to be resumed
  bool meets_cluster = false;  ///< waits as a whole until its cluster's barrier is over
  const std::atomic<std::uint64_t>* children = nullptr;  ///< that it waits for as a whole: how many
  std::uint32_t grid_waits = 0;    ///< strands that wait for the grids that its own began before
  bool idles = false;              ///< all that are left do
  bool triggered = false;          ///< its CTA has let dependent grids begin
  std::uint32_t turns = 0;         ///< that it was given, since a CTA of its task ended here
  std::uint32_t share = 0;         ///< of its worker's turns, that it has a part in (Worker::Share)
  Block* next_in_share = nullptr;  ///< the one that has a turn after it; a ring
  Block* previous_in_share = nullptr;
  std::uint32_t barriers_in_use = 0;                     ///< mask over barriers with arrivals
  std::array<std::uint32_t, exec::kBarriers> waiters{};  ///< by barrier: mask of warps
  struct WordWaiters {
    WordWait wait;
    std::uint32_t warps = 0;  ///< mask; never empty
  };
  std::array<WordWaiters, exec::kMaxWarps> word_waiters{};  ///< no two for the same
  std::uint32_t word_waits = 0;                             ///< of these: in use

  BlockMemory memory;
  alignas(16) std::array<std::byte, TaskRecord::kMostEntryBytes> entry{};  ///< of a queue task's block
  exec::WgmmaOperands wgmma_operands;
  std::array<std::unique_ptr<Warp>, exec::kMaxWarps> warps;
  std::array<std::unique_ptr<Runner>, exec::kMaxWarps>
      runners;  ///< all but the first: once a warp was suspended

  Strand& strand(std::uint32_t i) {
    return kind == exec::BlockKind::fibers ? static_cast<Strand&>(*warps[i]) : *runners[i];
  }
  /// The warp waits for no word any more.
  void forget_word_wait(std::uint32_t warp) {
    for (std::uint32_t i = 0; i < word_waits; ++i)
      if ((word_waiters[i].warps &= ~(1u << warp)) == 0) word_waiters[i--] = word_waiters[--word_waits];
  }
  base::Fiber& current_fiber() { return strand(current).fiber; }
};

}  // namespace raddle::machine
