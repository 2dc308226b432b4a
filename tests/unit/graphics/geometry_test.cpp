// The geometry shader: it makes, drops and redirects primitives. And stages that are left out.
#include "rig.h"

namespace graphics_test {
namespace {

// proves: G-17c
TEST(Geometry, PointSpritesAndDroppedPoints) {
  Rig& rig = Rig::get();
  std::vector<reference::Vertex> points = {at_pixel(16, 16, 64, 64), at_pixel(40, 16, 64, 64),
                                           at_pixel(48, 48, 64, 64)};
  points[0].varyings = {0.25, 0, 0, 1};
  points[1].varyings = {0.5, 0, 0, -1};  // dropped
  points[2].varyings = {0.75, 0, 0, 1};
  const Canvas canvas(rig.device, 64, 64, kFloats);
  graphics::Draw draw = rig.plain(points);
  draw.topology = graphics::Topology::points;
  draw.geometry =
      graphics::GeometryStage{rig.shader("sprite_geometry", rig.upload(std::vector<float>{0.125f})), 4,
                              graphics::OutputTopology::triangles, 4};
  draw.targets = {canvas.target};
  rig.draw(draw);
  const std::vector<float> got = canvas.read<float>();
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 64; ++x) {
      const bool first = x >= 12 && x < 20 && y >= 12 && y < 20,
                 last = x >= 44 && x < 52 && y >= 44 && y < 52;
      ASSERT_NEAR(got[(y * 64 + x) * 4], first ? 0.25 : last ? 0.75 : 0, 1e-6) << x << ' ' << y;
    }
}

// proves: G-17c
TEST(Geometry, AllFacesOfACubeInOnePass) {
  Rig& rig = Rig::get();
  std::vector<reference::Vertex> triangle = {at_pixel(0, 0, 16, 16), at_pixel(8, 0, 16, 16),
                                             at_pixel(0, 8, 16, 16)};
  const Canvas cube(rig.device, 16, 16, kFloats, 6), depth(rig.device, 16, 16, kDepth, 6);
  rig.clear(depth.target, 1);
  graphics::Draw draw = rig.plain(triangle);
  draw.geometry =
      graphics::GeometryStage{rig.shader("cube_geometry"), 18, graphics::OutputTopology::triangles, 4};
  draw.targets = {cube.target};
  draw.depth_target = depth.target;
  draw.depth = {1, 1, graphics::Compare::less};
  rig.draw(draw);
  const std::vector<float> got = cube.read<float>(), depths = depth.read<float>();
  for (int face = 0; face < 6; ++face)
    for (int y = 0; y < 16; ++y)
      for (int x = 0; x < 16; ++x) {
        const std::size_t at = (static_cast<std::size_t>(face) * 16 + y) * 16 + x;
        const int moved = x - 2 * face;  // each face's triangle is two pixels further right
        const bool inside = moved >= 0 && moved + y < 7;
        ASSERT_NEAR(got[at * 4], inside ? (face + 1) / 8.0 : 0, 1e-6) << face << ' ' << x << ' ' << y;
        ASSERT_EQ(depths[at], inside ? 0.5f : 1) << face << ' ' << x << ' ' << y;
      }
}

// proves: G-17c, G-17g
TEST(Geometry, WithoutItPrimitivesGoToLayerZero) {
  Rig& rig = Rig::get();
  const Canvas layers(rig.device, 16, 16, kFloats, 2);
  std::vector<reference::Vertex> triangle = {at_pixel(0, 0, 16, 16), at_pixel(32, 0, 16, 16),
                                             at_pixel(0, 32, 16, 16)};
  for (reference::Vertex& vertex : triangle) vertex.varyings = {1, 1, 1, 1};
  graphics::Draw draw = rig.plain(triangle);
  draw.targets = {layers.target};
  rig.draw(draw);
  const std::vector<float> got = layers.read<float>();
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i < got.size() / 2 ? 1 : 0);
}

// proves: G-17g
TEST(Geometry, DepthAloneNeedsNoPixelShader) {
  Rig& rig = Rig::get();
  const Canvas depth(rig.device, 16, 16, kDepth);
  rig.clear(depth.target, 1);
  graphics::Draw draw =
      rig.plain({at_pixel(0, 0, 16, 16, 0.25), at_pixel(32, 0, 16, 16, 0.25), at_pixel(0, 32, 16, 16, 0.75)});
  draw.pixel.reset();
  draw.depth_target = depth.target;
  draw.depth = {1, 1, graphics::Compare::less};
  rig.draw(draw);
  const std::vector<float> got = depth.read<float>();
  for (int y = 0; y < 16; ++y)
    for (int x = 0; x < 16; ++x) ASSERT_NEAR(got[y * 16 + x], 0.25 + (y + 0.5) / 64, 1e-6);
}

// proves: G-17a
TEST(Geometry, PointsAndLinesHaveAWidth) {
  Rig& rig = Rig::get();
  const auto sum_of = [&](graphics::Draw draw) {
    const Canvas canvas(rig.device, 32, 32, kFloats);
    draw.targets = {canvas.target};
    rig.draw(draw);
    double sum = 0;
    const std::vector<float> got = canvas.read<float>();
    for (std::size_t i = 0; i < got.size(); i += 4) sum += got[i];
    return sum;
  };
  std::vector<reference::Vertex> ends = {at_pixel(4.5, 8.5, 32, 32), at_pixel(20.5, 12.5, 32, 32)};
  for (reference::Vertex& vertex : ends) vertex.varyings = {1, 1, 1, 1};
  graphics::Draw draw = rig.plain(ends);
  draw.topology = graphics::Topology::points;
  EXPECT_EQ(sum_of(draw), 2);
  draw.raster.point_size = 4;
  EXPECT_EQ(sum_of(draw), 32);
  draw.topology = graphics::Topology::lines;
  EXPECT_EQ(sum_of(draw), 16);  // a pixel for each column
  draw.raster.line_width = 3;
  EXPECT_EQ(sum_of(draw), 48);
}

}  // namespace
}  // namespace graphics_test
