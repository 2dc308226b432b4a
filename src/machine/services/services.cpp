// Thin, but long as there are many: each service finds the block it was called from and asks the worker or a
// unit of the machine.
#include "machine/services/services.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "exec/access.h"
#include "exec/cluster.h"
#include "exec/mbarrier.h"
#include "exec/wgmma.h"
#include "exec/window.h"
#include "machine/address_space.h"
#include "machine/services/print.h"
#include "machine/services/reach.h"
#include "machine/sm/worker.h"

namespace raddle::machine {
namespace {
using exec::FaultKind;
using exec::WarpContext;

Block& block_of(WarpContext* warp) { return *static_cast<Block*>(warp->cta->machine); }
Worker& worker_of(WarpContext* warp) { return *block_of(warp).worker; }
AddressSpace& space_of(WarpContext* warp) { return *block_of(warp).task->grid().space; }

constexpr std::uint32_t kNoLane = ~0u;  ///< no lane of the warp in particular

RawFault raw_fault(WarpContext* warp, FaultKind kind, std::uint64_t address, std::uint32_t lane) {
  return {.kind = kind, .address = address, .lane = lane + 1, .warp = warp->warp_id + 1, .line = warp->line};
}

/// Asked for each lane: a division of 64 bits takes tens of cycles on older processors.
bool is_aligned_for(std::uint64_t address, std::uint32_t bytes) {
  const std::uint32_t size = std::min(bytes, exec::kMostAlignment);
  return std::has_single_bit(size) ? (address & (size - 1)) == 0 : address % size == 0;
}

/// The lanes whose addresses lie outside of window and block, as accesses may.
std::uint32_t elsewhere(const exec::CtaContext& cta, std::uint32_t lanes, const std::uint64_t* addresses,
                        std::uint32_t bytes) {
  std::uint32_t found = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if (is_aligned_for(addresses[lane], bytes) && !exec::may_access(cta, addresses[lane], bytes))
      found |= 1u << lane;
  }
  return found;
}

/// The services, by the names of exec/services.def.
namespace calls {

__attribute__((noreturn)) void fault(WarpContext* warp, FaultKind kind, std::uint64_t address,
                                     std::uint32_t lane, std::uint32_t line) {
  RawFault raw = raw_fault(warp, kind, address, lane);
  if (line != 0) raw.line = line;
  worker_of(warp).fault(block_of(warp), raw);
}

__attribute__((preserve_most)) void check_access(WarpContext* warp, std::uint32_t lanes,
                                                 const std::uint64_t* addresses, std::uint32_t bytes,
                                                 std::uint32_t is_write, std::uint32_t line) {
  lanes &= ~reach_together(*warp->cta, elsewhere(*warp->cta, lanes, addresses, bytes), addresses, bytes);
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    const std::uint64_t address = addresses[lane];
    if (exec::may_access(*warp->cta, address, bytes)) continue;
    const bool is_aligned = is_aligned_for(address, bytes);
    const auto kind = is_write != 0 ? exec::AccessKind::store : exec::AccessKind::load;
    if (is_aligned && reach(*warp->cta, address, bytes, kind).problem == MmuProblem::none) continue;
    RawFault raw = raw_fault(warp, is_aligned ? FaultKind::illegal_address : FaultKind::misaligned_address,
                             address, lane);
    raw.line = line;
    raw.is_write = is_write != 0;
    raw.access_known = true;
    worker_of(warp).fault(block_of(warp), raw);
  }
}

void translate(WarpContext* warp, std::uint32_t lanes, std::uint64_t* addresses, std::uint32_t bytes,
               std::uint32_t kind, std::uint32_t line) {
  const auto access = static_cast<exec::AccessKind>(kind);
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    const std::uint64_t address = addresses[lane];
    const bool is_aligned = is_aligned_for(address, bytes);
    const Translated place = is_aligned ? reach(*warp->cta, address, bytes, access) : Translated{};
    addresses[lane] = reinterpret_cast<std::uint64_t>(place.host);
    if (place.host != nullptr) continue;
    RawFault raw = raw_fault(warp, is_aligned ? FaultKind::illegal_address : FaultKind::misaligned_address,
                             address, lane);
    raw.line = line;
    raw.note = note_of(place.problem);
    raw.is_write = writes(access);
    raw.access_known = true;
    worker_of(warp).fault(block_of(warp), raw);
  }
}

