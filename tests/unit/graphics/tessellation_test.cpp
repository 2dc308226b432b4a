// The tessellator: what patches are divided into, and that neighbours fit; hull and domain shaders.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "rig.h"

namespace graphics_test {
namespace {

using graphics::DomainShape;
using graphics::OutputTopology;
using graphics::Partitioning;

using Point = std::pair<float, float>;
using Corners = std::vector<Point>;

/// What one patch becomes: the points of each primitive.
std::vector<Corners> divided(const graphics::Tessellation& how, bool with_hull = false) {
  Rig& rig = Rig::get();
  constexpr unsigned kPlaces = 1 << 15;
  const unsigned size = 1 + static_cast<unsigned>(how.output);
  const raddle::DevicePtr values = rig.upload(std::vector<float>(kPlaces * size * 2, -1)),
                          count = rig.upload(std::vector<std::uint32_t>{0});
  const raddle::DevicePtr recorder = rig.upload(std::vector<std::uint64_t>{values.value, count.value});
  const Canvas canvas(rig.device, 8, 8, kRgba8);
  graphics::Draw draw;
  draw.vertex = graphics::VertexStage{rig.shader("number_vertex"), 4};
  draw.topology = graphics::Topology::patches;
  draw.patch_size = 1, draw.vertex_count = 1;
  draw.tessellation = how;
  if (with_hull) {  // the same factors from the shader
    const std::vector<float> factors(how.factors, how.factors + 6);
    draw.hull = graphics::HullStage{rig.shader("plain_hull", rig.upload(factors)), 1, 4};
    std::fill(std::begin(draw.tessellation.factors), std::end(draw.tessellation.factors), 17.0f);
  }
  draw.domain = graphics::DomainStage{rig.shader("place_domain"), 2};
  draw.geometry =
      graphics::GeometryStage{rig.shader("record_geometry", recorder), 1, OutputTopology::points, 2};
  draw.pixel = graphics::PixelStage{rig.shader("colour_pixel")};
  draw.targets = {canvas.target};
  draw.limits.geometry_vertices = kPlaces;
  rig.draw(draw);
  std::uint32_t primitives = 0;
  expect_ok(rig.device.read(&primitives, count, 4));
  std::vector<float> got(std::size_t{primitives} * size * 2);
  if (primitives != 0) expect_ok(rig.device.read(got.data(), values, got.size() * 4));
  std::vector<Corners> all(primitives);
  for (std::size_t i = 0; i < got.size(); i += 2) all[i / 2 / size].emplace_back(got[i], got[i + 1]);
  return all;
}

double area(const Corners& t) {
  return ((static_cast<double>(t[1].first) - t[0].first) * (static_cast<double>(t[2].second) - t[0].second) -
          (static_cast<double>(t[1].second) - t[0].second) * (static_cast<double>(t[2].first) - t[0].first)) /
         2;
}

/// Points on an edge of the domain, in order.
std::set<float> along(const std::vector<Corners>& all, DomainShape shape, int edge) {
  std::set<float> places;
  for (const Corners& corners : all)
    for (const auto& [u, v] : corners) {
      if (shape == DomainShape::quads) {
        if (edge % 2 == 0 && u == (edge == 0 ? 0.0f : 1.0f)) places.insert(v);
        if (edge % 2 == 1 && v == (edge == 1 ? 0.0f : 1.0f)) places.insert(u);
      } else {
        if (edge == 0 && u == 0) places.insert(v);
        if (edge == 1 && v == 0) places.insert(u);
        if (edge == 2 && u + v == 1) places.insert(u);
      }
    }
  return places;
}

unsigned segments(Partitioning partitioning, float factor) {
  if (partitioning == Partitioning::fractional_even)
    return 2 * static_cast<unsigned>(std::ceil(std::max(2.0f, factor) / 2));
  if (partitioning == Partitioning::fractional_odd)
    return 2 * static_cast<unsigned>(std::ceil((std::max(1.0f, factor) - 1) / 2)) + 1;
  return static_cast<unsigned>(std::ceil(std::max(1.0f, factor)));
}

/// The triangles tile the domain: turned alike, with its area, each inner side shared by two that run
/// opposite ways.
void expect_tiling(const std::vector<Corners>& all, DomainShape shape, bool clockwise) {
  double sum = 0;
  std::map<std::pair<Point, Point>, int> sides;
  for (const Corners& corners : all) {
    const double turned = clockwise ? area(corners) : -area(corners);
    ASSERT_GE(turned, -1e-9);
    sum += turned;
    for (int c = 0; c < 3; ++c)
      if (corners[c] != corners[(c + 1) % 3]) ++sides[{corners[c], corners[(c + 1) % 3]}];
  }
  EXPECT_NEAR(sum, shape == DomainShape::quads ? 1 : 0.5, 1e-4);
  for (const auto& [side, times] : sides) {
    const auto other = sides.find({side.second, side.first});
    const auto& [a, b] = side;
    const bool border = shape == DomainShape::quads
                            ? (a.first == b.first && (a.first == 0 || a.first == 1)) ||
                                  (a.second == b.second && (a.second == 0 || a.second == 1))
                            : (a.first == 0 && b.first == 0) || (a.second == 0 && b.second == 0) ||
                                  (a.first + a.second == 1 && b.first + b.second == 1);
    const int back = other == sides.end() ? 0 : other->second;
    ASSERT_EQ(times - back, border ? times : 0)
        << a.first << ' ' << a.second << " to " << b.first << ' ' << b.second;
  }
}

class Divisions : public testing::TestWithParam<std::tuple<DomainShape, Partitioning>> {};
class FractionalDivisions : public Divisions {};

// proves: G-17b
TEST_P(Divisions, TileTheDomain) {
  std::mt19937 random = random_numbers();
  const auto [shape, partitioning] = GetParam();
  const int edges = shape == DomainShape::quads ? 4 : 3;
  for (int round = 0; round < 40; ++round) {
    graphics::Tessellation how;
    how.shape = shape, how.partitioning = partitioning;
    how.clockwise = round % 2 == 0;
    const float most = round % 4 == 0 ? 3 : round % 4 == 1 ? 64 : 12;
    for (float& factor : how.factors) factor = 1 + (most - 1) * static_cast<float>(random() % 1000) / 1000;
    if (round % 5 == 4) how.factors[4 + round % 2] = 1;  // a ring all the same, if edges are divided
    if (round < 4) std::fill(std::begin(how.factors), std::end(how.factors), static_cast<float>(round + 1));
    const std::vector<Corners> all = divided(how, round % 2 == 1);
    SCOPED_TRACE(testing::Message() << "round " << round);
    expect_tiling(all, shape, how.clockwise);
    for (int edge = 0; edge < edges; ++edge) {
      const std::set<float> places = along(all, shape, edge);
      const unsigned count = segments(partitioning, how.factors[edge]);
      // Parts that have just begun to grow may be too short to be seen.
      EXPECT_LE(places.size(), count + 1);
      if (partitioning == Partitioning::integer) EXPECT_EQ(places.size(), count + 1);
      for (const float place : places) EXPECT_TRUE(places.contains(1 - place)) << place;
    }
    if (testing::Test::HasFailure()) return;
  }
}

// proves: G-17b
TEST_P(Divisions, NeighboursFit) {
  const auto [shape, partitioning] = GetParam();
  for (const float factor : {1.0f, 2.5f, 3.0f, 7.3f, 18.9f, 64.0f}) {
    graphics::Tessellation one, other;
    one.shape = other.shape = shape, one.partitioning = other.partitioning = partitioning;
    std::fill(std::begin(one.factors), std::end(one.factors), 5.0f);
    std::fill(std::begin(other.factors), std::end(other.factors), 29.5f);
    one.factors[0] = other.factors[1] = factor;
    EXPECT_EQ(along(divided(one), shape, 0), along(divided(other), shape, 1)) << factor;
  }
}

/// As a factor grows, points move by little.
TEST_P(FractionalDivisions, GrowSmoothly) {
  const auto [shape, partitioning] = GetParam();
  for (float factor = 2; factor < 9; factor += 0.25f) {
    graphics::Tessellation one, other;
    one.shape = other.shape = shape, one.partitioning = other.partitioning = partitioning;
    one.factors[0] = factor, other.factors[0] = factor + 0.01f;
    for (const float place : along(divided(one), shape, 0)) {
      float nearest = 1;
      for (const float next : along(divided(other), shape, 0))
        nearest = std::min(nearest, std::abs(next - place));
      EXPECT_LT(nearest, 0.01f) << factor;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, Divisions,
                         testing::Combine(testing::Values(DomainShape::triangles, DomainShape::quads),
                                          testing::Values(Partitioning::integer, Partitioning::fractional_odd,
                                                          Partitioning::fractional_even)));
INSTANTIATE_TEST_SUITE_P(All, FractionalDivisions,
                         testing::Combine(testing::Values(DomainShape::triangles, DomainShape::quads),
                                          testing::Values(Partitioning::fractional_odd,
                                                          Partitioning::fractional_even)));

// proves: G-17b
TEST(Tessellation, Isolines) {
  graphics::Tessellation how;
  how.shape = DomainShape::isolines, how.output = OutputTopology::lines;
  how.factors[0] = 3, how.factors[1] = 4;
  const std::vector<Corners> all = divided(how);
  ASSERT_EQ(all.size(), 12u);
  std::set<float> lines;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i][0].second, all[i][1].second);
    EXPECT_NEAR(all[i][0].first, static_cast<float>(i % 4) / 4, 1e-6);
    EXPECT_NEAR(all[i][1].first, static_cast<float>(i % 4 + 1) / 4, 1e-6);
    lines.insert(all[i][0].second);
  }
  EXPECT_EQ(lines.size(), 3u);
  EXPECT_NEAR(*lines.rbegin(), 2.0 / 3, 1e-4);
}

// proves: G-17b
TEST(Tessellation, PointsAndLinesOfTriangles) {
  graphics::Tessellation how;
  std::fill(std::begin(how.factors), std::end(how.factors), 4.0f);
  const std::size_t triangles = divided(how).size();
  EXPECT_EQ(triangles, 24u);  // rings of 12 and 6 around a point: 18 + 6
  how.output = OutputTopology::lines;
  EXPECT_EQ(divided(how).size(), 3 * triangles);
  how.output = OutputTopology::points;
  EXPECT_EQ(divided(how).size(), 12u + 6 + 1);
}

// proves: G-17b
TEST(Tessellation, FactorsThatDropAPatch) {
  for (const float factor : {0.0f, -1.0f, std::nanf("")}) {
    graphics::Tessellation how;
    how.factors[1] = factor;
    EXPECT_TRUE(divided(how).empty());
  }
}

// proves: G-17b
TEST(Tessellation, PatchesThatShareEdgesCoverEachPixelOnce) {
  Rig& rig = Rig::get();
  // Four square patches over the target, with control points in the shader's order.
  std::vector<reference::Vertex> control;
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 2; ++i)
      for (const auto& [x, y] : {std::pair{0, 0}, {1, 0}, {1, 1}, {0, 1}}) {
        control.push_back(at_pixel((i + x) * 32, (j + y) * 32, 64, 64));
        control.back().varyings = {1, static_cast<double>(x), static_cast<double>(y), 1};
      }
  const Canvas canvas(rig.device, 64, 64, kFloats);
  graphics::Draw draw = rig.plain(control);
  draw.topology = graphics::Topology::patches;
  draw.patch_size = 4;
  draw.tessellation.shape = DomainShape::quads;
  draw.tessellation.partitioning = Partitioning::fractional_odd;
  const std::vector<float> factors = {7.3f, 7.3f, 7.3f, 7.3f, 4, 9};
  draw.hull = graphics::HullStage{rig.shader("plain_hull", rig.upload(factors)), 4, 4};
  draw.domain = graphics::DomainStage{rig.shader("patch_domain"), 4};
  draw.raster.cull = graphics::CullMode::back;
  draw.blend = {{.enabled = 1, .target = graphics::BlendFactor::one}};
  draw.targets = {canvas.target};
  rig.draw(draw);
  const std::vector<float> got = canvas.read<float>();
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 64; ++x) {
      ASSERT_NEAR(got[(y * 64 + x) * 4], 1, 1e-4) << x << ' ' << y;
      EXPECT_NEAR(got[(y * 64 + x) * 4 + 1], (x % 32 + 0.5) / 32, 1e-3);
      EXPECT_NEAR(got[(y * 64 + x) * 4 + 2], (y % 32 + 0.5) / 32, 1e-3);
    }
}

}  // namespace
}  // namespace graphics_test
