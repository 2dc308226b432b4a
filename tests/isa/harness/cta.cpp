// A cooperative scheduler for the warps of one CTA or cluster, just rich enough for the services of
// exec/abi.h. Long, as these are many.
#include "isa/harness/cta.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <bit>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <map>

#include "base/assert.h"
#include "exec/barrier.h"
#include "exec/cluster.h"
#include "exec/mbarrier.h"
#include "exec/routing.h"
#include "exec/wgmma.h"
#include "exec/wgmma_operands.h"
#include "exec/window.h"
#include "isa/harness/textures.h"
#include "machine/services/print.h"
#include "machine/tma/tma_unit.h"
#include "ptx/layout.h"

namespace raddle::testing {
namespace {

using exec::Barrier;
using exec::CtaContext;
using exec::FaultKind;
using exec::WarpContext;

constexpr std::size_t kStack = 4u << 20;
constexpr std::size_t kLocalLimit = 64u << 20;
constexpr std::uint32_t kSharedLimit = 228u << 10;  ///< of a CTA, reserved bytes included
constexpr unsigned kIdleRounds = 200'000;  ///< scheduler rounds without progress that count as a deadlock

thread_local sigjmp_buf* recovery = nullptr;
thread_local int caught = 0;

void on_signal(int number) {
  if (!recovery) {
    std::signal(number, SIG_DFL);
    std::raise(number);
    return;
  }
  caught = number;
  siglongjmp(*recovery, 1);
}

void install_handlers() {
  static const bool installed = [] {
    static std::array<std::byte, 256u << 10> memory;
    stack_t stack{};
    stack.ss_size = memory.size();
    stack.ss_sp = memory.data();
    sigaltstack(&stack, nullptr);
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(number, &action, nullptr);
    return true;
  }();
  (void)installed;
}

/// Memory that every run reuses: one shared window with its guard, local memory, coroutine stacks.
struct Arena {
  std::byte* shared;
  std::byte* local;
  std::vector<std::unique_ptr<std::byte[]>> stacks;

  Arena() {
    constexpr std::size_t kAlign = 256u << 20;
    void* raw = mmap(nullptr, kAlign + 2 * exec::kSharedReach, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    RADDLE_ASSERT(raw != MAP_FAILED, "no address space for the shared window");
    auto base = (reinterpret_cast<std::uintptr_t>(raw) + exec::kSharedReach + kAlign - 1) & ~(kAlign - 1);
    shared = reinterpret_cast<std::byte*>(base);
    for (unsigned rank = 0; rank < exec::kMaxClusterSize; ++rank)
      mprotect(shared + rank * exec::kSharedWindow, 256u << 10, PROT_READ | PROT_WRITE);
    raw = mmap(nullptr, kLocalLimit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
               0);
    RADDLE_ASSERT(raw != MAP_FAILED, "no memory for local memory");
    local = static_cast<std::byte*>(raw);
  }
  std::byte* stack(std::size_t index) {
    while (stacks.size() <= index) stacks.push_back(std::make_unique_for_overwrite<std::byte[]>(kStack));
    return stacks[index].get();
  }
  static Arena& get() {
    static Arena arena;
    return arena;
  }
};

struct Cta {
  CtaContext context{};
  std::vector<WarpContext> warps;
  std::size_t unfinished = 0;  ///< coroutines
  std::uint16_t entry = 0;     ///< in the table of memories
};

struct Coroutine {
  ucontext_t context{};
  Cta* cta = nullptr;
  WarpContext* warp = nullptr;  ///< null: runs the whole CTA
  bool finished = false;
};

class Scheduler {
 public:
  explicit Scheduler(const CtaLaunch& launch);
  Outcome run();

 private:
  friend struct Calls;
  void enter();
  void switch_out() { swapcontext(&running_->context, &main_); }
  void wait_for(Barrier& barrier, std::uint32_t generation);
  void arrive(WarpContext* warp, Barrier& barrier, const exec::Arrival& arrival);
  void prepare(Cta& cta, std::uint32_t rank);
  void prepare_warps(Cta& cta);
  void start(Coroutine& coroutine);
  static void entry_point(unsigned low, unsigned high);

