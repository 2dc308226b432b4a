// The graphics pipeline: draws that run on a Raddle device (docs/graphics.md). Every stage is a kernel: those
// that a user writes (include/raddle/shader.h says what they see) and the fixed ones that come with Raddle.
//
//   auto renderer = raddle::graphics::Renderer::create(device).value();
//   raddle::graphics::Draw draw;
//   draw.vertex = raddle::graphics::VertexStage{{kernel_of_vertices, constants}, 3};  // three varyings
//   draw.pixel = raddle::graphics::PixelStage{{kernel_of_pixels, constants}};
//   draw.vertex_count = 3;
//   draw.targets = {renderer.target(image)};
//   renderer.draw(stream, draw);
//   stream.synchronize();
//   renderer.check();  // a limit that was too small, an index without a vertex
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "raddle/graphics_state.h"
#include "raddle/raddle.h"
#include "raddle/shader.h"
#include "raddle/texture.h"

namespace raddle::graphics {

/// A programmable stage: a kernel of two parameters, the stage's batch and the address of its constants.
struct Shader {
  Kernel kernel;
  DevicePtr constants{};
};

struct VertexStage {
  Shader shader;
  unsigned varyings = 0;  ///< floats that it writes besides the position
};
struct HullStage {
  Shader shader;
  unsigned control_points = 0;  ///< that it writes for each patch
  unsigned varyings = 0;
};
struct DomainStage {
  Shader shader;
  unsigned varyings = 0;
};
struct GeometryStage {
  Shader shader;
  unsigned max_vertices = 0;                          ///< that one primitive may become
  OutputTopology output = OutputTopology::triangles;  ///< strips of these
  unsigned varyings = 0;
};
struct PixelStage {
  Shader shader;
  bool may_discard =
      false;  ///< fragments; tests of depth and stencil then come after it, as with the next two
  bool writes_depth = false;
  bool late_tests = false;  ///< it has effects besides its colours, which hidden fragments have, too
};

/// How patches are divided.
struct Tessellation {
  DomainShape shape = DomainShape::triangles;
  Partitioning partitioning = Partitioning::integer;
  OutputTopology output = OutputTopology::triangles;
  bool clockwise = true;  ///< triangles, as seen with v downwards
  /// Of all patches, without a hull shader: edges, then the two inner ones.
  float factors[6] = {1, 1, 1, 1, 1, 1};
};

/// A buffer that the input assembler reads.
struct VertexBuffer {
  DevicePtr address{};
  std::uint64_t bytes = 0;
  std::uint32_t stride = 0;     ///< of elements, bytes
  std::uint32_t instances = 0;  ///< that share an element; 0: an element for each vertex
};
struct VertexAttribute {
  unsigned buffer = 0;       ///< of Draw::vertex_buffers
  std::uint32_t offset = 0;  ///< in an element, bytes
  TexelFormat format{ChannelType::float32, 4};
};
struct IndexBuffer {
  DevicePtr address{};
  std::uint64_t bytes = 0;
  unsigned index_bytes = 4;  ///< 2 or 4
};

struct Viewport {
  float x = 0, y = 0, width = 0, height = 0;  ///< pixels; no width: the whole target
  float least_depth = 0, greatest_depth = 1;
};
struct Rectangle {
  int x = 0, y = 0, width = 0, height = 0;
};

struct RasterState {
  CullMode cull = CullMode::none;
  bool front_is_counter_clockwise = false;
  bool depth_clip = true;  ///< primitives are cut at the near and far plane; else depth is clamped
  float depth_bias = 0, slope_bias = 0;
  float point_size = 1, line_width = 1;  ///< pixels
};

/// Where pixels go: an image of one or more layers, each of as many slices as it has samples.
struct Target {
  DevicePtr address{};
  std::uint64_t bytes = 0;  ///< of the memory from the address on
  std::uint64_t row_pitch = 0, slice_pitch = 0;
  std::uint32_t width = 0, height = 0, layers = 1, samples = 1;
  TexelFormat format{ChannelType::unorm8, 4};

  /// Rows and slices without gaps.
  static Target packed(DevicePtr address, std::uint32_t width, std::uint32_t height, TexelFormat format,
                       std::uint32_t layers = 1, std::uint32_t samples = 1);
  Image image() const;  ///< the same as a texture reads it
};

/// What a draw may need besides what its own numbers say. 0: as much as is usual for it.
struct DrawLimits {
  std::uint32_t triangles = 0;       ///< after clipping
  std::uint32_t bin_entries = 0;     ///< triangles times the squares of the target that they may touch
  std::uint32_t fragment_quads = 0;  ///< squares of 2 x 2 pixels to be shaded; in eights
  std::uint32_t tessellated_points = 0, tessellated_primitives = 0;
  std::uint32_t geometry_vertices = 0;  ///< places: primitives times GeometryStage::max_vertices
};

/// A draw with all its state. Stages that are not there are left out; there is always a vertex shader.
struct Draw {
  std::optional<VertexStage> vertex;
  std::optional<HullStage> hull;
  std::optional<DomainStage> domain;  ///< together with patches
  std::optional<GeometryStage> geometry;
  std::optional<PixelStage> pixel;  ///< without one: depth and stencil only

