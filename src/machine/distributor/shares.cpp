#include "machine/distributor/shares.h"

#include <algorithm>

#include "base/assert.h"

namespace raddle::machine {

std::vector<std::uint32_t> divide_gpcs(std::uint32_t gpcs, std::span<const std::uint64_t> loads) {
  std::vector<std::uint32_t> counts;
  for (const std::uint64_t load : loads) counts.push_back(load != 0 ? 1 : 0);
  const auto active = static_cast<std::uint32_t>(std::ranges::count(counts, 1u));
  for (std::uint32_t left = active == 0 ? 0 : gpcs - std::min(gpcs, active); left != 0; --left) {
    std::size_t most = 0;
    for (std::size_t kind = 1; kind < loads.size(); ++kind) {
      const auto wanted = static_cast<unsigned __int128>(loads[kind]) * (counts[most] + 1);
      const auto best = static_cast<unsigned __int128>(loads[most]) * (counts[kind] + 1);
      if (wanted > best) most = kind;
    }
    ++counts[most];
  }
  return counts;
}

Shares::Shares(const MachineShape& shape, std::uint32_t kinds)
    : shape_(shape), load_(std::max(kinds, 1u), 0), gpcs_(load_.size()), masks_(load_.size()) {
  const std::span<const Domain> gpcs = shape.domains(Level::gpc);
  for (std::uint32_t gpc = 0; gpc < gpcs.size(); ++gpc)
    if (gpcs[gpc].sm_count != 0) usable_.push_back(gpc);
}

void Shares::change_load(std::uint32_t kind, std::uint64_t before, std::uint64_t now) {
  RADDLE_ASSERT(load_[kind] >= before, "a kind of work has less to do than a part of it");
  const std::uint64_t to = load_[kind] - before + now;
  if ((load_[kind] == 0) != (to == 0)) is_due_ = true;
  load_[kind] = to;
}

bool Shares::decide_if_due() {
  if (!is_on() || !is_due_) return false;
  is_due_ = false;
  launched_ = 0;
  const auto before = gpcs_;
  active_ = static_cast<std::uint32_t>(load_.size() - std::ranges::count(load_, std::uint64_t{0}));
  deal(divide_gpcs(static_cast<std::uint32_t>(usable_.size()), load_));
  if (gpcs_ == before) return false;
  ++version_;
  for (std::size_t kind = 0; kind < masks_.size(); ++kind) {
    masks_[kind].assign(is_split() ? shape_.sm_count() : 0, 0);
    if (!is_split()) continue;
    for (const std::uint32_t gpc : gpcs_[kind]) {
      const Domain& domain = shape_.domains(Level::gpc)[gpc];
      std::fill_n(masks_[kind].begin() + domain.first_sm, domain.sm_count, std::uint8_t{1});
    }
  }
  return true;
}

/// A kind keeps the GPCs that it has, as far as it may; others get the first that the fewest have.
void Shares::deal(const std::vector<std::uint32_t>& counts) {
  const std::uint32_t most = active_ <= usable_.size() ? 1 : active_;  // kinds in one GPC
  std::vector<std::uint32_t> takers(shape_.domains(Level::gpc).size(), 0);
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    std::erase_if(gpcs_[kind], [&](std::uint32_t gpc) { return takers[gpc] >= most; });
    gpcs_[kind].resize(std::min<std::size_t>(gpcs_[kind].size(), counts[kind]));
    for (const std::uint32_t gpc : gpcs_[kind]) ++takers[gpc];
  }
  for (std::size_t kind = 0; kind < counts.size(); ++kind)
    while (gpcs_[kind].size() < counts[kind]) {
      const std::uint32_t gpc = *std::ranges::min_element(usable_, {}, [&](auto one) { return takers[one]; });
      ++takers[gpc];
      gpcs_[kind].push_back(gpc);
    }
}

}  // namespace raddle::machine