/// The warp of a barrier operation; faults where the operation is not legal.
Warp& barrier_warp(WarpContext* warp, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes) {
  const std::uint32_t lane = lanes == 0 ? kNoLane : static_cast<std::uint32_t>(std::countr_zero(lanes));
  if (warp->machine == nullptr)
    fault(warp, FaultKind::unsupported, 0, lane, 0);  // only the block kind `fibers` can wait
  if (id >= exec::kMaxBarriers || threads % exec::kWarpSize != 0)
    fault(warp, FaultKind::illegal_barrier, id, lane, 0);
  return *static_cast<Warp*>(warp->machine);
}

void barrier_sync(WarpContext* context, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes) {
  Warp& warp = barrier_warp(context, id, threads, lanes);
  Worker& worker = *warp.block->worker;
  if (!worker.arrive(warp, id, {threads, lanes, 0})) worker.wait_at_barrier(warp, id);
  worker.meet(context);
  worker.pause_after_many_phases(warp);
}

void barrier_arrive(WarpContext* context, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes) {
  Warp& warp = barrier_warp(context, id, threads, lanes);
  warp.block->worker->arrive(warp, id, {threads, lanes, 0});
}

std::uint32_t barrier_reduce(WarpContext* context, std::uint32_t id, std::uint32_t threads,
                             std::uint32_t lanes, std::uint32_t predicate, std::uint32_t* all) {
  Warp& warp = barrier_warp(context, id, threads, lanes);
  Worker& worker = *warp.block->worker;
  if (!worker.arrive(warp, id, {threads, lanes, predicate})) worker.wait_at_barrier(warp, id);
  const exec::Barrier& barrier = warp.block->cta.barriers[id];
  const std::uint32_t count = barrier.result_count;
  *all = barrier.result_arrived;
  worker.pause_after_many_phases(warp);  // others may complete the barrier's next phase meanwhile
  return count;
}

std::uint32_t barrier_join(WarpContext* context, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes,
                           std::uint32_t predicates) {
  Warp& warp = barrier_warp(context, id, threads, lanes);
  const std::uint32_t phase = warp.block->cta.barriers[id].generation;
  warp.block->worker->arrive(warp, id, {threads, lanes, predicates});
  return phase;
}

/// When a warp goes on, its whole warpgroup has read what the wgmmas waited for read.
void wgmma_wait(WarpContext* context, std::uint32_t groups) {
  Warp& warp = barrier_warp(context, 0, 0, ~0u);
  const std::uint32_t id = exec::kMaxBarriers + context->warp_id / exec::kWarpgroupWarps;
  Worker& worker = *warp.block->worker;
  worker.wait_for_wgmmas(warp, groups);
  if (!worker.arrive(warp, id, {exec::kWarpgroupWarps * exec::kWarpSize, ~0u, 0}))
    worker.wait_at_barrier(warp, id);
  worker.meet(context);
  worker.pause_after_many_phases(warp);
}

std::uint64_t wgmma_operands(WarpContext* warp, std::uint64_t descriptor, std::uint64_t code,
                             std::uint32_t bytes) {
  return block_of(warp).wgmma_operands.next(*warp, descriptor, code, bytes);
}

void barrier_wait(WarpContext* context, std::uint32_t barriers) {
  Warp& warp = barrier_warp(context, 0, 0, 0);
  warp.block->worker->wait_at_barriers(warp, barriers);
}

