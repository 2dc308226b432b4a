// What reaches the pixel shader: varyings, depth, faces, derivatives; clipping; bad vertices.
#include <cmath>
#include <limits>

#include "rig.h"

namespace graphics_test {
namespace {

constexpr int kSide = 64;

reference::Shaded colour_of(const reference::Fragment& fragment) {
  return {{{fragment.varyings[0], fragment.varyings[1], fragment.varyings[2], fragment.varyings[3]}}};
}

std::vector<reference::Vertex> random_corners(std::mt19937& random, int triangles, double least_w,
                                              double most_w) {
  std::uniform_real_distribution<double> place(-10, kSide + 10), w(least_w, most_w), value(-1, 1),
      z(0.1, 0.9);
  std::vector<reference::Vertex> vertices;
  for (int i = 0; i < triangles * 3; ++i) {
    const auto grid = [](double at) { return std::nearbyint(at * 256) / 256; };
    const double least = std::exp2(std::nearbyint(std::log2(w(random))));  // so that places stay on the grid
    vertices.push_back(at_pixel(grid(place(random)), grid(place(random)), kSide, kSide, z(random), least));
    for (int k = 0; k < 4; ++k) vertices.back().varyings[k] = static_cast<float>(value(random));
  }
  return vertices;
}

/// Compares float targets with the reference, all channels, and says how many texels are further away than
/// `tolerance`.
int differing(const std::vector<float>& got, const reference::Images& want, double tolerance,
              std::size_t target = 0) {
  int count = 0;
  for (int y = 0; y < want.height; ++y)
    for (int x = 0; x < want.width; ++x) {
      bool same = true;
      for (int c = 0; c < 4; ++c) {
        const double a = got[(static_cast<std::size_t>(y) * want.width + x) * 4 + c],
                     b = want.colours[target][want.at(x, y)][c];
        same = same && std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
      }
      count += !same;
    }
  return count;
}

// The tolerance that docs/graphics.md states.
constexpr double kTolerance = 2e-4;

// proves: G-17d
TEST(Attributes, ArePerspectiveCorrect) {
  std::mt19937 random = random_numbers();
  Rig& rig = Rig::get();
  for (int round = 0; round < rounds(4); ++round) {
    const auto vertices = random_corners(random, 12, 0.5, 16);
    const Canvas canvas(rig.device, kSide, kSide, kFloats);
    graphics::Draw draw = rig.plain(vertices);
    draw.targets = {canvas.target};
    rig.draw(draw);
    reference::Images images(kSide, kSide, 1);
    for (std::size_t i = 0; i < vertices.size(); i += 3)
      reference::draw(images, {.unorm8 = false}, {vertices[i], vertices[i + 1], vertices[i + 2]}, colour_of);
    EXPECT_EQ(differing(canvas.read<float>(), images, kTolerance), 0);
  }
}

// proves: G-17d
TEST(Attributes, FactsOfFragments) {
  Rig& rig = Rig::get();
  std::vector<reference::Vertex> vertices = {
      at_pixel(0, 0, kSide, kSide, 0.25),     at_pixel(64, 0, kSide, kSide, 0.25, 2),
      at_pixel(0, 64, kSide, kSide, 0.75, 4), at_pixel(64, 64, kSide, kSide, 0.5),
      at_pixel(64, 1, kSide, kSide, 0.5),     at_pixel(1, 64, kSide, kSide, 0.5)};
  for (std::size_t i = 0; i < vertices.size(); ++i) vertices[i].varyings[0] = 10.0 + static_cast<double>(i);
  const Canvas a(rig.device, kSide, kSide, kFloats), b(rig.device, kSide, kSide, kFloats),
      c(rig.device, kSide, kSide, kFloats);
  graphics::Draw draw = rig.plain(vertices, "facts_pixel");
  draw.targets = {a.target, b.target, c.target};
  rig.draw(draw);
  reference::Images images(kSide, kSide, 2);
  for (std::size_t i = 0; i < 6; i += 3)
    reference::draw(images, {.unorm8 = false}, {vertices[i], vertices[i + 1], vertices[i + 2]},
                    [i](const reference::Fragment& f) {
                      return reference::Shaded{
                          {{f.varyings[0], f.varyings[1], f.varyings[2], f.varyings[3]},
                           {f.flat[0], f.depth, f.w, static_cast<double>(i / 3) + (f.front ? 0.5 : 0)}}};
                    });
  EXPECT_EQ(differing(b.read<float>(), images, kTolerance, 1), 0);
  const std::vector<float> facts = c.read<float>(), values = a.read<float>();
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const std::size_t at = (static_cast<std::size_t>(y) * kSide + x) * 4;
      if (x + y == 63) continue;  // between the triangles
      EXPECT_EQ(facts[at + 2], x);
      EXPECT_EQ(facts[at + 3], y);
      if (x + y > 60 || x % 2 != 0 || y % 2 != 0) continue;  // whole quads of one triangle
      EXPECT_NEAR(facts[at], values[at + 4] - values[at], 1e-5);
      EXPECT_NEAR(facts[at + 1], values[at + kSide * 4] - values[at], 1e-5);
    }
}

/// A triangle that planes cut, by testing each pixel in homogeneous coordinates.
bool shows(const std::array<reference::Vertex, 3>& t, double px, double py, reference::Colour& colour,
           double& z) {
  const double X = px / kSide * 2 - 1, Y = 1 - py / kSide * 2;
  // Solves sum b_i (x_i, y_i, w_i) = (X, Y, 1) for b by Cramer's rule.
  const auto det = [](double a, double b, double c, double d, double e, double f, double g, double h,
                      double i) { return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g); };
  const double all = det(t[0].x, t[1].x, t[2].x, t[0].y, t[1].y, t[2].y, t[0].w, t[1].w, t[2].w);
  const double b[3] = {det(X, t[1].x, t[2].x, Y, t[1].y, t[2].y, 1, t[1].w, t[2].w) / all,
                       det(t[0].x, X, t[2].x, t[0].y, Y, t[2].y, t[0].w, 1, t[2].w) / all,
                       det(t[0].x, t[1].x, X, t[0].y, t[1].y, Y, t[0].w, t[1].w, 1) / all};
  const double sum = b[0] + b[1] + b[2];  // 1 / w
  if (!(b[0] >= 0 && b[1] >= 0 && b[2] >= 0 && sum > 0)) return false;
  z = b[0] * t[0].z + b[1] * t[1].z + b[2] * t[2].z;
  for (int k = 0; k < 4; ++k)
    colour[k] = (b[0] * t[0].varyings[k] + b[1] * t[1].varyings[k] + b[2] * t[2].varyings[k]) / sum;
  return z >= 0 && z <= 1;
}

