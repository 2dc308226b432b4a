#include "jit/kernel_plan.h"

#include <algorithm>

#include "isa/op.h"
#include "jit/forward_constants.h"
#include "jit/holds.h"
#include "jit/one_by_one.h"
#include "jit/short_ways.h"
#include "jit/sink_loads.h"
#include "jit/together.h"
#include "jit/webs.h"

namespace raddle::jit {
namespace {

using exec::BlockKind;

std::vector<bool> addresses_taken(const ptx::Module& module) {
  std::vector<bool> taken(module.functions.size());
  for (const auto& f : module.functions) {
    for (const auto& i : f.instructions)
      for (const auto& o : f.operands_of(i))
        if (o.kind == ptx::Operand::Kind::function && i.op() != isa::Op::call) taken[o.index] = true;
  }
  for (const auto& v : module.variables)
    for (const auto& r : v.relocations)
      if (r.is_function) taken[r.index] = true;
  return taken;
}

/// Bytes of the host's stack for calls of unknown depth, for a stack of so many bytes per thread in local
/// memory: quick code keeps every register, and the masks, in its frames, many times what a GPU spills. Only
/// what is touched is memory.
std::uint64_t call_stack_of(std::uint32_t stack_bytes) {
  constexpr std::uint64_t kLeast = 8u << 20, kTimes = 16;
  return std::max(kLeast, kTimes * exec::kWarpSize * stack_bytes);
}

/// Of the CTA, or of its cluster.
bool is_barrier(const isa::Opcode& opcode) {
  const isa::Scope scope = opcode.row->text->scope;
  return scope == isa::Scope::cta || scope == isa::Scope::cluster;
}

/// `bar.sync 0` by all threads: the one of the CTA that a region loop can do.
bool is_plain_barrier(const ptx::Function& f, const ptx::Instruction& i) {
  const isa::Opcode& opcode = *i.opcode;
  if (!opcode.is(isa::Effects::sync) || opcode.row->operands.size() != 2) return false;
  auto operands = f.operands_of(i);
  return operands[0].kind == ptx::Operand::Kind::immediate && operands[0].value == 0 &&
         operands[1].kind == ptx::Operand::Kind::none && i.guard == ptx::kNone;
}

/// Of the two halves of a cluster's barrier, one behind the other and met by all lanes of a warp together:
/// the CTA may arrive as one where it waits.
bool is_whole_cluster_barrier(const FunctionPlan& plan, const ptx::Function& unsplit, std::uint32_t n) {
  const ptx::Instruction& here = unsplit.instructions[n];
  if (here.op() == isa::Op::barrier_cluster_wait) {
    if (n == 0) return false;
    --n;
  }
  const auto holds_both = [&](const auto& block) { return block.begin <= n && n + 1 < block.end; };
  if (std::ranges::none_of(unsplit.blocks, holds_both)) return false;
  const ptx::Instruction &arrive = unsplit.instructions[n], &wait = unsplit.instructions[n + 1];
  if (arrive.op() != isa::Op::barrier_cluster_arrive || wait.op() != isa::Op::barrier_cluster_wait ||
      arrive.guard != ptx::kNone || wait.guard != ptx::kNone)
    return false;
  for (BlockId b : plan.order.blocks) {
    const auto& block = plan.function.blocks[b];
    if (block.begin <= n + 1 && n < block.end && !plan.pending(b).empty()) return false;
  }
  return true;
}

/// Copies that land when it suits them, and what goes with them.
bool is_asynchronous(const ptx::Instruction& i) { return i.opcode->row->text->scope == isa::Scope::async; }

}  // namespace

KernelPlan::KernelPlan(const ptx::Module& m, ptx::FunctionId k, const ptx::KernelNeeds& needs,
                       const exec::CompileOptions& options, const SimdForm& simd, Together together,
                       OneByOne one_by_one)
    : module(m),
      kernel(k),
      part_lanes(simd.lanes),
      layout(layout_class(options.block, simd.lanes)),
      shared(ptx::shared_layout(m, k)),
      address_taken(addresses_taken(m)),
      has_dynamic_stack(needs.has_dynamic_stack),
      late_copies(options.late_copies),
      windowed(options.windowed),
      modelled(options.modelled),
      clustered(options.clustered),
      open_depth(needs.is_recursive || needs.has_indirect_calls || needs.has_dynamic_stack),
      call_stack(open_depth ? call_stack_of(options.stack_bytes) : 0) {
  choose_kind(needs);
  choose_one_by_one(needs, one_by_one);
  choose_together(needs, simd, together);
  if (kind_ != BlockKind::fibers && !late_copies && !modelled)
    bytes_past_caches_ = stored_bytes(function(kernel).function, function(kernel).order);
  owns_shared_memory_ = !clustered && !late_copies && needs.callees.empty() && !open_depth &&
                        std::ranges::none_of(m.functions[k].instructions, is_asynchronous);
}

/// As it is compiled.
const ptx::Function& KernelPlan::source_of(ptx::FunctionId id) const {
  const auto found = sources_.find(id);
  auto& source = found != sources_.end() ? found->second : sources_[id];
  if (found == sources_.end()) {
    source = separate_webs(module, module.functions[id]);
    if (auto forwarded = forward_constants(source ? *source : module.functions[id]))
      source = std::move(forwarded);
    if (auto sunk = sink_loads(source ? *source : module.functions[id])) source = std::move(sunk);
  }
  return source ? *source : module.functions[id];
}

/// Twice through the fixpoint only where lanes turn out to have to be held.
const FunctionPlan& KernelPlan::function(ptx::FunctionId id) const {
  auto& plan = functions_[id];
  if (plan) return *plan;
  auto make = [&](Holding holding) {
    return std::make_unique<const FunctionPlan>(module, source_of(id), layout, part_lanes, holding,
                                                late_copies);
  };
  plan = make(Holding::none);
  if (needs_holds(*plan)) plan = make(Holding::groups);
  return *plan;
}

struct KernelPlan::Traits {
  bool barriers = false, other_barriers = false, waiting = false, indirect = false, exits = false;
};

KernelPlan::Traits KernelPlan::traits_of(ptx::FunctionId id) const {
  const FunctionPlan& plan = function(id);
  const ptx::Function& f = plan.function;
  Traits t{.waiting = plan.order.has_waiting_loop};
  for (std::uint32_t n = 0; n < f.instructions.size(); ++n) {
    const ptx::Instruction& i = f.instructions[n];
    if (is_barrier(*i.opcode)) {
      const bool is_plain = is_plain_barrier(f, i) || is_whole_cluster_barrier(plan, module.functions[id], n);
      (is_plain ? t.barriers : t.other_barriers) = true;
    }
    // Its warps meet; a kernel whose every thread waits for its own would do with less. Late, each warp has
    // a queue, and its registers must stay where they are.
    t.other_barriers |= i.op() == isa::Op::wgmma_wait_group ||
                        (late_copies && i.opcode->row->text->scope == isa::Scope::warpgroup);
    t.indirect |= i.extra != ptx::kNone && i.opcode->is(isa::Effects::control) && i.op() == isa::Op::call &&
                  f.calls[i.extra].callee.kind != ptx::Operand::Kind::function;
    t.exits |= i.op() == isa::Op::exit;
  }
  return t;
}

/// The kind that fits the kernel and the functions it calls (K-4, K-5): loops without barriers, regions
/// between plain barriers, fibers for everything else.
void KernelPlan::choose_kind(const ptx::KernelNeeds& needs) {
  const Traits own = traits_of(kernel);
  // A warp that waits leaves its region's others to another fiber; only at an mbarrier it sleeps by itself.
  const bool waits = own.waiting && (!own.barriers || function(kernel).awaits_phases());
  bool fibers =
      own.other_barriers || waits || own.indirect || (own.barriers && barriers_apart(function(kernel)));
  for (auto id : needs.callees) {
    if (module.functions[id].is_declaration || id == kernel) continue;
    const Traits t = traits_of(id);
    fibers |= t.barriers || t.other_barriers || t.waiting || t.indirect;
    functions_may_exit_ |= t.exits;
  }
  kind_ = fibers ? BlockKind::fibers : own.barriers ? BlockKind::regions : BlockKind::loops;
}

/// In place of the form by lanes: nothing waits, so that every thread can run to its end.
void KernelPlan::choose_one_by_one(const ptx::KernelNeeds& needs, OneByOne where) {
  if (kind_ != BlockKind::loops || late_copies || modelled || clustered || open_depth ||
      !needs.callees.empty())
    return;
  const FunctionPlan& by_lanes = function(kernel);
  if (!may_run_one_by_one(by_lanes)) return;
  if (where == OneByOne::where_it_gains && !worth_running_one_by_one(by_lanes)) return;
  functions_[kernel] = std::make_unique<const FunctionPlan>(module, source_of(kernel), layout, part_lanes,
                                                            Holding::none, false, Control::one_by_one);
}

/// Kernels that call functions, and those of devices that watch or translate each access, have no need to be
/// fast together.
void KernelPlan::choose_together(const ptx::KernelNeeds& needs, const SimdForm& simd, Together where) {
  if (kind_ == BlockKind::fibers || !layout.full_warps || late_copies || modelled || clustered ||
      open_depth || !needs.callees.empty())
    return;
  const FunctionPlan& alone = function(kernel);
  if (alone.one_by_one) return;
  const bool anyway = where == Together::wherever_possible;
  if (!anyway && (alone.order.loops.empty() || layout.together == 1)) return;
  auto plan_for = [&](unsigned warps) {
    return std::make_unique<const FunctionPlan>(module, source_of(kernel), layout, part_lanes, Holding::none,
                                                false, Control::together, warps);
  };
  constexpr unsigned kAnyway = 2;
  auto plan = plan_for(anyway ? std::min(layout.together, kAnyway) : layout.together);
  const unsigned warps = anyway ? plan->warps : worth_running_together(*plan, simd.mask_registers ? 32 : 16);
  if (warps == 0 || !may_run_together(alone, *plan)) return;
  if (auto guarded = guard_short_ways(*plan)) {
    plan.reset();  // both plans refer to the source that goes
    functions_.erase(kernel);
    sources_[kernel] = std::move(guarded);
    plan = plan_for(warps);
    if (!may_run_together(function(kernel), *plan)) return;
  }
  together_ = warps == plan->warps ? std::move(plan) : plan_for(warps);
  prelude_ = find_prelude(*together_);
  // A kernel without barriers has a single region.
  if (prelude_) kind_ = BlockKind::regions;
}

}  // namespace raddle::jit
