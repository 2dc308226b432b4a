// Events, the machines they happen on, and the invariants.
#include "random_events.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "random_setup.h"

namespace raddle::machine::testing {
/// Compares what a policy is shown with the truth.
class RandomEvents::CheckingPolicy final : public Policy {
 public:
  CheckingPolicy(std::unique_ptr<Policy> policy, RandomEvents& events)
      : policy_(std::move(policy)), events_(events) {}
  std::string_view name() const override { return policy_->name(); }
  void place(const Snapshot& snapshot, Placement& placement, DecisionLog* log) override {
    // Questions about other machines than the live one.
    const bool what_if = snapshot.waiting.empty() || snapshot.clusters[0] == ~0u;
    for (const auto& grid : events_.grids_)
      if (&grid->kind == &snapshot.kind && !what_if) compare(*grid, snapshot);
    policy_->place(snapshot, placement, log);
    const bool is_deep =
        snapshot.mode == PlacementMode::deep || (!snapshot.mode && policy_->name() == "deep");
    if (is_deep && snapshot.kind.is_plain() && !what_if) check_deep(snapshot, placement);
  }

 private:
  /// No SM is opened while one with affinity has room, nor a second one while the first has.
  void check_deep(const Snapshot& snapshot, const Placement& placement) {
    std::vector<std::uint32_t> taken(snapshot.free.size(), 0);
    for (const std::uint32_t sm : placement.sms) ++taken[sm];
    std::uint32_t opened = 0, full = 0, with_room = 0;
    for (std::size_t sm = 0; sm < taken.size(); ++sm) {
      const bool has_room = taken[sm] < snapshot.free[sm];
      if (snapshot.own[sm] != 0)
        with_room += has_room;
      else if (taken[sm] != 0)
        ++opened, full += !has_room;
    }
    events_.check(opened == 0 || with_room == 0, "an SM is opened although one with affinity has room");
    events_.check(opened - full <= 1, "an SM is opened although the one before it has room");
  }

  void compare(const Grid& grid, const Snapshot& snapshot) {
    const auto equal = [](std::span<const std::uint32_t> a, const std::vector<std::uint32_t>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end());
    };
    events_.check(equal(snapshot.load, events_.truth_.load()), "the load that a policy sees");
    events_.check(equal(snapshot.waiting, events_.truth_.waiting()),
                  "the waiting clusters that a policy sees");
    events_.check(equal(snapshot.own, events_.truth_.load_of(grid.space)), "the CTAs of a space");
    if (grid.mode != PlacementMode::automatic_per_task)
      events_.check(snapshot.spaces == events_.spaces(), "the number of spaces");
    std::vector<std::uint32_t> free = events_.visible(grid);
    if (events_.has_pools()) events_.check_pools(grid, snapshot.free, free);
    events_.check(equal(snapshot.free, free), "the free slots that a policy sees");
    const std::vector<std::uint32_t> launchable = events_.truth_.launchable();
    for (std::size_t gpc = 0; gpc < launchable.size(); ++gpc)
      events_.check(snapshot.clusters[gpc] <= launchable[gpc], "the clusters that a policy may launch");
    if (events_.has_pools()) return;
    if (std::none_of(events_.grids_.begin(), events_.grids_.end(),
                     [](const auto& other) { return other->kept < kFitsNowhere; }))
      events_.check(equal(snapshot.clusters, launchable), "the cluster slots and ids that a policy sees");
  }

  std::unique_ptr<Policy> policy_;
  RandomEvents& events_;
};

RandomEvents::RandomEvents(const Setup& setup) {
  truth_.shape = make_shape(setup.shape, setup.limits);
  truth_.options = make_options(setup.options, truth_.shape.sm_count());
  const std::vector<std::string> names = policy_names();
  policy_name_ = names[setup.policy % names.size()];
  auto policy = make_policy(policy_name_);
  distributor_ = std::make_unique<Distributor>(
      truth_.shape, std::make_unique<CheckingPolicy>(std::move(*policy), *this), truth_.options);
  add({.a = 9});  // one that fits: the first question is about the live model
  distribute();
}
RandomEvents::~RandomEvents() = default;

