// The output merger: tests, blending, masks, formats, several targets, in the order of primitives; against
// the reference.
#include <cmath>

#include "rig.h"

namespace graphics_test {
namespace {

using graphics::BlendFactor;
using graphics::BlendOperation;
using graphics::Compare;
using graphics::StencilOperation;

constexpr int kWide = 32;

/// Overlapping triangles; z of a few values, the same for a whole triangle, so that tests see equal ones.
std::vector<reference::Vertex> layers(std::mt19937& random, int triangles) {
  std::vector<reference::Vertex> vertices;
  for (int i = 0; i < triangles; ++i) {
    const double z = static_cast<double>(1 + random() % 7) / 8;
    reference::Varyings colour{};
    for (int k = 0; k < 4; ++k) colour[k] = static_cast<double>(random() % 256) / 255;
    for (int c = 0; c < 3; ++c) {
      vertices.push_back(at_pixel(static_cast<double>(random() % 64) - 16,
                                  static_cast<double>(random() % 64) - 16, kWide, kWide, z));
      vertices.back().varyings = colour;
    }
  }
  return vertices;
}

/// Draws with the pipeline and with the reference, and compares all targets.
class Merging {
 public:
  Merging(unsigned targets, int samples)
      : rig_(Rig::get()),
        want_(kWide, kWide, targets, samples),
        depth_(canvas(kDepth)),
        stencil_(canvas(kStencil)) {
    for (unsigned t = 0; t < targets; ++t) colours_.push_back(canvas(kRgba8));
    rig_.clear(depth_.target, 1);
  }

  void draw(graphics::Draw draw, const std::vector<reference::Vertex>& vertices, reference::State state,
            const std::function<reference::Shaded(const reference::Fragment&)>& shader) {
    for (const Canvas& target : colours_) draw.targets.push_back(target.target);
    draw.depth_target = depth_.target, draw.stencil_target = stencil_.target;
    state.depth = draw.depth, state.stencil = draw.stencil, state.blend = draw.blend;
    state.cull = draw.raster.cull, state.front_is_counter_clockwise = draw.raster.front_is_counter_clockwise;
    for (int c = 0; c < 4; ++c) state.constant[c] = draw.blend_constant[c];
    if (draw.scissor)
      state.cut = {draw.scissor->x, draw.scissor->y, draw.scissor->x + draw.scissor->width,
                   draw.scissor->y + draw.scissor->height};
    draw.limits.fragment_quads = 1 << 14;
    rig_.draw(draw);
    for (std::size_t i = 0; i < vertices.size(); i += 3)
      reference::draw(want_, state, {vertices[i], vertices[i + 1], vertices[i + 2]}, shader);
  }

  /// 8-bit numbers may differ by one where halves are rounded.
  void compare() const {
    const auto stencil = stencil_.read<std::uint8_t>();
    const auto depth = depth_.read<float>();
    for (int y = 0; y < kWide; ++y)
      for (int x = 0; x < kWide; ++x)
        for (int s = 0; s < want_.samples; ++s) {
          const std::size_t at = (static_cast<std::size_t>(s) * kWide + y) * kWide + x;
          ASSERT_EQ(stencil[at], want_.stencil[want_.at(x, y, s)]) << x << ' ' << y << ' ' << s;
          ASSERT_NEAR(depth[at], want_.depth[want_.at(x, y, s)], 1e-6) << x << ' ' << y << ' ' << s;
        }
    for (std::size_t t = 0; t < colours_.size(); ++t) compare_colours(t);
  }

