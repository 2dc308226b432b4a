// The distributor's loop: serve the grids in order, let the policy place what fits, commit it to the live
// model and broadcast it. Accounts are in parts of their own: sm_usage, task_table, gpc_manager,
// resident_clusters, fairness, decision_recorder.
#include "machine/distributor/distributor.h"

#include <algorithm>

#include "base/assert.h"
#include "machine/distributor/decision_recorder.h"
#include "machine/distributor/fairness.h"
#include "machine/distributor/gpc_manager.h"
#include "machine/distributor/resident_clusters.h"
#include "machine/distributor/sm_usage.h"
#include "machine/distributor/task_table.h"

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

struct Distributor::State {
  State(const MachineShape& machine, std::unique_ptr<Policy> chosen, DistributorOptions wanted)
      : shape(machine),
        policy(std::move(chosen)),
        options(wanted),
        usage(machine, wanted.cap_per_sm),
        table(usage),
        gpcs(machine),
        memory(machine.cluster_memory_slots),
        last_cluster_(machine.sm_count(), 0) {}

  std::uint64_t serve(Grid& grid, LaunchSink& sink);
  std::uint64_t limit(const Grid& grid) const;
  bool lacks_memory(const Grid& grid) const { return grid.cluster_memory && memory.empty(); }
  Snapshot snapshot_of(const Grid& grid, const TaskTable::Row& row, std::span<const std::uint32_t> clusters,
                       std::uint64_t left) const;
  bool place(const Grid& grid, const TaskTable::Row& row, std::uint64_t left);
  void commit(Grid& grid, LaunchSink& sink);
  void commit_cluster(Grid& grid, std::span<const SmMask> masks, LaunchSink& sink);
  void hold_inner_clusters(const Grid& grid, ResidentCluster& cluster, std::span<const std::uint32_t> sms);
  void start(const Grid& grid, std::span<const std::uint32_t> sms);
  void exit(Grid& grid, std::uint32_t sm, std::uint32_t count);
  void release_if_finished(const Grid& grid);
  void say_refusal(const Grid& grid, const TaskTable::Row& row);
  bool machine_is_empty() const { return usage.resident() == 0 && clusters.count() == 0; }

  const MachineShape& shape;
  const std::unique_ptr<Policy> policy;
  const DistributorOptions options;
  SmUsage usage;
  TaskTable table;
  GpcManagers gpcs;
  NumberPool memory;
  ResidentClusters clusters;
  ServiceOrder order;
  Session session;
  DecisionRecorder recorder;
  std::uint64_t freed = 1;  // counts what may make room: completions, returned ids, enabled TPCs
  std::uint64_t grids = 0, sequence = 0;

 private:
  Placement placement_;
  std::vector<std::uint64_t> last_cluster_;  // by SM: the innermost cluster that got a CTA there last
  std::uint64_t inner_clusters_ = 0;         // launched so far
};

/// Outermost clusters, or CTAs of a plain grid, to launch at most.
std::uint64_t Distributor::State::limit(const Grid& grid) const {
  const std::uint64_t size = grid.kind.ctas_per_cluster();
  const std::uint64_t clusters = std::min((grid.ctas - grid.next) / size, session.clusters(size));
  return grid.cluster_memory ? std::min<std::uint64_t>(clusters, memory.size()) : clusters;
}

Snapshot Distributor::State::snapshot_of(const Grid& grid, const TaskTable::Row& row,
                                         std::span<const std::uint32_t> clusters, std::uint64_t left) const {
  const std::uint64_t launched = grid.next / grid.kind.ctas_per_cluster();
  return {shape, grid.kind, row.free, usage.load(), clusters, options.sm_order, left, grid.id, launched};
}

/// @returns whether something was placed; in `placement_`
bool Distributor::State::place(const Grid& grid, const TaskTable::Row& row, std::uint64_t left) {
  placement_.sms.clear(), placement_.masks.clear();
  placement_.launched = placement_.steps = 0, placement_.failed = false;
  if (recorder) recorder.begin(grid);
  if (left == 0 || row.total < grid.kind.ctas_per_cluster()) return false;
  policy->place(snapshot_of(grid, row, gpcs.launchable(), left), placement_, recorder ? &recorder : nullptr);
  RADDLE_ASSERT(placement_.launched <= left, "the policy placed more than it was given");
  return placement_.launched != 0;
}