void RandomEvents::check(bool holds, const char* what) {
  if (!holds && !failure_) failure_ = what;
}

/// Free slots of a grid without those kept for grids before it.
std::vector<std::uint32_t> RandomEvents::visible(const Grid& grid) const {
  std::vector<std::uint32_t> free = truth_.free(grid);
  for (const auto& other : grids_) {
    const bool before = std::pair(other->priority, other->sequence) < std::pair(grid.priority, grid.sequence);
    if (!before || other->kept >= kFitsNowhere || other->all_launched()) continue;
    const Level level = other->kind.is_plain() ? Level::sm : other->kind.levels[0].domain;
    const Domain& kept = truth_.shape.domains(level)[other->kept];
    std::fill_n(free.begin() + kept.first_sm, kept.sm_count, 0u);
  }
  return free;
}

std::size_t RandomEvents::spaces() const {
  std::set<std::uint64_t> spaces;
  for (const auto& grid : grids_)
    if (!grid->finished()) spaces.insert(grid->space);
  return spaces.size();
}

void RandomEvents::preempt(Grid& grid) {
  check(truth_.options.preemptive && grid.turn == Grid::Turn::leaves && !grid.kind.has_local_ids() &&
            !grid.cluster_memory,
        "a grid is preempted that must not be");
}

/// The CTAs of a cluster come back together, each to where it was.
void RandomEvents::put_back(const LaunchMask& mask) {
  const auto its = std::ranges::find_if(truth_.clusters, [&](const TrueCluster& cluster) {
    return cluster.grid == mask.grid && mask.back->index - cluster.first < cluster.sms.size();
  });
  check(its != truth_.clusters.end() && !launching_, "nothing of the kind was parked");
  if (failure_) return;
  const auto rank = static_cast<std::uint32_t>(mask.back->index - its->first);
  check(its->parked.contains(rank) && its->parked[rank] == mask.back->began && its->slot == mask.cluster,
        "a CTA comes back that was not parked");
  check(mask.sms.size() == 1 && mask.sms[0] == its->sms[rank], "a CTA comes back to another SM");
  enter_pool(*mask.grid, mask.sms[0]);
  its->parked.erase(rank);
  its->running.push_back(rank);
  ++back_;
  check(mask.end == its->parked.empty(), "a part of a cluster comes back");
  if (mask.end) check(mask.sequence == sequence_++, "sequence numbers have gaps");
}

void RandomEvents::park(TrueCluster& cluster, std::uint32_t running, bool began) {
  const std::uint32_t rank = cluster.running[running];
  if (cluster.waits && rank + 1 == cluster.sms.size()) {
    cluster.waits = began = false;
    distributor_->started_in_cluster(cluster.slot, 1);
  }
  cluster.running.erase(cluster.running.begin() + running);
  cluster.parked[rank] = began;
  distributor_->park(*cluster.grid, {cluster.first + rank, cluster.sms[rank], cluster.slot, began});
}

/// What is parked of a grid that was withdrawn.
void RandomEvents::drop(std::uint32_t index) {
  TrueCluster& cluster = truth_.clusters[index];
  const std::uint32_t rank = cluster.parked.begin()->first;
  cluster.parked.erase(rank);
  const bool last = distributor_->drop(*cluster.grid, cluster.first + rank).last;
  if (cluster.slot == kNoCluster)
    truth_.clusters.erase(truth_.clusters.begin() + index);
  else
    check(last == (cluster.running.empty() && cluster.parked.empty()),
          "whether a dropped CTA is the last of its cluster");
}

