#include <cstring>

#include "scenes.h"

namespace examples {

using raddle::Buffer;
using raddle::ChannelType;
using raddle::Device;
using raddle::DevicePtr;
using raddle::Kernel;
using raddle::Module;
using raddle::Result;
using raddle::Stream;
using raddle::TextureHandle;
namespace graphics = raddle::graphics;
using graphics::Target;

std::vector<std::uint32_t> make_texture() {
  std::vector<std::uint32_t> texels;
  for (unsigned y = 0; y < kTextureSide; ++y)
    for (unsigned x = 0; x < kTextureSide; ++x) {
      const bool light = (x / 16 + y / 16) % 2 == 0;
      texels.push_back(light ? 0xff60a0e0 + (x & 15) : 0xff803020 + ((y & 15) << 16));
    }
  return texels;
}

deferred::Scene make_view(std::uint32_t width, std::uint32_t height) {
  deferred::Scene scene{};
  const std::array<float, 3> eye = {1.2f, 3.1f, 4.6f};
  const Matrix matrix =
      multiply(perspective(0.55f, static_cast<float>(width) / static_cast<float>(height), 0.5f, 20),
               look_at(eye, {0, 0.1f, 0}));
  std::memcpy(scene.view_projection, matrix.data(), sizeof scene.view_projection);
  std::memcpy(scene.eye, eye.data(), sizeof eye);
  for (unsigned l = 0; l < deferred::kLights; ++l) {
    const auto side = [l](unsigned bit) { return (l >> bit & 1) != 0 ? 1.0f : -1.0f; };
    scene.lights[l] = {{2.5f * side(0), 1.5f + static_cast<float>(l % 3), 2.5f * side(1)},
                       1.5f,
                       {0.5f + 0.4f * side(0), 0.5f + 0.3f * side(1), 0.5f + 0.4f * side(2)},
                       0};
  }
  scene.width = width, scene.height = height;
  return scene;
}

raddle::Sampler smooth_sampler() {
  raddle::Sampler sampler;
  sampler.normalized_coordinates = true;
  sampler.filter = raddle::FilterMode::linear;
  sampler.normalized_reads = true;
  sampler.address.fill(raddle::AddressMode::wrap);
  return sampler;
}

namespace {

constexpr raddle::TexelFormat kColour{ChannelType::unorm8, 4}, kHalves{ChannelType::float16, 4},
    kFloats{ChannelType::float32, 4}, kDepth{ChannelType::float32, 1};

/// A target with memory of its own.
struct Sheet {
  Buffer<std::uint8_t> memory;
  Target target;

  static Result<Sheet> create(Device& device, std::uint32_t width, std::uint32_t height,
                              raddle::TexelFormat format) {
    TRY_ASSIGN(auto memory, device.buffer<std::uint8_t>(std::size_t{width} * height * format.bytes()));
    const Target target = Target::packed(memory.address(), width, height, format);
    return Sheet{std::move(memory), target};
  }
};

}  // namespace

struct DeferredScene::Impl {
  Device& device;
  Module module;
  graphics::Renderer& renderer;
  Sheet albedo, normal, position, depth, lit, image;
  Buffer<deferred::MeshVertex> vertices;
  Buffer<std::uint32_t> indices, texels;
  Buffer<deferred::Scene> scene;
  TextureHandle albedo_texture;
  graphics::Draw geometry{}, lighting{}, post{};
  std::optional<Buffer<std::uint8_t>> workspace{};  ///< of one pass after another
  std::vector<graphics::DrawStep> steps{};

  ~Impl() {
    (void)device.synchronize().ok();
    (void)device.destroy(albedo_texture).ok();
  }

  Result<void> set_up(deferred::Scene values) {
    TRY_ASSIGN(const Kernel geometry_vertex, module.kernel("geometry_vertex"));
    TRY_ASSIGN(const Kernel geometry_pixel, module.kernel("geometry_pixel"));
    TRY_ASSIGN(const Kernel screen_vertex, module.kernel("screen_vertex"));
    TRY_ASSIGN(const Kernel lighting_pixel, module.kernel("lighting_pixel"));
    TRY_ASSIGN(const Kernel post_pixel, module.kernel("post_pixel"));
    values.albedo_texture = albedo_texture.value, values.lit = lit.target.address.value;
    values.albedo = albedo.target.address.value, values.normal = normal.target.address.value;
    values.position = position.target.address.value;
    TRY(scene.write({&values, 1}));
    const DevicePtr constants = scene.address();
    geometry.vertex = graphics::VertexStage{{geometry_vertex, constants}, 8};
    geometry.pixel = graphics::PixelStage{{geometry_pixel, constants}};
    geometry.vertex_buffers = {
        {vertices.address(), vertices.size() * sizeof(deferred::MeshVertex), sizeof(deferred::MeshVertex)}};
    geometry.attributes = {{0, 0, {ChannelType::float32, 4}}};
    geometry.indices = graphics::IndexBuffer{indices.address(), indices.size() * 4, 4};
    geometry.index_count = static_cast<std::uint32_t>(indices.size());
    geometry.targets = {albedo.target, normal.target, position.target};
    geometry.depth_target = depth.target;
    geometry.depth = {1, 1, graphics::Compare::less};
    geometry.raster.cull = graphics::CullMode::back;
    lighting.vertex = graphics::VertexStage{{screen_vertex, constants}, 2};
    lighting.pixel = graphics::PixelStage{{lighting_pixel, constants}};
    lighting.topology = graphics::Topology::triangle_strip;
    lighting.vertex_count = 4;
    post = lighting;
    post.pixel = graphics::PixelStage{{post_pixel, constants}};
    lighting.targets = {lit.target};
    post.targets = {image.target};
    return record();
  }

