// The rasteriser against plain enumeration (W-14): nested loops over clusters and CTAs, for worked, all small
// and random grids, taken by one SM, by several that see each other's launches, and by ones that join late.
#include "machine/launch/rasteriser.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "sanitized.h"

namespace raddle::machine {
namespace {

struct Extent {
  std::uint32_t x, y, z;
};

GridKind nested(std::initializer_list<Extent> extents) {
  GridKind kind;
  for (const Extent& extent : extents) {
    ClusterLevel& level = kind.levels[kind.depth++];
    level.extent[0] = extent.x, level.extent[1] = extent.y, level.extent[2] = extent.z;
  }
  return kind;
}

/// All CTAs in launch order: for each cluster of the outermost level, for each in it, ..., for each CTA.
class Enumeration {
 public:
  Enumeration(const GridKind& kind, const std::uint32_t* grid) : kind_(kind) {
    std::uint32_t clusters[3];
    for (unsigned axis = 0; axis < 3; ++axis) {
      clusters[axis] = grid[axis];
      for (unsigned level = 0; level < kind.depth; ++level) clusters[axis] /= kind.levels[level].extent[axis];
    }
    CtaPosition position;
    descend(0, clusters, {0, 0, 0}, position);
  }
  std::vector<CtaPosition> ctas;