void RandomEvents::launch(const LaunchMask& mask) {
  Grid& grid = *mask.grid;
  if (mask.back != nullptr) return put_back(mask);
  check(!truth_.has_parked(grid), "new CTAs pass those that are parked");
  for (const std::uint32_t sm : mask.sms) enter_pool(grid, sm);
  if (!launching_)
    launching_.emplace(TrueCluster{
        .grid = &grid, .sequence = mask.sequence, .slot = mask.cluster, .memory = mask.cluster_memory});
  check(
      launching_->grid == &grid && launching_->slot == mask.cluster && launching_->sequence == mask.sequence,
      "masks of two clusters interleave");
  check(std::set(mask.sms.begin(), mask.sms.end()).size() == mask.sms.size(),
        "an SM appears twice in a mask");
  if (!grid.kind.is_plain())
    check(heard_[&grid] % grid.kind.ctas_per_cluster() == launching_->sms.size(),
          "ranks are not in mask order");
  heard_[&grid] += mask.sms.size();
  check(heard_[&grid] <= grid.next, "more in masks than is launched");
  launching_->sms.insert(launching_->sms.end(), mask.sms.begin(), mask.sms.end());
  if (!mask.end) return;
  check(mask.sequence == sequence_++, "sequence numbers have gaps");
  TrueCluster cluster = *std::exchange(launching_, std::nullopt);
  cluster.first = heard_[&grid] - cluster.sms.size();
  if (grid.kind.is_plain()) {
    for (std::uint64_t i = 0; i < cluster.sms.size(); ++i)
      truth_.clusters.push_back({.grid = &grid,
                                 .sequence = cluster.sequence,
                                 .sms = {cluster.sms[i]},
                                 .first = cluster.first + i,
                                 .running = {0}});
    return;
  }
  const auto ids = distributor_->local_ids(mask.cluster);
  cluster.local_ids.assign(ids.begin(), ids.end());
  for (std::uint32_t rank = 0; rank < cluster.sms.size(); ++rank) cluster.running.push_back(rank);
  check_cluster(cluster);
  cluster.waits = sequence_ % 3 == 0;  // its last CTA is never started by itself
  distributor_->started_in_cluster(cluster.slot,
                                   static_cast<std::uint32_t>(cluster.sms.size()) - cluster.waits);
  truth_.clusters.push_back(cluster);
}

/// The cluster is whole, every level lies inside one domain, and no other cluster uses its ids or slots.
void RandomEvents::check_cluster(const TrueCluster& cluster) {
  const GridKind& kind = cluster.grid->kind;
  check(cluster.sms.size() == kind.ctas_per_cluster(), "a cluster is not whole");
  for (unsigned level = 0; level < kind.depth; ++level)
    for (std::size_t rank = 0; rank < cluster.sms.size(); ++rank) {
      const std::uint64_t size = kind.ctas_per_cluster(level);
      const Level domain = kind.levels[level].domain;
      check(truth_.shape.domain_of(domain, cluster.sms[rank]) ==
                truth_.shape.domain_of(domain, cluster.sms[rank / size * size]),
            "a cluster is not in one domain");
    }
  check(cluster.local_ids.size() == (kind.has_local_ids() ? kind.innermost_clusters() : 0),
        "ids are missing");
  check((cluster.memory != ~0u) == cluster.grid->cluster_memory, "cluster-wide memory");
  for (const TrueCluster& other : truth_.clusters) {
    if (other.slot == kNoCluster) continue;
    check(other.slot != cluster.slot, "a place in the cluster table is used twice");
    check(other.memory == ~0u || other.memory != cluster.memory, "cluster-wide memory is used twice");
    for (std::size_t i = 0; i < cluster.local_ids.size(); ++i)
      for (std::size_t j = 0; j < other.local_ids.size(); ++j)
        check(cluster.local_ids[i] != other.local_ids[j] ||
                  truth_.shape.domain_of(Level::gpc, cluster.sm_of_inner(i)) !=
                      truth_.shape.domain_of(Level::gpc, other.sm_of_inner(j)),
              "a cluster id is used again before its traffic has drained");
  }
}

