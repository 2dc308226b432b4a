#include "machine/distributor/pools.h"

#include <algorithm>

#include "base/assert.h"
#include "machine/distributor/distributor.h"

namespace raddle::machine {
namespace {
std::size_t places(std::uint32_t wanted) { return wanted == 0 ? ~std::size_t{0} : wanted; }
}  // namespace

Pools::Pools(const MachineShape& shape, std::uint32_t active, std::uint32_t pending)
    : shape_(shape),
      active_(places(active)),
      pending_(places(pending)),
      limited_(active != 0 || pending != 0),
      actives_(shape.domains(Level::gpc).size()),
      replaced_(actives_.size(), nullptr),
      waiting_(actives_.size(), 0),
      closed_(actives_.size(), 0) {}

bool Pools::has(std::uint32_t gpc, const Grid& grid) const {
  return std::ranges::find(actives_[gpc], &grid) != actives_[gpc].end();
}

bool Pools::has_parked(std::uint32_t gpc, const Grid& grid) const {
  return std::ranges::any_of(
      grid.parked, [&](const ParkedCta& cta) { return shape_.domain_of(Level::gpc, cta.sm) == gpc; });
}

/// The one that came last of those whose place a grid may take. Null: there is none.
Grid* Pools::replaceable(std::uint32_t gpc, const Grid& grid) const {
  const Domain& domain = shape_.domains(Level::gpc)[gpc];
  const bool is_kept = kept_.sm_count != 0 && kept_.first_sm < domain.first_sm + domain.sm_count &&
                       domain.first_sm < kept_.first_sm + kept_.sm_count;
  for (std::size_t i = actives_[gpc].size(); i-- != 0;) {
    Grid& other = *actives_[gpc][i];
    const bool is_later = other.priority == grid.priority && other.rank > grid.rank;
    if (other.priority > grid.priority || (is_later && is_kept) || sink_->idles(other)) return &other;
  }
  return nullptr;
}

void Pools::begin_pass(const LaunchSink& sink) {
  if (!limited_) return;
  sink_ = &sink;
  std::ranges::fill(waiting_, 0);
}

/// One that idles keeps nobody out of the pending ones.
bool Pools::come(const Grid& grid, std::span<const std::uint8_t> usable, const Domain& kept) {
  std::ranges::fill(closed_, std::uint8_t{0});
  if (!concern(grid)) return false;
  kept_ = kept;
  const bool idles = sink_->idles(grid);
  bool gives_up = false;
  for (std::uint32_t gpc = 0; gpc < actives_.size(); ++gpc) {
    if (usable[gpc] == 0 && !has_parked(gpc, grid)) {
      gives_up |= std::erase(actives_[gpc], &grid) != 0;
      closed_[gpc] = 1;
      continue;
    }
    if (has(gpc, grid)) continue;
    const bool is_pending = waiting_[gpc] < pending_;
    const bool is_full = actives_[gpc].size() >= active_;
    replaced_[gpc] = is_full ? replaceable(gpc, grid) : nullptr;
    closed_[gpc] = is_pending && (!is_full || replaced_[gpc] != nullptr) ? 0 : 1;
    waiting_[gpc] += idles ? 0 : 1;
  }
  return gives_up;
}

std::span<const std::uint32_t> Pools::free(std::span<const std::uint32_t> free) {
  if (!limited_) return free;
  free_.assign(free.begin(), free.end());
  const std::span<const Domain> gpcs = shape_.domains(Level::gpc);
  for (std::uint32_t gpc = 0; gpc < closed_.size(); ++gpc)
    if (closed_[gpc] != 0) std::fill_n(free_.begin() + gpcs[gpc].first_sm, gpcs[gpc].sm_count, 0u);
  return free_;
}

std::span<const std::uint32_t> Pools::clusters(std::span<const std::uint32_t> clusters) {
  if (!limited_) return clusters;
  clusters_.assign(clusters.begin(), clusters.end());
  for (std::size_t gpc = 0; gpc < closed_.size(); ++gpc)
    if (closed_[gpc] != 0) clusters_[gpc] = 0;
  return clusters_;
}

void Pools::launched(Grid& grid, std::uint32_t sm) {
  const std::uint32_t gpc = shape_.domain_of(Level::gpc, sm);
  if (!limited_ || !concern(grid) || has(gpc, grid)) return;
  std::vector<Grid*>& actives = actives_[gpc];
  if (actives.size() >= active_) {
    RADDLE_ASSERT(replaced_[gpc] != nullptr, "a grid launches where it has no place");
    std::erase(actives, replaced_[gpc]);
  }
  actives.push_back(&grid);
}

bool Pools::leave(const Grid& grid) {
  if (!limited_) return false;
  std::size_t left = 0;
  for (std::vector<Grid*>& actives : actives_) left += std::erase(actives, &grid);
  return left != 0;
}

}  // namespace raddle::machine