 private:
  Canvas canvas(raddle::TexelFormat format) const {
    return {rig_.device, kWide, kWide, format, 1, static_cast<std::uint32_t>(want_.samples)};
  }
  void compare_colours(std::size_t t) const {
    const auto got = colours_[t].read<std::uint8_t>();
    for (int y = 0; y < kWide; ++y)
      for (int x = 0; x < kWide; ++x)
        for (int s = 0; s < want_.samples; ++s)
          for (int c = 0; c < 4; ++c) {
            const std::size_t at = ((static_cast<std::size_t>(s) * kWide + y) * kWide + x) * 4 + c;
            ASSERT_NEAR(got[at], want_.colours[t][want_.at(x, y, s)][c] * 255, 1.01)
                << t << ' ' << x << ' ' << y << ' ' << s << ' ' << c;
          }
  }

  Rig& rig_;
  reference::Images want_;
  Canvas depth_, stencil_;
  std::vector<Canvas> colours_;
};

reference::Shaded flat_colour(const reference::Fragment& fragment) {
  return {{{fragment.flat[0], fragment.flat[1], fragment.flat[2], fragment.flat[3]}}};
}

// proves: G-17e
TEST(Merger, DepthAndStencilOfAllKinds) {
  std::mt19937 random = random_numbers();
  for (int round = 0; round < rounds(32); ++round) {
    Merging merging(1, 1 << round % 4);
    for (int part = 0; part < 2; ++part) {
      const auto vertices = layers(random, 12);
      graphics::Draw draw = Rig::get().plain(vertices);
      const auto compare = [&](int by) { return static_cast<Compare>((round + by) % 8); };
      const auto operation = [&] { return static_cast<StencilOperation>(random() % 8); };
      draw.depth = {1, part == 0 || random() % 2 == 0, part == 0 ? Compare::always : compare(0)};
      draw.stencil.test = round % 5 != 4;
      draw.stencil.front = {part == 0 ? Compare::always : compare(3), operation(), operation(), operation()};
      draw.stencil.back = {part == 0 ? Compare::always : compare(5), operation(), operation(), operation()};
      constexpr std::uint32_t kReferences[] = {0, 1, 127, 254, 255};  // operations stop or wrap beside these
      draw.stencil.reference = kReferences[random() % 5], draw.stencil.read_mask = random() % 256,
      draw.stencil.write_mask = round % 2 == 0 ? 255 : random() % 256;
      draw.raster.front_is_counter_clockwise = random() % 2 != 0;
      draw.raster.cull = static_cast<graphics::CullMode>(round % 3);
      if (round % 3 == 1) draw.scissor = graphics::Rectangle{3, 5, 20, 22};
      if (round % 2 == 1) draw.pixel->late_tests = true;  // the same result, tested after shading
      merging.draw(draw, vertices, {}, flat_colour);
    }
    SCOPED_TRACE(round);
    merging.compare();
    if (testing::Test::HasFailure()) return;
  }
}

// proves: G-17e
TEST(Merger, BlendingOfAllKinds) {
  std::mt19937 random = random_numbers();
  const std::vector<float> second = {0.2f, 0.4f, 0.9f, 0.6f};
  const raddle::DevicePtr constants = Rig::get().upload(second);
  for (int round = 0; round < rounds(38); ++round) {
    Merging merging(1, round % 4 == 3 ? 4 : 1);
    const auto vertices = layers(random, 10);
    graphics::Draw draw = Rig::get().plain(vertices);
    draw.pixel = graphics::PixelStage{Rig::get().shader("two_pixel", constants)};
    const auto factor = [&](int by) { return static_cast<BlendFactor>((round + by) % 19); };
    const auto operation = [&](int by) { return static_cast<BlendOperation>((round + by) % 5); };
    draw.blend = {{1, factor(0), factor(7), operation(0), factor(11), factor(3), operation(2),
                   round % 2 == 1 ? static_cast<std::uint32_t>(random() % 16) : 15u}};
    for (int c = 0; c < 4; ++c) draw.blend_constant[c] = static_cast<float>(random() % 100) / 80;
    merging.draw(draw, vertices, {}, [&](const reference::Fragment& fragment) {
      return reference::Shaded{{{fragment.flat[0], fragment.flat[1], fragment.flat[2], fragment.flat[3]},
                                {second[0], second[1], second[2], second[3]}}};
    });
    SCOPED_TRACE(round);
    merging.compare();
    if (testing::Test::HasFailure()) return;
  }
}

// proves: G-17e
TEST(Merger, SeveralTargetsWithMasksAndBlends) {
  std::mt19937 random = random_numbers();
  const auto vertices = layers(random, 12);
  Merging merging(3, 1);
  graphics::Draw draw = Rig::get().plain(vertices, "facts_pixel");
  draw.depth = {1, 1, Compare::less};
  draw.blend = {{.enabled = 1, .source = BlendFactor::one, .target = BlendFactor::one},
                {.write_mask = 2},
                {.write_mask = 0}};
  merging.draw(draw, vertices, {}, [](const reference::Fragment& f) {
    return reference::Shaded{
        {{f.flat[0], f.flat[1], f.flat[2], f.flat[3]}, {f.flat[0], f.depth, f.w, 0}, {0, 0, 0, 0}}};
  });
  merging.compare();
}

// proves: G-17e
TEST(Merger, ShadersThatDiscardAndWriteDepth) {
  std::mt19937 random = random_numbers();
  for (const int samples : {1, 4}) {
    Merging merging(1, samples);
    auto vertices = layers(random, 16);
    // Depths of their own: a varying that is the same at all corners comes out rounded, so equal ones may not
    // tie.
    for (std::size_t i = 0; i < vertices.size(); ++i)
      vertices[i].varyings[3] = static_cast<double>((i / 3 * 37 + 11) % 256) / 255;
    graphics::Draw draw = Rig::get().plain(vertices, "holes_pixel");
    draw.pixel->may_discard = draw.pixel->writes_depth = true;
    draw.depth = {1, 1, Compare::less_equal};
    merging.draw(draw, vertices, {}, [](const reference::Fragment& f) {
      return reference::Shaded{
          {{f.flat[0], f.flat[1], f.flat[2], f.flat[3]}}, (f.x + 2 * f.y) % 3 == 0, f.flat[3]};
    });
    merging.compare();
  }
}

/// A triangle over the whole target, of one colour.
std::vector<reference::Vertex> everywhere(const reference::Varyings& colour) {
  std::vector<reference::Vertex> vertices = {at_pixel(0, 0, 8, 8), at_pixel(16, 0, 8, 8),
                                             at_pixel(0, 16, 8, 8)};
  for (reference::Vertex& vertex : vertices) vertex.varyings = colour;
  return vertices;
}

// proves: G-17e
TEST(Merger, ChannelsThatAreNotWrittenStayAsTheyAreForTheNextFragment) {
  Rig& rig = Rig::get();
  const Canvas canvas(rig.device, 8, 8, kRgba8);
  rig.clear(canvas.target, 0, 0, 0, 0.2f);  // 51 of 255
  std::vector<reference::Vertex> vertices = everywhere({1, 1, 1, 1});
  for (const reference::Vertex& vertex : everywhere({1, 0, 1, 1})) vertices.push_back(vertex);
  graphics::Draw draw = rig.plain(vertices);
  draw.targets = {canvas.target};
  draw.blend = {
      {.enabled = 1, .source = BlendFactor::target_alpha, .target = BlendFactor::one, .write_mask = 3}};
  rig.draw(draw);
  const std::vector<std::uint8_t> got = canvas.read<std::uint8_t>();
  for (std::size_t i = 0; i < got.size(); i += 4) {
    ASSERT_EQ(got[i], 102) << i;     // twice a fifth
    ASSERT_EQ(got[i + 1], 51) << i;  // once
    ASSERT_EQ(got[i + 2], 0) << i;   // not written
    ASSERT_EQ(got[i + 3], 51) << i;
  }
}

template <class T>
void expect_stored(raddle::ChannelType type, unsigned channels, const std::vector<T>& want) {
  Rig& rig = Rig::get();
  const Canvas drawn(rig.device, 8, 8, {type, channels}), cleared(rig.device, 8, 8, {type, channels});
  graphics::Draw draw = rig.plain(everywhere({1.5, -0.25, 0.5, 0.75}));
  draw.targets = {drawn.target};
  rig.draw(draw);
  rig.clear(cleared.target, 1.5f, -0.25f, 0.5f, 0.75f);
  const std::vector<T> got = drawn.read<T>(), filled = cleared.read<T>();
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], want[i % channels]) << static_cast<int>(type) << ' ' << i;
    ASSERT_EQ(filled[i], want[i % channels]) << static_cast<int>(type) << ' ' << i;
  }
}