/// Launches what fits of one grid. @returns CTAs launched
std::uint64_t Distributor::State::serve(Grid& grid, LaunchSink& sink) {
  if (grid.tried == freed) return 0;
  const std::uint64_t first = grid.next;
  while (grid.next != grid.ctas) {
    const std::uint64_t left = limit(grid);
    if (left == 0 && !lacks_memory(grid)) break;  // it may not: credits, or the patience of those before it
    const TaskTable::Row& row = table.look(grid.row);
    const bool placed = place(grid, row, left);
    if (placed) commit(grid, sink);
    if (placed && !placement_.failed) continue;
    grid.tried = freed;
    if (recorder) say_refusal(grid, row);
    break;
  }
  return grid.next - first;
}

/// A plain grid that waits for slots is no decision; a cluster that is refused is, and what for.
void Distributor::State::say_refusal(const Grid& grid, const TaskTable::Row& row) {
  if (grid.kind.is_plain()) return;
  bool stalls = lacks_memory(grid);
  if (!stalls && grid.kind.has_local_ids() && row.total >= grid.kind.ctas_per_cluster()) {
    const std::vector<std::uint32_t> plenty(gpcs.launchable().size(), ~0u);
    Placement with_ids;
    policy->place(snapshot_of(grid, row, plenty, 1), with_ids, nullptr);
    stalls = with_ids.launched != 0;
  }
  recorder.refuse(grid, stalls ? Decision::Kind::stall : Decision::Kind::fail);
}

void Distributor::State::commit(Grid& grid, LaunchSink& sink) {
  const std::span<const SmMask> masks(placement_.masks);
  for (std::size_t begin = 0, end = 0; begin < masks.size(); begin = end) {
    while (!masks[end++].end) RADDLE_ASSERT(end < masks.size(), "a cluster without an end mark");
    commit_cluster(grid, masks.subspan(begin, end - begin), sink);
  }
}

void Distributor::State::start(const Grid& grid, std::span<const std::uint32_t> sms) {
  const std::uint64_t number = table[grid.row].needs_number;
  for (const std::uint32_t sm : sms) {
    table.started(grid.row, sm);
    usage.start(sm, grid.needs, number);
  }
}

/// The live model first, whole cluster, then the broadcast: who hears of a mask may ask for the cluster's
/// ids.
void Distributor::State::commit_cluster(Grid& grid, std::span<const SmMask> masks, LaunchSink& sink) {
  const std::uint32_t begin = masks.front().first;
  const std::span sms(placement_.sms.data() + begin, masks.back().first + masks.back().count - begin);
  LaunchMask launch{.grid = &grid, .first = grid.next, .sequence = sequence++};
  start(grid, sms);
  if (!grid.kind.is_plain()) {
    launch.cluster = clusters.take();
    ResidentCluster& cluster = clusters[launch.cluster];
    cluster.grid = &grid, cluster.ctas = sms.size();
    cluster.number = grid.next / sms.size();
    if (grid.cluster_memory) launch.cluster_memory = cluster.memory = memory.take();
    if (grid.kind.has_local_ids()) hold_inner_clusters(grid, cluster, sms);
    ++grid.clusters;
  }
  grid.next += sms.size(), grid.outstanding += sms.size();
  session.count(sms.size());
  for (const SmMask& mask : masks) {
    launch.sms = {placement_.sms.data() + mask.first, mask.count};
    launch.end = mask.end;
    sink.launch(launch);
    launch.first += mask.count;
  }
}

/// Ids and cluster slots. An innermost cluster holds one slot on each SM that has CTAs of it.
void Distributor::State::hold_inner_clusters(const Grid& grid, ResidentCluster& cluster,
                                             std::span<const std::uint32_t> sms) {
  const std::uint64_t size = grid.kind.ctas_per_cluster(grid.kind.depth - 1);
  for (std::size_t i = 0; i < sms.size(); ++i) {
    const std::uint32_t gpc = shape.domain_of(Level::gpc, sms[i]);
    if (i % size == 0) {
      ++inner_clusters_;
      cluster.ids.push_back(gpcs.take_id(gpc)), cluster.gpcs.push_back(gpc);
    }
    RADDLE_ASSERT(gpc == cluster.gpcs.back(), "a cluster was spread over two GPCs");
    if (last_cluster_[sms[i]] == inner_clusters_) continue;
    last_cluster_[sms[i]] = inner_clusters_;
    usage.take_cluster_slot(sms[i]), gpcs.take_slot(gpc);
    cluster.slots.push_back(sms[i]);
  }
}

void Distributor::State::exit(Grid& grid, std::uint32_t sm, std::uint32_t count) {
  RADDLE_ASSERT(grid.outstanding >= count, "more CTAs completed than were launched");
  table.exited(grid.row, sm, count);
  usage.exit(sm, count, grid.needs, table[grid.row].needs_number);
  grid.outstanding -= count;
  ++freed;
}