  Result<void> add(const char* pass, Result<std::vector<graphics::DrawStep>> made) {
    if (!made.ok()) return std::move(made.error());
    for (graphics::DrawStep& step : *made) {
      step.stage = std::string(pass) + ": " + step.stage;
      steps.push_back(std::move(step));
    }
    return {};
  }

  /// The steps of a frame, which are always the same.
  Result<void> record() {
    std::uint64_t bytes = 0;
    for (const graphics::Draw* const draw : {&geometry, &lighting, &post}) {
      TRY_ASSIGN(const std::uint64_t needed, renderer.workspace_bytes(*draw));
      bytes = std::max(bytes, needed);
    }
    TRY_ASSIGN(workspace, device.buffer<std::uint8_t>(bytes));
    TRY(add("geometry", renderer.clear_steps(depth.target, {1, 0, 0, 0})));
    TRY(add("geometry", renderer.clear_steps(position.target, {0, 0, 0, 0})));
    TRY(add("geometry", renderer.steps(geometry, workspace->address())));
    TRY(add("lighting", renderer.steps(lighting, workspace->address())));
    return add("post", renderer.steps(post, workspace->address()));
  }
};

DeferredScene::DeferredScene(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeferredScene::~DeferredScene() = default;

Result<std::unique_ptr<DeferredScene>> DeferredScene::create(Device& device, graphics::Renderer& renderer,
                                                             std::uint32_t width, std::uint32_t height,
                                                             unsigned detail) {
  const Mesh mesh = make_scene(detail);
  TRY_ASSIGN(Module module, device.load_file(RADDLE_EXAMPLES_DIR "/graphics/deferred.ptx"));
  TRY_ASSIGN(Sheet albedo, Sheet::create(device, width, height, kColour));
  TRY_ASSIGN(Sheet normal, Sheet::create(device, width, height, kHalves));
  TRY_ASSIGN(Sheet position, Sheet::create(device, width, height, kFloats));
  TRY_ASSIGN(Sheet depth, Sheet::create(device, width, height, kDepth));
  TRY_ASSIGN(Sheet lit, Sheet::create(device, width, height, kFloats));
  TRY_ASSIGN(Sheet image, Sheet::create(device, width, height, kColour));
  TRY_ASSIGN(auto vertices, device.buffer(mesh.vertices));
  TRY_ASSIGN(auto indices, device.buffer(mesh.indices));
  TRY_ASSIGN(auto texels, device.buffer(make_texture()));
  TRY_ASSIGN(auto scene, device.buffer<deferred::Scene>(1));
  const Target texture = Target::packed(texels.address(), kTextureSide, kTextureSide, kColour);
  TRY_ASSIGN(const TextureHandle albedo_texture, device.create_texture(texture.image(), smooth_sampler()));
  std::unique_ptr<Impl> impl(
      new Impl{device, std::move(module), renderer, std::move(albedo), std::move(normal), std::move(position),
               std::move(depth), std::move(lit), std::move(image), std::move(vertices), std::move(indices),
               std::move(texels), std::move(scene), albedo_texture});
  TRY(impl->set_up(make_view(width, height)));
  return std::unique_ptr<DeferredScene>(new DeferredScene(std::move(impl)));
}

Result<void> DeferredScene::draw(Stream& stream) const {
  for (const graphics::DrawStep& step : impl_->steps) TRY(step.run(stream));
  return {};
}

const std::vector<graphics::DrawStep>& DeferredScene::steps() const { return impl_->steps; }

Result<Pixels> DeferredScene::pixels() {
  TRY(impl_->device.synchronize());
  TRY(impl_->renderer.check());
  Pixels pixels(impl_->image.memory.size());
  TRY(impl_->image.memory.read(pixels));
  return pixels;
}

}  // namespace examples
