// The deferred scene as a task graph: each pass says what it reads and writes, and the command scheduler
// orders the passes and places what they hand on to each other.
#include <cstring>
#include <memory>

#include "raddle/graph.hpp"
#include "raddle/graph/draws.h"
#include "scenes.h"

namespace examples {

namespace graph = raddle::graph;
namespace graphics = raddle::graphics;
using graph::Recorder;
using graph::Resource;
using graph::Unit;
using graphics::Target;
using raddle::ChannelType;
using raddle::DevicePtr;
using raddle::Kernel;
using raddle::Result;

namespace {

constexpr raddle::TexelFormat kBytes{ChannelType::unorm8, 4}, kNormals{ChannelType::float16, 4},
    kPlaces{ChannelType::float32, 4}, kDepths{ChannelType::float32, 1};

/// A draw of a pass, whose targets and constants are known when it is recorded.
struct PassDraw {
  graphics::Draw draw;
  Resource constants, workspace;
};

}  // namespace

struct DeferredGraph::Impl {
  raddle::Device& device;
  raddle::Module module;
  graphics::Renderer& renderer;
  std::uint32_t width, height;
  raddle::Buffer<deferred::MeshVertex> vertices;
  raddle::Buffer<std::uint32_t> indices, texels;
  raddle::TextureHandle albedo_texture;
  graph::Executor executor;
  deferred::Scene values{};
  graph::Graph passes{};

  ~Impl() { (void)device.destroy(albedo_texture).ok(); }

  Result<Target> target(const Recorder& recorder, Resource image, raddle::TexelFormat format) const {
    TRY_ASSIGN(const DevicePtr address, recorder.address(image));
    return Target::packed(address, width, height, format);
  }

  /// Constants of its own for a pass: what it reads lies where the scheduler has put it.
  Result<DevicePtr> write_constants(Recorder& recorder, Resource constants,
                                    const deferred::Scene& scene) const {
    TRY_ASSIGN(const DevicePtr address, recorder.address(constants));
    const auto copy = std::make_shared<const deferred::Scene>(scene);
    TRY(recorder.copy({{&device, address.value},
                       {nullptr, reinterpret_cast<std::uint64_t>(copy.get())},
                       sizeof scene,
                       1,
                       1,
                       copy}));
    return address;
  }

  Result<void> record(Recorder& recorder, PassDraw pass, const deferred::Scene& scene,
                      std::vector<Target> targets) const {
    TRY_ASSIGN(const DevicePtr constants, write_constants(recorder, pass.constants, scene));
    TRY_ASSIGN(const DevicePtr workspace, recorder.address(pass.workspace));
    pass.draw.vertex->shader.constants = pass.draw.pixel->shader.constants = constants;
    pass.draw.targets = std::move(targets);
    TRY_ASSIGN(const auto steps, renderer.steps(pass.draw, workspace));
    return graph::record(recorder, steps);
  }

  /// A draw with memory for what it needs, as if its targets were somewhere.
  Result<PassDraw> prepare(const std::string& name, graphics::Draw draw,
                           std::vector<raddle::TexelFormat> formats) {
    constexpr DevicePtr kSomewhere{1 << 20};
    graphics::Draw shaped = draw;
    for (const raddle::TexelFormat format : formats)
      shaped.targets.push_back(Target::packed(kSomewhere, width, height, format));
    TRY_ASSIGN(const std::uint64_t bytes, renderer.workspace_bytes(shaped));
    return PassDraw{std::move(draw), passes.buffer(name + " constants", sizeof(deferred::Scene)),
                    passes.buffer(name + " workspace", bytes)};
  }

