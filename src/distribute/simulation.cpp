// Time goes from event to event. At each: CTAs that end now are reported, grids that arrive now are added,
// then the distributor launches what fits. Nothing is allocated per CTA.
#include "distribute/simulation.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <set>

#include "base/round_up.h"
#include "distribute/radix_queue.h"
#include "distribute/sm_sharing.h"
#include "machine/distributor/sm_usage.h"
#include "machine/launch/rasteriser.h"

namespace raddle::distribute {
namespace {

using machine::CtaNeeds;
using machine::Grid;
using machine::LaunchMask;

/// Stands before a policy and counts what it did.
class CountingPolicy final : public machine::Policy {
 public:
  CountingPolicy(std::unique_ptr<machine::Policy> policy, Outcome& outcome)
      : policy_(std::move(policy)), outcome_(outcome) {}
  std::string_view name() const override { return policy_->name(); }
  void place(const machine::Snapshot& snapshot, machine::Placement& placement,
             machine::DecisionLog* log) override {
    policy_->place(snapshot, placement, log);
    ++outcome_.calls;
    outcome_.steps += placement.steps;
    outcome_.failed += placement.failed;
  }

 private:
  std::unique_ptr<machine::Policy> policy_;
  Outcome& outcome_;
};

/// The time of this thread, so that a busy host does not count.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A CTA ends, or a cluster is drained.
struct Event {
  std::uint64_t time, cta;
  std::uint32_t grid, sm, cluster;
};
constexpr std::uint32_t kDrained = ~0u;    // as the SM of an event
constexpr std::uint32_t kGrows = ~0u - 1;  // likewise: `cta` is which of its growths

/// The state of a grid while it is in the machine.
struct Running {
  Grid grid;
  // In the preemptive mode, by launch index: CTAs that are resident, with the time of their end; the rest of
  // their durations of those that are parked.
  struct Stay {
    std::uint32_t sm, cluster;
    std::uint64_t end;
  };
  std::map<std::uint64_t, Stay> resident;
  std::map<std::uint64_t, std::uint64_t> left;
  std::uint64_t heard = 0;  // CTAs in its masks so far
  std::uint32_t slots = 0;
  std::uint64_t total = 0, longest = 0;  // of its CTAs' durations
  std::unique_ptr<std::vector<machine::Rasteriser>> sms;
};

class Simulation final : machine::LaunchSink {
 public:
  Simulation(const machine::MachineShape& shape, const Load& load, const SimulationOptions& options,
             std::unique_ptr<machine::Policy> policy)
      : shape_(shape),
        load_(load),
        options_(options),
        distributor_(shape, std::make_unique<CountingPolicy>(std::move(policy), outcome_),
                     options.distributor),
        usage_(shape, machine::cap_per_sm(options.distributor, options.policy)),
        grids_(load.grids.size()),
        sharing_(shape.sm_count()),
        residents_(shape.sm_count()),
        busy_since_(shape.sm_count()),
        ending_(shape.sm_count()) {
    for (const LoadGrid& grid : load.grids) has_clusters_ |= !grid.kind.is_plain();
    outcome_.kinds.resize(std::max(options.distributor.work_kinds, 1u));
  }

  Result<Outcome> run();

 private:
  Result<void> check() const;
  void advance(std::uint64_t time);
  void arrive(std::size_t number);
  void grow(const Event& event);
  void launch(const LaunchMask& mask) override;
  void preempt(Grid& grid) override { preempted_.push_back(static_cast<std::uint32_t>(grid.id)); }
  void begin(Running& running, std::uint64_t index, std::uint32_t sm, std::uint64_t duration);
  void go_on(const LaunchMask& mask);
  void stay(const LaunchMask& mask, std::uint64_t index, std::uint32_t sm, std::uint64_t duration);
  bool is_stale(const Event& event);
  void leave(const Grid& grid, std::uint32_t sm);
  void park(std::uint32_t number);
  void distribute();
  void complete_all();
  void end(const Event& event);
  void complete_plain();
  void drained(Grid& grid, std::uint32_t cluster);
  void finish(std::uint32_t number);
  void note_use(const CtaNeeds& needs, double time);
  std::uint64_t useless_slots();
  void summarise();
  void look_at_shares();
  KindOutcome& kind_of(const Grid& grid) {
    return outcome_.kinds[grid.work_kind < outcome_.kinds.size() ? grid.work_kind : 0];
  }
  /// The time at which the distributor hears of an event.
  std::uint64_t noticed(std::uint64_t time) const {
    return options_.tick == 1 ? time : round_up(time, options_.tick);
  }

