// All decisions about a kernel before its code is written, made once for each compilation: how the warps of
// its blocks run, what its functions share, and the plan of each function.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "jit/engine.h"
#include "jit/function_plan.h"
#include "jit/prelude.h"
#include "jit/simd_form.h"

namespace raddle::jit {

class KernelPlan {
 public:
  KernelPlan(const ptx::Module& module, ptx::FunctionId kernel, const ptx::KernelNeeds& needs,
             const exec::CompileOptions& options, const SimdForm& simd, Together together,
             OneByOne one_by_one);

  const ptx::Module& module;
  const ptx::FunctionId kernel;
  const unsigned part_lanes;
  const LayoutClass layout;
  const ptx::SharedLayout shared;
  const std::vector<bool> address_taken;  ///< by function; a function pointer is FunctionId + 1
  const bool has_dynamic_stack;           ///< some function moves the thread's stack pointer
  const bool late_copies;                 ///< CompileOptions::late_copies
  const bool windowed;                    ///< CompileOptions::windowed
  const bool modelled;                    ///< CompileOptions::modelled
  const bool clustered;                   ///< CTAs of one cluster reach each other's shared memory
  const bool open_depth;                  ///< how deep calls nest is known only at run time
  const std::uint64_t call_stack;         ///< open_depth: bytes of the host's stack for them

  exec::BlockKind kind() const { return kind_; }
  /// How the kernel runs as long as all lanes of one or more warps of a block go the same way (together.h);
  /// null: it does not. Where they part, each warp goes on by function(kernel).
  const FunctionPlan* together() const { return together_.get(); }
  /// What CTAs may do side by side before anything else, if there is such a thing; only regions, together.
  const Prelude* prelude() const { return prelude_ ? &*prelude_ : nullptr; }
  /// Its function is `i32(ptr warp, ptr frame, i32 state)`: it can go on where another call has left it.
  bool has_states() const { return kind_ == exec::BlockKind::regions || together_ != nullptr; }
  /// What the kernel is said to store when it is asked whether its unseen stores go past the host's caches
  /// (LaunchContext::past_caches): bytes of a thread. 0: none does.
  std::uint32_t bytes_past_caches() const { return bytes_past_caches_; }
  /// While a warp's code runs, nobody else writes to its CTA's shared memory: it belongs to one worker (ADR
  /// 0012), which no other CTA and no copy reaches.
  bool owns_shared_memory() const { return owns_shared_memory_; }
  bool functions_may_exit() const { return functions_may_exit_; }  ///< a device function executes `exit`
  /// Known at compile time: all 32 lanes run b, so that its accesses need no masks.
  bool runs_all(const FunctionPlan& plan, BlockId b) const {
    return plan.function.is_entry && layout.full_warps && !functions_may_exit_ && !plan.one_by_one &&
           plan.runs_all(b);
  }
  /// How the kernel, or a device function that it reaches, is compiled.
  const FunctionPlan& function(ptx::FunctionId id) const;

 private:
  struct Traits;
  Traits traits_of(ptx::FunctionId id) const;
  void choose_kind(const ptx::KernelNeeds& needs);
  void choose_one_by_one(const ptx::KernelNeeds& needs, OneByOne where);
  void choose_together(const ptx::KernelNeeds& needs, const SimdForm& simd, Together where);
  const ptx::Function& source_of(ptx::FunctionId id) const;

  mutable std::map<ptx::FunctionId, std::optional<ptx::Function>> sources_;  ///< where not the module's own
  mutable std::map<ptx::FunctionId, std::unique_ptr<const FunctionPlan>> functions_;
  exec::BlockKind kind_ = exec::BlockKind::loops;
  std::unique_ptr<const FunctionPlan> together_;
  std::optional<Prelude> prelude_;
  bool functions_may_exit_ = false, owns_shared_memory_ = false;
  std::uint32_t bytes_past_caches_ = 0;
};

}  // namespace raddle::jit
