// The service order, and the account of what went past whom.
#include "machine/distributor/fairness.h"

namespace raddle::machine {

void ServiceOrder::add(Grid& grid) {
  const auto after = [](const Grid* a, const Grid* b) { return a->priority < b->priority; };
  grids_.insert(std::upper_bound(grids_.begin(), grids_.end(), &grid, after), &grid);
}

void ServiceOrder::remove(Grid& grid) {
  const auto found = std::find(grids_.begin(), grids_.end(), &grid);
  if (found != grids_.end()) grids_.erase(found);
}

void Session::begin(std::uint64_t credits) {
  credits_ = credits == 0 ? kUnlimited : credits;
  stop_ = kUnlimited;
  launched_ = 0;
  behind_.clear();
}

void Session::leave_behind(Grid& grid, std::uint64_t patience) {
  behind_.push_back({&grid, launched_});
  const std::uint64_t left = patience - std::min(patience, grid.overtaken);
  if (left < stop_ - launched_) stop_ = launched_ + left;
}

void Session::end() {
  for (const Behind& behind : behind_) behind.grid->overtaken += launched_ - behind.launched;
}

}  // namespace raddle::machine
