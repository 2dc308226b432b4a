// What must hold where GPCs have pools: an account of who is active where, made from the launches alone.
#include <algorithm>
#include <utility>

#include "machine/distributor/pools.h"
#include "random_events.h"

namespace raddle::machine::testing {

/// Whether a grid is active in a GPC: it has launched there, nobody has taken its place, and it has more.
bool RandomEvents::launches_in(const Grid& grid, std::uint32_t gpc) const {
  const auto known = active_.find(gpc);
  const bool has_parked = std::ranges::any_of(
      grid.parked, [&](const ParkedCta& cta) { return truth_.shape.domain_of(Level::gpc, cta.sm) == gpc; });
  // Not even in an empty machine, any more.
  if (!grid.usable.empty() && grid.usable[gpc] == 0 && !has_parked) return false;
  return known != active_.end() && std::ranges::count(known->second, std::pair(&grid, grid.sequence)) != 0 &&
         grid.turn == Grid::Turn::runs && !grid.none_left();
}

/// A GPC may hide its free slots from a grid only if its pools are full of others.
/// @param free  becomes what is seen, where that may be
void RandomEvents::check_pools(const Grid& grid, std::span<const std::uint32_t> seen,
                               std::vector<std::uint32_t>& free) {
  const std::span<const Domain> gpcs = truth_.shape.domains(Level::gpc);
  for (std::uint32_t gpc = 0; gpc < gpcs.size(); ++gpc) {
    const auto first = static_cast<std::ptrdiff_t>(gpcs[gpc].first_sm);
    const auto is_hidden = std::ranges::all_of(seen.subspan(gpcs[gpc].first_sm, gpcs[gpc].sm_count),
                                               [](std::uint32_t slots) { return slots == 0; });
    std::size_t actives = 0, before = 0;
    for (const auto& other : grids_) {
      if (other.get() == &grid) continue;
      actives += launches_in(*other, gpc) && other->priority <= grid.priority && !idles(*other);
      // One that has launched all in this session was pending when the grid came.
      before += waited_.contains(other.get()) &&
                std::pair(other->priority, other->rank) < std::pair(grid.priority, grid.rank);
    }
    const DistributorOptions& options = truth_.options;
    const bool is_full = (options.active_pool != 0 && actives >= options.active_pool) ||
                         (options.pending_pool != 0 && before >= options.pending_pool);
    // One that could launch nothing there in an empty machine is no matter.
    const bool is_useless = !grid.usable.empty() && grid.usable[gpc] == 0;
    if (is_hidden && (is_full || is_useless) && !launches_in(grid, gpc) && Pools::concern(grid))
      std::fill_n(free.begin() + first, gpcs[gpc].sm_count, 0u);
  }
}

bool RandomEvents::is_kept_in(const Grid& grid, std::uint32_t gpc) const {
  if (grid.kept >= kFitsNowhere) return false;
  const Level level = grid.kind.is_plain() ? Level::sm : grid.kind.levels[0].domain;
  const Domain& kept = truth_.shape.domains(level)[grid.kept];
  return truth_.shape.domain_of(Level::gpc, kept.first_sm) == gpc;  // such grids have no larger domains
}

/// Before the launch: there must be a place, or one that may be taken.
void RandomEvents::enter_pool(Grid& grid, std::uint32_t sm) {
  const std::uint32_t gpc = truth_.shape.domain_of(Level::gpc, sm), most = truth_.options.active_pool;
  if (most == 0 || !Pools::concern(grid)) return;
  auto& actives = active_[gpc];
  if (std::ranges::count(actives, std::pair<const Grid*, std::uint64_t>(&grid, grid.sequence)) != 0) return;
  std::erase_if(actives, [&](const auto& entry) {
    return entry.second != entry.first->sequence || !launches_in(*entry.first, gpc);
  });
  if (actives.size() >= most) {
    const auto may_go = [&](const auto& entry) {
      const Grid* const other = entry.first;
      const bool is_later = other->priority == grid.priority && other->rank > grid.rank;
      return other->priority > grid.priority || idles(*other) || (is_later && is_kept_in(grid, gpc));
    };
    const auto last = std::find_if(actives.rbegin(), actives.rend(), may_go);
    check(last != actives.rend(), "more grids are active in a GPC than may be");
    if (failure_) return;
    actives.erase(std::next(last).base());
  }
  actives.emplace_back(&grid, grid.sequence);
}

void RandomEvents::idle(std::uint32_t number) {
  if (grids_.empty()) return;
  const Grid* const grid = grids_[number % grids_.size()].get();
  if (idle_.erase(grid) == 0) idle_.insert(grid);
  distributor_->look_again();
}

}  // namespace raddle::machine::testing