  const CtaLaunch& launch_;
  ModuleMemory memory_;
  exec::LaunchContext context_{};
  exec::ClusterContext cluster_{};
  std::map<const CtaContext*, exec::WgmmaOperands> wgmma_operands_;
  std::atomic<std::uint64_t> barrier_{0};
  exec::RoutingTables tables_{{.warp_slots = exec::kMaxClusterSize * exec::kMaxWarps}};
  const exec::ClusterNetwork network_{{&tables_}, {0}};  // of one SM
  std::uint16_t slot_ = 0;                               // of the cluster
  std::vector<Cta> ctas_;
  std::vector<Coroutine> coroutines_;
  Coroutine* running_ = nullptr;
  ucontext_t main_{};
  Outcome outcome_;
  std::atomic<std::uint32_t> poll_{0};
  bool progress_ = false, aborted_ = false;
  std::unique_ptr<TestTextures> textures_;  // made when a kernel asks for one
  machine::TmaUnit tma_;
  std::vector<std::unique_ptr<std::byte[]>> heap_;
  std::uint64_t clock_ = 0;
};

Scheduler& of(WarpContext* warp) { return *static_cast<Scheduler*>(warp->cta->machine); }

/// The services; each finds its scheduler through the warp.
struct Calls {
  __attribute__((preserve_most)) static void check_access(WarpContext* w, std::uint32_t lanes,
                                                          const std::uint64_t* addresses, std::uint32_t bytes,
                                                          std::uint32_t, std::uint32_t line) {
    for (std::uint32_t lane = 0; lane < exec::kWarpSize; ++lane)
      if ((lanes >> lane & 1) != 0 && !exec::may_access(*w->cta, addresses[lane], bytes))
        fault(w, FaultKind::illegal_address, addresses[lane], lane, line);
  }
  /// No space here is modelled.
  static void translate(WarpContext* w, std::uint32_t lanes, std::uint64_t* addresses, std::uint32_t,
                        std::uint32_t, std::uint32_t line) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    fault(w, FaultKind::unsupported, addresses[lane], lane, line);
  }
  static void barrier_sync(WarpContext* w, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes) {
    Barrier& barrier = w->cta->barriers[id & 15];
    std::uint32_t generation = barrier.generation;
    of(w).arrive(w, barrier, {threads, lanes, 0});
    of(w).wait_for(barrier, generation);
  }
  static void wgmma_wait(WarpContext* w, std::uint32_t) {
    Barrier& barrier = w->cta->barriers[exec::kMaxBarriers + w->warp_id / exec::kWarpgroupWarps];
    const std::uint32_t generation = barrier.generation;
    of(w).arrive(w, barrier, {exec::kWarpgroupWarps * exec::kWarpSize, ~0u, 0});
    of(w).wait_for(barrier, generation);
  }
  static std::uint64_t wgmma_operands(WarpContext* w, std::uint64_t descriptor, std::uint64_t code,
                                      std::uint32_t bytes) {
    return of(w).wgmma_operands_[w->cta].next(*w, descriptor, code, bytes);
  }
  static void barrier_arrive(WarpContext* w, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes) {
    of(w).arrive(w, w->cta->barriers[id & 15], {threads, lanes, 0});
  }
  static std::uint32_t barrier_reduce(WarpContext* w, std::uint32_t id, std::uint32_t threads,
                                      std::uint32_t lanes, std::uint32_t predicate, std::uint32_t* all) {
    Barrier& barrier = w->cta->barriers[id & 15];
    std::uint32_t generation = barrier.generation;
    of(w).arrive(w, barrier, {threads, lanes, predicate});
    of(w).wait_for(barrier, generation);
    *all = barrier.result_arrived;
    return barrier.result_count;
  }
  static std::uint32_t barrier_join(WarpContext* w, std::uint32_t id, std::uint32_t threads,
                                    std::uint32_t lanes, std::uint32_t predicates) {
    Barrier& barrier = w->cta->barriers[id & 15];
    std::uint32_t generation = barrier.generation;
    of(w).arrive(w, barrier, {threads, lanes, predicates});
    return generation;
  }
  static void barrier_wait(WarpContext* w, std::uint32_t) { of(w).switch_out(); }  // the caller looks again
  static void yield(WarpContext* w) {
    ++of(w).outcome_.yields;
    of(w).switch_out();
  }
  __attribute__((preserve_most)) static void poll(WarpContext*) {}
  __attribute__((noreturn)) static void fault(WarpContext* w, FaultKind kind, std::uint64_t address,
                                              std::uint32_t lane, std::uint32_t line) {
    Scheduler& s = of(w);
    s.outcome_.problem = fmt::format("fault: {}", exec::fault_name(kind));
    s.outcome_.fault = kind;
    s.outcome_.address = address;
    s.outcome_.lane = lane;
    s.outcome_.line = line;
    s.aborted_ = true;
    s.switch_out();
    RADDLE_UNREACHABLE("a faulted warp was resumed");
  }
  static void exit_lanes(WarpContext* w, std::uint32_t lanes) {
    lanes &= w->live_lanes;
    w->live_lanes &= ~lanes;
    exec::forget_exiting(*w, lanes);
    w->cta->live_threads -= static_cast<std::uint32_t>(std::popcount(lanes));
    for (Barrier& barrier : w->cta->barriers)
      of(w).progress_ |= exec::complete_after_exit(barrier, w->cta->live_threads);
    exec::arrive_if_all(*w->cta);
  }
  static void check_joined(WarpContext* w, std::uint32_t wrong) {
    if (wrong != 0)
      fault(w, FaultKind::illegal_barrier, 0, static_cast<std::uint32_t>(std::countr_zero(wrong)), w->line);
  }
  static void cluster_arrive(WarpContext* w, std::uint32_t lanes) {
    check_joined(w, lanes & w->cluster_joined);
    exec::arrive_at_cluster(*w, lanes);
    of(w).progress_ = true;
  }
  static std::uint32_t cluster_waiting(WarpContext* w, std::uint32_t lanes) {
    check_joined(w, lanes & ~w->cluster_joined);
    return exec::wait_for_cluster(*w, lanes);
  }
  static void cluster_wait(WarpContext* w, std::uint32_t lanes) {
    if (of(w).launch_.executable->kind != exec::BlockKind::fibers) {  // the CTA, as one
      w->cta->cluster_arrived = w->cta->live_threads;
      exec::arrive_if_all(*w->cta);
      of(w).progress_ = true;
      while (exec::phases_completed(*w->cta->cluster) != w->cta->cluster_phase) of(w).switch_out();
      return;
    }
    check_joined(w, lanes & ~w->cluster_joined);
    while (exec::wait_for_cluster(*w, lanes) != 0) of(w).switch_out();
  }
  static std::uint64_t mbarrier_change(WarpContext* w, std::uint32_t lane, std::uint64_t address,
                                       std::uint32_t operation, std::uint32_t count, std::uint32_t bytes) {
    const auto result = exec::change_mbarrier(*reinterpret_cast<std::atomic<std::uint64_t>*>(address),
                                              static_cast<exec::MbarrierOperation>(operation), count, bytes);
    if (result.problem != exec::MbarrierProblem::none) fault(w, FaultKind::illegal_barrier, 0, lane, w->line);
    of(w).progress_ = true;
    return result.before;
  }
  static std::uint32_t mbarrier_is_over(WarpContext* w, std::uint32_t lane, std::uint64_t address,
                                        std::uint32_t odd) {
    const std::uint64_t word = *reinterpret_cast<std::atomic<std::uint64_t>*>(address);
    if (!exec::Mbarrier::is_initialised(word)) fault(w, FaultKind::illegal_barrier, 0, lane, w->line);
    return exec::is_over(word, odd != 0);
  }
  static void mbarrier_wait(WarpContext* w, std::uint32_t, const std::uint64_t*, std::uint32_t,
                            std::uint32_t) {
    of(w).switch_out();  // the caller looks again
  }
  static std::uint32_t grid_waiting(WarpContext*, std::uint32_t) { return 0; }
  static void grid_wait(WarpContext*, std::uint32_t) {}
  static void launch_dependents(WarpContext*) {}
  static std::int32_t vprintf(WarpContext* w, std::uint32_t, std::uint64_t format, std::uint64_t arguments) {
    machine::FormattedText text;
    const std::int32_t count = machine::format_device_text(text, *w->cta, format, arguments);
    of(w).outcome_.printed.append(text.data(), text.size());
    return count;
  }
  __attribute__((noreturn)) static void assert_fail(WarpContext* w, std::uint32_t lane, std::uint64_t message,
                                                    std::uint64_t, std::uint32_t line, std::uint64_t) {
    fault(w, FaultKind::assertion, message, lane, line);
  }
  static std::uint64_t malloc(WarpContext* w, std::uint64_t bytes) {
    auto& heap = of(w).heap_;
    heap.push_back(std::make_unique<std::byte[]>(bytes));
    return reinterpret_cast<std::uint64_t>(heap.back().get());
  }
  static void free(WarpContext* w, std::uint64_t address) {
    std::erase_if(of(w).heap_, [address](const std::unique_ptr<std::byte[]>& piece) {
      return reinterpret_cast<std::uint64_t>(piece.get()) == address;
    });
  }
  static std::uint64_t device_runtime(WarpContext* w, std::uint32_t lane, std::uint32_t,
                                      const std::uint64_t*) {
    fault(w, FaultKind::unsupported, 0, lane, w->line);
  }
  static void nanosleep(WarpContext* w, std::uint32_t) { of(w).switch_out(); }
  static std::uint64_t clock(WarpContext* w) { return ++of(w).clock_; }
  static std::uint64_t globaltimer(WarpContext* w) { return ++of(w).clock_; }