/// Nothing at all, in the truth's view: asks another policy of the same name.
bool RandomEvents::nothing_fits(const Grid& grid) {
  if (truth_.has_parked(grid))
    return std::ranges::none_of(truth_.clusters, [&](const TrueCluster& cluster) {
      return cluster.grid == &grid && !cluster.parked.empty() && truth_.takes_back(cluster);
    });
  const std::uint64_t memory = static_cast<std::uint64_t>(std::count_if(
      truth_.clusters.begin(), truth_.clusters.end(), [](const TrueCluster& c) { return c.memory != ~0u; }));
  if (grid.cluster_memory && memory == truth_.shape.cluster_memory_slots) return true;
  const std::vector<std::uint32_t> free = truth_.free(grid), launchable = truth_.launchable();
  const std::vector<std::uint32_t> load = truth_.load();
  Placement placement;
  auto policy = make_policy(policy_name_);
  (*policy)->place({truth_.shape,
                    grid.kind,
                    free,
                    load,
                    launchable,
                    {},
                    1,
                    grid.id,
                    grid.next / grid.kind.ctas_per_cluster(),
                    TieBreak::load,
                    {},
                    grid.mode},
                   placement, nullptr);
  return placement.launched == 0;
}

/// No more grids have slots than there are, and none for which a waiting one would have made it leave.
void RandomEvents::check_slots() {
  std::size_t taken = 0, leaving = 0;
  int most_urgent = std::numeric_limits<int>::max(), least_urgent = std::numeric_limits<int>::min();
  for (const auto& grid : grids_) {
    if (grid->finished() || grid->turn == Grid::Turn::aside) continue;
    const bool is_gone = grid->turn == Grid::Turn::rests;  // withdrawn; what is parked has yet to be dropped
    if (is_gone)
      check(grid->withdrawn && (truth_.has_parked(*grid) || grid->clusters != 0),
            "a grid rests that is not open");
    if (is_gone || grid->turn == Grid::Turn::listed) {
      if (!is_gone) most_urgent = std::min(most_urgent, grid->priority);
      for (const TrueCluster& cluster : truth_.clusters)
        check(cluster.grid != grid.get() || cluster.running.empty(), "a grid without a slot has CTAs");
      continue;
    }
    ++taken;
    leaving += grid->turn == Grid::Turn::leaves;
    const bool could_stop = truth_.options.preemptive && grid->outstanding != 0 && grid->can_be_preempted();
    if (grid->turn == Grid::Turn::runs && (!grid->all_launched() || (could_stop && !grid->withdrawn)))
      least_urgent = std::max(least_urgent, grid->priority);
  }
  const std::uint32_t slots = truth_.options.task_slots;
  check(slots == 0 || taken <= slots, "more grids have slots than there are");
  check(leaving != 0 || most_urgent >= least_urgent, "an urgent grid waits for a slot, and none leaves");
  check(most_urgent == std::numeric_limits<int>::max() || taken == slots,
        "a grid waits while slots are free");
}

/// In the preemptive mode nothing more urgent waits for the ends of CTAs that could stop before.
void RandomEvents::check_preemption() {
  for (const auto& grid : grids_) {
    if (grid->finished() || grid->turn != Grid::Turn::leaves || grid->preempted || grid->withdrawn) continue;
    if (!truth_.options.preemptive || grid->outstanding == 0 || !grid->can_be_preempted()) continue;
    const auto more_urgent = std::ranges::count_if(grids_, [&](const auto& other) {
      return !other->finished() && other->turn == Grid::Turn::listed && other->priority < grid->priority;
    });
    const auto preempted = std::ranges::count_if(grids_, [](const auto& other) {
      return !other->finished() && other->turn == Grid::Turn::leaves && other->preempted;
    });
    check(more_urgent <= preempted, "an urgent grid waits for the ends of CTAs that could stop");
  }
}