// proves: G-17e
TEST(Merger, FormatsOfTargets) {
  using raddle::ChannelType;
  expect_stored<std::uint8_t>(ChannelType::unorm8, 4, {255, 0, 128, 191});
  expect_stored<std::uint8_t>(ChannelType::unorm8, 2, {255, 0});
  expect_stored<std::int8_t>(ChannelType::snorm8, 4, {127, -32, 64, 95});
  expect_stored<std::uint16_t>(ChannelType::unorm16, 4, {65535, 0, 32768, 49151});
  expect_stored<std::int16_t>(ChannelType::snorm16, 1, {32767});
  expect_stored<std::uint16_t>(ChannelType::float16, 4, {0x3e00, 0xb400, 0x3800, 0x3a00});
  expect_stored<float>(ChannelType::float32, 4, {1.5f, -0.25f, 0.5f, 0.75f});
  expect_stored<float>(ChannelType::float32, 1, {1.5f});
}

// proves: G-17e
TEST(Merger, IntegersAreStoredBitByBit) {
  Rig& rig = Rig::get();
  const Canvas canvas(rig.device, 8, 8, {raddle::ChannelType::unsigned32, 4});
  graphics::Draw draw = rig.plain(everywhere({}), "integer_pixel");
  draw.targets = {canvas.target};
  rig.draw(draw);
  const auto got = canvas.read<std::uint32_t>();
  for (unsigned y = 0; y < 8; ++y)
    for (unsigned x = 0; x < 8; ++x) {
      const std::uint32_t* const at = &got[(y * 8 + x) * 4];
      EXPECT_EQ(at[0], 0xfffffff0u + x);
      EXPECT_EQ(at[1], y);
      EXPECT_EQ(at[2], 0x01020304u);
      EXPECT_EQ(at[3], 7u);
    }
}