/// The warp of an operation on the cluster's barrier. @param wrong  lanes for which it is not legal
Warp& cluster_warp(WarpContext* context, std::uint32_t wrong, const char* note) {
  if (context->machine == nullptr) fault(context, FaultKind::unsupported, 0, kNoLane, 0);
  Warp& warp = *static_cast<Warp*>(context->machine);
  if (wrong == 0) return warp;
  RawFault raw =
      raw_fault(context, FaultKind::illegal_barrier, 0, static_cast<std::uint32_t>(std::countr_zero(wrong)));
  raw.note = note;
  warp.block->worker->fault(*warp.block, raw);
}

void cluster_arrive(WarpContext* context, std::uint32_t lanes) {
  cluster_warp(context, lanes & context->cluster_joined, exec::kArrivedTwice);
  exec::arrive_at_cluster(*context, lanes);
}

std::uint32_t cluster_waiting(WarpContext* context, std::uint32_t lanes) {
  cluster_warp(context, lanes & ~context->cluster_joined, exec::kNotArrived);
  return exec::wait_for_cluster(*context, lanes);
}

void cluster_wait(WarpContext* context, std::uint32_t lanes) {
  if (context->machine == nullptr) return worker_of(context).meet_cluster(block_of(context));
  Warp& warp = cluster_warp(context, lanes & ~context->cluster_joined, exec::kNotArrived);
  Worker& worker = *warp.block->worker;
  const std::atomic<std::uint64_t>& barrier = *context->cta->cluster->barrier;
  for (;;) {
    const std::uint64_t seen =
        barrier.load(std::memory_order_acquire);  // before the look, which may find more
    if (exec::wait_for_cluster(*context, lanes) == 0) break;
    worker.wait_for_word(warp, {.word = &barrier,
                                .mask = exec::kClusterPhaseBits,
                                .value = seen & exec::kClusterPhaseBits,
                                .of = WordWait::Of::cluster_barrier});
  }
  worker.pause_after_many_phases(warp);
}

void wgmma_issue(WarpContext* context, const exec::IssuedWgmma* issued) {
  worker_of(context).issue_wgmma(*static_cast<Warp*>(context->machine), *issued);
}

void wgmma_fence(WarpContext* context) {
  worker_of(context).fence_wgmmas(*static_cast<Warp*>(context->machine));
}

void wgmma_commit(WarpContext* context) {
  worker_of(context).commit_wgmmas(*static_cast<Warp*>(context->machine));
}

/// The object of an operation on an mbarrier by a lane, which then is in Touching.
std::atomic<std::uint64_t>& mbarrier_of(WarpContext* warp, std::uint64_t address, std::uint32_t lane) {
  if (address % exec::kMbarrierBytes != 0) fault(warp, FaultKind::misaligned_address, address, lane, 0);
  if (exec::shared_address_of(*warp->cta, address))
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(address);
  RawFault raw = raw_fault(warp, FaultKind::illegal_address, address, lane);
  raw.note = "an mbarrier lies in shared memory: ";
  worker_of(warp).fault(block_of(warp), raw);
}

[[noreturn]] void mbarrier_fault(WarpContext* warp, exec::MbarrierProblem problem, std::uint32_t lane) {
  RawFault raw = raw_fault(warp, FaultKind::illegal_barrier, 0, lane);
  raw.note = exec::describe(problem);
  worker_of(warp).fault(block_of(warp), raw);
}

__attribute__((noreturn)) void wgmma_fault(WarpContext* warp, std::uint32_t problem, std::uint64_t address,
                                           std::uint32_t line) {
  const auto what = static_cast<exec::WgmmaProblem>(problem);
  RawFault raw = raw_fault(warp, exec::fault_of(what), address, kNoLane);
  raw.note = exec::describe(what);
  raw.line = line;
  worker_of(warp).fault(block_of(warp), raw);
}

