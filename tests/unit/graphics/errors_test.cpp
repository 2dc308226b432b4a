// What a draw is refused for, by name; limits that are too small; steps, streams, workers and engines.
#include <gmock/gmock.h>

#include <cstdlib>
#include <limits>

#include "rig.h"

namespace graphics_test {
namespace {

using graphics::Topology;
using testing::Test;

/// A good draw, of a triangle into a target with depth and stencil.
class DrawErrors : public Test {
 protected:
  DrawErrors()
      : rig_(Rig::get()),
        canvas_(rig_.device, 16, 16, kRgba8),
        depth_(rig_.device, 16, 16, kDepth),
        stencil_(rig_.device, 16, 16, kStencil) {
    good_ = rig_.plain({at_pixel(0, 0, 16, 16), at_pixel(16, 0, 16, 16), at_pixel(0, 16, 16, 16)});
    good_.targets = {canvas_.target};
    good_.depth_target = depth_.target;
    good_.stencil_target = stencil_.target;
  }

  /// The message for the good draw with one thing changed.
  template <class Change>
  std::string refused(const Change& change) {
    graphics::Draw draw = good_;
    change(draw);
    const std::string text = message(rig_.renderer.draw(rig_.device.default_stream(), draw));
    EXPECT_EQ(message(rig_.renderer.steps(draw, {})), text);
    EXPECT_EQ(message(rig_.renderer.workspace_bytes(draw)), text);
    return text;
  }