void Distributor::State::release_if_finished(const Grid& grid) {
  if (grid.finished()) table.release(grid.row);
}

Distributor::Distributor(const MachineShape& shape, std::unique_ptr<Policy> policy,
                         DistributorOptions options)
    : state_(std::make_unique<State>(shape, std::move(policy), options)) {}
Distributor::~Distributor() = default;

void Distributor::add(Grid& grid) {
  State& state = *state_;
  RADDLE_ASSERT(grid.ctas != 0 && grid.ctas % grid.kind.ctas_per_cluster() == 0,
                "a grid is made of whole clusters");
  grid.sequence = state.grids++;
  grid.row = state.table.acquire(grid, grid.kind.has_local_ids());
  state.order.add(grid);
}

void Distributor::withdraw(Grid& grid) {
  if (grid.all_launched()) return;
  state_->order.remove(grid);
  grid.withdrawn = true;
  state_->release_if_finished(grid);
}

std::uint64_t Distributor::distribute(LaunchSink& sink) {
  State& state = *state_;
  Session& session = state.session;
  session.begin(state.options.credits);
  for (std::size_t position = 0; position < state.order.size() && !session.exhausted();) {
    Grid& grid = state.order[position];
    if (state.serve(grid, sink) != 0) grid.overtaken = 0;
    if (grid.all_launched()) {
      state.order.remove_at(position);
      continue;
    }
    if (state.machine_is_empty()) grid.overtaken = 0;  // there is nothing that it could wait for
    session.leave_behind(grid, state.options.patience);
    ++position;
  }
  session.end();
  return session.launched();
}

void Distributor::complete(Grid& grid, std::uint32_t sm, std::uint32_t count) {
  state_->exit(grid, sm, count);
  if (state_->recorder) state_->recorder.complete(grid, sm, count, 0);
  state_->release_if_finished(grid);
}

bool Distributor::complete_in_cluster(Grid& grid, std::uint32_t sm, std::uint32_t cluster) {
  ResidentCluster& resident = state_->clusters[cluster];
  RADDLE_ASSERT(resident.grid == &grid && resident.ctas != 0, "a CTA of a cluster that is not resident");
  state_->exit(grid, sm, 1);
  if (state_->recorder) state_->recorder.complete(grid, sm, 1, resident.number);
  return --resident.ctas == 0;
}

void Distributor::cluster_complete(Grid& grid, std::uint32_t cluster) {
  State& state = *state_;
  ResidentCluster& resident = state.clusters[cluster];
  RADDLE_ASSERT(resident.grid == &grid && resident.ctas == 0, "a cluster that is not complete");
  for (std::size_t i = 0; i < resident.ids.size(); ++i)
    state.gpcs.return_id(resident.gpcs[i], resident.ids[i]);
  for (const std::uint32_t sm : resident.slots)
    state.usage.return_cluster_slot(sm), state.gpcs.return_slot(state.shape.domain_of(Level::gpc, sm));
  if (resident.memory != ~0u) state.memory.give_back(resident.memory);
  --grid.clusters;
  ++state.freed;
  if (state.recorder) state.recorder.cluster_complete(grid, resident.number);
  state.clusters.give_back(cluster);
  state.release_if_finished(grid);
}

std::size_t Distributor::waiting() const { return state_->order.size(); }

std::span<const std::uint32_t> Distributor::local_ids(std::uint32_t cluster) const {
  return state_->clusters[cluster].ids;
}

void Distributor::observe(DecisionLog* log) { state_->recorder.observe(log); }

void Distributor::enable(std::uint32_t tpc, bool on) {
  state_->usage.enable(tpc, on);
  ++state_->freed;
}

/// The real rule on an empty machine: another distributor, with more of such clusters than can run.
std::uint64_t Distributor::most_active(const GridKind& kind, const CtaNeeds& needs) const {
  const State& state = *state_;
  const std::uint64_t size = kind.ctas_per_cluster();
  Grid grid{.needs = needs, .kind = kind};
  grid.ctas = size * (std::uint64_t{state.shape.sm_count()} * state.shape.sm.cta_slots / size + 1);
  DistributorOptions options = state.options;
  options.credits = 0;
  Distributor empty(state.shape, std::make_unique<BorrowedPolicy>(*state.policy), options);
  NoSink sink;
  empty.add(grid);
  return empty.distribute(sink) / size;
}

}  // namespace raddle::machine
