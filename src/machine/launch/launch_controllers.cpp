// Which worker starts what the distributor launched. SMs are spread over the workers in runs, so that CTAs
// that follow one another mostly run on one core, and a cluster stays together; an SM of which nothing has
// started may move to a worker that has nothing to do.
#include "machine/launch/launch_controllers.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "machine/tasks/task_scheduler.h"

namespace raddle::machine {

LaunchControllers::LaunchControllers(const MachineShape& shape, unsigned workers,
                                     std::unique_ptr<Policy> policy, DistributorOptions options)
    : shape_(shape),
      depth_(shape.sm.cta_slots),
      distributor_(shape, std::move(policy), options),
      sms_(shape.sm_count()),
      queue_(std::size_t{shape.sm_count()} * depth_),
      owners_(workers) {
  const std::uint32_t count = shape.sm_count();
  for (std::uint32_t sm = 0; sm < count; ++sm)
    sms_[sm].home = sms_[sm].owner = static_cast<std::uint32_t>(std::uint64_t{sm} * workers / count);
  for (std::uint32_t sm = count; sm-- > 0;) owners_[sms_[sm].owner].cursor = sm;
  for (Owner& owner : owners_) owner.ready.resize((count + 63) / 64);
}

/// A cooperative launch is one cluster of all CTAs that the whole GPU confines (W-3).
GridKind kind_of(const GridWork& work) {
  GridKind kind = work.kind;
  if (!work.cooperative || !kind.is_plain()) return kind;
  kind.depth = 1;
  kind.levels[0].domain = Level::gpu;
  std::copy_n(work.context.nctaid, 3, kind.levels[0].extent);
  return kind;
}

unsigned LaunchControllers::add(Task& task) {
  const std::lock_guard lock(mutex_);
  if (task.stop.load(std::memory_order_acquire) != 0) return 0;
  const GridWork& work = task.grid;
  Task::Distribution& grid = task.distribution;
  grid.task = &task;
  grid.id = ++grids_;
  grid.needs = needs_of(work, shape_.sm);
  grid.kind = kind_of(work);
  grid.ctas = work.blocks;
  grid.priority = task.priority;
  grid.cap_per_sm = work.cap_per_sm;
  grid.cluster_memory = work.cluster_memory;
  if (recorder_ != nullptr)
    recorder_->added(grid, work.context.nctaid, work.name == nullptr ? "" : *work.name, now_ns());
  distributor_.add(grid);
  added_ = true;
  return static_cast<unsigned>(std::min<std::uint64_t>(work.blocks, owners_.size()));
}

// --- what the distributor launches goes to the SMs' queues ---

void LaunchControllers::set_ready(std::uint32_t sm, bool ready) {
  std::uint64_t& word = owners_[sms_[sm].owner].ready[sm / 64];
  const std::uint64_t bit = 1ull << sm % 64;
  word = ready ? word | bit : word & ~bit;
}

void LaunchControllers::push(std::uint32_t sm_number, const Resident& cta) {
  Sm& sm = sms_[sm_number];
  RADDLE_ASSERT(sm.queued < depth_, "an SM was given more CTAs than it has slots");
  if (sm.queued + sm.taken == 0) sm.owner = sm.home;
  // What is more urgent starts first.
  std::uint32_t place = sm.queued++;
  for (; place != 0 && at(sm_number, place - 1).task->priority > cta.task->priority; --place)
    at(sm_number, place) = at(sm_number, place - 1);
  at(sm_number, place) = cta;
  set_ready(sm_number, true);
  ++owners_[sm.owner].queued;
}

/// The cluster that a CTA shares memory with; takes one from the pool for the first CTA of each.
Cluster* LaunchControllers::cluster_of(const LaunchMask& mask, std::uint64_t index, std::uint32_t sm) {
  const GridWork& work = static_cast<Task::Distribution*>(mask.grid)->task->grid;
  const std::uint32_t size = work.cluster_size();
  if (size == 1) return nullptr;
  if (mask.cluster >= outermost_.size()) outermost_.resize(mask.cluster + 1);
  std::vector<Cluster*>& clusters = outermost_[mask.cluster].clusters;
  const std::uint64_t number = index % mask.grid->kind.ctas_per_cluster() / size;
  if (clusters.size() <= number) {
    const auto ids = distributor_.local_ids(mask.cluster);
    Cluster* cluster = clusters_.take();
    cluster->launch(size, work.shared_bytes, shape_.domain_of(Level::gpc, sm),
                    number < ids.size() ? ids[number] : ~0u);
    if (mask.cluster_memory != ~0u)
      cluster->context.cluster_memory = cluster_memory_ + mask.cluster_memory * shape_.cluster_memory_bytes;
    clusters.push_back(cluster);
  }
  return clusters[number];
}

void LaunchControllers::launch(const LaunchMask& mask) {
  Task& task = *static_cast<Task::Distribution*>(mask.grid)->task;
  std::uint64_t index = mask.first;
  for (const std::uint32_t sm : mask.sms) {
    push(sm,
         {&task, mask.cluster == kNoCluster ? nullptr : cluster_of(mask, index, sm), index, mask.cluster});
    ++index;
  }
  queued_.store(queued_.load(std::memory_order_relaxed) + mask.sms.size(), std::memory_order_relaxed);
}

// --- what workers take ---

bool CtaRun::append(const CtaRun& one) {
  if (task != one.task || cluster != one.cluster || slot != one.slot) return false;
  if (count == 1) {
    if (one.first < first || one.sm < sm || one.first - first > ~0u) return false;
    index_step = static_cast<std::uint32_t>(one.first - first);
    sm_step = one.sm - sm;
  } else if (one.first != first + std::uint64_t{count} * index_step || one.sm != sm + count * sm_step) {
    return false;
  }
  ++count;
  return true;
}

namespace {
/// The first set bit at or after a position, else the first one at all. The set is not empty.
std::uint32_t next_set(const std::vector<std::uint64_t>& bits, std::uint32_t from) {
  std::size_t word = from / 64;
  if (const std::uint64_t rest = bits[word] >> from % 64; rest != 0)
    return from + static_cast<std::uint32_t>(std::countr_zero(rest));
  do word = word + 1 == bits.size() ? 0 : word + 1;
  while (bits[word] == 0);
  return static_cast<std::uint32_t>(word * 64 + static_cast<unsigned>(std::countr_zero(bits[word])));
}
}  // namespace

// One CTA of each ready SM in turn, as the distributor numbered them. Fewer at a time as the queue gets
// shorter: what is taken cannot move to another worker.
std::size_t LaunchControllers::take(unsigned worker, std::span<CtaRun> grants) {
  Owner& owner = owners_[worker];
  std::uint64_t budget = std::clamp<std::uint64_t>(owner.queued / 4, 1, kCtasPerCall);
  budget = std::min(budget, owner.queued);
  std::size_t count = 0;
  std::uint64_t taken = 0;
  for (; taken < budget; ++taken) {
    const std::uint32_t number = next_set(owner.ready, owner.cursor);
    Sm& sm = sms_[number];
    const Resident& cta = at(number, 0);
    const CtaRun next{cta.task, cta.cluster, cta.slot, 1, cta.index, 0, number, 0};
    if (count == 0 || !grants[count - 1].append(next)) {
      if (count == grants.size()) break;
      grants[count++] = next;
    }
    sm.head = sm.head + 1 == depth_ ? 0 : sm.head + 1;
    ++sm.taken;
    if (--sm.queued == 0) set_ready(number, false);
    owner.cursor = number + 1 == sms_.size() ? 0 : number + 1;
  }
  owner.queued -= taken;
  queued_.store(queued_.load(std::memory_order_relaxed) - taken, std::memory_order_relaxed);
  return count;
}

void LaunchControllers::move_to(std::uint32_t number, unsigned worker) {
  Sm& sm = sms_[number];
  set_ready(number, false);
  owners_[sm.owner].queued -= sm.queued;
  sm.owner = worker;
  owners_[worker].queued += sm.queued;
  set_ready(number, true);
}

// From the worker with most queued, half of its SMs of which it has started nothing: those it would come to
// last.
void LaunchControllers::steal(unsigned worker) {
  const auto victim = static_cast<std::uint32_t>(
      std::max_element(owners_.begin(), owners_.end(),
                       [](const Owner& a, const Owner& b) { return a.queued < b.queued; }) -
      owners_.begin());
  const std::uint64_t wanted = (owners_[victim].queued + 1) / 2;
  if (victim == worker || wanted == 0) return;
  const auto count = static_cast<std::uint32_t>(sms_.size());
  std::uint32_t number = owners_[victim].cursor;
  for (std::uint32_t step = 0; step < count && owners_[worker].queued < wanted; ++step) {
    number = number == 0 ? count - 1 : number - 1;
    const Sm& sm = sms_[number];
    if (sm.owner == victim && sm.taken == 0 && sm.queued != 0) move_to(number, worker);
  }
  owners_[worker].cursor = number;
}

// --- what ends ---

void LaunchControllers::end_cta(const CtaRun& run) {
  if (run.slot == kNoCluster) {
    distributor_.complete(run.task->distribution, run.sm, 1);
    return;
  }
  if (distributor_.complete_in_cluster(run.task->distribution, run.sm, run.slot))
    flushing_.push_back({run.task, run.slot});
}

void LaunchControllers::finish(const CtaRun& finished) {
  if (finished.slot == kNoCluster && finished.sm_step == 0) {
    distributor_.complete(finished.task->distribution, finished.sm, finished.count);
    sms_[finished.sm].taken -= finished.count;
    return;
  }
  for (CtaRun rest = finished; rest.count != 0; rest.drop_first()) {
    end_cta(rest);
    --sms_[rest.sm].taken;
  }
}

// W-20: the ids, the barrier and the slots of a cluster return when nothing of its traffic is in flight.
void LaunchControllers::flush() {
  std::erase_if(flushing_, [this](const Flush& flush) {
    auto* outer = flush.slot < outermost_.size() ? &outermost_[flush.slot] : nullptr;
    if (outer != nullptr) {
      if (!std::ranges::all_of(outer->clusters, &Cluster::drained)) return false;
      for (Cluster* cluster : outer->clusters) {
        cluster->close(windows_);
        clusters_.put(cluster);
      }
      outer->clusters.clear();
    }
    distributor_.cluster_complete(flush.task->distribution, flush.slot);
    flushed_.push_back(flush.task);
    return true;
  });
}

std::size_t LaunchControllers::exchange(unsigned worker, std::span<const CtaRun> finished,
                                        std::span<CtaRun> grants, std::span<Task*> completed,
                                        std::size_t& completed_count) {
  completed_count = 0;
  const std::lock_guard lock(mutex_);
  tell_time();
  // Not more than once: a task may have ended several CTAs here.
  const auto note = [&](Task* task) {
    const auto known = completed.first(completed_count);
    if (task->distribution.finished() && std::ranges::find(known, task) == known.end())
      completed[completed_count++] = task;
  };
  for (const CtaRun& run : finished) {
    finish(run);
    if (run.slot == kNoCluster) note(run.task);
  }
  if (!flushing_.empty()) flush();
  for (; !flushed_.empty() && completed_count < completed.size(); flushed_.pop_back()) note(flushed_.back());
  if (!finished.empty() || added_) {
    added_ = false;
    distributor_.distribute(*this);
  }
  if (grants.empty() || queued_.load(std::memory_order_relaxed) == 0) return 0;
  if (owners_[worker].queued == 0) steal(worker);
  return owners_[worker].queued == 0 ? 0 : take(worker, grants);
}

// Drops what no worker has taken.
void LaunchControllers::purge(Task& task) {
  for (std::uint32_t number = 0; number < sms_.size(); ++number) {
    Sm& sm = sms_[number];
    const std::uint32_t before = sm.queued;
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < before; ++i) {
      const Resident cta = at(number, i);
      if (cta.task == &task) {
        end_cta({&task, cta.cluster, cta.slot, 1, cta.index, 0, number, 0});
      } else {
        at(number, kept++) = cta;
      }
    }
    if (kept == before) continue;
    sm.queued = kept;
    owners_[sm.owner].queued -= before - kept;
    queued_.fetch_sub(before - kept, std::memory_order_relaxed);
    if (kept == 0) set_ready(number, false);
  }
}

bool LaunchControllers::stop(Task& task) {
  const std::lock_guard lock(mutex_);
  Task::Distribution& grid = task.distribution;
  tell_time();
  if (grid.task == nullptr || grid.finished()) return false;  // not here yet, or already reported
  distributor_.withdraw(grid);
  purge(task);
  flush();
  std::erase(flushed_, &task);
  added_ = true;  // there is room for others
  return grid.finished();
}

std::uint64_t LaunchControllers::most_active(const GridKind& kind, const CtaNeeds& needs) {
  const std::lock_guard lock(mutex_);
  constexpr std::size_t kRemembered = 16;
  for (const Active& known : asked_)
    if (known.kind == kind && known.needs == needs) return known.clusters;
  if (asked_.size() == kRemembered) asked_.erase(asked_.begin());
  asked_.push_back({kind, needs, distributor_.most_active(kind, needs)});
  return asked_.back().clusters;
}

void LaunchControllers::set_cluster_memory(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  cluster_memory_ = address;
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