// proves: G-17d
TEST(Attributes, TrianglesThatPlanesCut) {
  std::mt19937 random = random_numbers();
  std::uniform_real_distribution<double> place(-3, 3), depth(-1, 3), w(-2, 3);
  Rig& rig = Rig::get();
  int drawn = 0;
  // Of few rounds all triangles may lie outside: then there are more.
  const int least = rounds(5000) == 5000 ? 4000 : 50;
  for (int round = 0; round < rounds(40) || (drawn <= least && round < 40); ++round) {
    std::array<reference::Vertex, 3> t;
    for (reference::Vertex& v : t) {
      v = {static_cast<float>(place(random)), static_cast<float>(place(random)),
           static_cast<float>(depth(random)), static_cast<float>(w(random))};
      if (round % 8 == 0) v.x *= 1e6, v.y *= 1e6;  // the guard band cuts, too
      for (int k = 0; k < 4; ++k) v.varyings[k] = static_cast<float>(place(random));
    }
    const Canvas canvas(rig.device, kSide, kSide, kFloats);
    rig.clear(canvas.target, -100, -100, -100, -100);
    graphics::Draw draw = rig.plain({t[0], t[1], t[2]});
    draw.targets = {canvas.target};
    rig.draw(draw);
    const std::vector<float> got = canvas.read<float>();
    int wrong = 0;
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) {
        reference::Colour colour{};
        double z = 0;
        const bool there = shows(t, x + 0.5, y + 0.5, colour, z);
        const float* const at = &got[(static_cast<std::size_t>(y) * kSide + x) * 4];
        const bool is = at[0] != -100;
        drawn += is;
        bool same = there == is;
        for (int k = 0; k < 4 && there && is; ++k) same = same && std::abs(at[k] - colour[k]) <= 0.05;
        wrong += !same;
      }
    // Corners are rounded to the grid, so pixels on an edge may differ: at most one of 64 along three or four
    // edges.
    EXPECT_LE(wrong, 8) << "round " << round;
  }
  EXPECT_GT(drawn, least);
}

