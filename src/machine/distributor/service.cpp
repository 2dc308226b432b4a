// The first half of a decision: grids are served in order, as far as credits and the patience of those before
// them go, and the policy is asked where their CTAs fit.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "machine/distributor/distributor_state.h"

namespace raddle::machine {

/// Outermost clusters, or CTAs of a plain grid, to launch at most.
std::uint64_t Distributor::State::limit(const Grid& grid) const {
  const std::uint64_t size = grid.kind.ctas_per_cluster();
  const std::uint64_t clusters = std::min((grid.ctas - grid.next) / size, session.clusters(size));
  if (lacks_memory(grid)) return 0;
  return spaces.within_limit(
      grid.space_row, grid.cluster_memory ? std::min<std::uint64_t>(clusters, memory.size()) : clusters,
      size);
}

/// Those that may take its outermost clusters, or its CTAs.
std::span<const Domain> Distributor::State::domains_of(const Grid& grid) const {
  return shape.domains(grid.kind.is_plain() ? Level::set : grid.kind.levels[0].domain);
}

/// @returns whether something was placed; in `placement_`
bool Distributor::State::place(Grid& grid, const TaskTable::Row& row, std::uint64_t left) {
  lone.forget();
  placement_.clear();
  if (recorder) recorder.begin(grid);
  if (left == 0 || row.total < grid.kind.ctas_per_cluster()) return false;
  const Snapshot snapshot = this->snapshot(grid, row, pools.clusters(kept.clusters(gpcs.launchable())), left);
  policy->place(snapshot, placement_, recorder ? &recorder : nullptr);
  RADDLE_ASSERT(placement_.launched <= left, "the policy placed more than it was given");
  return placement_.launched != 0;
}

/// Launches as much of one grid as fits, first what was parked. @returns CTAs launched
std::uint64_t Distributor::State::serve(Grid& grid, LaunchSink& sink) {
  if (grid.tried == freed) return 0;
  const std::uint64_t before = session.launched();
  if (grid.parked.empty() || resume(grid, sink)) launch_new(grid, sink);
  return session.launched() - before;
}

void Distributor::State::launch_new(Grid& grid, LaunchSink& sink) {
  if (launch_alone(grid, sink)) return;
  const std::uint64_t size = grid.kind.ctas_per_cluster();
  while (grid.next != grid.ctas) {
    const std::uint64_t left = limit(grid);
    const bool denied = !lacks_memory(grid) && session.patience_denies(size);
    if (left == 0 && !denied && !lacks_memory(grid)) break;  // for lack of credits
    const TaskTable::Row& row = table.look(grid.row);
    if (denied && fits(snapshot(grid, row, pools.clusters(kept.clusters(gpcs.launchable())), 1))) {
      session.deny(size);
      break;
    }
    const bool withheld = row.withholds();
    const bool placed = place(grid, row, left);
    if (placed) commit(grid, sink);
    if (placed && (!placement_.failed || withheld)) continue;
    grid.tried = freed;
    if (recorder) say_refusal(grid, row);
    break;
  }
}

Snapshot Distributor::State::snapshot(Grid& grid, const TaskTable::Row& row,
                                      std::span<const std::uint32_t> clusters, std::uint64_t left) {
  const std::uint64_t launched = grid.next / grid.kind.ctas_per_cluster();
  const bool is_settled = grid.mode == PlacementMode::automatic_per_task;
  return {.shape = shape,
          .kind = grid.kind,
          .free = spaces.visible(grid.space_row, pools.free(kept.free(row.free)),
                                 grid.kind.ctas_per_cluster(), domains_of(grid), share_of(grid)),
          .load = usage.load(),
          .clusters = clusters,
          .order = options.sm_order,
          .left = left,
          .grid = grid.id,
          .launched = launched,
          .ties = options.ties,
          .waiting = waiting,
          .mode = grid.mode,
          .spaces = is_settled ? grid.spaces : spaces.scheduled(),
          .space = grid.space,
          .own = spaces.ctas(grid.space_row),
          .last = spaces.last()};
}

/// A waiting plain grid is no decision; a refused cluster is, with its reason.
void Distributor::State::say_refusal(Grid& grid, const TaskTable::Row& row) {
  if (grid.kind.is_plain()) return;
  bool stalls = lacks_memory(grid);
  if (!stalls && grid.kind.has_local_ids() && row.total >= grid.kind.ctas_per_cluster()) {
    const std::vector<std::uint32_t> plenty(gpcs.launchable().size(), ~0u);
    stalls = fits(snapshot(grid, row, plenty, 1));
  }
  recorder.refuse(grid, stalls ? Decision::Kind::stall : Decision::Kind::fail);
}

/// Asks the policy without launching anything.
bool Distributor::State::fits(const Snapshot& snapshot) const {
  Placement placement;
  policy->place(snapshot, placement, nullptr);
  return placement.launched != 0;
}

/// Whether a cluster would fit a domain if nothing were left there, and nothing free elsewhere.
/// @param idle  nothing is resident elsewhere, either: what a policy thinks of others is no matter
bool Distributor::State::fits_empty(const Grid& grid, const Domain& domain,
                                    std::span<const std::uint8_t> share, bool idle) {
  if (grid.cluster_memory && shape.cluster_memory_slots == 0) return false;
  std::uint32_t fit = usage.fit_empty(grid.needs);
  if (grid.cap_per_sm != 0) fit = std::min(fit, grid.cap_per_sm);
  if (grid.kind.has_local_ids()) fit = std::min(fit, shape.sm.cluster_slots);
  std::vector<std::uint32_t> free(usage.count(), 0), load = usage.load();
  if (idle) std::ranges::fill(load, 0u);
  for (std::uint32_t sm = domain.first_sm; sm < domain.first_sm + domain.sm_count; ++sm)
    free[sm] = usage.enabled(sm) ? fit : 0, load[sm] = 0;
  return fits({.shape = shape,
               .kind = grid.kind,
               .free = spaces.visible(grid.space_row, free, grid.kind.ctas_per_cluster(), domains_of(grid),
                                      share, true),
               .load = load,
               .clusters = gpcs.launchable_when_empty(),
               .order = options.sm_order,
               .left = 1,
               .grid = grid.id,
               .mode = grid.mode,
               .spaces = spaces.scheduled()});
}

/// The least loaded domain that would hold a cluster of the grid if it were empty, and in which nothing is
/// kept for those before it.
std::uint32_t Distributor::State::choose_domain(Grid& grid, std::span<const Domain> domains) {
  std::uint32_t best = kFitsNowhere;
  std::uint64_t least = ~0ull;
  for (std::uint32_t i = 0; i < domains.size(); ++i) {
    const auto first = usage.load().begin() + domains[i].first_sm;
    const std::uint64_t load = std::accumulate(first, first + domains[i].sm_count, std::uint64_t{0});
    if (load >= least || !fits_empty(grid, domains[i], share_of(grid))) continue;
    if (!kept.overlaps(domains[i]))
      best = i, least = load;
    else if (best == kFitsNowhere)
      best = kNothingKept;  // later, when those before it got on
  }
  return best;
}

/// For a grid whose patience has ended.
void Distributor::State::keep_domain(Grid& grid) {
  const Level level = grid.kind.is_plain() ? Level::sm : grid.kind.levels[0].domain;
  const std::span<const Domain> domains = shape.domains(level);
  if (grid.kept == kNothingKept) {
    grid.kept = grid.parked.empty() ? choose_domain(grid, domains) : domain_of_parked(grid, level);
    if (pools.are_limited() && grid.kept < kFitsNowhere) grid.tried = 0, has_place_ = true;
  }
  if (grid.kept < kFitsNowhere) kept.keep(grid, level, domains[grid.kept]);
}

void Distributor::State::got_on(Grid& grid) {
  grid.overtaken = 0;
  if (std::exchange(grid.kept, kNothingKept) < kFitsNowhere) ++freed;
}

bool Distributor::State::fits_nowhere(Grid& grid) {
  const Level level = grid.kind.is_plain() ? Level::sm : grid.kind.levels[0].domain;
  if (!grid.fits)
    grid.fits = !grid.parked.empty() || std::ranges::any_of(shape.domains(level), [&](const Domain& domain) {
      return fits_empty(grid, domain, {}, true);
    });
  return !grid.fits;
}

/// A grid that waits for a slot need not wait for those that never launch anything.
/// @returns whether there were any
bool Distributor::State::set_hopeless_aside() {
  std::vector<Grid*> hopeless;
  if (slots.listed() != 0)
    std::ranges::copy_if(slots.running(), std::back_inserter(hopeless), [&](Grid* grid) {
      return grid->turn == Grid::Turn::runs && !grid->is_resident() && !grid->none_left() &&
             (is_held(*grid) || fits_nowhere(*grid));
    });
  for (Grid* grid : hopeless) {
    stop_serving(*grid);
    slots.set_aside(*grid);
  }
  return !hopeless.empty();
}

void Distributor::State::stop_serving(Grid& grid) {
  order.remove(grid);
  if (!pools.leave(grid)) return;
  ++freed;
  has_place_ = true;
}

Domain Distributor::State::kept_domain(const Grid& grid) const {
  const Level level = grid.kind.is_plain() ? Level::sm : grid.kind.levels[0].domain;
  return grid.kept < kFitsNowhere ? shape.domains(level)[grid.kept] : Domain{};
}

/// By GPC: whether a grid of a GPC's pools could launch there if nothing else were there.
std::span<const std::uint8_t> Distributor::State::usable(Grid& grid) {
  if (grid.usable.empty() && Pools::concern(grid))
    for (const Domain& gpc : shape.domains(Level::gpc))
      grid.usable.push_back(fits_empty(grid, gpc, share_of(grid), true) ? 1 : 0);
  return grid.usable;
}

void Distributor::State::reconsider() {
  ++freed;
  shares.machine_changed();
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i].kept = kNothingKept, order[i].fits = false;
    order[i].usable.clear();
  }
  slots.take_back();
}

