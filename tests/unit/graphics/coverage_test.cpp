// Which samples a triangle covers: whole numbers, compared exactly.
#include "rig.h"

namespace graphics_test {
namespace {

constexpr int kExtent = 64;

/// A place on the grid of 1/256 pixels, now and then a pixel's centre or corner.
double coordinate(std::mt19937& random, int from, int to) {
  const int whole = std::uniform_int_distribution<int>(from, to)(random);
  switch (random() % 4) {
    case 0:
      return whole;
    case 1:
      return whole + 0.5;
    default:
      return whole + static_cast<double>(random() % 256) / 256;
  }
}

std::vector<reference::Vertex> random_triangles(std::mt19937& random, int count) {
  std::vector<reference::Vertex> vertices;
  std::pair<double, double> last;
  for (int i = 0; i < count * 3; ++i) {
    const int reach = i / 3 % 3 == 0 ? 200 : 10;  // also far outside
    double x = coordinate(random, -reach, kExtent + reach), y = coordinate(random, -reach, kExtent + reach);
    // Every other triangle has an upright and a flat edge, often through pixels' centres.
    if (i / 3 % 2 == 1 && i % 3 != 0) (i % 3 == 1 ? y : x) = i % 3 == 1 ? last.second : last.first;
    last = {x, y};
    vertices.push_back(at_pixel(x, y, kExtent, kExtent));
    vertices.back().varyings = {1, static_cast<double>(i / 3 % 16), 0, 1};
  }
  return vertices;
}

/// A square from edge to edge in small triangles whose inner corners are moved about.
std::vector<reference::Vertex> random_mesh(std::mt19937& random, int cells) {
  std::vector<std::pair<double, double>> corner;
  const double step = static_cast<double>(kExtent) / cells;
  for (int j = 0; j <= cells; ++j)
    for (int i = 0; i <= cells; ++i) {
      const bool edge = i == 0 || j == 0 || i == cells || j == cells;
      const auto moved = [&](int at) {
        const double by =
            edge ? 0 : (static_cast<double>(random() % 257) - 128) / 256 * step * 0.48;  // no cell folds
        return std::nearbyint((at * step + by) * 256) / 256;
      };
      corner.emplace_back(moved(i), moved(j));
    }
  std::vector<reference::Vertex> vertices;
  for (int j = 0; j < cells; ++j)
    for (int i = 0; i < cells; ++i) {
      const int a = j * (cells + 1) + i, b = a + 1, c = a + cells + 1, d = c + 1;
      const std::array<int, 6> split =
          random() % 2 != 0 ? std::array{a, b, c, b, d, c} : std::array{a, b, d, a, d, c};
      for (const int at : split) {
        vertices.push_back(at_pixel(corner[at].first, corner[at].second, kExtent, kExtent));
        vertices.back().varyings = {1, 0, 0, 1};
      }
    }
  return vertices;
}

/// How often each sample is drawn, by adding.
std::vector<float> counts(const std::vector<reference::Vertex>& vertices, unsigned samples) {
  Rig& rig = Rig::get();
  const Canvas canvas(rig.device, kExtent, kExtent, kFloats, 1, samples);
  graphics::Draw draw = rig.plain(vertices);
  draw.targets = {canvas.target};
  draw.blend = {
      {.enabled = 1, .target = graphics::BlendFactor::one, .target_alpha = graphics::BlendFactor::one}};
  draw.limits.fragment_quads = 1u << 18;
  rig.draw(draw);
  std::vector<float> first;
  const std::vector<float> values = canvas.read<float>();
  for (std::size_t i = 0; i < values.size(); i += 4) first.push_back(values[i]);
  return first;
}

class Coverage : public testing::TestWithParam<unsigned> {};

// proves: G-17d
TEST_P(Coverage, OfRandomTrianglesIsExact) {
  std::mt19937 random = random_numbers();
  const unsigned samples = GetParam();
  const std::vector<reference::Vertex> vertices = random_triangles(random, 90);
  reference::Images images(kExtent, kExtent, 1, static_cast<int>(samples));
  reference::State state;
  state.unorm8 = false;
  state.blend = {
      {.enabled = 1, .target = graphics::BlendFactor::one, .target_alpha = graphics::BlendFactor::one}};
  for (std::size_t i = 0; i < vertices.size(); i += 3)
    reference::draw(images, state, {vertices[i], vertices[i + 1], vertices[i + 2]},
                    [](const auto&) { return reference::Shaded{{{1, 0, 0, 1}}}; });
  const std::vector<float> got = counts(vertices, samples);
  for (int y = 0; y < kExtent; ++y)
    for (int x = 0; x < kExtent; ++x)
      for (unsigned s = 0; s < samples; ++s) {
        const std::size_t at = (std::size_t{s} * kExtent + y) * kExtent + x;
        ASSERT_EQ(std::lround(got[at]), std::lround(images.colours[0][images.at(x, y, s)][0]))
            << x << ' ' << y << ' ' << s;
      }
}

// proves: G-17d
TEST_P(Coverage, OfAMeshIsOncePerSample) {
  std::mt19937 random = random_numbers();
  for (const int cells : {1, 5, 24}) {
    const std::vector<float> got = counts(random_mesh(random, cells), GetParam());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], 1, 1e-4) << "sample " << i << " of a mesh of " << cells << " cells a side";
  }
}
INSTANTIATE_TEST_SUITE_P(Samples, Coverage, testing::Values(1, 2, 4, 8));

}  // namespace
}  // namespace graphics_test
