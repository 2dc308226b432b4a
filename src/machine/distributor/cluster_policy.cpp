// The recursion: a cluster of one level is rounds of clusters of the next, down to CTAs. Trials are launched
// in the placement itself and cancelled there, so that the placement is the journal of the launch registers:
// the shadow state is the snapshot less what the placement holds.
#include "machine/distributor/cluster_policy.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/assert.h"

namespace raddle::machine {

void ClusterPolicy::place(const Snapshot& snapshot, Placement& placement, DecisionLog* log) {
  placement.clear();
  prepare(snapshot, placement, log);
  if (snapshot.kind.is_plain())
    place_plain();
  else
    place_clusters();
  if (!places_.empty())
    for (std::uint32_t& sm : placement.sms) sm = places_[sm];
}

void ClusterPolicy::prepare(const Snapshot& snapshot, Placement& placement, DecisionLog* log) {
  snapshot_ = &snapshot;
  placement_ = &placement;
  log_ = log;
  places_.clear();
  const bool by_number = snapshot.order.empty();
  if (snapshot.kind.is_plain() && by_number && log == nullptr) return;  // nothing is tried, nothing cancelled
  if (!by_number) order_places();
  free_.assign(snapshot.free.begin(), snapshot.free.end());
  if (!by_number)
    for (std::size_t place = 0; place < places_.size(); ++place) free_[place] = snapshot.free[places_[place]];
  ids_.assign(snapshot.clusters.begin(), snapshot.clusters.end());
  if (snapshot.kind.is_plain()) return;
  prepare_nestings(snapshot.kind);
  prepare_ties();
}

void ClusterPolicy::prepare_ties() {
  const Snapshot& snapshot = *snapshot_;
  if (snapshot.ties == TieBreak::waiting) {
    waiting_.assign(snapshot.waiting.begin(), snapshot.waiting.end());
    waiting_.resize(snapshot.free.size(), 0);
  } else if (snapshot.ties == TieBreak::priority) {
    priority_.assign(snapshot.order.size(), 0);
    for (std::uint32_t i = 0; i < snapshot.order.size(); ++i) priority_[snapshot.order[i]] = i;
  }
}

void ClusterPolicy::prepare_nestings(const GridKind& kind) {
  std::uint64_t leaves = kind.has_local_ids() && !ids_.empty() ? 1 : 0;
  for (unsigned depth = kind.depth; depth-- > 0;) {
    Nesting& nesting = nestings_[depth];
    nesting.level = kind.levels[depth].domain;
    nesting.parts = kind.levels[depth].size();
    nesting.leaf = depth + 1 == kind.depth;
    if (!nesting.leaf) leaves *= nesting.parts;
    nesting.ids = nesting.level < Level::gpc ? 0 : leaves;
    nesting.shares_ids = nesting.ids != 0 && nesting.level > Level::gpc;
  }
  uses_ids_ = leaves != 0;
  ctas_of_leaf_ = nestings_[kind.depth - 1].parts;
}

/// Within every innermost domain the SMs stand in priority order; the domains themselves stay ranges.
void ClusterPolicy::order_places() {
  const Snapshot& snapshot = *snapshot_;
  const GridKind& kind = snapshot.kind;
  if (kind.is_plain()) {
    places_.assign(snapshot.order.begin(), snapshot.order.end());
    return;
  }
  const Level level = kind.levels[kind.depth - 1].domain;
  std::vector<std::uint32_t> next(snapshot.shape.domains(level).size());
  for (std::size_t i = 0; i < next.size(); ++i) next[i] = snapshot.shape.domains(level)[i].first_sm;
  places_.resize(snapshot.order.size());
  for (const std::uint32_t sm : snapshot.order) places_[next[snapshot.shape.domain_of(level, sm)]++] = sm;
}

void ClusterPolicy::place_plain() {
  const Snapshot& snapshot = *snapshot_;
  const bool as_given = places_.empty() && log_ == nullptr;
  const DomainView machine{snapshot.shape, DistributionMode::load_balance,
                           as_given ? snapshot.free : std::span<const std::uint32_t>(free_), 0,
                           places_.empty() ? nullptr : places_.data()};
  spread_plain(machine, snapshot.left, *placement_);
  placement_->launched = placement_->sms.size();
  for (SmMask& mask : placement_->masks) {
    mask.end = true;
    if (log_ != nullptr) record_mask(mask);
  }
}

void ClusterPolicy::place_clusters() {
  const Snapshot& snapshot = *snapshot_;
  if (snapshot.left == 0) return;
  const auto all = static_cast<std::uint32_t>(snapshot.shape.domains(nestings_[0].level).size());
  const Launched launched = run_rounds(0, {0, all}, snapshot.left);
  placement_->failed = launched.clusters < snapshot.left;
}

ClusterPolicy::Range ClusterPolicy::domains_in(Level level, const Domain& domain) const {
  if (domain.sm_count == 0) return {};
  const MachineShape& shape = snapshot_->shape;
  const std::uint32_t first = shape.domain_of(level, domain.first_sm);
  return {first, shape.domain_of(level, domain.first_sm + domain.sm_count - 1) + 1 - first};
}

DomainView ClusterPolicy::view(const Domain& domain) const {
  return {snapshot_->shape, snapshot_->kind.mode,
          std::span<const std::uint32_t>(free_).subspan(domain.first_sm, domain.sm_count), domain.first_sm,
          places_.empty() ? nullptr : places_.data()};
}

std::uint64_t ClusterPolicy::load_of(Level level, std::uint32_t index) const {
  const Domain& domain = snapshot_->shape.domains(level)[index];
  std::uint64_t load = 0;  // places and SMs of a domain are the same set: sums need no order
  for (std::uint32_t sm = domain.first_sm; sm < domain.first_sm + domain.sm_count; ++sm)
    load += std::uint64_t{snapshot_->load[sm]} + snapshot_->free[sm] - free_[sm];
  return load;
}

std::uint64_t ClusterPolicy::tie_rank(Level level, std::uint32_t index) const {
  if (snapshot_->ties == TieBreak::load) return load_of(level, index);
  const bool by_waiting = snapshot_->ties == TieBreak::waiting;
  const std::vector<std::uint32_t>& ranks = by_waiting ? waiting_ : priority_;
  if (ranks.empty()) return 0;  // by number
  const Domain& domain = snapshot_->shape.domains(level)[index];
  const std::span<const std::uint32_t> sms(ranks.data() + domain.first_sm, domain.sm_count);
  return by_waiting ? std::accumulate(sms.begin(), sms.end(), std::uint64_t{0})
                    : std::ranges::min(sms);  // a domain is where its first SM is
}

Answer ClusterPolicy::has_room(const DomainView& domain, std::uint64_t ctas) {
  std::uint64_t room = 0;
  for (std::size_t sm = 0; sm < domain.free.size(); ++sm) room += most_of_one_cluster(domain, sm);
  return room < ctas ? Answer() : Answer(0);
}

/// Rounds until `left` clusters are launched or no candidate takes one. Each round asks the domains that have
/// changed since they answered, which are those that were chosen.
ClusterPolicy::Launched ClusterPolicy::run_rounds(unsigned depth, Range candidates, std::uint64_t left) {
  Nesting& nesting = nestings_[depth];
  nesting.answers.resize(candidates.count);
  const bool tells = depth == 0 && log_ != nullptr;
  const auto ask_candidate = [&](std::uint32_t i) {
    nesting.answers[i] = query(depth, candidates.first + i);
    if (tells) record_attempt(candidates.first + i, nesting.answers[i]);
  };
  for (std::uint32_t i = 0; i < candidates.count; ++i) ask_candidate(i);
  Launched launched;
  for (;;) {
    choose({depth, nesting.level, candidates.first, nesting.answers}, left - launched.clusters,
           nesting.chosen);
    if (nesting.chosen.empty()) break;
    if (nesting.shares_ids) keep_those_with_ids(nesting, candidates);
    launch_chosen(depth, candidates, launched);
    if (launched.clusters == left) return launched;
    for (const std::uint32_t i : nesting.chosen) ask_candidate(i);
    if (nesting.shares_ids) refuse_those_without_ids(nesting, candidates);
  }
  if (depth == 0 && log_ != nullptr) record_fail(candidates, launched.rounds);
  return launched;
}

void ClusterPolicy::launch_chosen(unsigned depth, Range candidates, Launched& launched) {
  Nesting& nesting = nestings_[depth];
  std::optional<Decision> decision;
  if (log_ != nullptr && !speculative_) decision = round_of(depth, candidates, launched.rounds);
  if (decision && !nesting.leaf) log_->record(*decision);  // the steps of its parts come after it
  for (const std::uint32_t i : nesting.chosen) {
    launch(depth, candidates.first + i, nesting.answers[i]);
    launched.slowest =
        launched.clusters == 0 ? nesting.answers[i] : std::min(launched.slowest, nesting.answers[i]);
    ++launched.clusters;
  }
  ++launched.rounds;
  if (decision && nesting.leaf) record_launched(*decision);
}

/// Pass I for one domain: tries a cluster on the shadow state and leaves no trace.
Answer ClusterPolicy::query(unsigned depth, std::uint32_t index) {
  const Nesting& nesting = nestings_[depth];
  ++placement_->steps;
  if (!has_ids(nesting, index, 1)) return {};
  const Domain& domain = snapshot_->shape.domains(nesting.level)[index];
  if (nesting.leaf) return ask(view(domain), nesting.parts);
  const Mark before = mark();
  const bool outer = std::exchange(speculative_, true);
  const Answer answer = distribute(depth, index);
  speculative_ = outer;
  cancel(before);
  return answer;
}

/// Launches a cluster of clusters on the shadow state, whole or not at all.
Answer ClusterPolicy::distribute(unsigned depth, std::uint32_t index) {
  const Nesting& nesting = nestings_[depth];
  const Domain& domain = snapshot_->shape.domains(nesting.level)[index];
  const Mark before = mark();
  const Launched launched =
      run_rounds(depth + 1, domains_in(nestings_[depth + 1].level, domain), nesting.parts);
  if (launched.clusters == nesting.parts) return launched.slowest;
  cancel(before);
  return {};
}

void ClusterPolicy::launch_ctas(const Domain& domain, std::uint64_t ctas) {
  const Mark before = mark();
  spread(view(domain), ctas, *placement_);
  RADDLE_ASSERT(placement_->sms.size() - before.sms == ctas, "a domain that takes a cluster has room for it");
  for (std::size_t i = before.sms; i < placement_->sms.size(); ++i) --free_[placement_->sms[i]];
  for (std::size_t i = before.masks; i < placement_->masks.size(); ++i)
    placement_->masks[i].cluster = placement_->launched;
  if (uses_ids_) --ids_[gpc_of(placement_->sms.back())];
}

/// A cluster for a domain that answered that it takes one: for an outermost cluster this is pass II.
void ClusterPolicy::launch(unsigned depth, std::uint32_t index, Answer answer) {
  const Nesting& nesting = nestings_[depth];
  if (nesting.leaf) {
    launch_ctas(snapshot_->shape.domains(nesting.level)[index], nesting.parts);
  } else {
    const Answer again = distribute(depth, index);
    RADDLE_ASSERT(again == answer, "pass II repeats pass I");
  }
  if (depth != 0 || speculative_) return;
  placement_->masks.back().end = true;
  ++placement_->launched;
  if (snapshot_->ties == TieBreak::waiting)
    ++waiting_[snapshot_->shape.domains(nesting.level)[index].first_sm];
}

void ClusterPolicy::cancel(Mark before) {
  Placement& placement = *placement_;
  for (std::size_t i = before.sms; i < placement.sms.size(); ++i) ++free_[placement.sms[i]];
  if (uses_ids_)
    for (std::size_t i = before.sms; i < placement.sms.size(); i += ctas_of_leaf_)
      ++ids_[gpc_of(placement.sms[i])];
  placement.sms.resize(before.sms);
  placement.masks.resize(before.masks);
}

bool ClusterPolicy::has_ids(const Nesting& nesting, std::uint32_t index, std::uint64_t clusters) const {
  if (nesting.ids == 0) return true;
  const Domain& domain = snapshot_->shape.domains(nesting.level)[index];
  return domain.sm_count != 0 && ids_[gpc_of(domain.first_sm)] >= clusters * nesting.ids;
}

/// Domains of one GPC share its cluster ids: an earlier one of a round may take the last for a later one.
void ClusterPolicy::keep_those_with_ids(Nesting& nesting, Range candidates) {
  std::uint64_t clusters = 0;  // of this round in `gpc`
  std::uint32_t gpc = ~0u;
  std::erase_if(nesting.chosen, [&](std::uint32_t i) {
    const Domain& domain = snapshot_->shape.domains(nesting.level)[candidates.first + i];
    if (gpc_of(domain.first_sm) != std::exchange(gpc, gpc_of(domain.first_sm))) clusters = 0;
    return !has_ids(nesting, candidates.first + i, ++clusters);
  });
}

/// ... and a round may take the last id for domains that were not chosen.
void ClusterPolicy::refuse_those_without_ids(Nesting& nesting, Range candidates) {
  for (std::uint32_t i = 0; i < candidates.count; ++i)
    if (!has_ids(nesting, candidates.first + i, 1)) nesting.answers[i] = {};
}

}  // namespace raddle::machine
