#include "rig.h"

#include <cstdlib>

#include "unit/source_directory.h"

namespace graphics_test {

std::mt19937 random_numbers() {
  const char* const wanted = std::getenv("RADDLE_TEST_SEED");
  const unsigned seed = wanted == nullptr ? 1 : static_cast<unsigned>(std::strtoul(wanted, nullptr, 10));
  testing::Test::RecordProperty("seed", static_cast<int>(seed));
  std::printf("seed %u\n", seed);
  return std::mt19937(seed);
}

Canvas::Canvas(raddle::Device& device, std::uint32_t width, std::uint32_t height, raddle::TexelFormat format,
               std::uint32_t layers, std::uint32_t samples)
    : memory(std::move(
                 device.buffer<std::uint8_t>(std::size_t{width} * height * layers * samples * format.bytes()))
                 .value()),
      target(graphics::Target::packed(memory.address(), width, height, format, layers, samples)) {
  expect_ok(device.fill(memory.address(), 0, memory.size()));
}

Rig::Rig(raddle::Device opened)
    : device(std::move(opened)),
      module(device.load_file(raddle::source_directory() + "/tests/unit/graphics/shaders.ptx").value()),
      renderer(graphics::Renderer::create(device).value()) {}

Rig& Rig::get(const std::string& engine) {
  static std::map<std::string, std::unique_ptr<Rig>> all;
  std::unique_ptr<Rig>& rig = all[engine];
  if (rig == nullptr) {
    raddle::DeviceOptions options;
    options.engine = engine;
    options.pin = false;
    rig.reset(new Rig(raddle::Device::open(options).value()));
  }
  return *rig;
}

graphics::Shader Rig::shader(const char* name, raddle::DevicePtr constants) {
  return {module.kernel(name).value(), constants};
}

raddle::DevicePtr Rig::upload_bytes(const void* from, std::size_t bytes) {
  auto buffer = device.buffer<std::uint8_t>(std::max<std::size_t>(bytes, 1)).value();
  expect_ok(buffer.write({static_cast<const std::uint8_t*>(from), bytes}));
  kept_.push_back(std::move(buffer));
  return kept_.back().address();
}

graphics::Draw Rig::plain(const std::vector<reference::Vertex>& vertices, const char* pixel) {
  std::vector<float> values;
  for (const reference::Vertex& vertex : vertices) {
    for (const double value : {vertex.x, vertex.y, vertex.z, vertex.w})
      values.push_back(static_cast<float>(value));
    for (int k = 0; k < 4; ++k) values.push_back(static_cast<float>(vertex.varyings[k]));
  }
  graphics::Draw draw;
  draw.vertex = graphics::VertexStage{shader("plain_vertex"), 4};
  draw.pixel = graphics::PixelStage{shader(pixel)};
  draw.vertex_buffers = {{upload(values), values.size() * 4, 32}};
  draw.attributes = {{0, 0, kFloats}, {0, 16, kFloats}};
  draw.vertex_count = static_cast<std::uint32_t>(vertices.size());
  return draw;
}

void Rig::draw(const graphics::Draw& draw) {
  expect_ok(renderer.draw(device.default_stream(), draw));
  expect_ok(device.synchronize());
  expect_ok(renderer.check());
}

void Rig::clear(const graphics::Target& target, float r, float g, float b, float a) {
  expect_ok(renderer.clear(device.default_stream(), target, {r, g, b, a}));
}

reference::Vertex at_pixel(double x, double y, double width, double height, double z, double w) {
  return {(x / width * 2 - 1) * w, (1 - y / height * 2) * w, z * w, w};
}

}  // namespace graphics_test
