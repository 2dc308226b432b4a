// Compiled code of a kernel and how a worker enters it, by block kind.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "exec/executable.h"
#include "jit/compilation.h"
#include "jit/line_table.h"

namespace raddle::jit {

/// Regions: part of the state that a warp returns at a barrier of its cluster; it is entered without it.
inline constexpr std::uint32_t kAtCluster = 1u << 31;
/// Part of the state that warps return which ran together and have parted, and of that with which an entry
/// for such warps is entered (together.h).
inline constexpr std::uint32_t kParted = 1u << 30, kTogether = 1u << 30;
/// Part of the state with which warps are entered that are to pause within their prelude (prelude.h), and
/// after it.
inline constexpr std::uint32_t kPausing = 1u << 29;

class JitExecutable final : public exec::Executable {
 public:
  ~JitExecutable() override;

  /// loops: void(CtaContext*, first warp); regions: uint32(WarpContext*, frame, state); fibers:
  /// void(WarpContext*). May be set again while blocks run, to code of the same kernel: what a frame holds
  /// between regions is the same in every tier.
  void set_entry(void* address) { entry_.store(address, std::memory_order_release); }
  /// The PTX lines of code that may run from now on, beside those of earlier tiers.
  void add_lines(LineTable lines);
  /// The function that frees the code, called when the executable goes.
  void add_release(std::function<void()> release) { releases_.push_back(std::move(release)); }
  /// Calls `hot` once, from a worker, when the code has run for so many seconds, all workers together.
  void when_hot(double seconds, std::function<void()> hot);
  std::shared_ptr<Compilation> improvement;  ///< better code in the making; given up when the executable goes
  std::uint32_t frame_bytes = 0;             ///< regions: saved state of one warp
  unsigned together = 0;                     ///< regions: warps that one entry runs together; 0: none
  std::vector<bool> together_states;         ///< by state: whether that may be entered together
  std::vector<bool> turn_states;  ///< by state: whether a prelude goes on there; empty: there is none
  std::uint64_t call_stack = 0;   ///< part of stack_bytes: for calls of unknown depth

  void run_block(exec::CtaContext& cta) override;
  void run_warp(exec::WarpContext& warp) override;
  std::optional<std::uint32_t> line_of(std::uint64_t address) const override;
  std::optional<exec::AccessedMemory> accessed(std::uint64_t code, const exec::SavedRegisters& registers,
                                               std::uint64_t faulted) const override;

 private:
  static std::uint64_t next_number();
  class Timed;
  struct Regions;
  struct CtasAhead;
  template <class F>
  F* entry() const {
    return reinterpret_cast<F*>(entry_.load(std::memory_order_acquire));
  }
  void run_rest(exec::WarpContext& suspended);
  void run_loops(exec::CtaContext& cta, std::uint32_t first);
  void run_regions(exec::CtaContext& cta);
  void order_stores(const exec::CtaContext& cta) const;
  std::size_t frame_size() const;
  void begin(exec::CtaContext& cta, Regions& regions, std::byte* frames) const;
  void run_to_end(exec::CtaContext& cta, Regions& regions);
  void run_region(exec::CtaContext& cta, Regions& regions);
  void run_region_together(exec::CtaContext& cta, Regions& regions);
  bool may_run_together(const Regions& regions, unsigned w) const;
  std::uint32_t enter(exec::CtaContext& cta, Regions& regions, unsigned w, unsigned count,
                      std::uint32_t state);
  void pass_cluster_barrier(exec::CtaContext& cta, Regions& regions);
  void run_prelude(exec::CtaContext& cta, Regions& regions);
  CtasAhead* find_ahead(const exec::CtaContext& cta) const;
  CtasAhead& begin_ahead(const exec::CtaContext& cta, std::uint32_t count) const;
  void run_side_by_side(exec::CtaContext& cta, Regions& regions, CtasAhead& ahead);
  bool take_turn(exec::CtaContext& cta, exec::WarpContext* warps, std::uint32_t* states, std::byte* frames);
  std::optional<CodePlace> place_of(std::uint64_t address) const;

  std::atomic<void*> entry_{nullptr};
  const std::uint64_t number_ = next_number();  ///< no other executable of the process has it
  mutable std::mutex lines_lock_;
  mutable std::vector<LineTable> lines_;
  std::vector<std::function<void()>> releases_;
  std::function<void()> hot_;
  std::atomic<std::int64_t> nanoseconds_left_{0};  ///< until hot; 0: not counted
};

}  // namespace raddle::jit