 private:
  void descend(unsigned level, const std::uint32_t* extent, Extent base, CtaPosition position) {
    for (std::uint32_t z = 0; z < extent[2]; ++z)
      for (std::uint32_t y = 0; y < extent[1]; ++y)
        for (std::uint32_t x = 0; x < extent[0]; ++x) {
          const Extent id{base.x + x, base.y + y, base.z + z};
          if (level == kind_.depth) {
            finish(id, position);
            continue;
          }
          const std::uint32_t* inner = kind_.levels[level].extent;
          position.clusters[level] = {{id.x, id.y, id.z}, static_cast<std::uint32_t>(ctas.size())};
          descend(level + 1, inner, {id.x * inner[0], id.y * inner[1], id.z * inner[2]}, position);
        }
  }
  void finish(Extent id, CtaPosition position) {  // `rank` holds the launch index at which its cluster began
    position.ctaid[0] = id.x, position.ctaid[1] = id.y, position.ctaid[2] = id.z;
    for (unsigned level = 0; level < kind_.depth; ++level)
      position.clusters[level].rank = static_cast<std::uint32_t>(ctas.size()) - position.clusters[level].rank;
    if (kind_.depth != 0) position.cluster_rank = position.clusters[kind_.depth - 1].rank;
    ctas.push_back(position);
  }
  const GridKind& kind_;
};

bool same(const CtaPosition& a, const CtaPosition& b, unsigned depth) {
  bool equal = a.cluster_rank == b.cluster_rank;
  for (unsigned axis = 0; axis < 3; ++axis) {
    equal = equal && a.ctaid[axis] == b.ctaid[axis];
    for (unsigned level = 0; level < depth; ++level)
      equal = equal && a.clusters[level].id[axis] == b.clusters[level].id[axis];
  }
  for (unsigned level = 0; level < depth; ++level)
    equal = equal && a.clusters[level].rank == b.clusters[level].rank;
  return equal;
}

std::string text(const GridKind& kind, const std::uint32_t* grid, std::uint64_t index) {
  std::string all = fmt::format("grid {}x{}x{}", grid[0], grid[1], grid[2]);
  for (unsigned level = 0; level < kind.depth; ++level) {
    const std::uint32_t* extent = kind.levels[level].extent;
    all += fmt::format(" of {}x{}x{}", extent[0], extent[1], extent[2]);
  }
  return fmt::format("{}, CTA {}", all, index);
}

/// One SM that takes every CTA.
void expect_enumeration(const GridKind& kind, const std::uint32_t* grid) {
  const Enumeration plain(kind, grid);
  Rasteriser sm;
  sm.reset(kind, grid);
  for (std::uint64_t i = 0; i < plain.ctas.size(); ++i)
    ASSERT_TRUE(same(sm.take(), plain.ctas[i], kind.depth)) << text(kind, grid, i);
}

using Random = std::mt19937_64;
std::uint32_t below(Random& random, std::uint32_t limit) {
  return static_cast<std::uint32_t>(random() % limit);
}

// proves: W-3j, W-14h
TEST(Rasteriser, WorkedGridsOf18By12) {
  const std::uint32_t grid[3] = {18, 12, 1};
  expect_enumeration({}, grid);
  expect_enumeration(nested({{3, 2, 1}}), grid);
  expect_enumeration(nested({{9, 6, 1}}), grid);
  const GridKind both = nested({{3, 3, 1}, {3, 2, 1}});
  expect_enumeration(both, grid);

  Rasteriser sm;
  sm.reset(both, grid);
  // The second GPU cluster begins half way along x; its fifth GPC cluster is the middle one.
  const CtaPosition& first = sm.at(54);
  EXPECT_EQ(first.ctaid[0], 9u);
  EXPECT_EQ(first.ctaid[1], 0u);
  const CtaPosition& middle = sm.at(54 + 4 * 6 + 4);  // rank 4 of it: (1, 1, 0)
  EXPECT_EQ(middle.ctaid[0], 9u + 3 + 1);
  EXPECT_EQ(middle.ctaid[1], 2u + 1);
  EXPECT_EQ(middle.clusters[0].id[0], 1u);
  EXPECT_EQ(middle.clusters[0].rank, 28u);
  EXPECT_EQ(middle.clusters[1].id[0], 4u);
  EXPECT_EQ(middle.clusters[1].id[1], 1u);
  EXPECT_EQ(middle.cluster_rank, 4u);
}

// proves: W-15i
TEST(Rasteriser, Cta7And3OfClusters3By2HasRank4) {
  const std::uint32_t grid[3] = {18, 12, 1};
  Rasteriser sm;
  sm.reset(nested({{3, 2, 1}}), grid);
  const std::uint64_t cluster = 2 + 6 * 1;  // (2, 1, 0) of 6x6x1
  const CtaPosition& cta = sm.at(cluster * 6 + 4);
  EXPECT_EQ(cta.ctaid[0], 7u);
  EXPECT_EQ(cta.ctaid[1], 3u);
  EXPECT_EQ(cta.ctaid[2], 0u);
  EXPECT_EQ(cta.cluster_rank, 4u);
  EXPECT_EQ(cta.clusters[0].id[0], 2u);
  EXPECT_EQ(cta.clusters[0].id[1], 1u);
}

// proves: W-3e, W-14f, W-14g, W-14h, W-14i
TEST(Rasteriser, EqualsEnumerationForAllSmallGrids) {
  for (std::uint32_t z = 1; z <= 4; ++z)
    for (std::uint32_t y = 1; y <= 4; ++y)
      for (std::uint32_t x = 1; x <= 4; ++x) {
        const std::uint32_t plain[3] = {x, y, z};
        expect_enumeration({}, plain);
        for (std::uint32_t shape = 0; shape < 729; ++shape) {  // two levels of extents 1 to 3
          std::uint32_t extent[6], rest = shape;
          for (std::uint32_t& e : extent) e = 1 + rest % 3, rest /= 3;
          const GridKind kind =
              nested({{extent[0], extent[1], extent[2]}, {extent[3], extent[4], extent[5]}});
          if (kind.ctas_per_cluster() * x * y * z > 400) continue;
          const std::uint32_t grid[3] = {x * extent[0] * extent[3], y * extent[1] * extent[4],
                                         z * extent[2] * extent[5]};
          expect_enumeration(kind, grid);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
}

// Launches go to random SMs in runs; every SM sees all of them, some join when many CTAs are launched
// already.
// proves: W-14b, W-14g
TEST(Rasteriser, SmsThatCountEachOthersLaunchesAgreeWithEnumeration) {
  Random random(14);
  for (int round = 0; round < (kSanitized ? 8 : 30); ++round) {
    GridKind kind;
    kind.depth = below(random, kLevels);
    std::uint32_t grid[3];
    for (std::uint32_t& extent : grid) extent = 1 + below(random, round % 4 == 0 ? 150 : 12);
    for (unsigned level = 0; level < kind.depth; ++level) {
      const unsigned axis = below(random, 3);
      const std::uint32_t extent = 1 + below(random, 4);
      if (std::uint64_t{grid[0]} * grid[1] * grid[2] * extent > 150'000) continue;
      kind.levels[level].extent[axis] = extent;
      grid[axis] *= extent;
    }
    const Enumeration plain(kind, grid);
    std::vector<Rasteriser> sms(1 + below(random, 6));
    for (Rasteriser& sm : sms) sm.reset(kind, grid);
    for (std::uint64_t next = 0; next < plain.ctas.size();) {
      const std::uint64_t left = plain.ctas.size() - next;
      const std::uint64_t run =
          std::min<std::uint64_t>(left, 1 + random() % (random() % 20 == 0 ? 100'000 : 9));
      const std::size_t owner = random() % sms.size();
      for (std::size_t i = 0; i < sms.size(); ++i)
        if (i != owner) sms[i].skip(run);
      for (std::uint64_t k = 0; k < run; ++k, ++next)
        ASSERT_TRUE(same(sms[owner].take(), plain.ctas[next], kind.depth)) << text(kind, grid, next);
      if (random() % 50 == 0) sms[random() % sms.size()].reset(kind, grid, next);  // joins
    }
  }
}

// proves: W-14j
TEST(Rasteriser, AnSmThatJoinsNeedsTheExtentsAndThePlaceReached) {
  const std::uint32_t grid[3] = {60, 42, 40};
  for (const GridKind& kind : {GridKind{}, nested({{3, 2, 1}}), nested({{5, 1, 2}, {2, 3, 4}})}) {
    const Enumeration plain(kind, grid);
    for (std::uint64_t launched = 0; launched + 2 < plain.ctas.size(); launched += 1 + launched / 7) {
      Rasteriser sm;
      sm.reset(kind, grid, launched);
      ASSERT_TRUE(same(sm.take(), plain.ctas[launched], kind.depth)) << text(kind, grid, launched);
      ASSERT_TRUE(same(sm.take(), plain.ctas[launched + 1], kind.depth)) << text(kind, grid, launched + 1);
    }
  }
}

// Grids of all sizes, far larger ones too than the delta has bits for: compared with division of the index.
// proves: W-14e, W-14f, W-14g
TEST(Rasteriser, EqualsDivisionInGreatGrids) {
  Random random(22);
  for (int round = 0; round < 200; ++round) {
    const auto up_to = [&](std::uint32_t most) { return 1 + (below(random, most) >> random() % 31); };
    const std::uint32_t grid[3] = {up_to(0x7fff'ffff), up_to(65535), up_to(65535)};
    const std::uint64_t ctas = std::uint64_t{grid[0]} * grid[1] * grid[2];
    Rasteriser sm;
    sm.reset({}, grid);
    std::uint64_t at = 0;
    for (int step = 0; step < 1000; ++step) {
      const CtaPosition& cta = sm.at(at);
      ASSERT_EQ(cta.ctaid[0], at % grid[0]);
      ASSERT_EQ(cta.ctaid[1], at / grid[0] % grid[1]);
      ASSERT_EQ(cta.ctaid[2], at / grid[0] / grid[1]);
      at += 1 + (random() >> (1 + random() % 63));  // steps of all magnitudes
      if (at >= ctas) at = random() % ctas;         // mostly back
    }
  }
}

TEST(Rasteriser, GoesBackToTheBeginning) {
  const GridKind fours = nested({{4, 1, 1}});
  const std::uint32_t grid[3] = {8, 1, 1};
  Rasteriser sm;
  sm.reset(fours, grid);
  EXPECT_EQ(sm.at(6).cluster_rank, 2u);
  const CtaPosition& second = sm.at(1);
  EXPECT_EQ(second.cluster_rank, 1u);
  EXPECT_EQ(second.clusters[0].rank, 1u);
  EXPECT_EQ(second.clusters[0].id[0], 0u);
  EXPECT_EQ(second.ctaid[0], 1u);
}

// proves: W-14c, W-14d
TEST(Rasteriser, CountsDecompositions) {
  const std::uint32_t grid[3] = {1000, 1000, 1};
  Rasteriser sm;
  sm.reset({}, grid);
  sm.take();  // the first needs none
  EXPECT_EQ(sm.decompositions(), 0u);
  for (int i = 0; i < 1000; ++i) sm.skip(7);  // others' launches only count
  EXPECT_EQ(sm.decompositions(), 0u);
  EXPECT_EQ(sm.take().ctaid[1], 7u);
  EXPECT_EQ(sm.decompositions(), 1u);
  for (int i = 0; i < 65; ++i) sm.skip(1000);
  EXPECT_EQ(sm.decompositions(), 1u);
  sm.skip(1000);  // 66,001 launches: more than 16 bits hold
  EXPECT_EQ(sm.decompositions(), 2u);
  EXPECT_EQ(sm.overflows(), 1u);
  EXPECT_EQ(sm.take().ctaid[1], 73u);
  EXPECT_EQ(sm.decompositions(), 2u);
}

}  // namespace
}  // namespace raddle::machine