  Result<void> build() {
    const auto image = [&](const char* name, raddle::TexelFormat format,
                           graph::Origin origin = graph::Origin::transient) {
      return passes.image(name, {.format = format, .width = width, .height = height}, origin);
    };
    const Resource albedo = image("albedo", kBytes), normal = image("normal", kNormals),
                   position = image("position", kPlaces);
    const Resource depth = image("depth", kDepths), lit = image("lit", kPlaces);
    const Resource out = image("image", kBytes, graph::Origin::output);
    const graph::Usage drawn{.unit = Unit::draw};

    graphics::Draw mesh;
    TRY_ASSIGN(const Kernel geometry_vertex, module.kernel("geometry_vertex"));
    TRY_ASSIGN(const Kernel geometry_pixel, module.kernel("geometry_pixel"));
    mesh.vertex = graphics::VertexStage{{geometry_vertex}, 8};
    mesh.pixel = graphics::PixelStage{{geometry_pixel}};
    mesh.vertex_buffers = {
        {vertices.address(), vertices.size() * sizeof(deferred::MeshVertex), sizeof(deferred::MeshVertex)}};
    mesh.attributes = {{0, 0, {ChannelType::float32, 4}}};
    mesh.indices = graphics::IndexBuffer{indices.address(), indices.size() * 4, 4};
    mesh.index_count = static_cast<std::uint32_t>(indices.size());
    mesh.depth = {1, 1, graphics::Compare::less};
    mesh.raster.cull = graphics::CullMode::back;
    mesh.depth_target = Target::packed(DevicePtr{1 << 20}, width, height, kDepths);
    TRY_ASSIGN(PassDraw geometry, prepare("geometry", mesh, {kBytes, kNormals, kPlaces}));
    passes.pass("geometry")
        .discards(albedo, drawn)
        .discards(normal, drawn)
        .discards(position, drawn)
        .discards(depth, drawn)
        .discards(geometry.constants)
        .discards(geometry.workspace)
        .draw("mesh", [=, this](Recorder& recorder) -> Result<void> {
          TRY_ASSIGN(const Target colours, target(recorder, albedo, kBytes));
          TRY_ASSIGN(const Target normals, target(recorder, normal, kNormals));
          TRY_ASSIGN(const Target places, target(recorder, position, kPlaces));
          PassDraw pass = geometry;
          TRY_ASSIGN(pass.draw.depth_target, target(recorder, depth, kDepths));
          TRY_ASSIGN(const auto far, renderer.clear_steps(*pass.draw.depth_target, {1, 0, 0, 0}));
          TRY_ASSIGN(const auto nowhere, renderer.clear_steps(places, {0, 0, 0, 0}));
          TRY(graph::record(recorder, far));
          TRY(graph::record(recorder, nowhere));
          return record(recorder, pass, values, {colours, normals, places});
        });

    TRY_ASSIGN(const Kernel screen_vertex, module.kernel("screen_vertex"));
    TRY_ASSIGN(const Kernel lighting_pixel, module.kernel("lighting_pixel"));
    TRY_ASSIGN(const Kernel post_pixel, module.kernel("post_pixel"));
    graphics::Draw screen;
    screen.vertex = graphics::VertexStage{{screen_vertex}, 2};
    screen.pixel = graphics::PixelStage{{lighting_pixel}};
    screen.topology = graphics::Topology::triangle_strip;
    screen.vertex_count = 4;
    TRY_ASSIGN(PassDraw lighting, prepare("lighting", screen, {kPlaces}));
    passes.pass("lighting")
        .reads(albedo)
        .reads(normal)
        .reads(position)
        .discards(lit, drawn)
        .discards(lighting.constants)
        .discards(lighting.workspace)
        .draw("screen", [=, this](Recorder& recorder) -> Result<void> {
          deferred::Scene scene = values;
          for (const auto& [at, from] : {std::pair{&scene.albedo, albedo}, std::pair{&scene.normal, normal},
                                         std::pair{&scene.position, position}}) {
            TRY_ASSIGN(const DevicePtr address, recorder.address(from));
            *at = address.value;
          }
          TRY_ASSIGN(const Target to, target(recorder, lit, kPlaces));
          return record(recorder, lighting, scene, {to});
        });

    screen.pixel = graphics::PixelStage{{post_pixel}};
    TRY_ASSIGN(PassDraw post, prepare("post", screen, {kBytes}));
    passes.pass("post")
        .reads(lit)
        .discards(out, drawn)
        .discards(post.constants)
        .discards(post.workspace)
        .draw("screen", [=, this](Recorder& recorder) -> Result<void> {
          deferred::Scene scene = values;
          TRY_ASSIGN(const DevicePtr address, recorder.address(lit));
          scene.lit = address.value;
          TRY_ASSIGN(const Target to, target(recorder, out, kBytes));
          return record(recorder, post, scene, {to});
        });
    return {};
  }
};

DeferredGraph::DeferredGraph(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeferredGraph::~DeferredGraph() = default;

Result<std::unique_ptr<DeferredGraph>> DeferredGraph::create(raddle::Device& device,
                                                             graphics::Renderer& renderer,
                                                             std::uint32_t width, std::uint32_t height,
                                                             unsigned detail) {
  const Mesh mesh = make_scene(detail);
  TRY_ASSIGN(raddle::Module module, device.load_file(RADDLE_EXAMPLES_DIR "/graphics/deferred.ptx"));
  TRY_ASSIGN(auto vertices, device.buffer(mesh.vertices));
  TRY_ASSIGN(auto indices, device.buffer(mesh.indices));
  TRY_ASSIGN(auto texels, device.buffer(make_texture()));
  const Target texture = Target::packed(texels.address(), kTextureSide, kTextureSide, kBytes);
  TRY_ASSIGN(const raddle::TextureHandle albedo_texture,
             device.create_texture(texture.image(), smooth_sampler()));
  TRY_ASSIGN(graph::Executor executor, graph::Executor::open(device));
  TRY(executor.provide("image", std::uint64_t{width} * height * kBytes.bytes()));
  std::unique_ptr<Impl> impl(new Impl{device, std::move(module), renderer, width, height, std::move(vertices),
                                      std::move(indices), std::move(texels), albedo_texture,
                                      std::move(executor)});
  impl->values = make_view(width, height);
  impl->values.albedo_texture = albedo_texture.value;
  TRY(impl->build());
  return std::unique_ptr<DeferredGraph>(new DeferredGraph(std::move(impl)));
}

const graph::Graph& DeferredGraph::passes() const { return impl_->passes; }

Result<graph::RunReport> DeferredGraph::draw() {
  TRY_ASSIGN(auto report, impl_->executor.run(impl_->passes));
  TRY(impl_->renderer.check());
  return report;
}

Result<Pixels> DeferredGraph::pixels() {
  Pixels pixels(std::size_t{impl_->width} * impl_->height * 4);
  TRY(impl_->executor.read("image", 0, pixels.data(), pixels.size()));
  return pixels;
}

}  // namespace examples
