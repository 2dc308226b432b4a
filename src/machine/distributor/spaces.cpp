// Limits are applied to what a policy is shown: it need not know of them.
#include "machine/distributor/spaces.h"

#include <algorithm>

namespace raddle::machine {

/// A row without grids has no CTAs, so that any space can have it.
Spaces::Row& Spaces::row_of(std::uint64_t id) {
  auto found = std::ranges::find_if(rows_, [&](const Row& row) { return !row.is_free() && row.id == id; });
  if (found == rows_.end()) {
    found = std::ranges::find_if(rows_, &Row::is_free);
    if (found == rows_.end()) {
      rows_.push_back({.ctas = empty_, .parked = empty_});
      found = rows_.end() - 1;
    }
    found->id = id;
  }
  return *found;
}

std::uint32_t Spaces::acquire(std::uint64_t id) {
  Row& row = row_of(id);
  if (row.grids++ == 0) ++scheduled_;
  return static_cast<std::uint32_t>(&row - rows_.data());
}

void Spaces::release(std::uint32_t row) {
  if (--rows_[row].grids == 0) --scheduled_;
}

void Spaces::confine(std::uint64_t id, const SmLimit& limit) { row_of(id).limit = limit; }

SmLimit Spaces::limit_of(std::uint64_t id) const {
  const auto found =
      std::ranges::find_if(rows_, [&](const Row& row) { return !row.is_free() && row.id == id; });
  return found == rows_.end() ? SmLimit{} : found->limit;
}

std::uint32_t Spaces::sms_with_ctas(const Row& row) {
  return static_cast<std::uint32_t>(row.ctas.size() - std::ranges::count(row.ctas, 0u));
}

std::uint32_t Spaces::sms_held(const Row& row) {
  std::uint32_t held = 0;
  for (std::uint32_t sm = 0; sm < row.ctas.size(); ++sm) held += row.holds(sm) ? 1 : 0;
  return held;
}

/// SMs that may get their first CTA of the space.
std::uint32_t Spaces::openable(const Row& row, bool is_empty) {
  if (row.limit.most == 0) return ~0u;
  return row.limit.most - std::min(row.limit.most, is_empty ? 0 : sms_held(row));
}

bool Spaces::is_at_limit(std::uint32_t row) const {
  return is_confined(row) && openable(rows_[row], false) == 0;
}

std::uint64_t Spaces::within_limit(std::uint32_t row, std::uint64_t clusters, std::uint64_t size) const {
  if (!is_confined(row)) return clusters;
  const std::uint32_t open = openable(rows_[row], false);
  return open == 0 ? clusters : std::min<std::uint64_t>(clusters, std::max<std::uint64_t>(1, open / size));
}

/// Of the SMs that have a rank, those of lowest rank keep their free slots.
template <class Rank>
void Spaces::hide_all_but(std::uint32_t count, const Domain& domain, Rank rank) {
  by_rank_.clear();
  for (std::uint32_t sm = domain.first_sm; sm < domain.first_sm + domain.sm_count; ++sm)
    if (const std::uint64_t its = rank(sm); its != ~0ull) by_rank_.emplace_back(its, sm);
  std::ranges::sort(by_rank_);
  for (std::size_t i = count; i < by_rank_.size(); ++i) visible_[by_rank_[i].second] = 0;
}

std::span<const std::uint32_t> Spaces::visible(std::uint32_t row_number, std::span<const std::uint32_t> free,
                                               std::uint64_t size, std::span<const Domain> domains,
                                               std::span<const std::uint8_t> share, bool is_empty) {
  if (!is_confined(row_number) && share.empty()) return free;
  const Row& row = rows_[row_number];
  const auto holds = [&](std::uint32_t sm) { return !is_empty && row.holds(sm); };
  visible_.assign(free.begin(), free.end());
  if (!row.limit.sms.empty()) {
    visible_.assign(free.size(), 0);
    for (const std::uint32_t sm : row.limit.sms) visible_[sm] = free[sm];
  }
  for (std::size_t sm = 0; sm < share.size(); ++sm)
    if (share[sm] == 0) visible_[sm] = 0;
  const std::uint32_t open = openable(row, is_empty);
  if (open >= size) return visible_;
  // A cluster might open more than that: it is shown no more, those with most room. It goes to one domain.
  for (const Domain& domain : domains)
    hide_all_but(open, domain,
                 [&](std::uint32_t sm) { return holds(sm) ? ~0ull : ~std::uint64_t{visible_[sm]} - 1; });
  // After a limit was lowered: the least used of its SMs are given up.
  if (!is_empty && sms_held(row) > row.limit.most)
    hide_all_but(row.limit.most, {0, static_cast<std::uint32_t>(free.size())},
                 [&](std::uint32_t sm) { return holds(sm) ? ~std::uint64_t{row.ctas[sm]} - 1 : ~0ull; });
  return visible_;
}

}  // namespace raddle::machine
