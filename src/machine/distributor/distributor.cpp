// The distributor's interface: grids and completions come in here. How it decides is in service.cpp and
// commit.cpp.
#include "machine/distributor/distributor.h"

#include <algorithm>

#include "base/assert.h"
#include "machine/distributor/distributor_state.h"

namespace raddle::machine {

namespace {
struct NoSink final : LaunchSink {
  void launch(const LaunchMask&) override {}
};
/// Lets a second distributor ask the policy of the first.
class BorrowedPolicy final : public Policy {
 public:
  explicit BorrowedPolicy(Policy& policy) : policy_(policy) {}
  std::string_view name() const override { return policy_.name(); }
  void place(const Snapshot& snapshot, Placement& placement, DecisionLog* log) override {
    policy_.place(snapshot, placement, log);
  }

 private:
  Policy& policy_;
};
}  // namespace

Distributor::State::State(const MachineShape& machine, std::unique_ptr<Policy> chosen,
                          DistributorOptions wanted)
    : shape(machine),
      policy(std::move(chosen)),
      options(std::move(wanted)),
      usage(machine, cap_per_sm(options, policy->name())),
      table(usage),
      spaces(machine.sm_count()),
      shares(machine, options.work_kinds),
      gpcs(machine),
      memory(machine.cluster_memory_slots),
      waiting(machine.sm_count(), 0),
      slots(options.task_slots, options.turn, options.preemptive),
      kept(machine),
      pools(machine, options.active_pool, options.pending_pool),
      recorder(usage.load()),
      has_lone_grids_(policy->goes_by_free_slots() && options.credits == 0 && options.sm_order.empty() &&
                      !shares.is_on() && !pools.are_limited()),
      wanted_(machine.sm_count(), 0),
      last_cluster_(machine.sm_count(), 0) {}

Distributor::Distributor(const MachineShape& shape, std::unique_ptr<Policy> policy,
                         DistributorOptions options)
    : state_(std::make_unique<State>(shape, std::move(policy), std::move(options))) {}
Distributor::~Distributor() = default;

void Distributor::add(Grid& grid) {
  State& state = *state_;
  RADDLE_ASSERT((grid.ctas != 0 || grid.open) && grid.ctas % grid.kind.ctas_per_cluster() == 0,
                "a grid is made of whole clusters");
  state.enter_lone();
  if (grid.cap_per_sm == 0) grid.cap_per_sm = state.options.grid_cap_per_sm;
  grid.row = state.table.acquire(grid, grid.kind.has_local_ids());
  grid.space_row = state.spaces.acquire(grid.space);
  state.count_load(grid);
  if (grid.none_left())
    grid.turn = Grid::Turn::rests;
  else
    state.slots.enlist(grid);
}

void Distributor::grow(Grid& grid, std::uint64_t ctas) {
  RADDLE_ASSERT(grid.open && !grid.withdrawn && ctas % grid.kind.ctas_per_cluster() == 0,
                "a grid grows by whole clusters while it is open");
  state_->enter_lone();
  const bool waits_anew = grid.none_left() && ctas != 0;
  grid.ctas += ctas;
  state_->count_load(grid);
  if (!waits_anew) return;
  if (grid.turn == Grid::Turn::rests && grid.suspended == 0) state_->slots.enlist(grid);
  if (grid.turn != Grid::Turn::runs) return;
  state_->slots.rank(grid);
  state_->order.add(grid);
}

void Distributor::close(Grid& grid) {
  grid.open = false;
  if (grid.finished()) state_->settle(grid);
}

void Distributor::withdraw(Grid& grid) {
  if (grid.all_launched()) return;
  state_->stop_serving(grid);
  state_->got_on(grid);
  grid.withdrawn = true;
  state_->count_load(grid);
  state_->settle(grid);
}

std::uint64_t Distributor::distribute(LaunchSink& sink) {
  State& state = *state_;
  state.decide_shares();
  state.fill_slots(sink);
  state.session.begin(state.options.credits);
  const bool is_apart = state.serves_apart();
  const std::uint32_t kinds = is_apart ? state.shares.kinds() : 1;
  for (std::uint32_t i = 0; i < kinds; ++i) {
    const std::uint32_t kind = (state.first_kind + i) % kinds;
    while (state.pass(sink, is_apart ? std::optional(kind) : std::nullopt)) {
    }
  }
  if (is_apart) state.first_kind = (state.first_kind + 1) % kinds;  // where credits end early
  return state.session.launched();
}

void Distributor::complete(Grid& grid, std::uint32_t sm, std::uint32_t count, CtaStanding standing) {
  state_->exit(grid, {sm, 0, count}, standing);
  if (state_->recorder && standing == CtaStanding::resident) state_->recorder.complete(grid, sm, count, 0);
  state_->settle(grid);
}

void Distributor::complete(Grid& grid, const SmRun& run) {
  if (run.step == 0 || !state_->recorder) {
    state_->exit(grid, run, CtaStanding::resident);
    if (state_->recorder) state_->recorder.complete(grid, run.first, run.count, 0);
    return state_->settle(grid);
  }
  for (std::uint32_t i = 0; i < run.count; ++i) complete(grid, run.first + i * run.step, 1);
}

bool Distributor::succeed(Grid& grid, const SmRun& exited) {
  State& state = *state_;
  const bool waits_alone = state.order.size() == 1 && &state.order[0] == &grid && state.slots.listed() == 0 &&
                           grid.ctas - grid.next > exited.count && grid.parked.empty();
  if (!waits_alone || !grid.kind.is_plain() || !state.policy->refills_by_number() ||
      state.options.credits != 0 || !state.options.sm_order.empty() || state.usage.enable_changes() != 0 ||
      state.spaces.is_confined(grid.space_row) || state.is_held(grid) || state.shares.is_split() ||
      grid.suspended != 0 || state.returning.any() || state.table.look(grid.row).total != 0)
    return false;
  if (state.recorder) state.recorder.succeed(grid, exited);
  grid.next += exited.count;
  state.count_load(grid);
  return true;
}

CtaCompletion Distributor::complete_in_cluster(Grid& grid, std::uint32_t sm, std::uint32_t cluster,
                                               std::uint64_t number, CtaStanding standing) {
  ResidentCluster& resident = state_->clusters[cluster];
  RADDLE_ASSERT(resident.grid == &grid && resident.ctas != 0, "a CTA of a cluster that is not resident");
  state_->exit(grid, {sm, 0, 1}, standing);
  if (state_->recorder && standing == CtaStanding::resident)
    state_->recorder.complete(grid, sm, 1, resident.number);
  const CtaCompletion completion = state_->count_down(resident, number);
  if (!grid.parked.empty()) state_->settle(grid);  // the others of the cluster may all be parked
  return completion;
}

CtaCompletion Distributor::State::count_down(ResidentCluster& cluster, std::uint64_t number) {
  CtaCompletion completion;
  if (!cluster.ids.empty()) {
    const std::size_t inner = cluster.inner_of(number);
    completion.flush = gpcs.cta_complete(cluster.gpcs[inner], cluster.ids[inner]);
  }
  completion.last = --cluster.ctas == 0;
  return completion;
}

bool Distributor::flush_done(std::uint32_t cluster, std::uint64_t number) {
  ResidentCluster& resident = state_->clusters[cluster];
  const std::size_t inner = resident.inner_of(number);
  state_->gpcs.flush_done(resident.gpcs[inner], resident.ids[inner]);
  return --resident.unflushed == 0;
}

void Distributor::flush_all(std::uint32_t cluster) {
  const std::uint64_t ctas = state_->clusters[cluster].unflushed;
  for (std::uint64_t number = 0; number < ctas; ++number) flush_done(cluster, number);
}

void Distributor::started_in_cluster(std::uint32_t cluster, std::uint32_t count) {
  ResidentCluster& resident = state_->clusters[cluster];
  RADDLE_ASSERT(resident.unstarted >= count, "more CTAs of a cluster were started than it has");
  if ((resident.unstarted -= count) == 0) --state_->waiting[resident.first_sm];
}

void Distributor::cluster_complete(Grid& grid, std::uint32_t cluster) {
  State& state = *state_;
  ResidentCluster& resident = state.clusters[cluster];
  RADDLE_ASSERT(resident.grid == &grid && resident.ctas == 0 && resident.unflushed == 0,
                "a cluster that is not complete");
  for (std::size_t i = 0; i < resident.ids.size(); ++i)
    state.gpcs.return_id(resident.gpcs[i], resident.ids[i]);
  for (const std::uint32_t sm : resident.slots)
    state.usage.return_cluster_slot(sm), state.gpcs.return_slot(state.shape.domain_of(Level::gpc, sm));
  if (resident.memory != ~0u) state.memory.give_back(resident.memory);
  if (resident.unstarted != 0) --state.waiting[resident.first_sm];  // its grid was stopped
  --grid.clusters;
  ++state.freed;
  if (state.recorder) state.recorder.cluster_complete(grid, resident.number);
  state.clusters.give_back(cluster);
  state.settle(grid);
}

void Distributor::look_again() {
  state_->enter_lone();
  ++state_->freed;
}

Activity Distributor::activity() const {
  state_->enter_lone();
  const State& state = *state_;
  Activity now{.ctas = state.usage.load(), .parked = state.spaces.parked()};
  for (const Grid* grid : state.slots.running()) {
    if (!grid->is_resident()) continue;
    auto its = std::ranges::find(now.spaces, grid->space, &Activity::OfSpace::id);
    if (its == now.spaces.end())
      its = now.spaces.insert(its, {grid->space, state.spaces.sms_with_ctas(grid->space_row)});
    ++its->grids;
  }
  return now;
}

std::size_t Distributor::waiting() const { return state_->order.size() + state_->slots.waiting(); }

std::span<const std::uint32_t> Distributor::local_ids(std::uint32_t cluster) const {
  return state_->clusters[cluster].ids;
}

void Distributor::observe(DecisionLog* log) {
  state_->enter_lone();
  state_->recorder.observe(log);
}

void Distributor::enable(std::uint32_t tpc, bool on) {
  state_->enter_lone();
  state_->usage.enable(tpc, on);
  state_->reconsider();
}

void Distributor::confine(std::uint64_t space, const SmLimit& limit) {
  state_->enter_lone();
  state_->spaces.confine(space, limit);
  state_->reconsider();
}

void Distributor::hold(std::uint32_t context, bool on) {
  state_->enter_lone();
  const std::uint64_t bit = std::uint64_t{1} << context;
  if (on == ((state_->held & bit) != 0)) return;
  state_->held = on ? state_->held | bit : state_->held & ~bit;
  state_->slots.for_each([&](Grid& grid) { state_->count_load(grid); });
  state_->reconsider();
}

ContextLoad Distributor::load_of(std::uint32_t context) const {
  ContextLoad load;
  state_->slots.for_each([&](const Grid& grid) {
    if (grid.context != context) return;
    load.is_resident |= grid.is_resident();
    load.is_waiting |= !grid.none_left();
  });
  return load;
}

std::vector<std::uint32_t> Distributor::shares() const {
  std::vector<std::uint32_t> counts;
  for (const auto& gpcs : state_->shares.gpcs()) counts.push_back(static_cast<std::uint32_t>(gpcs.size()));
  return counts;
}

bool Distributor::is_confined(std::uint64_t space) const { return !state_->spaces.limit_of(space).is_none(); }

std::uint32_t Distributor::most_per_sm(const CtaNeeds& needs) const {
  const std::uint32_t fit = state_->usage.fit_empty(needs), cap = state_->options.grid_cap_per_sm;
  return cap == 0 ? fit : std::min(fit, cap);
}

/// The real rule on an empty machine: another distributor, with more of such clusters than can run.
std::uint64_t Distributor::most_active(const GridKind& kind, const CtaNeeds& needs,
                                       std::uint64_t space) const {
  const State& state = *state_;
  const std::uint64_t size = kind.ctas_per_cluster();
  Grid grid{.needs = needs, .kind = kind, .space = space};
  grid.ctas = size * (std::uint64_t{state.shape.sm_count()} * state.shape.sm.cta_slots / size + 1);
  DistributorOptions options = state.options;
  options.credits = 0;
  options.work_kinds = 0;  // alone, it has all GPCs
  Distributor empty(state.shape, std::make_unique<BorrowedPolicy>(*state.policy), options);
  NoSink sink;
  empty.confine(space, state.spaces.limit_of(space));
  empty.add(grid);
  return empty.distribute(sink) / size;
}

}  // namespace raddle::machine