void Distributor::State::begin_turn(Grid& grid) {
  grid.sequence = grids++;
  grid.spaces = spaces.scheduled();
  grid.fits = false;
  grid.usable.clear();
  if (!grid.none_left()) order.add(grid);  // else it comes for CTAs that were suspended
}

/// A kind of work that has none gets a slot, beyond their number: its GPCs are not to stay empty.
void Distributor::State::admit_kinds() {
  if (!shares.is_split() || slots.listed() == 0) return;
  std::vector<bool> runs(shares.kinds(), false);
  for (const Grid* grid : slots.running())
    if (grid->turn == Grid::Turn::runs && !grid->none_left()) runs[shares.kind_of(grid->work_kind)] = true;
  const auto is_wanted = [&](const Grid& grid) {
    return !is_held(grid) && !runs[shares.kind_of(grid.work_kind)];
  };
  while (Grid* const next = slots.admit_first(is_wanted)) {
    runs[shares.kind_of(next->work_kind)] = true;
    begin_turn(*next);
  }
}

/// A grid that leaves waits for nothing: what is kept for it is free.
void Distributor::State::fill_slots(LaunchSink& sink) {
  for (;;) {
    while (Grid* const next = slots.admit()) begin_turn(*next);
    admit_kinds();
    if (set_hopeless_aside()) continue;
    Grid* const leaving = slots.evict();
    if (leaving == nullptr) break;
    stop_serving(*leaving);
    got_on(*leaving);
    if (recorder) recorder.evict(*leaving);
    settle(*leaving);
  }
  while (Grid* const preempted = slots.preempt()) sink.preempt(*preempted);
}