/// A grid whose turn is over leaves for an equal one that waits, unless enough others do.
/// @param overdue  with the begin of their turns
void RandomEvents::check_turns(const std::map<const Grid*, std::uint64_t>& overdue) {
  const auto leaves = [](const auto& grid) { return !grid->finished() && grid->turn == Grid::Turn::leaves; };
  for (const auto& [grid, began] : overdue) {
    if (grid->turn != Grid::Turn::runs || grid->all_launched() || grid->turn_began != began) continue;
    const auto waits = [&](const auto& other) {
      return !other->finished() && other->turn == Grid::Turn::listed && other->priority <= grid->priority;
    };
    check(std::ranges::count_if(grids_, leaves) >= std::ranges::count_if(grids_, waits),
          "a grid keeps its slot from an equal one after its turn");
  }
}

void RandomEvents::distribute() {
  std::uint64_t before = 0, after = 0;
  std::map<const Grid*, std::uint64_t> overdue;
  for (const auto& grid : grids_) {
    before += grid->next;
    if (grid->turn == Grid::Turn::runs && truth_.options.turn != 0 &&
        grid->next - grid->turn_began >= truth_.options.turn)
      overdue.emplace(grid.get(), grid->turn_began);
  }
  back_ = 0;
  waited_.clear();
  for (const auto& grid : grids_)
    if (!grid->none_left()) waited_.insert(grid.get());
  const std::uint64_t launched = distributor_->distribute(*this);
  for (const auto& grid : grids_) {
    after += grid->next;
    check(heard_[grid.get()] == grid->next, "what is launched stands in masks");
  }
  for (auto& [gpc, actives] : active_)  // one that has launched all may have more again, when it is preempted
    std::erase_if(actives, [&](const auto& entry) { return !launches_in(*entry.first, gpc); });
  check(!launching_, "a cluster without an end mark");
  check(launched == after - before + back_, "the count of launched CTAs");
  check(truth_.within_capacity(), "an SM holds more than it can");
  check_slots();
  check_preemption();
  check_turns(overdue);
  if (truth_.options.credits != 0) {
    check(launched <= std::max<std::uint64_t>(truth_.options.credits, 20),
          "more launched than there are credits");
    return;
  }
  const Grid* first = nullptr;
  for (const auto& grid : grids_)
    if (grid->turn == Grid::Turn::runs && !grid->all_launched() &&
        (first == nullptr ||
         std::pair(grid->priority, grid->sequence) < std::pair(first->priority, first->sequence)))
      first = grid.get();
  if (first != nullptr && !has_pools())
    check(nothing_fits(*first), "what is first in order fits, and is not launched");
}

void RandomEvents::add(const Event& event) {
  std::erase_if(grids_, [this](const auto& grid) {
    if (!grid->finished()) return false;
    idle_.erase(grid.get());
    for (auto& [gpc, actives] : active_)
      std::erase_if(actives, [&](const auto& entry) { return entry.first == grid.get(); });
    return true;
  });
  if (distributor_->waiting() >= 6) return withdraw(event.b);
  Grid grid{
      .id = added_++, .needs = kRandomNeeds[event.b % std::size(kRandomNeeds)], .kind = make_kind(event.a)};
  grid.ctas = grid.kind.ctas_per_cluster() * (1 + event.b / 8 % 16) *
              (grid.kind.is_plain() ? 1 + event.a / 16 % 8 : 1);
  grid.priority = static_cast<int>(event.b / 128 % 4) / 3;
  grid.cap_per_sm = event.b / 512 % 8 == 0 ? 2 : 0;
  grid.cluster_memory = !grid.kind.is_plain() && event.b / 4096 % 4 == 0;
  grid.space = event.a / 128 % 4;
  if (const unsigned mode = event.a / 512 % 8; mode < 4) grid.mode = PlacementMode(mode);
  grids_.push_back(std::make_unique<Grid>(grid));
  heard_[grids_.back().get()] = 0;
  distributor_->add(*grids_.back());
}