  Rig& rig_;
  Canvas canvas_, depth_, stencil_;
  graphics::Draw good_;
};

#define EXPECT_REFUSED(text, ...) \
  EXPECT_THAT(refused([&](graphics::Draw& d) { __VA_ARGS__; }), testing::HasSubstr(text))

TEST_F(DrawErrors, OfStages) {
  EXPECT_EQ(refused([](graphics::Draw&) {}), "");
  EXPECT_REFUSED("no vertex shader", d.vertex.reset());
  EXPECT_REFUSED("vertex shader no_shader has parameters of 8 bytes",
                 d.vertex->shader = rig_.shader("no_shader"));
  EXPECT_REFUSED("pixel shader plain_vertex has parameters", d.pixel->shader = rig_.shader("plain_vertex"));
  EXPECT_REFUSED("65 varyings", d.vertex->varyings = 65);
  EXPECT_REFUSED("no domain shader", d.topology = Topology::patches; d.patch_size = 3);
  EXPECT_REFUSED("patches of 33", d.topology = Topology::patches; d.patch_size = 33);
  EXPECT_REFUSED("patches of 0", d.topology = Topology::patches);
  EXPECT_REFUSED("domain shader, but no patches",
                 d.domain = graphics::DomainStage{rig_.shader("place_domain")});
  EXPECT_REFUSED("hull shader, but no patches", d.hull = graphics::HullStage{rig_.shader("plain_hull")});
  EXPECT_REFUSED("0 control points", d.topology = Topology::patches; d.patch_size = 3;
                 d.domain = graphics::DomainStage{rig_.shader("place_domain")};
                 d.hull = graphics::HullStage{rig_.shader("plain_hull")});
  EXPECT_REFUSED("isolines", d.topology = Topology::patches; d.patch_size = 3;
                 d.domain = graphics::DomainStage{rig_.shader("place_domain")};
                 d.tessellation.shape = graphics::DomainShape::isolines);
  EXPECT_REFUSED("up to 0 vertices", d.geometry = graphics::GeometryStage{rig_.shader("sprite_geometry")});
  EXPECT_REFUSED("targets, but no pixel shader", d.pixel.reset());
}

TEST_F(DrawErrors, OfInput) {
  EXPECT_REFUSED("reads 4 elements of vertex buffer 0, which holds 3", d.vertex_count = 4);
  EXPECT_REFUSED("reads 4 elements", d.first_vertex = 1);
  EXPECT_REFUSED("stride of 0", d.vertex_buffers[0].stride = 0);
  EXPECT_REFUSED("no memory", d.vertex_buffers[0].address = {});
  EXPECT_REFUSED("ends at byte 32 of an element of vertex buffer 0, whose stride is 24",
                 d.vertex_buffers[0].stride = 24);
  EXPECT_REFUSED("not aligned", d.attributes[1].offset = 14);
  EXPECT_REFUSED("vertex buffer 1, and there are 1", d.attributes[0].buffer = 1);
  EXPECT_REFUSED("5 channels", d.attributes[0].format.channels = 5);
  EXPECT_REFUSED("17 attributes", d.attributes.resize(17, d.attributes[0]));
  EXPECT_REFUSED("no index buffer", d.index_count = 3);
  EXPECT_REFUSED("restart needs an index buffer", d.primitive_restart = true);
  const raddle::DevicePtr indices = rig_.upload(std::vector<std::uint32_t>{0, 1, 2});
  EXPECT_REFUSED("indices of 3 bytes", (d.indices = graphics::IndexBuffer{indices, 12, 3}));
  EXPECT_REFUSED("not aligned", (d.indices = graphics::IndexBuffer{indices + 1, 11, 4}));
  EXPECT_REFUSED("reads 4 indices, the index buffer holds 3",
                 (d.indices = graphics::IndexBuffer{indices, 12, 4});
                 d.index_count = 4);
  EXPECT_REFUSED("may name 5 vertices, vertex buffer 0 holds 3",
                 (d.indices = graphics::IndexBuffer{indices, 12, 4});
                 d.vertex_count = 5);
  EXPECT_REFUSED("how many there are", (d.indices = graphics::IndexBuffer{indices, 12, 4});
                 d.vertex_count = 0; d.vertex_buffers.clear(); d.attributes.clear());
  EXPECT_REFUSED("can be counted", d.instance_count = 1u << 30);
}

TEST_F(DrawErrors, OfTargetsAndStates) {
  using raddle::ChannelType;
  EXPECT_REFUSED("no target", d.targets.clear(); d.depth_target.reset(); d.stencil_target.reset());
  EXPECT_REFUSED("target 0 has no memory", d.targets[0].address = {});
  EXPECT_REFUSED("takes 1024 bytes of memory that has 1023", d.targets[0].bytes = 1023);
  EXPECT_REFUSED("row pitch", d.targets[0].row_pitch = 60);
  EXPECT_REFUSED("slices of target 0 overlap", d.targets[0].layers = 2; d.targets[0].slice_pitch = 960);
  EXPECT_REFUSED("3 samples", d.targets[0].samples = 3);
  EXPECT_REFUSED("0 x 16", d.targets[0].width = 0);
  EXPECT_REFUSED("20000 x 16", d.targets[0].width = 20000);
  EXPECT_REFUSED("3 channels", d.targets[0].format.channels = 3);
  EXPECT_REFUSED("not aligned to its texels", d.targets[0].address.value += 2);
  EXPECT_REFUSED("the depth target is 8 x 16", d.depth_target->width = 8);
  EXPECT_REFUSED("one channel of float32", d.depth_target->format = kStencil);
  EXPECT_REFUSED("one channel of unsigned8", d.stencil_target = d.depth_target);
  EXPECT_REFUSED("no depth target", d.depth_target.reset(); d.depth.test = 1);
  EXPECT_REFUSED("no stencil target", d.stencil_target.reset(); d.stencil.test = 1);
  EXPECT_REFUSED("9 targets", d.targets.resize(9, d.targets[0]));
  EXPECT_REFUSED("2 blend states for 1 targets", d.blend.resize(2));
  EXPECT_REFUSED("integers, which cannot be blended", (d.targets[0].format = {ChannelType::unsigned8, 4});
                 d.blend.resize(1); d.blend[0].enabled = 1);
  EXPECT_REFUSED("needs target 0 alone", d.targets.push_back(d.targets[0]); d.blend.resize(1);
                 d.blend[0] = {.enabled = 1, .source = graphics::BlendFactor::second_alpha});
  EXPECT_REFUSED("viewport", d.viewport.x = std::numeric_limits<float>::quiet_NaN());
  EXPECT_REFUSED("viewport", d.viewport.width = 1e9f);
  EXPECT_REFUSED("negative", d.viewport.height = -1);
  EXPECT_REFUSED("depth 2 is not from 0 to 1", d.viewport.greatest_depth = 2);
  EXPECT_REFUSED("pixels wide", d.raster.point_size = 0);
  EXPECT_REFUSED("pixels wide", d.raster.line_width = 5000);
  EXPECT_REFUSED("bias", d.raster.depth_bias = std::numeric_limits<float>::infinity());
}

TEST_F(DrawErrors, NothingToDraw) {
  for (const auto change :
       {+[](graphics::Draw& d) { d.vertex_count = 0; }, +[](graphics::Draw& d) { d.instance_count = 0; }}) {
    graphics::Draw draw = good_;
    change(draw);
    rig_.draw(draw);
    EXPECT_TRUE(rig_.renderer.steps(draw, {})->empty());
  }
  graphics::Draw draw = good_;  // fewer vertices than a triangle has
  draw.vertex_count = 2;
  rig_.draw(draw);
  for (const std::uint8_t byte : canvas_.read<std::uint8_t>()) ASSERT_EQ(byte, 0);
}

/// The error of a draw that is started, and once more: it is told once.
std::string failed(const graphics::Draw& draw) {
  Rig& rig = Rig::get();
  expect_ok(rig.renderer.draw(rig.device.default_stream(), draw));
  expect_ok(rig.device.synchronize());
  const std::string text = message(rig.renderer.check());
  expect_ok(rig.renderer.check());
  return text;
}

TEST_F(DrawErrors, IndicesWithoutVertices) {
  graphics::Draw draw = good_;
  for (const unsigned bytes : {2u, 4u}) {
    const std::vector<std::uint32_t> words = {0, 1, 2, 0, 1, 9, 0, 1, 0xffffffff};
    const std::vector<std::uint16_t> shorts = {0, 1, 2, 0, 1, 9, 0, 1, 0xffff};
    draw.indices = bytes == 2 ? graphics::IndexBuffer{rig_.upload(shorts), 18, 2}
                              : graphics::IndexBuffer{rig_.upload(words), 36, 4};
    for (const std::uint32_t count : {9u, 6u}) {
      draw.index_count = count;
      const std::string text = failed(draw);
      EXPECT_TRUE(text.find("names vertex 9, and there are 3") != std::string::npos ||
                  (count == 9 && text.find("names vertex ") != std::string::npos))
          << text;
    }
  }
}

TEST_F(DrawErrors, LimitsAreNamed) {
  graphics::Draw draw = good_;
  draw.limits.fragment_quads = 16;
  EXPECT_NE(failed(draw).find("more than the 16 of DrawLimits::fragment_quads"), std::string::npos);
  draw = good_;
  std::vector<reference::Vertex> many;
  for (int i = 0; i < 99; ++i) many.push_back(at_pixel(i % 3 == 0 ? 16 : 0, i % 3 == 1 ? 16 : 0, 16, 16));
  draw = rig_.plain(many);
  draw.targets = {canvas_.target};
  draw.limits.triangles = 20;
  EXPECT_NE(failed(draw).find("more than the 20 of DrawLimits::triangles"), std::string::npos);
  draw.limits = {.bin_entries = 5};
  EXPECT_NE(failed(draw).find("more than the 5 of DrawLimits::bin_entries"), std::string::npos);
  draw.limits = {.geometry_vertices = 90};
  draw.geometry =
      graphics::GeometryStage{rig_.shader("cube_geometry"), 18, graphics::OutputTopology::triangles, 4};
  EXPECT_NE(failed(draw).find("at least 594 places for vertices of the geometry shader, more than the 90 of "
                              "DrawLimits::geometry_vertices"),
            std::string::npos)
      << failed(draw);
  draw = rig_.plain(many);
  draw.targets = {canvas_.target};
  draw.topology = Topology::patches, draw.patch_size = 3;
  draw.domain = graphics::DomainStage{rig_.shader("patch_domain"), 4};
  for (float& factor : draw.tessellation.factors) factor = 8;
  draw.limits = {.tessellated_points = 100};
  EXPECT_NE(failed(draw).find("more than the 100 of DrawLimits::tessellated_points"), std::string::npos);
  draw.limits = {.tessellated_primitives = 100};
  EXPECT_NE(failed(draw).find("more than the 100 of DrawLimits::tessellated_primitives"), std::string::npos);
  draw.limits = {};
  EXPECT_EQ(failed(draw), "");
}

TEST_F(DrawErrors, OfClearingAndResolving) {
  graphics::Target target = canvas_.target;
  raddle::Stream& stream = rig_.device.default_stream();
  target.row_pitch = 1;
  EXPECT_NE(message(rig_.renderer.clear(stream, target, {0, 0, 0, 0})).find("the target to clear"),
            std::string::npos);
  EXPECT_NE(
      message(rig_.renderer.resolve(stream, canvas_.target, depth_.target)).find("other extents or formats"),
      std::string::npos);
  EXPECT_NE(message(rig_.renderer.resolve(stream, stencil_.target, stencil_.target)).find("integers"),
            std::string::npos);
  EXPECT_NE(
      message(graphics::write_png("/tmp/none.png", 4, 4, 4, std::vector<std::uint8_t>(63))).find("63 bytes"),
      std::string::npos);
  EXPECT_NE(message(graphics::write_png("/no/such/folder.png", 1, 1, 3, std::vector<std::uint8_t>(3)))
                .find("/no/such"),
            std::string::npos);
}

// proves: G-17f
TEST_F(DrawErrors, StepsAreKernelsInTheOrderOfThePipeline) {
  graphics::Draw draw = good_;
  const auto stages = [&](const graphics::Draw& draw) {
    std::vector<std::string> names;
    const auto steps = rig_.renderer.steps(draw, {});
    for (const graphics::DrawStep& step : *steps) {
      EXPECT_EQ(step.kernel.has_value(), step.stage != "counters");
      names.push_back(step.stage);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(stages(draw), (Names{"counters", "vertex", "assembler", "setup", "bins", "rasteriser", "pixel",
                                 "output merger"}));
  draw.topology = Topology::patches, draw.patch_size = 3;
  draw.hull = graphics::HullStage{rig_.shader("plain_hull"), 3, 4};
  draw.domain = graphics::DomainStage{rig_.shader("patch_domain"), 4};
  draw.geometry =
      graphics::GeometryStage{rig_.shader("cube_geometry"), 18, graphics::OutputTopology::triangles, 4};
  EXPECT_EQ(stages(draw),
            (Names{"counters", "vertex", "assembler", "hull", "tessellator sizes", "tessellator", "domain",
                   "geometry", "setup", "bins", "rasteriser", "pixel", "output merger"}));
  draw = good_;
  draw.pixel.reset(), draw.targets.clear();
  EXPECT_EQ(stages(draw), (Names{"counters", "vertex", "assembler", "setup", "bins", "rasteriser"}));
}

/// What a picture of overlapping, blended triangles looks like, drawn by steps in a workspace of one's own.
std::vector<std::uint8_t> picture(Rig& rig) {
  std::vector<reference::Vertex> vertices;
  std::mt19937 random(7);
  for (int i = 0; i < 30; ++i) {
    vertices.push_back(at_pixel(static_cast<double>(random() % 32) - 8,
                                static_cast<double>(random() % 32) - 8, 16, 16, 0.5,
                                1 + static_cast<double>(random() % 3)));
    vertices.back().varyings = {static_cast<double>(random() % 9) / 8, 0.5, static_cast<double>(i) / 30, 1};
  }
  const Canvas canvas(rig.device, 16, 16, kRgba8);
  graphics::Draw draw = rig.plain(vertices);
  draw.targets = {canvas.target};
  draw.blend = {{1, graphics::BlendFactor::source_alpha, graphics::BlendFactor::one_minus_source_colour}};
  const std::uint64_t bytes = rig.renderer.workspace_bytes(draw).value();
  const auto workspace = rig.device.buffer<std::uint8_t>(bytes).value();
  auto stream = rig.device.stream().value();
  const auto steps = rig.renderer.steps(draw, workspace.address());
  for (int frame = 0; frame < 2; ++frame) {  // the same steps again draw the same
    expect_ok(rig.device.fill(canvas.memory.address(), 0, canvas.memory.size()));
    for (const graphics::DrawStep& step : *steps) expect_ok(step.run(stream));
    expect_ok(stream.synchronize());
  }
  expect_ok(rig.renderer.check());
  return canvas.read<std::uint8_t>();
}

// proves: G-17f
TEST(Engines, DrawTheSame) {
  const std::vector<std::uint8_t> jit = picture(Rig::get()), interpreter = picture(Rig::get("interp"));
  for (std::size_t i = 0; i < jit.size(); ++i) ASSERT_NEAR(jit[i], interpreter[i], 1) << i;
}

// proves: G-17f
TEST(Engines, DrawTheSameInEverySpace) {
  const auto with = [&](const char* what, const char* engine, auto change) {
    raddle::DeviceOptions options;
    options.pin = false;
    options.engine = engine;
    change(options);
    Rig rig(raddle::Device::open(options).value());
    EXPECT_EQ(picture(rig), picture(Rig::get(engine))) << what;
  };
  // The JIT compiles anew for each, which takes seconds.
  const char* const engine = std::getenv("RADDLE_TEST_ALL") != nullptr ? "" : "interp";
  with("windowed", engine, [](raddle::DeviceOptions& o) { o.translation = raddle::Translation::windowed; });
  with("modelled", engine, [](raddle::DeviceOptions& o) { o.translation = raddle::Translation::modelled; });
  with("deterministic", engine, [](raddle::DeviceOptions& o) { o.deterministic = 5; });
  with("one worker", engine, [](raddle::DeviceOptions& o) { o.workers = 1; });
}

}  // namespace
}  // namespace graphics_test
