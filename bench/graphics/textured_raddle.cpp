#include <fmt/format.h>

#include <cstring>

#include "textured.h"

namespace bench {

using raddle::Buffer;
using raddle::ChannelType;
using raddle::Device;
using raddle::Kernel;
using raddle::Module;
using raddle::Result;
namespace graphics = raddle::graphics;
using graphics::Target;

namespace {

constexpr raddle::TexelFormat kBytes{ChannelType::unorm8, 4};

class RaddleScene : public TexturedScene {
 public:
  RaddleScene(Device& device, Module module, graphics::Renderer renderer)
      : device_(device), module_(std::move(module)), renderer_(std::move(renderer)) {}
  ~RaddleScene() override { (void)device_.synchronize().ok(); }

  Result<void> set_up(std::uint32_t side) {
    const examples::Mesh mesh = examples::make_scene(kDetail);
    TRY_ASSIGN(vertices_, device_.buffer(mesh.vertices));
    TRY_ASSIGN(indices_, device_.buffer(mesh.indices));
    TRY_ASSIGN(texels_, device_.buffer(examples::make_texture()));
    TRY_ASSIGN(image_, device_.buffer<std::uint8_t>(std::size_t{side} * side * 4));
    TRY_ASSIGN(depth_, device_.buffer<float>(std::size_t{side} * side));
    raddle::Sampler sampler;
    sampler.normalized_coordinates = sampler.normalized_reads = true;
    sampler.filter = raddle::FilterMode::linear;
    sampler.address.fill(raddle::AddressMode::wrap);
    const Target texture =
        Target::packed(texels_->address(), examples::kTextureSide, examples::kTextureSide, kBytes);
    TRY_ASSIGN(const raddle::TextureHandle handle, device_.create_texture(texture.image(), sampler));
    deferred::Scene scene = examples::make_view(side, side);
    scene.albedo_texture = handle.value;
    TRY_ASSIGN(scene_, device_.buffer(std::vector<deferred::Scene>{scene}));
    return record(mesh, side);
  }

  std::string name() const override {
    return fmt::format("Raddle, {} workers", device_.properties().workers);
  }
  Result<void> draw() override {
    for (const graphics::DrawStep& step : steps_) TRY(step.run(device_.default_stream()));
    return device_.synchronize();
  }
  Result<examples::Pixels> pixels() override {
    TRY(renderer_.check());
    examples::Pixels pixels(image_->size());
    TRY(image_->read(pixels));
    return pixels;
  }

 private:
  Result<void> record(const examples::Mesh& mesh, std::uint32_t side) {
    TRY_ASSIGN(const Kernel vertex, module_.kernel("geometry_vertex"));
    TRY_ASSIGN(const Kernel pixel, module_.kernel("textured_pixel"));
    graphics::Draw draw;
    draw.vertex = graphics::VertexStage{{vertex, scene_->address()}, 8};
    draw.pixel = graphics::PixelStage{{pixel, scene_->address()}};
    draw.vertex_buffers = {{vertices_->address(), vertices_->size() * sizeof(deferred::MeshVertex),
                            sizeof(deferred::MeshVertex)}};
    draw.attributes = {{0, 0, {ChannelType::float32, 4}}};
    draw.indices = graphics::IndexBuffer{indices_->address(), mesh.indices.size() * 4, 4};
    draw.index_count = static_cast<std::uint32_t>(mesh.indices.size());
    draw.targets = {Target::packed(image_->address(), side, side, kBytes)};
    draw.depth_target = Target::packed(depth_->address(), side, side, {ChannelType::float32, 1});
    draw.depth = {1, 1, graphics::Compare::less};
    draw.raster.cull = graphics::CullMode::back;
    TRY_ASSIGN(const std::uint64_t bytes, renderer_.workspace_bytes(draw));
    TRY_ASSIGN(workspace_, device_.buffer<std::uint8_t>(bytes));
    TRY(append(renderer_.clear_steps(draw.targets[0], {0.1f, 0.1f, 0.15f, 1})));
    TRY(append(renderer_.clear_steps(*draw.depth_target, {1, 0, 0, 0})));
    return append(renderer_.steps(draw, workspace_->address()));
  }

  Result<void> append(Result<std::vector<graphics::DrawStep>> made) {
    if (!made.ok()) return std::move(made.error());
    for (graphics::DrawStep& step : *made) steps_.push_back(std::move(step));
    return {};
  }

  Device& device_;
  Module module_;
  graphics::Renderer renderer_;
  std::optional<Buffer<deferred::MeshVertex>> vertices_;
  std::optional<Buffer<std::uint32_t>> indices_, texels_;
  std::optional<Buffer<std::uint8_t>> image_, workspace_;
  std::optional<Buffer<float>> depth_;
  std::optional<Buffer<deferred::Scene>> scene_;
  std::vector<graphics::DrawStep> steps_;
};

}  // namespace

Result<std::unique_ptr<TexturedScene>> make_raddle_scene(Device& device, std::uint32_t side) {
  TRY_ASSIGN(Module module, device.load_file(RADDLE_EXAMPLES_DIR "/graphics/deferred.ptx"));
  TRY_ASSIGN(graphics::Renderer renderer, graphics::Renderer::create(device));
  auto scene = std::make_unique<RaddleScene>(device, std::move(module), std::move(renderer));
  TRY(scene->set_up(side));
  return std::unique_ptr<TexturedScene>(std::move(scene));
}

}  // namespace bench
