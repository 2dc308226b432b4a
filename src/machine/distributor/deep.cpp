// CTAs per SM are decided first; the masks follow from them.
#include "machine/distributor/deep.h"

#include <algorithm>
#include <tuple>

#include "machine/distributor/lake.h"

namespace raddle::machine {

/// An SM has affinity as long as a CTA of the space is in passage on it: before this placement, or by it.
void Deep::find_able(const DomainView& domain) {
  affine_.clear(), others_.clear();
  for (std::uint32_t i = 0; i < domain.free.size(); ++i) {
    Able able{.index = i, .room = most_of_one_cluster(domain, i), .free = domain.free[i]};
    if (able.room == 0) continue;
    const std::uint32_t sm = domain.sm(i), placed = snapshot().free[sm] - domain.free[i];
    able.load = snapshot().load[sm] + placed;
    const bool has_affinity = placed != 0 || (!snapshot().own.empty() && snapshot().own[sm] != 0);
    if (!has_affinity && !snapshot().last.empty() && snapshot().last[sm] != snapshot().space)
      able.past = snapshot().last[sm] == kNoSpace ? 1 : 2;
    (has_affinity ? affine_ : others_).push_back(able);
  }
}

/// Each next CTA goes to the SM with affinity and room that has the least work, of equals to the first.
/// @returns CTAs for which there is no room
std::uint64_t Deep::fill_evenly(std::uint64_t ctas) {
  const auto taken = [](const Able& able, std::uint64_t height) {
    return height <= able.load
               ? 0u
               : static_cast<std::uint32_t>(std::min<std::uint64_t>(able.room, height - able.load));
  };
  const auto volume = [&](std::uint64_t height) {
    std::uint64_t sum = 0;
    for (const Able& able : affine_) sum += taken(able, height);
    return sum;
  };
  std::uint64_t low = 0, high = 1;  // heights of work: at `low` all CTAs are used up or too many for it
  for (const Able& able : affine_) high = std::max<std::uint64_t>(high, able.load + able.room + 1);
  while (high - low > 1) {
    const std::uint64_t height = (low + high) / 2;
    (volume(height) > ctas ? high : low) = height;
  }
  ctas -= volume(low);
  for (const Able& able : affine_) {
    const std::uint32_t level = taken(able, low);
    const bool one_more = ctas != 0 && level < able.room && able.load + level == low;
    registers_[able.index] = level + (one_more ? 1 : 0);
    ctas -= one_more ? 1 : 0;
  }
  return ctas;
}

Deep::Poured Deep::pour(const DomainView& domain, std::uint64_t ctas) {
  registers_.assign(domain.free.size(), 0);
  find_able(domain);
  Poured poured{.left = fill_evenly(ctas), .has_affinity = !affine_.empty()};
  if (poured.left == 0) return poured;
  // Those with most room, so that few are opened; then those that share least with others.
  std::ranges::sort(others_, [](const Able& a, const Able& b) {
    return std::tuple(b.free, a.load, a.past, a.index) < std::tuple(a.free, b.load, b.past, b.index);
  });
  for (auto next = others_.begin(); next != others_.end() && poured.left != 0; ++next, ++poured.opened) {
    const std::uint64_t taken = std::min<std::uint64_t>(poured.left, next->room);
    registers_[next->index] = static_cast<std::uint32_t>(taken);
    poured.left -= taken;
  }
  return poured;
}

void Deep::spread(const DomainView& domain, std::uint64_t ctas, Placement& placement) {
  placement.steps += 1 + pour(domain, ctas).opened;
  append_registers(registers_, domain.first, placement);
}

/// The fewer SMs the cluster opens, the better; of equal domains one that the space is in already.
Answer Deep::ask(const DomainView& domain, std::uint64_t ctas) {
  const Poured poured = pour(domain, ctas);
  if (poured.left != 0) return {};
  return Answer(2 * (domain.shape.sm_count() - poured.opened) + (poured.has_affinity ? 1 : 0));
}

/// One at a time: the SMs that it opens are there for the next.
void Deep::choose(const Candidates& candidates, std::uint64_t, std::vector<std::uint32_t>& chosen) {
  find_fastest(candidates.answers, chosen);
  if (chosen.size() <= 1) return;
  by_rank_.clear();
  for (const std::uint32_t i : chosen)
    by_rank_.emplace_back(tie_rank(candidates.level, candidates.first + i), i);
  keep_first(by_rank_, 1, chosen);
}

}  // namespace raddle::machine