  Topology topology = Topology::triangles;
  unsigned patch_size = 0;         ///< vertices of a patch
  bool primitive_restart = false;  ///< an index of all ones ends a strip, a fan or any other run
  Tessellation tessellation;

  std::vector<VertexBuffer> vertex_buffers;
  std::vector<VertexAttribute> attributes;
  std::optional<IndexBuffer> indices;
  std::uint32_t index_count = 0, first_index = 0;
  std::int32_t base_vertex = 0;  ///< is added to indices
  /// Without indices: how many to draw. With: how many there are, 0 for what the buffers hold.
  std::uint32_t vertex_count = 0;
  std::uint32_t first_vertex = 0;
  std::uint32_t instance_count = 1, first_instance = 0;

  RasterState raster;
  Viewport viewport;
  std::optional<Rectangle> scissor;
  DepthState depth;
  StencilState stencil;
  std::vector<Target> targets;
  std::vector<BlendState> blend;  ///< of each target; none: written as it is
  float blend_constant[4] = {0, 0, 0, 0};
  std::optional<Target> depth_target;    ///< one channel of float32
  std::optional<Target> stencil_target;  ///< one channel of unsigned8

  DrawLimits limits;
};

/// A part of a draw: a launch, or a fill of memory with a byte. Steps run one after another, each after the
/// end of the one before.
struct DrawStep {
  std::string stage;             ///< "vertex", "rasteriser", ...
  std::optional<Kernel> kernel;  ///< none: a fill
  LaunchConfig config;
  std::vector<std::byte> packed;       ///< arguments, one after another
  std::vector<std::size_t> arguments;  ///< bytes of each
  DevicePtr to{};                      ///< of a fill
  std::uint8_t value = 0;
  std::uint64_t bytes = 0;

  std::vector<Argument> views() const;  ///< of the arguments; valid while the step lives
  /// @errors as Kernel::launch and Stream::fill
  Result<void> run(Stream& stream) const;
};

/// The fixed stages on one device, a workspace for draws in order, and the first error of all its draws. The
/// Device stays where it is as long as the renderer lives.
class Renderer {
 public:
  /// @errors out_of_memory; unsupported: an engine that cannot run the stages
  static Result<Renderer> create(Device& device);
  ~Renderer();
  Renderer(Renderer&&) noexcept;
  Renderer& operator=(Renderer&&) noexcept;

  /// Bytes of memory that a draw's stages pass on to each other. @errors as steps()
  Result<std::uint64_t> workspace_bytes(const Draw& draw) const;
  /// The draw as a fixed sequence of launches, whatever the data are. `workspace` must not be used by
  /// anything else while they run.
  /// @errors invalid: names the stage, state, buffer or target that is missing or wrong
  Result<std::vector<DrawStep>> steps(const Draw& draw, DevicePtr workspace) const;
  /// Starts a draw in the renderer's own workspace: draws of one renderer go to one stream, or are ordered
  /// otherwise.
  /// @errors as steps() and Kernel::launch; out_of_memory
  Result<void> draw(Stream& stream, const Draw& draw);
  /// Fills all texels of a target with a colour, converted to its format; integers as their values.
  /// @errors invalid: the target
  Result<std::vector<DrawStep>> clear_steps(const Target& target, const float (&colour)[4]) const;
  Result<void> clear(Stream& stream, const Target& target, const float (&colour)[4]) const;
  /// Averages the samples of a target into one of a sample each. @errors invalid: extents or formats that
  /// differ
  Result<std::vector<DrawStep>> resolve_steps(const Target& from, const Target& to) const;
  Result<void> resolve(Stream& stream, const Target& from, const Target& to) const;

  /// What went wrong in draws since the last call, once they are done: a limit that was too small, by name,
  /// or an index without a vertex. What such a draw has drawn is incomplete.
  /// @errors invalid, out_of_memory; as Device::read
  Result<void> check();

  struct Impl;

 private:
  explicit Renderer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Writes 8-bit RGB or RGBA pixels, row by row from the top, as a PNG file. @errors io; invalid: extents
Result<void> write_png(const std::string& path, std::uint32_t width, std::uint32_t height, unsigned channels,
                       const std::vector<std::uint8_t>& pixels);

}  // namespace raddle::graphics