  template <class Lanes, class Ask>
  static void for_lanes(WarpContext* w, std::uint32_t active, Lanes& lanes, Ask ask) {
    if (!of(w).textures_) of(w).textures_ = std::make_unique<TestTextures>();
    for (; active != 0; active &= active - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(active));
      const machine::TextureProblem problem = ask(of(w).textures_->unit(), lane);
      if (problem.note != nullptr) fault(w, problem.fault, lanes.handle[lane], lane, w->line);
    }
  }
  static void texture(WarpContext* w, std::uint32_t word, std::uint32_t active, exec::TextureLanes* lanes) {
    lanes->resident = active;
    for_lanes(w, active, *lanes, [&](const machine::TextureUnit& unit, std::uint32_t lane) {
      return unit.texture(exec::TextureRequest::from_word(word), *lanes, lane);
    });
  }
  static void surface(WarpContext* w, std::uint32_t word, std::uint32_t active, exec::SurfaceLanes* lanes) {
    for_lanes(w, active, *lanes, [&](const machine::TextureUnit& unit, std::uint32_t lane) {
      return unit.surface(exec::SurfaceRequest::from_word(word), *lanes, lane);
    });
  }
  static void bulk_copy(WarpContext* w, std::uint32_t lane, const exec::BulkRequest* request) {
    const machine::TmaProblem problem =
        of(w).tma_.submit({w->cta, w->warp_id * 32 + lane, w->line}, *request);
    if (problem) fault(w, problem.fault, problem.address, lane, w->line);
  }
  static void bulk_commit(WarpContext*, std::uint32_t) {}  // the unit is eager
  static void bulk_wait(WarpContext*, std::uint32_t, std::uint32_t, std::uint32_t) {}
  static void proxy_fence(WarpContext*) {}
  static std::uint32_t thread_copy(WarpContext*, std::uint32_t, std::uint64_t, std::uint64_t, std::uint32_t,
                                   std::uint32_t) {
    return 0;
  }
  static std::uint32_t thread_send(WarpContext*, std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                   std::uint64_t, std::uint32_t, std::uint32_t) {
    return 0;
  }
  __attribute__((noreturn)) static void wgmma_fault(WarpContext* w, std::uint32_t problem,
                                                    std::uint64_t address, std::uint32_t line) {
    fault(w, exec::fault_of(static_cast<exec::WgmmaProblem>(problem)), address, 0, line);
  }
  static void wgmma_issue(WarpContext* w, const exec::IssuedWgmma* issued) {
    issued->execute(issued, w->cta->shared + w->cta->cluster_rank * exec::kSharedWindow);
  }
  static void wgmma_fence(WarpContext*) {}
  static void wgmma_commit(WarpContext*) {}
  static void thread_copy_commit(WarpContext*, std::uint32_t) {}
  static void thread_copy_wait(WarpContext*, std::uint32_t, std::uint32_t) {}
  static std::uint32_t thread_copy_arrive(WarpContext*, std::uint32_t, std::uint64_t, std::uint32_t) {
    return 0;
  }
  static void texture_query(WarpContext* w, std::uint32_t what, std::uint32_t active,
                            exec::TextureQueryLanes* lanes) {
    for_lanes(w, active, *lanes, [&](const machine::TextureUnit& unit, std::uint32_t lane) {
      return unit.query(static_cast<exec::TextureQuery>(what), *lanes, lane);
    });
  }
};

constexpr exec::Services kServices{
#define SERVICE(result, name, ...) .name = Calls::name,
#include "exec/services.def"
};

Scheduler::Scheduler(const CtaLaunch& launch) : launch_(launch), memory_(*launch.module) {
  exec::BlockShape block = launch.block;
  context_.set_ntid(block.x, block.y, block.z);
  for (int i = 0; i < 3; ++i) context_.nctaid[i] = context_.cluster_shape[i] = 1;
  context_.nctaid[0] = context_.cluster_shape[0] = launch.cluster;
  context_.explicit_cluster = launch.cluster > 1;
  context_.largest_shared = kSharedLimit;
  context_.past_caches = 1;  // as of large grids; stores that may not go past them do not
  ptx::SharedLayout shared = ptx::shared_layout(*launch.module, launch.kernel);
  context_.static_shared = shared.static_bytes;
  context_.dynamic_shared = launch.dynamic_shared;
  context_.dynamic_shared_offset = shared.dynamic_offset;
  context_.nsmid = 1;
  context_.grid_id = 1;
  context_.parameters = launch.parameters.data();
  context_.variables = memory_.addresses().data();
  cluster_.window = Arena::get().shared;
  cluster_.cta_count = launch.cluster;
  cluster_.shared_bytes = launch.dynamic_shared != 0 ? shared.dynamic_offset + launch.dynamic_shared
                                                     : exec::kReservedShared + shared.static_bytes;
  cluster_.barrier = &barrier_;
  barrier_ = exec::cluster_barrier_start(launch.cluster);
  slot_ = tables_.add_cluster({.ctas = launch.cluster});
  ctas_.resize(launch.cluster);
  for (std::uint32_t rank = 0; rank < launch.cluster; ++rank) prepare(ctas_[rank], rank);
}

void Scheduler::prepare(Cta& cta, std::uint32_t rank) {
  CtaContext& context = cta.context;
  context.launch = &context_;
  context.services = &kServices;
  context.poll = &poll_;
  const std::uint32_t moved = rank + 1 == launch_.cluster ? launch_.moved : 0;
  context.shared = cluster_.window + moved;
  context.local_stride = (launch_.executable->local_bytes + 15u) & ~std::uint64_t{15};
  context.thread_count = context.live_threads = context_.ntid[0] * context_.ntid[1] * context_.ntid[2];
  context.warp_count = (context.thread_count + 31) / 32;
  context.ctaid[0] = context.cluster_rank = rank;
  context.cluster = &cluster_;
  context.machine = this;
  cta.entry = tables_.add_cta(slot_, rank, context.warp_count,
                              {.base = (rank << exec::kRankShift) + moved, .size = cluster_.shared_bytes});
  cluster_.live |= 1u << rank;
  exec::tables_are_in_place(cluster_, 1);
  context.network = &network_;
  context.warp_slots = tables_.warp_slots(cta.entry);
  const std::size_t local_bytes = context.local_stride * context.thread_count;
  RADDLE_ASSERT(local_bytes * launch_.cluster <= kLocalLimit, "test kernel needs too much local memory");
  context.local = Arena::get().local + rank * local_bytes;
  std::memset(context.shared + rank * exec::kSharedWindow, 0, cluster_.shared_bytes);
  std::memset(context.local, 0, local_bytes);
}

void Scheduler::arrive(WarpContext* warp, Barrier& barrier, const exec::Arrival& arrival) {
  exec::arrive(barrier, arrival, warp->live_lanes, warp->cta->live_threads);
  progress_ = true;
}

void Scheduler::wait_for(Barrier& barrier, std::uint32_t generation) {
  while (barrier.generation == generation) switch_out();
}

void Scheduler::entry_point(unsigned low, unsigned high) {
  auto* self = reinterpret_cast<Scheduler*>(static_cast<std::uintptr_t>(high) << 32 | low);
  self->enter();
}

void Scheduler::enter() {
  Coroutine& me = *running_;
  if (me.warp)
    launch_.executable->run_warp(*me.warp);
  else
    launch_.executable->run_block(me.cta->context);
  me.finished = true;
  if (--me.cta->unfinished == 0) {
    tables_.set_state(me.cta->entry, exec::MemoryState::absent);
    cluster_.live &= ~(1u << me.cta->context.cluster_rank);
    exec::leave_cluster(me.cta->context);
  }
  switch_out();
}

void Scheduler::prepare_warps(Cta& cta) {
  if (launch_.executable->kind != exec::BlockKind::fibers) {
    coroutines_.push_back({.cta = &cta});
    cta.unfinished = 1;
    return;
  }
  const std::uint32_t threads = cta.context.thread_count;
  cta.unfinished = cta.context.warp_count;
  cta.warps.resize(cta.unfinished);
  for (std::uint32_t i = 0; i < cta.unfinished; ++i) {
    WarpContext& warp = cta.warps[i];
    const std::uint32_t lanes = std::min(32u, threads - 32 * i);
    warp.cta = &cta.context;
    warp.warp_id = i;
    warp.initial_lanes = warp.live_lanes = lanes == 32 ? ~0u : (1u << lanes) - 1;
    coroutines_.push_back({.cta = &cta, .warp = &warp});
  }
}

void Scheduler::start(Coroutine& coroutine) {
  getcontext(&coroutine.context);
  coroutine.context.uc_stack.ss_sp =
      Arena::get().stack(static_cast<std::size_t>(&coroutine - coroutines_.data()));
  coroutine.context.uc_stack.ss_size = kStack;
  coroutine.context.uc_link = nullptr;
  auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&coroutine.context, reinterpret_cast<void (*)()>(&Scheduler::entry_point), 2,
              static_cast<unsigned>(self), static_cast<unsigned>(self >> 32));
}