void RandomEvents::withdraw(std::uint32_t number) {
  if (!grids_.empty()) distributor_->withdraw(*grids_[number % grids_.size()]);
}

void RandomEvents::complete(std::uint32_t index, std::uint32_t running) {
  TrueCluster& cluster = truth_.clusters[index];
  const std::uint32_t sm = cluster.sms[cluster.running[running]];
  const std::uint64_t number = cluster.running[running];
  cluster.running.erase(cluster.running.begin() + running);
  if (cluster.slot != kNoCluster) {
    const bool last = distributor_->complete_in_cluster(*cluster.grid, sm, cluster.slot, number).last;
    check(last == (cluster.running.empty() && cluster.parked.empty()),
          "whether a CTA is the last of its cluster");
    return;
  }
  Grid& grid = *cluster.grid;
  truth_.clusters.erase(truth_.clusters.begin() + index);
  distributor_->complete(grid, sm, 1);
}

void RandomEvents::drain(std::uint32_t index) {
  const TrueCluster cluster = truth_.clusters[index];
  if (!cluster.parked.empty() && cluster.grid->withdrawn) return drop(index);
  if (!cluster.running.empty() || !cluster.parked.empty()) return;
  truth_.clusters.erase(truth_.clusters.begin() + index);
  distributor_->flush_all(cluster.slot);
  distributor_->cluster_complete(*cluster.grid, cluster.slot);
}

void RandomEvents::happen(const Event& event) {
  const auto resident = static_cast<std::uint32_t>(truth_.clusters.size());
  switch (event.what % 16) {
    case 0:
    case 1:
      add(event);
      break;
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
      if (resident == 0) break;
      if (const auto& running = truth_.clusters[event.a % resident].running; running.empty())
        drain(event.a % resident);
      else if (truth_.clusters[event.a % resident].grid->preempted && event.b / 16 % 4 != 0)
        park(truth_.clusters[event.a % resident], event.b % running.size(), event.b / 64 % 2 == 0);
      else
        complete(event.a % resident, event.b % running.size());
      break;
    case 9:
      if (event.a % 16 == 0) withdraw(event.b);
      if (event.a % 16 == 1) idle(event.b);
      break;
    case 10: {
      const auto tpc = static_cast<std::uint32_t>(event.a % truth_.shape.domains(Level::tpc).size());
      if (event.b % 8 == 0 && truth_.disabled.size() < 2) {
        truth_.disabled.insert(tpc), distributor_->enable(tpc, false);
      } else if (truth_.disabled.erase(tpc) != 0) {
        distributor_->enable(tpc, true);
      }
      break;
    }
    default:
      distribute();
  }
}

void RandomEvents::finish() {
  idle_.clear();
  distributor_->look_again();
  for (const std::uint32_t tpc : std::exchange(truth_.disabled, {})) distributor_->enable(tpc, true);
  while (!failure_) {
    const auto is_parked = [](const TrueCluster& cluster) {  // it ends when it is back
      return cluster.running.empty() && !cluster.parked.empty() && !cluster.grid->withdrawn;
    };
    for (std::uint32_t i = 0; i < truth_.clusters.size() && !failure_;) {
      if (is_parked(truth_.clusters[i]))
        ++i;
      else
        truth_.clusters[i].running.empty() ? drain(i) : complete(i, 0);
    }
    if (std::all_of(grids_.begin(), grids_.end(),
                    [this](const auto& grid) { return grid->all_launched() || nothing_fits(*grid); }))
      break;
    distribute();
    check(!std::ranges::all_of(truth_.clusters, is_parked), "what fits the empty machine is not launched");
  }
  for (const auto& grid : grids_) check(grid->finished() || !grid->all_launched(), "a grid is not finished");
}

}  // namespace raddle::machine::testing