std::uint64_t mbarrier_change(WarpContext* warp, std::uint32_t lane, std::uint64_t address,
                              std::uint32_t operation, std::uint32_t count, std::uint32_t bytes) {
  const Touching touching(warp, lane);
  const auto result = exec::change_mbarrier(mbarrier_of(warp, address, lane),
                                            static_cast<exec::MbarrierOperation>(operation), count, bytes);
  if (result.problem != exec::MbarrierProblem::none) mbarrier_fault(warp, result.problem, lane);
  return result.before;
}

std::uint32_t mbarrier_is_over(WarpContext* warp, std::uint32_t lane, std::uint64_t address,
                               std::uint32_t odd) {
  worker_of(warp).meet(warp);
  const Touching touching(warp, lane);
  const std::uint64_t word = mbarrier_of(warp, address, lane).load(std::memory_order_acquire);
  if (!exec::Mbarrier::is_initialised(word))
    mbarrier_fault(warp, exec::MbarrierProblem::not_initialised, lane);
  return exec::is_over(word, odd != 0);
}

void mbarrier_wait(WarpContext* context, std::uint32_t lanes, const std::uint64_t* addresses,
                   std::uint32_t odd, std::uint32_t barriers) {
  const auto first = static_cast<std::uint32_t>(std::countr_zero(lanes));
  bool same = context->machine != nullptr;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    same = same && addresses[lane] == addresses[first] && (odd >> lane & 1) == (odd >> first & 1);
  }
  // Who waits for several objects, or has no fiber of its own, looks at them in turn.
  if (!same) return worker_of(context).yield(block_of(context), context);
  Warp& warp = *static_cast<Warp*>(context->machine);
  Worker& worker = *warp.block->worker;
  worker.wait_for_word(warp,
                       {.word = &mbarrier_of(context, addresses[first], first),
                        .mask = exec::kMbarrierPhaseBit,
                        .value = (odd >> first & 1) != 0 ? exec::kMbarrierPhaseBit : 0,
                        .of = WordWait::Of::mbarrier},
                       barriers);
  worker.pause_after_many_phases(warp);
}

std::uint32_t grid_waiting(WarpContext* context, std::uint32_t lanes) {
  return block_of(context).task->prerequisites.load(std::memory_order_acquire) == 0 ? 0 : lanes;
}

void grid_wait(WarpContext* context, std::uint32_t) {
  worker_of(context).wait_for_grids(block_of(context), *context);
}

void launch_dependents(WarpContext* context) {
  if (block_of(context).task->grid().counts_triggers) worker_of(context).trigger(block_of(context));
}

void yield(WarpContext* warp) { worker_of(warp).yield(block_of(warp), warp); }
__attribute__((preserve_most)) void poll(WarpContext* warp) { worker_of(warp).poll(block_of(warp), warp); }

// Block kinds without fibers keep no warps of ours: their lanes have nothing to be counted in.
void exit_lanes(WarpContext* warp, std::uint32_t lanes) {
  if (warp->machine == nullptr) {
    warp->live_lanes &= ~lanes;
    return;
  }
  worker_of(warp).exit_lanes(*static_cast<Warp*>(warp->machine), lanes);
}

std::int32_t vprintf(WarpContext* warp, std::uint32_t lane, std::uint64_t format, std::uint64_t arguments) {
  if (format == 0) return -1;  // as CUDA's
  FormattedText text;
  std::int32_t count;
  {
    const Touching touching(warp, lane);
    count = format_device_text(text, *warp->cta, format, arguments);
  }
  if (text.forbidden() != 0) fault(warp, FaultKind::illegal_address, text.forbidden(), lane, warp->line);
  Worker& worker = worker_of(warp);
  const Worker::Busy busy(worker);
  space_of(warp).output().append({text.data(), text.size()});
  return count;
}