/// The GPCs of the grid's kind of work; empty: all. Where not even one cluster would fit them, because it
/// spans GPCs, or its address space is confined to others, it may go anywhere.
std::span<const std::uint8_t> Distributor::State::share_of(Grid& grid) {
  const std::span<const std::uint8_t> mask = shares.mask(shares.kind_of(grid.work_kind));
  if (mask.empty()) return mask;
  if (grid.share_seen != shares.version()) {
    grid.share_seen = shares.version();
    const Level level = grid.kind.is_plain() ? Level::sm : grid.kind.levels[0].domain;
    grid.leaves_share = std::ranges::none_of(shape.domains(level), [&](const Domain& domain) {
      const bool may_hold = domain.sm_count != 0 && (level < Level::gpc || mask[domain.first_sm] != 0);
      return may_hold && fits_empty(grid, domain, mask);
    });
  }
  return grid.leaves_share ? std::span<const std::uint8_t>() : mask;
}

void Distributor::State::decide_shares() {
  if (shares.decide_if_due()) reconsider();
}

/// Not while a cluster waits that may need GPCs of several shares: then everybody's patience counts.
bool Distributor::State::serves_apart() {
  if (!shares.is_split()) return false;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (share_of(order[i]).empty()) return false;
  return true;
}

/// @param is_asked  (Grid&) -> bool
template <class Asked>
void Distributor::State::serve_in_order(LaunchSink& sink, Asked is_asked) {
  for (std::size_t position = 0; position < order.size() && !session.pass_is_over();) {
    Grid& grid = order[position];
    // More waiting parents could fill the memory of the host.
    if (is_held(grid) || grid.suspended != 0 || !is_asked(grid)) {
      ++position;
      continue;
    }
    if (pools.are_limited() && pools.come(grid, usable(grid), kept_domain(grid))) ++freed, has_place_ = true;
    if (serve(grid, sink) != 0) got_on(grid);
    if (grid.none_left()) {
      stop_serving(grid);
      continue;
    }
    if (grid.parked.empty() &&
        spaces.is_at_limit(grid.space_row)) {  // it waits for its own CTAs, which nobody keeps from ending
      ++position;
      continue;
    }
    if (grid.overtaken >= options.patience) keep_domain(grid);
    session.leave_behind(grid, options.patience);
    ++position;
  }
}

/// What leaves its share comes first, or a kind of which only that waits might wait for ever.
bool Distributor::State::pass(LaunchSink& sink, std::optional<std::uint32_t> kind) {
  kept.clear();
  returning.keep_in(kept);
  pools.begin_pass(sink);
  has_place_ = false;
  if (kind) {
    serve_in_order(sink, [&](const Grid& grid) { return shares.kind_of(grid.work_kind) == *kind; });
  } else if (shares.is_split()) {
    serve_in_order(sink, [&](Grid& grid) { return share_of(grid).empty(); });
    serve_in_order(sink, [&](Grid& grid) { return !share_of(grid).empty(); });
  } else {
    serve_in_order(sink, [](const Grid&) { return true; });
  }
  return session.end_pass() || (has_place_ && !session.pass_is_over());
}

}  // namespace raddle::machine