Outcome Scheduler::run() {
  for (Cta& cta : ctas_) prepare_warps(cta);
  for (auto& coroutine : coroutines_) start(coroutine);
  unsigned idle = 0;
  for (bool any_left = true; any_left && !aborted_;) {
    any_left = false;
    progress_ = false;
    for (auto& coroutine : coroutines_) {
      if (coroutine.finished || aborted_) continue;
      running_ = &coroutine;
      swapcontext(&main_, &coroutine.context);
      any_left |= !coroutine.finished;
      progress_ |= coroutine.finished;
    }
    idle = progress_ ? 0 : idle + 1;
    if (idle > kIdleRounds) return {"no warp makes progress", FaultKind::deadlock};
  }
  return outcome_;
}

}  // namespace

ModuleMemory::ModuleMemory(const ptx::Module& module) {
  std::vector<std::uint64_t> offsets(module.variables.size());
  std::uint64_t total = 0;
  auto placed = [](const ptx::Variable& v) {
    return v.space == ptx::Space::global || v.space == ptx::Space::const_;
  };
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (!placed(module.variables[i])) continue;
    offsets[i] = total;
    total = (total + module.variables[i].size + 255) & ~std::uint64_t{255};
  }
  storage_ = std::make_unique<std::byte[]>(total + 256);
  auto base = (reinterpret_cast<std::uintptr_t>(storage_.get()) + 255) & ~std::uintptr_t{255};
  addresses_.assign(offsets.size(), 0);
  for (std::size_t i = 0; i < offsets.size(); ++i)
    if (placed(module.variables[i])) addresses_[i] = base + offsets[i];
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto& v = module.variables[i];
    if (!placed(v)) continue;
    auto* at = reinterpret_cast<std::byte*>(addresses_[i]);
    if (!v.initial.empty()) std::memcpy(at, v.initial.data(), v.initial.size());
    for (const auto& r : v.relocations) {
      std::uint64_t value = r.is_function ? exec::function_handle(r.index)
                                          : addresses_[r.index] + static_cast<std::uint64_t>(r.addend);
      value >>= r.mask_shift;
      std::memcpy(at + r.offset, &value, r.size);
    }
  }
}

std::string guarded(const std::function<void()>& body) {
  install_handlers();
  sigjmp_buf here;
  sigjmp_buf* outer = recovery;
  if (sigsetjmp(here, 1) != 0) {
    recovery = outer;
    return fmt::format("signal {} ({})", caught, strsignal(caught));
  }
  recovery = &here;
  body();
  recovery = outer;
  return {};
}

Outcome run_cta(const CtaLaunch& launch) {
  Outcome outcome;
  std::string crash = guarded([&] { outcome = Scheduler(launch).run(); });
  if (!crash.empty()) outcome = {crash, FaultKind::illegal_address};
  return outcome;
}

}  // namespace raddle::testing