__attribute__((noreturn)) void assert_fail(WarpContext* warp, std::uint32_t lane, std::uint64_t message,
                                           std::uint64_t file, std::uint32_t line, std::uint64_t function) {
  FormattedText text;
  const exec::CtaContext& cta = *warp->cta;
  const std::uint32_t* ntid = cta.launch->ntid;
  const std::uint32_t thread = warp->warp_id * exec::kWarpSize + lane;
  const Touching touching(warp, lane);  // to the end: nothing destroys it
  format_assertion(text, cta, message, file, line, function,
                   {thread % ntid[0], thread / ntid[0] % ntid[1], thread / ntid[0] / ntid[1]});
  if (text.forbidden() != 0) fault(warp, FaultKind::illegal_address, text.forbidden(), lane, warp->line);
  {
    Worker& worker = worker_of(warp);
    const Worker::Busy busy(worker);
    space_of(warp).output().append({text.data(), text.size()});
  }
  fault(warp, FaultKind::assertion, 0, lane, 0);
}

std::uint64_t malloc(WarpContext* warp, std::uint64_t bytes) {
  Worker& worker = worker_of(warp);
  const Worker::Busy busy(worker);
  return space_of(warp).heap().allocate(bytes);
}

void free(WarpContext* warp, std::uint64_t address) {
  Worker& worker = worker_of(warp);
  bool ok;
  {
    const Worker::Busy busy(worker);
    ok = space_of(warp).heap().free(address);
  }
  if (ok) return;
  RawFault raw = raw_fault(warp, FaultKind::illegal_address, address, warp->cta->running_lane - 1);
  raw.note = "free() of what malloc() has not given, or that is free already: ";
  worker.fault(block_of(warp), raw);
}

std::uint64_t device_runtime(WarpContext* warp, std::uint32_t lane, std::uint32_t function,
                             const std::uint64_t* arguments) {
  KernelCalls* const client = space_of(warp).options().kernel_calls;
  if (client == nullptr) fault(warp, FaultKind::unsupported, 0, lane, 0);
  return client->call(warp, lane, function, arguments);
}

std::uint64_t globaltimer(WarpContext* warp) {
  Worker& worker = worker_of(warp);
  if (worker.machine().options().deterministic) return worker.next_poll_clock() * 1000;
  const std::uint64_t now = now_ns();
  worker.look_at_clock(now);
  return now;
}

std::uint64_t clock(WarpContext* warp) {
  Worker& worker = worker_of(warp);
  if (worker.machine().options().deterministic) return worker.next_poll_clock();
#if defined(__x86_64__)
  const std::uint64_t now = __builtin_ia32_rdtsc();
#else
  const std::uint64_t now = now_ns();
#endif
  worker.look_at_clock(now);
  return now;
}

// Others run meanwhile; deterministic time passes with each look at it.
void nanosleep(WarpContext* warp, std::uint32_t nanoseconds) {
  const std::uint64_t end = globaltimer(warp) + nanoseconds;
  do {
    yield(warp);
  } while (globaltimer(warp) < end);
}

[[noreturn]] void texture_fault(WarpContext* warp, const TextureProblem& problem, std::uint64_t handle,
                                std::uint32_t lane) {
  RawFault raw = raw_fault(warp, problem.fault, handle, lane);
  raw.note = problem.note;
  raw.address_known = problem.fault == FaultKind::invalid_handle;  // else a coordinate is wrong, no address
  worker_of(warp).fault(block_of(warp), raw);
}

/// Asks the texture unit for each lane: `ask(unit, lane)`.
template <class Lanes, class Ask>
void for_lanes(WarpContext* warp, std::uint32_t active, Lanes& lanes, Ask ask) {
  const TextureUnit& unit = space_of(warp).textures();
  for (; active != 0; active &= active - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(active));
    TextureProblem problem;
    {
      const Touching touching(warp, lane);
      problem = ask(unit, lane);
    }
    if (problem.note != nullptr) texture_fault(warp, problem, lanes.handle[lane], lane);
  }
}

