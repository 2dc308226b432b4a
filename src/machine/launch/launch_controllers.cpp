// Which worker starts what the distributor launched. SMs are spread over the workers in runs, so that CTAs
// that follow one another mostly run on one core, and a cluster stays together; an SM of which nothing has
// started may move to a worker that has nothing to do. Long, as an exchange does all of this under one lock.
#include "machine/launch/launch_controllers.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "machine/address_space.h"
#include "machine/tasks/task_queue.h"
#include "machine/tasks/task_scheduler.h"

namespace raddle::machine {
namespace {
exec::ClusterNetwork network_of(const MachineShape& shape, std::vector<Sm>& sms) {
  std::vector<exec::RoutingTables*> tables;
  for (Sm& sm : sms) tables.push_back(&sm.routing);
  std::vector<std::uint32_t> first_of_tpc;
  for (const Domain& tpc : shape.domains(Level::tpc)) first_of_tpc.push_back(tpc.first_sm);
  return {std::move(tables), std::move(first_of_tpc)};
}

exec::SmPlace sm_place(const MachineShape& shape, std::uint32_t sm) {
  const std::uint32_t tpc = shape.domain_of(Level::tpc, sm);
  return {.tpc = static_cast<std::uint16_t>(tpc),
          .sm = static_cast<std::uint16_t>(sm - shape.domains(Level::tpc)[tpc].first_sm)};
}
}  // namespace

LaunchControllers::LaunchControllers(const MachineShape& shape, unsigned workers,
                                     std::unique_ptr<Policy> policy, DistributorOptions options)
    : shape_(shape),
      has_pools_(options.active_pool != 0 || options.pending_pool != 0),
      distributor_(shape, std::move(policy), std::move(options)),
      sms_(sms_of(shape)),
      network_(network_of(shape, sms_)),
      barriers_(shape),
      sm_owners_(shape.sm_count(), workers),
      owners_(workers) {}

/// A cooperative launch is one cluster of all CTAs, or of all their clusters, that the whole GPU confines
/// (W-3).
GridKind kind_of(const GridWork& work) {
  GridKind kind = work.kind;
  if (!work.cooperative || (!kind.is_plain() && kind.levels[0].domain <= Level::gpu)) return kind;
  ClusterLevel whole{Level::gpu, {}};
  for (unsigned axis = 0; axis < 3; ++axis) {
    std::uint32_t along = 1;
    for (unsigned i = 0; i < kind.depth; ++i) along *= kind.levels[i].extent[axis];
    whole.extent[axis] = work.context.nctaid[axis] / along;
  }
  std::copy_backward(kind.levels.begin(), kind.levels.begin() + kind.depth,
                     kind.levels.begin() + kind.depth + 1);
  kind.levels[0] = whole;
  ++kind.depth;
  kind.mode = DistributionMode::load_balance;  // one CTA of the grid per SM would seldom do
  return kind;
}

/// The task's grid as the distributor is to see it. Made in its place, and what comes by way of the stack is
/// made first: it is stored in small words and loaded in large ones, which waits until all stores before it
/// have their lines.
void LaunchControllers::describe(Task& task) {
  const GridWork& work = task.grid();
  Task::Distribution& grid = task.distribution;
  const CtaNeeds needs = needs_of(work, shape_.sm);
  const GridKind kind = kind_of(work);
  std::destroy_at(&grid);
  std::construct_at(&grid);
  grid.id = ++grids_;
  grid.needs = needs;
  grid.kind = kind;
  grid.ctas = work.blocks;
  grid.at_head = work.at_head;
  grid.priority = task.priority;
  grid.cap_per_sm = work.cap_per_sm;
  grid.cluster_memory = work.cluster_memory;
  grid.space = work.space == nullptr ? 0 : work.space->id();
  grid.mode = work.placement || work.space == nullptr ? work.placement : work.space->options().placement;
  grid.work_kind = work.work_kind;
  grid.context = work.space == nullptr ? 0 : work.space->context().number();
  grid.task = &task;
}

LaunchControllers::Added LaunchControllers::add(Task& task) {
  const std::lock_guard lock(mutex_);
  if (task.stop.load(std::memory_order_acquire) != 0) return {};
  const GridWork& work = task.grid();
  TaskQueue::State queue{.appended = work.blocks, .is_closed = true};
  if (work.queue != nullptr) queue = work.queue->look(0);
  if (queue.appended == 0 && queue.is_closed) return {};
  describe(task);
  Task::Distribution& grid = task.distribution;
  grid.ctas = queue.appended;
  grid.open = !queue.is_closed;
  if (recorder_ != nullptr)
    recorder_->added(grid, work.extent(), work.name == nullptr ? "" : *work.name, now_ns());
  distributor_.add(grid);
  unlaunched_ += grid.ctas;
  const bool is_plain = grid.kind.is_plain() && !grid.open;
  const bool is_tiny = is_plain && ends_within(kTinyNs, task, grid.ctas);
  if (resident_ == 0 && is_tiny)
    sm_owners_.deal_to(latest_);
  else if (resident_ == 0)
    sm_owners_.deal(is_plain ? grid.ctas : ~std::uint64_t{0});
  change();
  if (is_tiny) return {1, resident_ == 0 && unlaunched_ == grid.ctas};
  return {static_cast<unsigned>(std::clamp<std::uint64_t>(grid.ctas, 1, owners_.size()))};
}

LaunchControllers::Followed LaunchControllers::follow(Task& task) {
  const std::lock_guard lock(mutex_);
  tell_time();
  const Followed followed = follow_locked(task);
  if (followed.workers != 0 || followed.is_over) change();
  return followed;
}

LaunchControllers::Followed LaunchControllers::follow_locked(Task& task) {
  Task::Distribution& grid = task.distribution;
  if (grid.task == nullptr || !grid.open || grid.withdrawn) return {};
  const bool runs_nothing = grid.none_left() && !grid.is_resident();
  const TaskQueue::State queue = task.grid().queue->look(runs_nothing ? grid.ctas : ~std::uint64_t{0});
  const std::uint64_t more = queue.appended - grid.ctas;
  if (more != 0) {
    if (recorder_ != nullptr) recorder_->grew(grid, more, now_ns());
    distributor_.grow(grid, more);
    unlaunched_ += more;
  }
  if (queue.is_closed) distributor_.close(grid);
  return {static_cast<unsigned>(std::min<std::uint64_t>(more, owners_.size())), grid.finished()};
}

// --- what the distributor launches goes to the SMs' queues ---

void LaunchControllers::push(Owner& owner, const CtaRun& run) {
  if (sm_owners_.any_parked())
    recalled_.store(true, std::memory_order_relaxed);  // that SM may be one with parked CTAs
  if (owner.head * 2 >= owner.runs.size() + 64 || owner.head == owner.runs.size()) {
    owner.runs.erase(owner.runs.begin(), owner.runs.begin() + static_cast<std::ptrdiff_t>(owner.head));
    owner.head = 0;
  }
  auto place = owner.runs.end();
  const auto first = owner.runs.begin() + static_cast<std::ptrdiff_t>(owner.head);
  while (place != first && place[-1].task->priority > run.task->priority) --place;
  if (place == owner.runs.end() && place != first && place[-1].append(run)) {
    owner.queued += run.count;
    return;
  }
  owner.runs.insert(place, run);
  owner.queued += run.count;
  owner.tell_urgency();
}

/// The cluster that a CTA shares memory with; takes one from the pool for the first CTA of each.
Cluster* LaunchControllers::cluster_of(const LaunchMask& mask, std::uint64_t index, std::uint32_t sm) {
  const GridWork& work = static_cast<Task::Distribution*>(mask.grid)->task->grid();
  const std::uint32_t size = work.cluster_size();
  if (size == 1) return nullptr;
  if (mask.cluster >= outermost_.size()) outermost_.resize(mask.cluster + 1);
  std::vector<Cluster*>& clusters = outermost_[mask.cluster].clusters;
  const std::uint64_t number = index % mask.grid->kind.ctas_per_cluster() / size;
  if (clusters.size() <= number) {
    const std::uint32_t id = distributor_.local_ids(mask.cluster)[number];
    const std::uint32_t gpc = shape_.domain_of(Level::gpc, sm);
    Cluster* cluster = clusters_.take();
    cluster->launch({.ctas = size,
                     .warps_per_cta = (work.threads_per_block + exec::kWarpSize - 1) / exec::kWarpSize,
                     .shared_bytes = static_cast<std::uint32_t>(work.shared_bytes),
                     .gpc = gpc,
                     .local_id = id,
                     .barrier = &barriers_.of(gpc, id)});
    if (mask.cluster_memory != ~0u)
      cluster->context.cluster_memory =
          work.cluster_memory_slots + mask.cluster_memory * shape_.cluster_memory_bytes;
    clusters.push_back(cluster);
  }
  return clusters[number];
}

/// Launch indices of a cluster's CTAs follow their ranks.
void LaunchControllers::broadcast(Cluster& cluster, const CtaRun& run) {
  for (std::uint32_t i = 0; i < run.count; ++i)
    cluster.hear(run.sm + i, sm_place(shape_, run.sm + i), network_);
}

// SMs that follow one another and have one owner get a run together. All SMs hear the same masks, so one
// count of a grid's launches stands for that of each (W-14).
void LaunchControllers::launch(const LaunchMask& mask) {
  auto& distribution = *static_cast<Task::Distribution*>(mask.grid);
  Task& task = *distribution.task;
  if (task.preempted.load(std::memory_order_relaxed)) task.preempted.store(false, std::memory_order_relaxed);
  if (mask.back != nullptr) return put_back(task, mask);
  const auto count = static_cast<std::uint32_t>(mask.sms.size());
  const std::uint64_t first = std::exchange(distribution.heard, distribution.heard + count);
  for (std::uint32_t i = 0; i < count;) {
    const std::uint32_t sm = mask.sms[i];
    CtaRun run{.task = &task,
               .slot = mask.cluster,
               .count = 1,
               .first = first + i,
               .index_step = 1,
               .sm = sm,
               .sm_step = 1};
    std::uint32_t most = count - i;
    if (mask.cluster != kNoCluster) {
      run.cluster = cluster_of(mask, run.first, sm);
      const std::uint32_t size = task.grid().cluster_size();
      most = std::min(most, size - static_cast<std::uint32_t>(run.first % size));
    }
    const std::uint16_t owner = sm_owners_.of(sm);
    while (run.count < most && mask.sms[i + run.count] == sm + run.count &&
           sm_owners_.of(sm + run.count) == owner)
      ++run.count;
    i += run.count;
    if (run.cluster != nullptr) broadcast(*run.cluster, run);
    push(owners_[owner], run);
  }
  resident_ += count;
  unlaunched_ -= count;
  queued_.store(queued_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
}

// --- what workers take ---

bool CtaRun::append(const CtaRun& more) {
  if (task != more.task || cluster != more.cluster || slot != more.slot || past != more.past ||
      parks != more.parks || standing != more.standing)
    return false;
  CtaRun steps = *this;
  if (count == 1) {
    if (more.first < first || more.sm < sm || more.first - first > ~0u) return false;
    steps.index_step = static_cast<std::uint32_t>(more.first - first);
    steps.sm_step = more.sm - sm;
  } else if (more.first != first + std::uint64_t{count} * index_step || more.sm != sm + count * sm_step) {
    return false;
  }
  if (more.count != 1 && (more.index_step != steps.index_step || more.sm_step != steps.sm_step)) return false;
  *this = steps;
  count += more.count;
  return true;
}

/// What blocks of the task's kernel took lately.
LaunchControllers::KernelTime& LaunchControllers::time_of(const Task& task) {
  const exec::Executable* const code = task.grid().executable;
  KernelTime& time = times_[reinterpret_cast<std::uintptr_t>(code) / 64 % times_.size()];
  if (time.code != code) time = {code};
  return time;
}

void LaunchControllers::learn_time(const CtaRun& run) {
  KernelTime& time = time_of(*run.task);
  std::uint32_t& known = time.block_ns;
  known = std::max(run.took_ns, known - known / 8);
  std::uint32_t& usual = time.usual_ns;
  if (usual == 0) usual = run.took_ns;
  // Whatever disturbs a worker makes its blocks seem longer, so it goes down sooner than up.
  if (run.took_ns > usual)
    usual = std::min(run.took_ns, usual + usual / 16 + 1);
  else
    usual -= (usual - run.took_ns + 3) / 4;
}

/// How many CTAs a worker takes at a time: fewer as less is left to start, for what is taken cannot move to
/// another worker. Quick ones would have ended before it came.
std::uint64_t LaunchControllers::share_of(const Owner& owner, const Task& task) {
  const std::uint64_t share = owner.queued + unlaunched_ / owners_.size();
  const auto quarter = [&](std::uint64_t most) { return std::clamp<std::uint64_t>(share / 4, 1, most); };
  const std::uint32_t block_ns = time_of(task).block_ns;
  if (block_ns == 0) return quarter(kCtasPerCall);
  const auto in = [&](std::uint64_t ns) {
    return std::clamp<std::uint64_t>(ns / block_ns, 1, kShortCtasPerCall);
  };
  return std::max({quarter(kCtasPerCall), quarter(in(kShortNs)), std::min(share, in(kQuickNs))});
}

/// Takes CTAs off the begin of a run in a queue.
CtaRun LaunchControllers::cut(CtaRun& run, std::uint64_t most) {
  CtaRun grant = run;
  grant.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(run.count, most));
  sm_owners_.take(run.sm, run.sm_step, grant.count);
  if (run.past == CtaRun::Past::stopped)
    for (std::uint32_t i = 0; i < grant.count; ++i) sm_owners_.unpark(run.sm + i * run.sm_step);
  run.first += std::uint64_t{grant.count} * run.index_step;
  run.sm += grant.count * run.sm_step;
  run.count -= grant.count;
  if (grant.slot != kNoCluster && grant.past == CtaRun::Past::none)
    distributor_.started_in_cluster(grant.slot, grant.count);
  return grant;
}

void LaunchControllers::took(Owner& owner, std::uint32_t ctas) {
  owner.queued -= ctas;
  owner.tell_urgency();
  queued_.store(queued_.load(std::memory_order_relaxed) - ctas, std::memory_order_relaxed);
}

void LaunchControllers::distribute() {
  while (changed_.load(std::memory_order_relaxed)) {
    changed_.store(false, std::memory_order_relaxed);
    distributor_.distribute(*this);
    park_queued();
  }
}

std::size_t LaunchControllers::take(unsigned worker, std::span<CtaRun> grants) {
  Owner& owner = owners_[worker];
  std::uint64_t budget = owner.head == owner.runs.size() ? 0 : share_of(owner, *owner.runs[owner.head].task);
  std::size_t count = 0;
  std::uint32_t taken = 0;
  while (budget != 0 && count < grants.size() && owner.head != owner.runs.size()) {
    CtaRun& run = owner.runs[owner.head];
    const CtaRun& grant = grants[count++] = cut(run, budget);
    if (run.count == 0) ++owner.head;
    budget -= grant.count;
    taken += grant.count;
  }
  took(owner, taken);
  latest_ = worker;
  return count;
}

bool LaunchControllers::take_run(unsigned worker, const std::function<bool(const Task&)>& wanted,
                                 CtaRun& grant) {
  const std::lock_guard lock(mutex_);
  tell_time();
  distribute();  // a grid may just have come
  Owner& owner = owners_[worker];
  const auto first = owner.runs.begin() + static_cast<std::ptrdiff_t>(owner.head);
  const auto found =
      std::find_if(first, owner.runs.end(), [&](const CtaRun& run) { return wanted(*run.task); });
  if (found == owner.runs.end()) return false;
  grant = cut(*found, share_of(owner, *found->task));
  if (found->count == 0) owner.runs.erase(found);
  took(owner, grant.count);
  return true;
}

// --- what ends ---

void LaunchControllers::end_cta(const CtaRun& run) {
  --resident_;
  if (run.slot == kNoCluster) {
    distributor_.complete(run.task->distribution, run.sm, 1, run.standing);
    return;
  }
  const Task& task = *run.task;
  const std::uint64_t number = run.first % task.distribution.kind.ctas_per_cluster();
  const std::uint32_t rank = static_cast<std::uint32_t>(number % task.grid().cluster_size());
  if (run.cluster != nullptr) run.cluster->complete(rank, network_);
  after_cta(run,
            distributor_.complete_in_cluster(run.task->distribution, run.sm, run.slot, number, run.standing));
}

void LaunchControllers::after_cta(const CtaRun& run, const CtaCompletion& completion) {
  const Task& task = *run.task;
  const std::uint64_t number = run.first % task.distribution.kind.ctas_per_cluster();
  const std::uint64_t rank = number % task.grid().cluster_size();
  if (completion.flush && run.cluster != nullptr)
    flushing_.push_back({run.task, run.slot, run.cluster, number - rank});
  else if (completion.flush ? distributor_.flush_done(run.slot, number) : completion.last)
    end_cluster(*run.task, run.slot);  // it shares no memory
}

/// What comes next takes the slots of what has ended, where nothing else waits. @returns whether it does
bool LaunchControllers::refill(const CtaRun& finished) {
  Task::Distribution& grid = finished.task->distribution;
  if (finished.slot != kNoCluster || finished.standing != CtaStanding::resident ||
      !distributor_.succeed(grid, {finished.sm, finished.sm_step, finished.count}))
    return false;
  CtaRun next = finished;
  next.first = std::exchange(grid.heard, grid.heard + finished.count);
  next.index_step = 1;
  next.past = CtaRun::Past::none;
  next.took_ns = 0;
  sm_owners_.leave(next.sm, next.sm_step, next.count);
  push(owners_[sm_owners_.of(next.sm)], next);
  unlaunched_ -= next.count;
  queued_.store(queued_.load(std::memory_order_relaxed) + next.count, std::memory_order_relaxed);
  return true;
}

void LaunchControllers::finish(const CtaRun& finished) {
  if (finished.parks) return park(finished);
  if (refill(finished)) return;
  change();
  sm_owners_.leave(finished.sm, finished.sm_step, finished.count);
  const bool any_parked = !finished.task->distribution.parked.empty();
  if (finished.slot == kNoCluster && finished.standing == CtaStanding::resident && !any_parked) {
    distributor_.complete(finished.task->distribution, {finished.sm, finished.sm_step, finished.count});
    resident_ -= finished.count;
    return;
  }
  for (CtaRun rest = finished; rest.count != 0; rest.drop_first()) {
    if (!any_parked || !drop(rest)) end_cta(rest);
  }
}

/// The order to flush stands until each SM has answered for its CTAs: what they sent has landed (W-20).
void LaunchControllers::flush() {
  std::erase_if(flushing_, [this](const Flush& order) {
    bool ends = false;
    const bool is_done = order.cluster->flush(network_, [&](std::uint32_t rank) {
      ends |= distributor_.flush_done(order.slot, order.first + rank);
    });
    if (ends) end_cluster(*order.task, order.slot);
    return is_done;
  });
}

/// The ids, the barrier and the slots of an outermost cluster return.
void LaunchControllers::end_cluster(Task& task, std::uint32_t slot) {
  if (slot < outermost_.size()) {
    for (Cluster* cluster : outermost_[slot].clusters) {
      cluster->close(windows_);
      clusters_.put(cluster);
    }
    outermost_[slot].clusters.clear();
  }
  distributor_.cluster_complete(task.distribution, slot);
  change();
  if (std::ranges::find(flushed_, &task) == flushed_.end()) flushed_.push_back(&task);
}

std::size_t LaunchControllers::exchange(unsigned worker, std::span<const CtaRun> finished,
                                        std::span<CtaRun> grants, std::span<Task*> completed,
                                        std::size_t& completed_count) {
  completed_count = 0;
  const std::lock_guard lock(mutex_);
  tell_time();
  // Not more than once: a task may have ended several CTAs here.
  const auto note = [&](Task* task) {
    if (task->distribution.open && follow_locked(*task).workers != 0) change();
    const auto known = completed.first(completed_count);
    if (task->distribution.finished() && std::ranges::find(known, task) == known.end())
      completed[completed_count++] = task;
  };
  for (const CtaRun& run : finished) {
    if (run.took_ns != 0) learn_time(run);
    finish(run);
    if (run.slot == kNoCluster) note(run.task);
  }
  if (!flushing_.empty()) flush();
  for (; !flushed_.empty() && completed_count < completed.size(); flushed_.pop_back()) note(flushed_.back());
  distribute();
  flushes_.store(!flushing_.empty() || !flushed_.empty(), std::memory_order_relaxed);
  if (!hungry_.empty()) feed_hungry(worker);
  if (grants.empty() || queued_.load(std::memory_order_relaxed) == 0) return 0;
  if (owners_[worker].queued == 0) steal(worker);
  return owners_[worker].queued == 0 ? 0 : take(worker, grants);
}

void LaunchControllers::confine(std::uint64_t space, const SmLimit& limit) {
  const std::lock_guard lock(mutex_);
  tell_time();
  distributor_.confine(space, limit);
  asked_.clear();
  change();
}

void LaunchControllers::hold(std::uint32_t context, bool on) {
  const std::lock_guard lock(mutex_);
  tell_time();
  distributor_.hold(context, on);
  change();
}

ContextLoad LaunchControllers::load_of(std::uint32_t context) {
  const std::lock_guard lock(mutex_);
  return distributor_.load_of(context);
}

std::uint64_t LaunchControllers::most_active(const GridKind& kind, const CtaNeeds& needs,
                                             std::uint64_t space) {
  const std::lock_guard lock(mutex_);
  if (!distributor_.is_confined(space)) space = kNoSpace;
  constexpr std::size_t kRemembered = 16;
  for (const Active& known : asked_)
    if (known.kind == kind && known.needs == needs && known.space == space) return known.clusters;
  if (asked_.size() == kRemembered) asked_.erase(asked_.begin());
  asked_.push_back({kind, needs, space, distributor_.most_active(kind, needs, space)});
  return asked_.back().clusters;
}

bool LaunchControllers::idles(const Grid& grid) const {
  const Task& task = *static_cast<const Task::Distribution&>(grid).task;
  return grid.outstanding != 0 && task.idle.load(std::memory_order_relaxed) >= grid.outstanding;
}

void LaunchControllers::idles() {
  if (!has_pools_) return;
  const std::lock_guard lock(mutex_);
  tell_time();
  distributor_.look_again();
  change();
}

Activity LaunchControllers::activity() {
  const std::lock_guard lock(mutex_);
  return distributor_.activity();
}

void LaunchControllers::record(LaunchRecorder* recorder) {
  const std::lock_guard lock(mutex_);
  recorder_ = recorder;
  log_ = recorder == nullptr ? nullptr : recorder->decisions();
  distributor_.observe(log_);
}

// Decisions made from here on, under this lock.
void LaunchControllers::tell_time() {
  if (log_ != nullptr) log_->now = now_ns();
}

}  // namespace raddle::machine
