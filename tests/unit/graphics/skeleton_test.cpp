#include <gtest/gtest.h>

#include "raddle/graphics.h"
#include "unit/source_directory.h"

TEST(Graphics, Skeleton) {
  using namespace raddle;
  using namespace raddle::graphics;
  auto device = Device::open({.pin = false});
  ASSERT_TRUE(device.ok()) << device.error().to_string();
  auto renderer = Renderer::create(*device);
  ASSERT_TRUE(renderer.ok()) << renderer.error().to_string();
  auto module = device->load_file(source_directory() + "/tests/unit/graphics/shaders.ptx");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  std::vector<float> data = {-1, -1, 0.5f, 1, 1, 0, 0, 1, 0, 1, 0.5f, 1, 0, 1, 0, 1, 1, -1, 0.5f, 1, 0, 0, 1, 1};
  auto vertices = device->buffer(data);
  auto pixels = device->buffer<std::uint32_t>(64 * 64);
  graphics::Draw draw;
  draw.vertex = VertexStage{{*module->kernel("plain_vertex")}, 4};
  draw.pixel = PixelStage{{*module->kernel("colour_pixel")}};
  draw.vertex_buffers = {{vertices->address(), data.size() * 4, 32}};
  draw.attributes = {{0, 0, {ChannelType::float32, 4}}, {0, 16, {ChannelType::float32, 4}}};
  draw.vertex_count = 3;
  draw.targets = {Target::packed(pixels->address(), 64, 64, {ChannelType::unorm8, 4})};
  Stream& stream = device->default_stream();
  auto r = renderer->clear(stream, draw.targets[0], {0, 0, 0, 1});
  ASSERT_TRUE(r.ok()) << r.error().to_string();
  r = renderer->draw(stream, draw);
  ASSERT_TRUE(r.ok()) << r.error().to_string();
  r = device->synchronize();
  ASSERT_TRUE(r.ok()) << r.error().to_string();
  r = renderer->check();
  ASSERT_TRUE(r.ok()) << r.error().to_string();
  std::vector<std::uint32_t> image(64 * 64);
  ASSERT_TRUE(pixels->read(image).ok());
  std::vector<std::uint8_t> bytes(image.size() * 4);
  memcpy(bytes.data(), image.data(), bytes.size());
  ASSERT_TRUE(write_png("/tmp/gfx.png", 64, 64, 4, bytes).ok());
}
