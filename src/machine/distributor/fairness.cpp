// The service order, the patience of waiting grids, and the domains kept for them.
#include "machine/distributor/fairness.h"

namespace raddle::machine {

void ServiceOrder::add(Grid& grid) {
  const auto before = [](const Grid* a, const Grid* b) {
    return a->priority != b->priority ? a->priority < b->priority : a->rank < b->rank;
  };
  grids_.insert(std::upper_bound(grids_.begin(), grids_.end(), &grid, before), &grid);
}

void ServiceOrder::remove(Grid& grid) {
  const auto found = std::find(grids_.begin(), grids_.end(), &grid);
  if (found != grids_.end()) grids_.erase(found);
}

void Session::begin(std::uint64_t credits) {
  credits_ = credits == 0 ? kUnlimited : credits;
  launched_ = 0;
}

void Session::leave_behind(Grid& grid, std::uint64_t patience) {
  const std::uint64_t left = patience - std::min(patience, grid.overtaken);
  behind_.push_back({&grid, left, launched_});
  if (left != 0 && left < stop_ - launched_) stop_ = launched_ + left;
}

bool Session::end_pass() {
  bool ended = false;
  for (const Behind& behind : behind_) {
    const std::uint64_t past = launched_ - behind.launched;
    const bool ends = behind.patience != 0 && behind.patience - past < std::max<std::uint64_t>(1, denied_);
    behind.grid->overtaken += ends ? behind.patience : past;
    ended |= ends;
  }
  behind_.clear();
  stop_ = kUnlimited, denied_ = 0;
  return ended && launched_ < credits_;
}

void Kept::clear() {
  if (!any_) return;
  any_ = false;
  closed_.assign(closed_.size(), 0);
  ids_.clear();
}

bool Kept::overlaps(const Domain& domain) const {
  const auto first = closed_.begin() + domain.first_sm;
  return std::any_of(first, first + domain.sm_count, [](std::uint8_t closed) { return closed != 0; });
}

/// Where only a part of a GPC is kept, ids are kept too, or clusters beside it could take them all.
void Kept::keep(const Grid& grid, Level level, const Domain& domain) {
  any_ = true;
  std::fill_n(closed_.begin() + domain.first_sm, domain.sm_count, std::uint8_t{1});
  if (!grid.kind.has_local_ids() || level <= Level::gpc) return;
  ids_.resize(shape_.domains(Level::gpc).size(), 0);
  ids_[shape_.domain_of(Level::gpc, domain.first_sm)] +=
      static_cast<std::uint32_t>(grid.kind.innermost_clusters());
}

std::span<const std::uint32_t> Kept::free(std::span<const std::uint32_t> free) {
  if (!any_) return free;
  free_.assign(free.begin(), free.end());
  for (std::size_t sm = 0; sm < free_.size(); ++sm)
    if (closed_[sm] != 0) free_[sm] = 0;
  return free_;
}

std::span<const std::uint32_t> Kept::clusters(std::span<const std::uint32_t> clusters) {
  if (ids_.empty()) return clusters;
  clusters_.assign(clusters.begin(), clusters.end());
  for (std::size_t gpc = 0; gpc < clusters_.size(); ++gpc)
    clusters_[gpc] -= std::min(clusters_[gpc], ids_[gpc]);
  return clusters_;
}

}  // namespace raddle::machine
