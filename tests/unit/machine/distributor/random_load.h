// Random machines, grid kinds and states of load for the tests of policies, and what every placement obeys.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "machine/distributor/policy.h"

namespace raddle::machine {

/// Unlike siblings at every level, some of them empty; a few dozen SMs.
inline MachineShape random_shape(std::mt19937_64& random) {
  MachineShape shape;
  const auto fill = [&](auto&& self, Level level) -> void {
    shape.open(level);
    const auto next = static_cast<Level>(static_cast<unsigned>(level) + 1);
    const std::uint64_t parts = level < Level::ugpu                         ? 1 + random() % 2
                                : level == Level::gpc && random() % 10 == 0 ? 0
                                                                            : 1 + random() % 3;
    if (next == Level::sm) {
      shape.add_sms(1 + random() % 3);
    } else {
      for (std::uint64_t i = 0; i < parts; ++i) self(self, next);
    }
    shape.close(level);
  };
  do {
    shape = {};
    fill(fill, Level::set);
  } while (shape.sm_count() == 0);
  return shape;
}

inline GridKind random_kind(std::mt19937_64& random) {
  GridKind kind;
  if (random() % 3 == 0) kind.mode = DistributionMode::multicast;
  for (unsigned level = 0; level < kLevels; ++level)
    if (random() % 3 == 0) kind.levels[kind.depth++].domain = static_cast<Level>(level);
  if (kind.depth == 0) kind.levels[kind.depth++].domain = Level::gpc;
  for (unsigned i = 0; i < kind.depth; ++i)
    for (std::uint32_t& extent : kind.levels[i].extent) extent = random() % 3 == 0 ? 2 : 1;
  return kind;
}

/// A snapshot with the data it refers to.
struct RandomLoad {
  MachineShape shape;
  GridKind kind;
  std::vector<std::uint32_t> free, load, ids, order;
  std::uint64_t left = 0, grid = 0, launched = 0;

  explicit RandomLoad(std::mt19937_64& random)
      : shape(random_shape(random)), kind(random_kind(random)), left(1 + random() % 40) {
    grid = random() % 8, launched = random() % 100;
    const std::uint32_t depth = 1 + random() % 9;
    const bool idle = random() % 4 == 0;
    for (std::uint32_t sm = 0; sm < shape.sm_count(); ++sm) {
      free.push_back(idle ? depth : random() % (depth + 1));
      load.push_back(random() % 3);
      order.push_back(sm);
    }
    std::shuffle(order.begin(), order.end(), random);
    if (random() % 2 == 0) order.clear();
    if (random() % 2 == 0)
      for (std::size_t i = 0; i < shape.domains(Level::gpc).size(); ++i) ids.push_back(random() % 12);
  }
  Snapshot snapshot() const { return {shape, kind, free, load, ids, order, left, grid, launched}; }
};

/// W-4, W-5, W-11: invariants of every placement of every policy.
inline void check_invariants(const RandomLoad& load, const Placement& placement) {
  std::vector<std::uint32_t> free = load.free;
  for (const std::uint32_t sm : placement.sms) {
    ASSERT_GT(free[sm], 0u) << "SM " << sm;
    --free[sm];
  }
  const std::uint64_t per_cluster = load.kind.ctas_per_cluster();
  ASSERT_LE(placement.launched, load.left);
  ASSERT_EQ(placement.sms.size(), placement.launched * per_cluster);
  std::uint32_t next = 0;
  for (const SmMask& mask : placement.masks) {
    ASSERT_EQ(mask.first, next);
    ASSERT_GT(mask.count, 0u);
    next += mask.count;
    const auto* sms = placement.sms.data() + mask.first;
    ASSERT_EQ(std::set<std::uint32_t>(sms, sms + mask.count).size(), mask.count);
    if (load.kind.is_plain()) {
      ASSERT_TRUE(mask.end);
      continue;
    }
    ASSERT_EQ(mask.cluster, mask.first / per_cluster);
    ASSERT_EQ(mask.cluster, (next - 1) / per_cluster) << "a mask of two clusters";
    ASSERT_EQ(mask.end, next % per_cluster == 0);
  }
  ASSERT_EQ(next, placement.sms.size());
  for (unsigned depth = 0; depth < load.kind.depth; ++depth)
    for (std::size_t i = 0; i < placement.sms.size(); ++i) {
      const Level level = load.kind.levels[depth].domain;
      const std::uint64_t size = load.kind.ctas_per_cluster(depth);
      ASSERT_EQ(load.shape.domain_of(level, placement.sms[i]),
                load.shape.domain_of(level, placement.sms[i / size * size]))
          << "a cluster of level " << depth << " lies in two domains";
    }
}

}  // namespace raddle::machine