void texture(WarpContext* warp, std::uint32_t word, std::uint32_t active, exec::TextureLanes* lanes) {
  const auto request = exec::TextureRequest::from_word(word);
  lanes->resident = active;
  {
    const Touching touching(warp, kSeveralLanes);
    if (space_of(warp).textures().texture_of_warp(request, *lanes, active)) return;
  }
  for_lanes(warp, active, *lanes,
            [&](const TextureUnit& unit, std::uint32_t lane) { return unit.texture(request, *lanes, lane); });
}

void surface(WarpContext* warp, std::uint32_t word, std::uint32_t active, exec::SurfaceLanes* lanes) {
  const auto request = exec::SurfaceRequest::from_word(word);
  for_lanes(warp, active, *lanes,
            [&](const TextureUnit& unit, std::uint32_t lane) { return unit.surface(request, *lanes, lane); });
}

void texture_query(WarpContext* warp, std::uint32_t query, std::uint32_t active,
                   exec::TextureQueryLanes* lanes) {
  for_lanes(warp, active, *lanes, [&](const TextureUnit& unit, std::uint32_t lane) {
    return unit.query(static_cast<exec::TextureQuery>(query), *lanes, lane);
  });
}

TmaUnit& tma_of(WarpContext* warp) { return worker_of(warp).tma_of(block_of(warp)); }

TmaRequester requester_of(WarpContext* warp, std::uint32_t lane) {
  return {.cta = warp->cta, .thread = warp->warp_id * exec::kWarpSize + lane, .line = warp->line};
}

TmaProblem submit(TmaUnit& unit, WarpContext* warp, std::uint32_t lane, const exec::BulkRequest& request) {
  const Touching touching(warp, lane);
  return unit.submit(requester_of(warp, lane), request);
}

// A copy of the problem would read at once what has just been written in parts, which takes until the bulk
// copy's own stores have left the processor's queue.
void bulk_copy(WarpContext* warp, std::uint32_t lane, const exec::BulkRequest* request) {
  TmaUnit& unit = tma_of(warp);
  Worker& worker = worker_of(warp);
  const TmaProblem problem = submit(unit, warp, lane, *request);
  if (problem) worker.fault(block_of(warp), unit.culprit(), problem);
  if (unit.take_stored_past_caches()) worker.note_stores_past_caches();
  worker.look_ahead().note(*warp->cta, *request);
  worker.meet(warp);
}

void bulk_commit(WarpContext* warp, std::uint32_t lanes) {
  TmaUnit& unit = tma_of(warp);
  for (; lanes != 0; lanes &= lanes - 1)
    unit.commit_group(requester_of(warp, static_cast<std::uint32_t>(std::countr_zero(lanes))));
}

void bulk_wait(WarpContext* warp, std::uint32_t lanes, std::uint32_t groups, std::uint32_t only_reads) {
  TmaUnit& unit = tma_of(warp);
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    TmaProblem problem;
    {
      const Touching touching(warp, lane);
      problem = unit.wait_group(requester_of(warp, lane), groups, only_reads != 0);
    }
    if (problem) worker_of(warp).fault(block_of(warp), unit.culprit(), problem);
  }
  if (only_reads == 0) worker_of(warp).order_stores();
  worker_of(warp).meet(warp);
}

/// Code of the JIT leaves it to the access to trap where an address is misaligned.
void check_alignment(WarpContext* warp, std::uint32_t lane, std::uint64_t address) {
  if (const auto misaligned = exec::misaligned_from(address))
    fault(warp, exec::FaultKind::misaligned_address, *misaligned, lane, warp->line);
  if (address >> 47 != 0) fault(warp, exec::FaultKind::illegal_address, address, lane, warp->line);
}

/// An address that no code has judged. @param bytes  that it has to be a multiple of
void check_place(WarpContext* warp, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes) {
  if (address % bytes != 0) fault(warp, FaultKind::misaligned_address, address, lane, warp->line);
  if (address >> 47 != 0) fault(warp, FaultKind::illegal_address, address, lane, warp->line);
}