TEST(Merger, ResolvesSamples) {
  Rig& rig = Rig::get();
  for (const std::uint32_t samples : {2u, 4u, 8u}) {
    const Canvas many(rig.device, 8, 8, kRgba8, 1, samples), one(rig.device, 8, 8, kRgba8);
    std::vector<reference::Vertex> vertices = {at_pixel(0, 0, 8, 8), at_pixel(8, 0, 8, 8),
                                               at_pixel(0, 8, 8, 8)};
    for (reference::Vertex& vertex : vertices) vertex.varyings = {1, 1, 1, 1};
    graphics::Draw draw = rig.plain(vertices);
    draw.targets = {many.target};
    rig.draw(draw);
    expect_ok(rig.renderer.resolve(rig.device.default_stream(), many.target, one.target));
    expect_ok(rig.device.synchronize());
    const auto got = one.read<std::uint8_t>();
    for (int y = 0; y < 8; ++y)
      for (int x = 0; x < 8; ++x) {
        unsigned covered = 0;
        for (int s = 0; s < static_cast<int>(samples); ++s) {
          const auto [dx, dy] = reference::sample_offset(static_cast<int>(samples), s);
          covered += reference::covers({{{0, 0}, {2048, 0}, {0, 2048}}}, x * 256 + dx, y * 256 + dy);
        }
        EXPECT_EQ(got[(y * 8 + x) * 4], std::lround(255.0 * covered / samples)) << x << ' ' << y;
      }
  }
}

}  // namespace
}  // namespace graphics_test