TEST(Attributes, DepthIsClampedWithoutDepthClipping) {
  Rig& rig = Rig::get();
  const auto vertices = std::vector{at_pixel(0, 0, kSide, kSide, -1), at_pixel(128, 0, kSide, kSide, -1),
                                    at_pixel(0, 128, kSide, kSide, -1)};
  for (const bool clip : {true, false}) {
    const Canvas depth(rig.device, kSide, kSide, kDepth);
    rig.clear(depth.target, 1);
    graphics::Draw draw = rig.plain(vertices);
    draw.pixel.reset();
    draw.depth_target = depth.target;
    draw.depth = {1, 1, graphics::Compare::less};
    draw.raster.depth_clip = clip;
    rig.draw(draw);
    EXPECT_EQ(depth.read<float>()[5 * kSide + 5], clip ? 1 : 0);
  }
}

/// What bad vertices draw: nothing, while a good triangle beside them is drawn.
TEST(Attributes, BadVerticesDrawNothing) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInfinite = std::numeric_limits<float>::infinity();
  const reference::Vertex a = at_pixel(0, 0, kSide, kSide), b = at_pixel(64, 0, kSide, kSide),
                          c = at_pixel(0, 64, kSide, kSide);
  Rig& rig = Rig::get();
  std::vector<std::vector<reference::Vertex>> bad;
  for (const float value : {kNan, kInfinite, -kInfinite})
    for (int member = 0; member < 4; ++member) {
      std::vector<reference::Vertex> t = {a, b, c};
      (member == 0 ? t[1].x : member == 1 ? t[1].y : member == 2 ? t[1].z : t[1].w) = value;
      bad.push_back(t);
    }
  bad.push_back({a, a, b});                                                            // no area
  bad.push_back({a, at_pixel(32, 32, kSide, kSide), at_pixel(64, 64, kSide, kSide)});  // a line
  bad.push_back({{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}});
  bad.push_back({{0, 0, 0.5, -1}, {1, 0, 0.5, -1}, {0, 1, 0.5, -1}});  // behind
  bad.push_back(
      {at_pixel(0, 0, kSide, kSide, 2), at_pixel(64, 0, kSide, kSide, 2), at_pixel(0, 64, kSide, kSide, 2)});
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const Canvas canvas(rig.device, kSide, kSide, kFloats);
    std::vector<reference::Vertex> vertices = bad[i];
    for (const auto& corner :
         {at_pixel(60, 60, kSide, kSide), at_pixel(64, 60, kSide, kSide), at_pixel(60, 64, kSide, kSide)})
      vertices.push_back(corner);
    for (reference::Vertex& vertex : vertices) vertex.varyings = {1, 1, 1, 1};
    graphics::Draw draw = rig.plain(vertices);
    draw.targets = {canvas.target};
    rig.draw(draw);
    const std::vector<float> got = canvas.read<float>();
    double sum = 0;
    for (const float value : got) sum += value;
    EXPECT_EQ(sum, 4 * 6) << "case " << i;  // the six pixels of the good triangle
  }
}

// proves: G-17d
TEST(Attributes, TexturesWithLevelsByDerivatives) {
  Rig& rig = Rig::get();
  raddle::Image image;
  image.format = kFloats;
  image.level_count = 4;
  for (unsigned level = 0; level < 4; ++level) {  // each level has its own colour
    const std::uint32_t side = 8u >> level;
    std::vector<float> texels(std::size_t{side} * side * 4, static_cast<float>(level));
    image.levels[level] = {rig.upload(texels), side * 16, side * side * 16, side, side, 1};
  }
  raddle::Sampler sampler;
  sampler.normalized_coordinates = true;
  sampler.address = {raddle::AddressMode::wrap, raddle::AddressMode::wrap, raddle::AddressMode::wrap};
  sampler.greatest_level = 3;
  const raddle::TextureHandle texture = rig.device.create_texture(image, sampler).value();
  const raddle::DevicePtr constants = rig.upload(std::vector<std::uint64_t>{texture.value});
  for (const double texels_per_pixel : {1.0, 2.0, 4.0}) {
    std::vector<reference::Vertex> vertices = {at_pixel(0, 0, kSide, kSide), at_pixel(128, 0, kSide, kSide),
                                               at_pixel(0, 128, kSide, kSide)};
    vertices[1].varyings[0] = vertices[2].varyings[1] = 128 / 8.0 * texels_per_pixel;
    const Canvas canvas(rig.device, kSide, kSide, kFloats);
    graphics::Draw draw = rig.plain(vertices);
    draw.pixel = graphics::PixelStage{rig.shader("texture_pixel", constants)};
    draw.targets = {canvas.target};
    rig.draw(draw);
    const std::vector<float> got = canvas.read<float>();
    for (std::size_t i = 0; i < got.size(); i += 4) ASSERT_EQ(got[i], std::log2(texels_per_pixel)) << i;
  }
  expect_ok(rig.device.destroy(texture));
}

}  // namespace
}  // namespace graphics_test
