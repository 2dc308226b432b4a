// A second lake-filling distributor for the tests: one CTA at a time, every domain asked in every round, what
// is tried is tried on copies. Slow and short.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "machine/distributor/policy.h"

namespace raddle::machine {

using Slots = std::vector<std::uint32_t>;

/// Each next CTA to the SM with most free slots, of equals the first in `order`.
inline Slots one_at_a_time(Slots free, const Slots& order, std::uint64_t ctas) {
  Slots sms;
  for (; ctas != 0; --ctas) {
    std::optional<std::uint32_t> best;
    for (const std::uint32_t sm : order)
      if (free[sm] != 0 && (!best || free[sm] > free[*best])) best = sm;
    if (!best) break;
    --free[*best];
    sms.push_back(*best);
  }
  return sms;
}

inline Slots by_number(std::size_t sms) {
  Slots order(sms);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

class NaiveDistributor {
 public:
  NaiveDistributor(const MachineShape& shape, const GridKind& kind, Slots load, Slots order)
      : shape_(shape), kind_(kind), load_(std::move(load)), order_(std::move(order)) {}

  struct Tried {
    std::uint32_t speed = ~0u;
    Slots free, ids;  // after it
    Slots sms;
    std::uint64_t clusters = 0;
  };

  /// Rounds over domains [first, last) of a level of nesting.
  Tried rounds(unsigned depth, std::uint32_t first, std::uint32_t last, Tried state,
               std::uint64_t left) const {
    for (;;) {
      std::vector<std::pair<std::uint64_t, std::uint32_t>> tied;  // load, domain
      std::optional<std::uint32_t> highest;
      for (std::uint32_t d = first; d < last; ++d) {
        const auto tried = cluster(depth, d, state);
        if (!tried || (highest && tried->speed < *highest)) continue;
        if (!highest || tried->speed > *highest) tied.clear();
        highest = tried->speed;
        tied.emplace_back(load_of(depth, d, state), d);
      }
      if (!highest || left == 0) return state;
      if (tied.size() > left) {
        std::sort(tied.begin(), tied.end());
        tied.resize(left);
      }
      std::sort(tied.begin(), tied.end(), [](auto& a, auto& b) { return a.second < b.second; });
      for (const auto& [load, domain] : tied) {
        auto after = cluster(depth, domain, state);
        if (!after) continue;  // the cluster ids of its GPC went to a neighbour
        after->speed = std::min(after->speed, state.speed);
        after->clusters = state.clusters + 1;
        state = *after;
        --left;
      }
    }
  }

  std::optional<Tried> cluster(unsigned depth, std::uint32_t index, Tried state) const {
    const Domain& domain = shape_.domains(kind_.levels[depth].domain)[index];
    if (domain.sm_count == 0) return {};
    state.speed = ~0u;
    if (depth + 1 == kind_.depth) return ctas(domain, std::move(state));
    const Level level = kind_.levels[depth + 1].domain;
    state.clusters = 0;
    Tried after = rounds(depth + 1, shape_.domain_of(level, domain.first_sm),
                         shape_.domain_of(level, domain.first_sm + domain.sm_count - 1) + 1, state,
                         kind_.levels[depth].size());
    if (after.clusters < kind_.levels[depth].size()) return {};
    return after;
  }

 private:
  std::optional<Tried> ctas(const Domain& domain, Tried state) const {
    const ClusterLevel& innermost = kind_.levels[kind_.depth - 1];
    if (innermost.domain >= Level::gpc && !state.ids.empty()) {
      std::uint32_t& ids = state.ids[shape_.domain_of(Level::gpc, domain.first_sm)];
      if (ids == 0) return {};
      --ids;
    }
    Slots order;
    for (const std::uint32_t sm : order_)
      if (sm >= domain.first_sm && sm < domain.first_sm + domain.sm_count) order.push_back(sm);
    const Slots sms = one_at_a_time(state.free, order, innermost.size());
    if (sms.size() < innermost.size()) return {};
    for (const std::uint32_t sm : sms) --state.free[sm];
    for (const std::uint32_t sm : sms) state.speed = std::min(state.speed, state.free[sm]);
    state.sms.insert(state.sms.end(), sms.begin(), sms.end());
    return state;
  }

  /// Residents before, and those that the placement adds.
  std::uint64_t load_of(unsigned depth, std::uint32_t index, const Tried& state) const {
    const Level level = kind_.levels[depth].domain;
    const Domain& domain = shape_.domains(level)[index];
    std::uint64_t load = 0;
    for (std::uint32_t i = 0; i < domain.sm_count; ++i) load += load_[domain.first_sm + i];
    for (const std::uint32_t sm : state.sms) load += shape_.domain_of(level, sm) == index ? 1 : 0;
    return load;
  }

  const MachineShape& shape_;
  const GridKind& kind_;
  Slots load_, order_;
};

}  // namespace raddle::machine
