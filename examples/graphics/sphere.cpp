#include "scenes.h"

namespace examples {

using raddle::ChannelType;
using raddle::Device;
using raddle::Kernel;
using raddle::Module;
using raddle::Result;
using raddle::TexelFormat;
namespace graphics = raddle::graphics;
using graphics::Target;

SphereView make_sphere_view() {
  return {multiply(perspective(0.5f, 1, 0.5f, 20), look_at({1.5f, 1.8f, 2.6f}, {0, 0, 0})),
          {0.48f, 0.6f, 0.64f, 0},
          {24.5f, 31.25f, 0, 0}};
}

Result<Pixels> draw_sphere(Device& device, graphics::Renderer& renderer, std::uint32_t side,
                           const SphereView& view) {
  TRY_ASSIGN(Module module, device.load_file(RADDLE_EXAMPLES_DIR "/graphics/tessellated.ptx"));
  TRY_ASSIGN(const Kernel vertex, module.kernel("cube_vertex"));
  TRY_ASSIGN(const Kernel hull, module.kernel("sphere_hull"));
  TRY_ASSIGN(const Kernel domain, module.kernel("sphere_domain"));
  TRY_ASSIGN(const Kernel pixel, module.kernel("sphere_pixel"));
  TRY_ASSIGN(const auto constants, device.buffer(std::vector<SphereView>{view}));
  TRY_ASSIGN(const auto image, device.buffer<std::uint8_t>(std::size_t{side} * side * 4));
  TRY_ASSIGN(const auto depth, device.buffer<float>(std::size_t{side} * side));
  graphics::Draw draw;
  draw.vertex = graphics::VertexStage{{vertex, constants.address()}, 3};
  draw.hull = graphics::HullStage{{hull, constants.address()}, 4, 3};
  draw.domain = graphics::DomainStage{{domain, constants.address()}, 3};
  draw.pixel = graphics::PixelStage{{pixel, constants.address()}};
  draw.topology = graphics::Topology::patches;
  draw.patch_size = 4, draw.vertex_count = 24;
  draw.tessellation.shape = graphics::DomainShape::quads;
  draw.tessellation.partitioning = graphics::Partitioning::fractional_odd;
  draw.targets = {Target::packed(image.address(), side, side, {ChannelType::unorm8, 4})};
  draw.depth_target = Target::packed(depth.address(), side, side, {ChannelType::float32, 1});
  draw.depth = {1, 1, graphics::Compare::less};
  raddle::Stream& stream = device.default_stream();
  TRY(renderer.clear(stream, draw.targets[0], {0.1f, 0.1f, 0.15f, 1}));
  TRY(renderer.clear(stream, *draw.depth_target, {1, 0, 0, 0}));
  TRY(renderer.draw(stream, draw));
  TRY(device.synchronize());
  TRY(renderer.check());
  Pixels pixels(image.size());
  TRY(image.read(pixels));
  return pixels;
}

}  // namespace examples
