// The input assembler: which vertices make which primitives, for every topology; indices, restart, instances,
// formats.
#include <map>

#include "rig.h"

namespace graphics_test {
namespace {

using graphics::Topology;
/// The vertices of a primitive: number and instance of each.
using Primitive = std::vector<std::pair<int, int>>;

/// All primitives of a run, each followed from the definition in words: a machine that takes vertex after
/// vertex.
std::vector<std::vector<int>> primitives_of(Topology topology, unsigned patch, const std::vector<int>& run) {
  std::vector<std::vector<int>> all;
  const int n = static_cast<int>(run.size());
  const auto take = [&](std::initializer_list<int> at) {
    std::vector<int> primitive;
    for (const int i : at) primitive.push_back(run[i]);
    all.push_back(primitive);
  };
  switch (topology) {
    case Topology::points:
      for (int i = 0; i < n; ++i) take({i});
      break;
    case Topology::lines:
      for (int i = 0; i + 1 < n; i += 2) take({i, i + 1});
      break;
    case Topology::line_strip:
      for (int i = 0; i + 1 < n; ++i) take({i, i + 1});
      break;
    case Topology::triangles:
      for (int i = 0; i + 2 < n; i += 3) take({i, i + 1, i + 2});
      break;
    case Topology::triangle_strip:
      for (int i = 0; i + 2 < n; ++i) i % 2 == 0 ? take({i, i + 1, i + 2}) : take({i, i + 2, i + 1});
      break;
    case Topology::triangle_fan:
      for (int i = 0; i + 2 < n; ++i) take({i + 1, i + 2, 0});
      break;
    case Topology::lines_adjacent:
      for (int i = 0; i + 3 < n; i += 4) take({i, i + 1, i + 2, i + 3});
      break;
    case Topology::line_strip_adjacent:
      for (int i = 0; i + 3 < n; ++i) take({i, i + 1, i + 2, i + 3});
      break;
    case Topology::triangles_adjacent:
      for (int i = 0; i + 5 < n; i += 6) take({i, i + 1, i + 2, i + 3, i + 4, i + 5});
      break;
    case Topology::triangle_strip_adjacent: {  // Vulkan's table
      const int triangles = n < 6 ? 0 : (n - 4) / 2;
      for (int i = 0; i < triangles; ++i) {
        const int first = i == 0 ? 1 : 2 * i - 2, last = i == triangles - 1 ? 2 * i + 5 : 2 * i + 6;
        if (i % 2 == 0)
          take({2 * i, first, 2 * i + 2, last, 2 * i + 4, 2 * i + 3});
        else
          take({2 * i + 2, first, 2 * i, 2 * i + 3, 2 * i + 4, last});
      }
      break;
    }
    case Topology::patches:
      for (int i = 0; i + static_cast<int>(patch) <= n; i += static_cast<int>(patch)) {
        all.emplace_back(run.begin() + i, run.begin() + i + patch);
      }
      break;
  }
  return all;
}

/// What the pipeline gives to a geometry shader.
std::multimap<std::size_t, Primitive> recorded(graphics::Draw draw, unsigned size, std::size_t places) {
  Rig& rig = Rig::get();
  const std::vector<float> empty(places * size * 2, -1);
  const raddle::DevicePtr values = rig.upload(empty), count = rig.upload(std::vector<std::uint32_t>{0});
  const raddle::DevicePtr recorder = rig.upload(std::vector<std::uint64_t>{values.value, count.value});
  const Canvas canvas(rig.device, 8, 8, kRgba8);
  draw.vertex = graphics::VertexStage{rig.shader("number_vertex"), 2};
  draw.geometry = graphics::GeometryStage{rig.shader("record_geometry", recorder), 1,
                                          graphics::OutputTopology::points, 2};
  draw.pixel = graphics::PixelStage{rig.shader("colour_pixel")};
  draw.targets = {canvas.target};
  rig.draw(draw);
  std::vector<float> got(empty.size());
  expect_ok(rig.device.read(got.data(), values, got.size() * 4));
  std::multimap<std::size_t, Primitive> all;
  for (std::size_t p = 0; p < places; ++p) {
    Primitive primitive;
    for (unsigned c = 0; c < size; ++c)
      primitive.emplace_back(static_cast<int>(got[(p * size + c) * 2]),
                             static_cast<int>(got[(p * size + c) * 2 + 1]));
    if (primitive[0].first >= 0) all.emplace(p, primitive);
  }
  std::uint32_t counted = 0;
  expect_ok(rig.device.read(&counted, count, 4));
  EXPECT_EQ(counted, all.size());
  return all;
}

unsigned size_of(Topology topology) {
  switch (topology) {
    case Topology::points:
      return 1;
    case Topology::lines:
    case Topology::line_strip:
      return 2;
    case Topology::lines_adjacent:
    case Topology::line_strip_adjacent:
      return 4;
    case Topology::triangles_adjacent:
    case Topology::triangle_strip_adjacent:
      return 6;
    default:
      return 3;
  }
}

class Topologies : public testing::TestWithParam<Topology> {};

/// Compares, in order, with the runs that vertices make; each instance draws them all.
void expect_primitives(const graphics::Draw& draw, const std::vector<std::vector<int>>& runs,
                       std::size_t length) {
  const unsigned size = size_of(draw.topology);
  std::vector<Primitive> want;
  for (int instance = 0; instance < static_cast<int>(draw.instance_count); ++instance)
    for (const std::vector<int>& run : runs)
      for (const std::vector<int>& primitive : primitives_of(draw.topology, 0, run)) {
        want.emplace_back();
        for (const int vertex : primitive)
          want.back().emplace_back(vertex, instance + static_cast<int>(draw.first_instance));
      }
  std::vector<Primitive> got;
  for (const auto& [place, primitive] : recorded(draw, size, length * draw.instance_count + 1))
    got.push_back(primitive);
  EXPECT_EQ(got, want);
}

// proves: G-17a
TEST_P(Topologies, OfVerticesInOrder) {
  const auto counts =
      kOnlyInterpreter ? std::vector<unsigned>{1, 6, 13} : std::vector<unsigned>{1, 2, 5, 6, 13, 40};
  for (const unsigned count : counts) {
    graphics::Draw draw;
    draw.topology = GetParam();
    draw.vertex_count = count, draw.first_vertex = 7;
    draw.instance_count = 2, draw.first_instance = 5;
    std::vector<int> run;
    for (unsigned i = 0; i < count; ++i) run.push_back(static_cast<int>(i + 7));
    SCOPED_TRACE(count);
    expect_primitives(draw, {run}, count);
  }
}

// proves: G-17a
TEST_P(Topologies, OfIndicesWithRestart) {
  Rig& rig = Rig::get();
  std::mt19937 random = random_numbers();
  for (const unsigned bytes : {2u, 4u})
    for (const bool restart : {false, true})
      for (const std::uint32_t vertices : {5u, 1000u}) {  // shaded once each, and by index
        if (rounds(10) == 1 && (bytes == 2) != (vertices == 5)) continue;
        std::vector<std::uint32_t> indices;
        std::vector<std::vector<int>> runs(1);
        for (int i = 0; i < 150; ++i) {
          const bool cut = restart && random() % 9 == 0;
          const std::uint32_t index = cut ? ~0u : 3 + random() % vertices;
          indices.push_back(index);
          if (cut)
            runs.emplace_back();
          else if (i >= 4)
            runs.back().push_back(static_cast<int>(index - 3));
          if (i == 3) runs = {{}};  // the first four are not drawn
        }
        std::vector<std::uint16_t> shorts(indices.begin(), indices.end());
        graphics::Draw draw;
        draw.topology = GetParam();
        draw.primitive_restart = restart;
        draw.indices = bytes == 2 ? graphics::IndexBuffer{rig.upload(shorts), 300, 2}
                                  : graphics::IndexBuffer{rig.upload(indices), 600, 4};
        draw.first_index = 4, draw.index_count = 146, draw.base_vertex = -3;
        draw.vertex_count = vertices, draw.instance_count = 3;
        SCOPED_TRACE(testing::Message() << bytes << ' ' << restart << ' ' << vertices);
        expect_primitives(draw, runs, 150);
      }
}
INSTANTIATE_TEST_SUITE_P(All, Topologies,
                         testing::Values(Topology::points, Topology::lines, Topology::line_strip,
                                         Topology::triangles, Topology::triangle_strip,
                                         Topology::triangle_fan, Topology::lines_adjacent,
                                         Topology::line_strip_adjacent, Topology::triangles_adjacent,
                                         Topology::triangle_strip_adjacent));

// proves: G-17a, G-17g
TEST(Assembly, AdjacentVerticesAreLeftOutWithoutAGeometryShader) {
  Rig& rig = Rig::get();
  // Two lines' worth and a triangle's worth: only the inner vertices are seen.
  std::vector<reference::Vertex> triangle;
  for (const auto& [x, y] : {std::pair{0, 0}, {60, 60}, {16, 0}, {61, 61}, {0, 16}, {62, 62}}) {
    triangle.push_back(at_pixel(x, y, 64, 64));
    triangle.back().varyings = {1, 1, 1, 1};
  }
  const Canvas canvas(rig.device, 64, 64, kFloats);
  graphics::Draw draw = rig.plain(triangle);
  draw.topology = Topology::triangles_adjacent;
  draw.targets = {canvas.target};
  rig.draw(draw);
  std::vector<float> got = canvas.read<float>();
  double sum = 0;
  for (std::size_t i = 0; i < got.size(); i += 4) sum += got[i];
  EXPECT_EQ(sum, 120);  // pixels of a right triangle with sides of 16: 15 * 16 / 2
  std::vector<reference::Vertex> line;
  for (const auto& [x, y] : {std::pair{1, 1}, {10, 20}, {30, 20}, {50, 50}}) {
    line.push_back(at_pixel(x, y + 0.5, 64, 64));
    line.back().varyings = {1, 1, 1, 1};
  }
  rig.clear(canvas.target, 0);
  draw = rig.plain(line);
  draw.topology = Topology::lines_adjacent;
  draw.targets = {canvas.target};
  rig.draw(draw);
  got = canvas.read<float>();
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 64; ++x)
      ASSERT_EQ(got[(y * 64 + x) * 4], y == 20 && x >= 10 && x < 30 ? 1 : 0) << x << ' ' << y;
}

// proves: G-17a
TEST(Assembly, AttributesOfAllFormatsAndPerInstance) {
  Rig& rig = Rig::get();
  using raddle::ChannelType;
  struct Case {
    ChannelType type;
    std::vector<std::uint8_t> bytes;  // four channels
    std::array<float, 4> want;
  };
  const std::vector<Case> cases = {
      {ChannelType::unorm8, {0, 255, 51, 102}, {0, 1, 0.2f, 0.4f}},
      {ChannelType::snorm8, {0x80, 127, 0, 0x81}, {-1, 1, 0, -1}},
      {ChannelType::unsigned8, {0, 255, 7, 1}, {0, 255, 7, 1}},
      {ChannelType::signed8, {0xff, 127, 0x80, 1}, {-1, 127, -128, 1}},
      {ChannelType::unorm16, {0xff, 0xff, 0, 0, 0x33, 0x33, 0, 0}, {1, 0, 0.2f, 0}},
      {ChannelType::snorm16, {0xff, 0x7f, 0, 0x80, 0, 0, 1, 0x80}, {1, -1, 0, -1}},
      {ChannelType::unsigned16, {0xff, 0xff, 1, 0, 0, 1, 0, 0}, {65535, 1, 256, 0}},
      {ChannelType::signed16, {0xff, 0xff, 1, 0, 0, 0x80, 0, 0}, {-1, 1, -32768, 0}},
      {ChannelType::float16, {0, 0x3c, 0, 0xc0, 0, 0, 0, 0x38}, {1, -2, 0, 0.5f}},
      {ChannelType::unsigned32, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, {1, 256, 65536, 16777216}},
      {ChannelType::signed32, {255, 255, 255, 255, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0}, {-1, 2, 0, 3}},
      {ChannelType::float32, {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0x3f}, {1, -2, 0, 0.5f}},
  };
  const std::vector<reference::Vertex> corners = {at_pixel(0, 0, 8, 8), at_pixel(32, 0, 8, 8),
                                                  at_pixel(0, 32, 8, 8)};
  for (const Case& one : cases)
    for (const unsigned channels : {1u, 2u, 4u}) {
      const Canvas canvas(rig.device, 8, 8, kFloats);
      graphics::Draw draw = rig.plain(corners);
      draw.vertex = graphics::VertexStage{rig.shader("formats_vertex"), 4};
      // The second instance, and the last drawn, reads the second element.
      std::vector<std::uint8_t> bytes(one.bytes.size(), 0);
      bytes.insert(bytes.end(), one.bytes.begin(), one.bytes.end());
      draw.vertex_buffers.push_back(
          {rig.upload(bytes), bytes.size(), static_cast<std::uint32_t>(one.bytes.size()), 2});
      draw.attributes[1] = {1, 0, {one.type, channels}};
      draw.instance_count = 4;
      draw.targets = {canvas.target};
      rig.draw(draw);
      const std::vector<float> got = canvas.read<float>();
      for (unsigned c = 0; c < 4; ++c)
        EXPECT_NEAR(got[c],
                    c < channels ? one.want[c]
                    : c == 3     ? 1
                                 : 0,
                    std::abs(one.want[c]) * 1e-6)
            << static_cast<int>(one.type) << ' ' << channels << ' ' << c;
    }
}

// proves: G-17a
TEST(Assembly, FlatValuesAreTheFirstVertexs) {
  Rig& rig = Rig::get();
  // A strip of two triangles over a square: the second one's first vertex is vertex 1.
  std::vector<reference::Vertex> strip = {at_pixel(0, 0, 64, 64), at_pixel(64, 0, 64, 64),
                                          at_pixel(0, 64, 64, 64), at_pixel(64, 64, 64, 64)};
  for (std::size_t i = 0; i < 4; ++i) strip[i].varyings[0] = static_cast<double>(i);
  const Canvas a(rig.device, 64, 64, kFloats), b(rig.device, 64, 64, kFloats), c(rig.device, 64, 64, kFloats);
  graphics::Draw draw = rig.plain(strip, "facts_pixel");
  draw.topology = Topology::triangle_strip;
  draw.targets = {a.target, b.target, c.target};
  rig.draw(draw);
  const std::vector<float> facts = b.read<float>();
  EXPECT_EQ(facts[0], 0);
  EXPECT_EQ(facts[(63 * 64 + 63) * 4], 1);
  EXPECT_EQ(facts[3], 0.5f);                       // primitive 0, front
  EXPECT_EQ(facts[(63 * 64 + 63) * 4 + 3], 1.5f);  // primitive 1, front too
}

}  // namespace
}  // namespace graphics_test