std::uint32_t thread_copy(WarpContext* warp, std::uint32_t lane, std::uint64_t to, std::uint64_t from,
                          std::uint32_t bytes, std::uint32_t read) {
  Worker& worker = worker_of(warp);
  if (worker.adversary() == nullptr) return 0;
  check_place(warp, lane, to, bytes);
  if (read != 0) {
    check_place(warp, lane, from, bytes);
    Touching(warp, lane).memory(from, bytes, exec::AccessKind::load);
  }
  worker.copies_of(block_of(warp))
      .copy(requester_of(warp, lane), {.from = from, .to = to, .bytes = bytes, .read = read});
  return 1;
}

std::uint32_t thread_send(WarpContext* warp, std::uint32_t lane, std::uint64_t to, std::uint64_t mbarrier,
                          std::uint64_t low, std::uint64_t high, std::uint32_t bytes, std::uint32_t word) {
  Worker& worker = worker_of(warp);
  if (worker.adversary() == nullptr) return 0;
  check_alignment(warp, lane, to);
  check_alignment(warp, lane, mbarrier);
  mbarrier_of(warp, mbarrier, lane);
  const auto kind = exec::BulkKind::from_word(word);
  worker.copies_of(block_of(warp))
      .send(requester_of(warp, lane), {.to = to,
                                       .mbarrier = mbarrier,
                                       .data = {low, high},
                                       .bytes = bytes,
                                       .reduce = reduction_of(kind.reduction, kind.element)});
  return 1;
}

void thread_copy_commit(WarpContext* warp, std::uint32_t lanes) {
  Worker& worker = worker_of(warp);
  if (worker.adversary() == nullptr) return;
  ThreadCopies& copies = worker.copies_of(block_of(warp));
  for (; lanes != 0; lanes &= lanes - 1)
    copies.commit(requester_of(warp, static_cast<std::uint32_t>(std::countr_zero(lanes))));
  worker.meet(warp);
}

void thread_copy_wait(WarpContext* warp, std::uint32_t lanes, std::uint32_t groups) {
  Worker& worker = worker_of(warp);
  if (worker.adversary() == nullptr) return;
  ThreadCopies& copies = worker.copies_of(block_of(warp));
  for (; lanes != 0; lanes &= lanes - 1)
    copies.wait(requester_of(warp, static_cast<std::uint32_t>(std::countr_zero(lanes))), groups);
  worker.meet(warp);
}

std::uint32_t thread_copy_arrive(WarpContext* warp, std::uint32_t lane, std::uint64_t address,
                                 std::uint32_t is_expected) {
  Worker& worker = worker_of(warp);
  if (worker.adversary() == nullptr) return 0;
  mbarrier_of(warp, address, lane);
  if (is_expected == 0)
    mbarrier_change(warp, lane, address, static_cast<std::uint32_t>(exec::MbarrierOperation::expect_arrival),
                    1, 0);
  worker.copies_of(block_of(warp)).arrive(requester_of(warp, lane), address);
  worker.meet(warp);
  return 1;
}

void proxy_fence(WarpContext* warp) {
  Worker& worker = worker_of(warp);
  if (Adversary* adversary = worker.adversary()) adversary->views.publish();
  worker.meet(warp);
}
}  // namespace calls
}  // namespace

const exec::Services& services() {
  static constexpr exec::Services kTable{
#define SERVICE(result, name, ...) .name = calls::name,
#include "exec/services.def"
  };
  return kTable;
}

std::byte* Touching::memory(std::uint64_t address, std::uint64_t bytes, exec::AccessKind kind) const {
  const Translated place = reach(cta_, address, bytes, kind);
  if (place.problem != MmuProblem::none)
    calls::fault(&warp_, FaultKind::illegal_address, address, lane_, warp_.line);
  return place.host;
}

}  // namespace raddle::machine