  const machine::MachineShape& shape_;
  const Load& load_;
  const SimulationOptions& options_;
  Outcome outcome_;
  machine::Distributor distributor_;
  machine::SmUsage usage_;  // of a load with clusters only: for fragmentation
  bool has_clusters_ = false;
  std::vector<std::uint32_t> preempted_;  // grids whose CTAs are to stop now
  RadixQueue<Event> events_;
  std::vector<Event> now_ending_;
  std::vector<Running> grids_;
  std::vector<std::unique_ptr<std::vector<machine::Rasteriser>>> spare_;
  std::size_t arrived_ = 0;
  std::uint64_t now_ = 0;
  SmSharing sharing_;
  std::vector<std::uint32_t> residents_;   // by SM
  std::vector<std::uint64_t> busy_since_;  // by SM
  std::vector<std::uint32_t> ending_;      // by SM: CTAs of ending_grid_ that end now
  std::vector<std::uint32_t> ending_sms_;  // SMs with ending_ not 0
  std::uint32_t ending_grid_ = 0;
  std::set<std::pair<int, std::uint32_t>>
      cluster_grids_;                     // with something left to launch: by priority, then age
  std::uint64_t busy_ = 0, useless_ = 0;  // useless_: of this moment
  std::array<double, 6> use_{};           // by resource: share of an SM times time
  double useless_time_ = 0;
  std::vector<std::uint32_t> gpcs_;  // of this moment, by kind of work
};

Result<void> Simulation::check() const {
  for (const LoadGrid& grid : load_.grids) {
    const bool fits = machine::slots_per_sm(shape_.sm, grid.needs) != 0 &&
                      grid.needs.threads <= shape_.sm.threads_per_block &&
                      grid.needs.shared_bytes <= shape_.sm.shared_bytes;
    if (!fits)
      return Error::invalid(
          "grid '{}': a CTA of {} threads, {} registers and {} bytes of shared memory fits no SM of {}",
          grid.name, grid.needs.threads, grid.needs.registers, grid.needs.shared_bytes, shape_.name);
  }
  return {};
}

void Simulation::arrive(std::size_t number) {
  const LoadGrid& from = load_.grids[number];
  Running& running = grids_[number];
  Grid& grid = running.grid;
  grid.id = number;
  grid.needs = from.needs;
  grid.kind = from.kind;
  grid.ctas = from.ctas();
  grid.open = !from.grows.empty();
  grid.priority = from.priority;
  grid.cap_per_sm = from.cap_per_sm;
  grid.cluster_memory = from.cluster_memory;
  grid.space = from.space;
  grid.work_kind = from.work_kind;
  grid.mode = options_.placement ? options_.placement : from.placement;
  running.slots = machine::slots_per_sm(shape_.sm, from.needs);
  if (options_.rasterise) {
    if (spare_.empty())
      spare_.push_back(std::make_unique<std::vector<machine::Rasteriser>>(shape_.sm_count()));
    running.sms = std::move(spare_.back());
    spare_.pop_back();
    // One that grows is a row as long as it may become.
    constexpr std::uint32_t kRow[] = {0x7fffffff, 1, 1};
    for (machine::Rasteriser& sm : *running.sms) sm.reset(grid.kind, grid.open ? kRow : from.extent.data());
  }
  if (!grid.kind.is_plain()) cluster_grids_.emplace(grid.priority, number);
  if (options_.log != nullptr)
    options_.log->arrived({grid.id, from.name, from.arrival, from.extent, from.kind, running.slots});
  distributor_.add(grid);
  for (std::size_t i = 0; i < from.grows.size(); ++i)
    events_.push({noticed(from.grows[i].time), i, static_cast<std::uint32_t>(number), kGrows, 0});
}

void Simulation::grow(const Event& event) {
  Grid& grid = grids_[event.grid].grid;
  const std::vector<Growth>& grows = load_.grids[event.grid].grows;
  distributor_.grow(grid, grows[event.cta].ctas);
  if (event.cta + 1 == grows.size()) distributor_.close(grid);
}

/// What counts once for each CTA.
void Simulation::begin(Running& running, std::uint64_t index, std::uint32_t sm, std::uint64_t duration) {
  running.total += duration;
  running.longest = std::max(running.longest, duration);
  const bool grows = !load_.grids[running.grid.id].grows.empty();
  if (running.sms) (*running.sms)[sm].at(grows ? index % 0x7fffffff : index);
  ++kind_of(running.grid).ctas;
}

/// A CTA is on an SM from now on, and ends there unless it is parked.
void Simulation::stay(const LaunchMask& mask, std::uint64_t index, std::uint32_t sm, std::uint64_t duration) {
  const std::uint32_t number = static_cast<std::uint32_t>(mask.grid->id);
  sharing_.started(sm, mask.grid->space);
  if (residents_[sm]++ == 0) busy_since_[sm] = now_;
  if (has_clusters_) usage_.start(sm, mask.grid->needs, 0);
  const std::uint64_t end = noticed(now_ + duration);
  events_.push({end, index, number, sm, mask.cluster});
  if (options_.distributor.preemptive) grids_[number].resident[index] = {sm, mask.cluster, end};
  if (options_.observer != nullptr) options_.observer->started(number, index, sm, now_, end);
}

void Simulation::go_on(const LaunchMask& mask) {
  auto& left = grids_[mask.grid->id].left;
  const auto rest = left.find(mask.back->index);
  stay(mask, rest->first, mask.back->sm, rest->second);
  left.erase(rest);
}

void Simulation::launch(const LaunchMask& mask) {
  ++outcome_.masks;
  if (mask.back != nullptr) return go_on(mask);
  Running& running = grids_[mask.grid->id];
  const Durations& durations = load_.grids[mask.grid->id].durations;
  for (const std::uint32_t sm : mask.sms) {
    const std::uint64_t index = running.heard++, duration = durations.of(index);
    begin(running, index, sm, duration);
    stay(mask, index, sm, duration);
  }
  if (mask.cluster != machine::kNoCluster)
    distributor_.started_in_cluster(mask.cluster, static_cast<std::uint32_t>(mask.sms.size()));
  outcome_.clusters += mask.cluster != machine::kNoCluster && mask.end;
  outcome_.waiting.add(now_ - load_.grids[mask.grid->id].arrival, mask.sms.size());
}

/// Whether the CTA's end is another one by now, as it was parked meanwhile.
bool Simulation::is_stale(const Event& event) {
  if (!options_.distributor.preemptive) return false;
  auto& resident = grids_[event.grid].resident;
  const auto found = resident.find(event.cta);
  if (found == resident.end() || found->second.end != event.time) return true;
  resident.erase(found);
  return false;
}

void Simulation::leave(const Grid& grid, std::uint32_t sm) {
  if (--residents_[sm] == 0) busy_ += now_ - busy_since_[sm];
  if (has_clusters_) usage_.exit(sm, 1, grid.needs, 0);
}

/// All CTAs stop at once.
void Simulation::park(std::uint32_t number) {
  Running& running = grids_[number];
  for (const auto& [cta, stay] : std::exchange(running.resident, {})) {
    running.left[cta] = stay.end - now_;
    leave(running.grid, stay.sm);
    if (options_.observer != nullptr) options_.observer->parked(number, cta, stay.sm, now_);
    distributor_.park(running.grid, {.index = cta, .sm = stay.sm, .cluster = stay.cluster, .began = true});
  }
}

void Simulation::distribute() {
  do {
    for (const std::uint32_t number : std::exchange(preempted_, {})) park(number);
    while (distributor_.distribute(*this) != 0 && options_.distributor.credits != 0) {
    }
  } while (!preempted_.empty());
}

void Simulation::drained(Grid& grid, std::uint32_t cluster) {
  distributor_.flush_all(cluster);
  distributor_.cluster_complete(grid, cluster);
  if (grid.finished()) finish(static_cast<std::uint32_t>(grid.id));
}

/// Adds up the running time of CTAs with these needs.
void Simulation::note_use(const CtaNeeds& needs, double time) {
  const machine::SmLimits& sm = shape_.sm;
  const double shares[6] = {1.0 / sm.cta_slots,
                            static_cast<double>(needs.threads) / sm.threads,
                            static_cast<double>(needs.warps) / sm.warps,
                            static_cast<double>(needs.barriers) / sm.barriers,
                            static_cast<double>(needs.registers) / sm.registers,
                            static_cast<double>(needs.shared_bytes) / sm.shared_bytes};
  for (unsigned i = 0; i < 6; ++i) use_[i] += shares[i] * time;
}

void Simulation::finish(std::uint32_t number) {
  Running& running = grids_[number];
  const std::uint64_t arrival = load_.grids[number].arrival;
  const double capacity = static_cast<double>(shape_.sm_count()) * running.slots;
  const double shortest =
      std::max(static_cast<double>(running.longest), static_cast<double>(running.total) / capacity);
  const double share = shortest / static_cast<double>(now_ - arrival);
  ++outcome_.grids;
  outcome_.fairness.add(share);
  outcome_.fairness_by_priority[running.grid.priority].add(share);
  note_use(running.grid.needs, static_cast<double>(running.total));
  outcome_.ctas += running.grid.ctas;
  if (running.sms) {
    for (const machine::Rasteriser& sm : *running.sms) {
      outcome_.decompositions += sm.decompositions();
      outcome_.overflows += sm.overflows();
    }
    spare_.push_back(std::move(running.sms));
  }
}

/// Reports the CTAs of a plain grid that have been gathered, SM by SM.
void Simulation::complete_plain() {
  if (ending_sms_.empty()) return;
  Grid& grid = grids_[ending_grid_].grid;
  for (const std::uint32_t sm : ending_sms_) {
    distributor_.complete(grid, sm, ending_[sm]);
    ending_[sm] = 0;
  }
  ending_sms_.clear();
  if (grid.finished()) finish(ending_grid_);
}

void Simulation::end(const Event& event) {
  Grid& grid = grids_[event.grid].grid;
  if (event.sm == kDrained) return drained(grid, event.cluster);
  if (event.sm == kGrows) return grow(event);
  if (is_stale(event)) return;
  leave(grid, event.sm);
  if (options_.observer != nullptr) options_.observer->ended(event.grid, event.cta, event.sm, now_);
  if (options_.log != nullptr) options_.log->ended = {&event.cta, 1};
  if (event.cluster != machine::kNoCluster) {
    const std::uint64_t number = event.cta % grid.kind.ctas_per_cluster();
    if (!distributor_.complete_in_cluster(grid, event.sm, event.cluster, number).last) return;
    if (load_.flush == 0) return drained(grid, event.cluster);
    events_.push({noticed(now_ + load_.flush), 0, event.grid, kDrained, event.cluster});
    return;
  }
  ending_grid_ = event.grid;
  if (ending_[event.sm]++ == 0) ending_sms_.push_back(event.sm);
}

void Simulation::complete_all() {
  for (const Event& event : now_ending_) {
    // With a log each CTA is reported by itself, so that the log can say which it was.
    if (event.grid != ending_grid_ || options_.log != nullptr) complete_plain();
    end(event);
  }
  complete_plain();
  if (options_.log != nullptr) options_.log->ended = {};
}

/// Free slots of the first cluster grid that waits, none of which it can use: what fits has just been
/// launched.
std::uint64_t Simulation::useless_slots() {
  while (!cluster_grids_.empty() && grids_[cluster_grids_.begin()->second].grid.all_launched())
    cluster_grids_.erase(cluster_grids_.begin());
  if (cluster_grids_.empty()) return 0;
  const CtaNeeds& needs = grids_[cluster_grids_.begin()->second].grid.needs;
  std::uint64_t slots = 0;
  for (std::uint32_t sm = 0; sm < shape_.sm_count(); ++sm) slots += usage_.fit(sm, needs);
  return slots;
}

void Simulation::advance(std::uint64_t time) {
  if (useless_ != 0) {
    const std::uint64_t all = std::uint64_t{shape_.sm_count()} * grids_[cluster_grids_.begin()->second].slots;
    useless_time_ +=
        static_cast<double>(useless_) / static_cast<double>(all) * static_cast<double>(time - now_);
  }
  for (std::size_t kind = 0; kind < gpcs_.size(); ++kind)
    outcome_.kinds[kind].gpc_time += static_cast<double>(gpcs_[kind]) * static_cast<double>(time - now_);
  now_ = time;
  if (options_.log != nullptr) options_.log->now = time;
}

/// After decisions: who has how many GPCs now.
void Simulation::look_at_shares() {
  if (options_.distributor.work_kinds < 2) return;
  gpcs_ = distributor_.shares();
  for (std::size_t kind = 0; kind < gpcs_.size(); ++kind) outcome_.kinds[kind].note(gpcs_[kind]);
}

void Simulation::summarise() {
  const std::uint64_t sms = shape_.sm_count(), begin = load_.grids.front().arrival;
  outcome_.makespan = now_ - begin;
  const double time = static_cast<double>(std::max<std::uint64_t>(1, outcome_.makespan));
  outcome_.utilisation = *std::max_element(use_.begin(), use_.end()) / (static_cast<double>(sms) * time);
  outcome_.sm_utilisation = static_cast<double>(busy_) / (static_cast<double>(sms) * time);
  outcome_.sms_used = sharing_.sms_used();
  outcome_.spaces_mean = sharing_.mean_spaces();
  outcome_.spaces_most = sharing_.most_spaces();
  outcome_.fragmentation = useless_time_ / time;
  outcome_.mask_bits = outcome_.masks * mask_message_bits(shape_.sm_count());
  outcome_.single_bits = outcome_.ctas * single_message_bits(shape_.sm_count());
  for (std::size_t i = 0; i < grids_.size(); ++i) {
    if (grids_[i].grid.finished()) continue;
    ++outcome_.stuck_grids;
    if (outcome_.stuck.size() < 8)
      outcome_.stuck.push_back(load_.grids[i].name.empty() ? fmt::format("{}", i) : load_.grids[i].name);
  }
}

Result<Outcome> Simulation::run() {
  TRY(check());
  if (options_.log != nullptr) distributor_.observe(options_.log);
  outcome_.policy = options_.placement ? machine::placement_name(*options_.placement) : options_.policy;
  const double begin = processor_seconds();
  while (arrived_ < grids_.size() || !events_.empty()) {
    std::uint64_t time = events_.empty() ? ~0ull : events_.next_time();
    if (arrived_ < grids_.size()) time = std::min(time, noticed(load_.grids[arrived_].arrival));
    advance(time);
    events_.take(time, now_ending_);
    complete_all();
    while (arrived_ < grids_.size() && noticed(load_.grids[arrived_].arrival) == time) arrive(arrived_++);
    distribute();
    look_at_shares();
    useless_ = has_clusters_ ? useless_slots() : 0;
  }
  outcome_.seconds = processor_seconds() - begin;
  summarise();
  return std::move(outcome_);
}

}  // namespace

std::uint64_t Histogram::quantile(double share) const {
  const double wanted = share * static_cast<double>(total_);
  std::uint64_t seen = 0;
  for (std::size_t place = 0; place < counts_.size(); ++place) {
    seen += counts_[place];
    if (counts_[place] == 0 || static_cast<double>(seen) < wanted) continue;
    const std::size_t shift = place >> kBits;
    return shift <= 1 ? place : (place - ((shift - 1) << kBits)) << (shift - 1);
  }
  return most_;
}

Result<Outcome> simulate(const machine::MachineShape& shape, const Load& load,
                         const SimulationOptions& options) {
  TRY_ASSIGN(std::unique_ptr<machine::Policy> policy, machine::make_policy(options.policy));
  TRY(machine::check(options.distributor, shape));
  return Simulation(shape, load, options, std::move(policy)).run();
}

}  // namespace raddle::distribute
