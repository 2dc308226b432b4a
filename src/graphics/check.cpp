#include "graphics/check.h"

#include <algorithm>
#include <cmath>

namespace raddle::graphics {
namespace {

constexpr std::uint32_t kGreatestExtent = 16384, kMostLayers = 2048;

Result<void> check_format(const TexelFormat& format, const std::string& what) {
  if (format.channels != 1 && format.channels != 2 && format.channels != 4)
    return Error::invalid("{} has a format of {} channels; there are formats of 1, 2 and 4", what,
                          format.channels);
  return {};
}

/// Bytes from the first texel to the end of the last.
std::uint64_t extent_of(const Target& target) {
  const std::uint64_t slices = std::uint64_t{target.layers} * target.samples;
  return (slices - 1) * target.slice_pitch + (target.height - 1ull) * target.row_pitch +
         std::uint64_t{target.width} * target.format.bytes();
}

Result<void> check_vertex_buffer(const Draw& draw, std::size_t slot) {
  const VertexAttribute& attribute = draw.attributes[slot];
  if (attribute.buffer >= draw.vertex_buffers.size())
    return Error::invalid("attribute {} is in vertex buffer {}, and there are {}", slot, attribute.buffer,
                          draw.vertex_buffers.size());
  if (attribute.format.channels < 1 || attribute.format.channels > 4)
    return Error::invalid("attribute {} has {} channels; 1 to 4 are possible", slot,
                          attribute.format.channels);
  const VertexBuffer& buffer = draw.vertex_buffers[attribute.buffer];
  const unsigned channel = attribute.format.channel_bytes(), bytes = attribute.format.bytes();
  if (std::uint64_t{attribute.offset} + bytes > buffer.stride)
    return Error::invalid(
        "attribute {} ends at byte {} of an element of vertex buffer {}, whose stride is {}", slot,
        attribute.offset + bytes, attribute.buffer, buffer.stride);
  if ((buffer.address.value + attribute.offset) % channel != 0 || buffer.stride % channel != 0)
    return Error::invalid("attribute {} of {}-byte channels is not aligned in vertex buffer {}", slot,
                          channel, attribute.buffer);
  return {};
}

/// Elements that a buffer holds.
std::uint64_t elements_of(const VertexBuffer& buffer) {
  return buffer.stride == 0 ? 0 : buffer.bytes / buffer.stride;
}

Result<void> check_input(const Draw& draw) {
  if (draw.attributes.size() > kMaxAttributes)
    return Error::invalid("{} attributes, at most {} are possible", draw.attributes.size(), kMaxAttributes);
  for (std::size_t i = 0; i < draw.vertex_buffers.size(); ++i) {
    if (draw.vertex_buffers[i].stride == 0) return Error::invalid("vertex buffer {} has a stride of 0", i);
    if (!draw.vertex_buffers[i].address) return Error::invalid("vertex buffer {} has no memory", i);
  }
  for (std::size_t i = 0; i < draw.attributes.size(); ++i) TRY(check_vertex_buffer(draw, i));
  const std::uint64_t vertices = draw.indices ? 0 : std::uint64_t{draw.first_vertex} + draw.vertex_count;
  for (std::size_t i = 0; i < draw.vertex_buffers.size(); ++i) {
    const VertexBuffer& buffer = draw.vertex_buffers[i];
    const std::uint64_t needed =
        buffer.instances == 0 ? vertices
        : draw.instance_count == 0
            ? 0
            : draw.first_instance + (draw.instance_count - 1) / buffer.instances + 1ull;
    if (needed > elements_of(buffer))
      return Error::invalid("the draw reads {} elements of vertex buffer {}, which holds {}", needed, i,
                            elements_of(buffer));
  }
  return {};
}

Result<void> check_indices(const Draw& draw) {
  if (!draw.indices) {
    if (draw.index_count != 0)
      return Error::invalid("{} indices to draw, but no index buffer", draw.index_count);
    if (draw.primitive_restart) return Error::invalid("primitive restart needs an index buffer");
    return {};
  }
  const IndexBuffer& buffer = *draw.indices;
  if (buffer.index_bytes != 2 && buffer.index_bytes != 4)
    return Error::invalid("indices of {} bytes; 2 and 4 are possible", buffer.index_bytes);
  if (!buffer.address || buffer.address.value % buffer.index_bytes != 0)
    return Error::invalid("the index buffer's address is null or not aligned to {} bytes",
                          buffer.index_bytes);
  const std::uint64_t end = std::uint64_t{draw.first_index} + draw.index_count;
  if (end * buffer.index_bytes > buffer.bytes)
    return Error::invalid("the draw reads {} indices, the index buffer holds {}", end,
                          buffer.bytes / buffer.index_bytes);
  TRY_ASSIGN(const std::uint32_t vertices, indexable_vertices(draw));
  for (std::size_t i = 0; i < draw.vertex_buffers.size(); ++i)
    if (draw.vertex_buffers[i].instances == 0 && elements_of(draw.vertex_buffers[i]) < vertices)
      return Error::invalid("indices may name {} vertices, vertex buffer {} holds {}", vertices, i,
                            elements_of(draw.vertex_buffers[i]));
  return {};
}

Result<void> check_varyings(unsigned count, const char* stage) {
  if (count > kMaxVaryings)
    return Error::invalid("the {} shader writes {} varyings, at most {} are possible", stage, count,
                          kMaxVaryings);
  return {};
}

Result<void> check_tessellation(const Draw& draw) {
  const bool patches = draw.topology == Topology::patches;
  if (patches && (draw.patch_size < 1 || draw.patch_size > kMaxPatchSize))
    return Error::invalid("patches of {} vertices; 1 to {} are possible", draw.patch_size, kMaxPatchSize);
  if (patches && !draw.domain) return Error::invalid("patches are drawn, but there is no domain shader");
  if (!patches && (draw.domain || draw.hull))
    return Error::invalid("there is a {} shader, but no patches are drawn", draw.hull ? "hull" : "domain");
  if (!patches) return {};
  if (draw.hull && (draw.hull->control_points < 1 || draw.hull->control_points > kMaxPatchSize))
    return Error::invalid("the hull shader writes {} control points; 1 to {} are possible",
                          draw.hull->control_points, kMaxPatchSize);
  if (draw.tessellation.shape == DomainShape::isolines &&
      draw.tessellation.output == OutputTopology::triangles)
    return Error::invalid("isolines cannot be divided into triangles");
  if (draw.hull) TRY(check_varyings(draw.hull->varyings, "hull"));
  return check_varyings(draw.domain->varyings, "domain");
}

Result<void> check_stages(const Draw& draw) {
  if (!draw.vertex) return Error::invalid("the draw has no vertex shader");
  TRY(check_shader(draw.vertex->shader, "vertex", sizeof(VertexBatch)));
  TRY(check_varyings(draw.vertex->varyings, "vertex"));
  if (draw.hull) TRY(check_shader(draw.hull->shader, "hull", sizeof(HullBatch)));
  if (draw.domain) TRY(check_shader(draw.domain->shader, "domain", sizeof(DomainBatch)));
  if (draw.pixel) TRY(check_shader(draw.pixel->shader, "pixel", sizeof(PixelBatch)));
  TRY(check_tessellation(draw));
  if (!draw.geometry) return {};
  TRY(check_shader(draw.geometry->shader, "geometry", sizeof(GeometryBatch)));
  if (draw.geometry->max_vertices < 1 || draw.geometry->max_vertices > 1024)
    return Error::invalid("the geometry shader emits up to {} vertices; 1 to 1024 are possible",
                          draw.geometry->max_vertices);
  return check_varyings(draw.geometry->varyings, "geometry");
}

Result<void> check_alike(const Target& target, const Target& first, const std::string& what) {
  if (target.width != first.width || target.height != first.height || target.layers != first.layers ||
      target.samples != first.samples)
    return Error::invalid(
        "{} is {} x {} with {} layers and {} samples, another one of the draw {} x {} with {} and {}", what,
        target.width, target.height, target.layers, target.samples, first.width, first.height, first.layers,
        first.samples);
  return {};
}

Result<void> check_blend(const Draw& draw, std::size_t t) {
  const BlendState& state = draw.blend[t];
  if (state.enabled == 0) return {};
  const TexelFormat format = draw.targets[t].format;
  if (format.type <= ChannelType::signed32)
    return Error::invalid("target {} has integers, which cannot be blended", t);
  bool second = false;
  for (const BlendFactor factor : {state.source, state.target, state.source_alpha, state.target_alpha})
    second = second || factor >= BlendFactor::second_colour;
  if (second && (t != 0 || draw.targets.size() != 1))
    return Error::invalid(
        "target {} is blended with the pixel shader's second colour, which needs target 0 alone", t);
  return {};
}

Result<void> check_targets(const Draw& draw) {
  if (draw.targets.size() > kMaxTargets)
    return Error::invalid("{} targets, at most {} are possible", draw.targets.size(), kMaxTargets);
  if (!draw.targets.empty() && !draw.pixel)
    return Error::invalid("the draw has targets, but no pixel shader");
  const Target* first = nullptr;
  const auto check = [&first](const Target& target, const std::string& what) -> Result<void> {
    TRY(check_target(target, what));
    if (first != nullptr) TRY(check_alike(target, *first, what));
    if (first == nullptr) first = &target;
    return {};
  };
  for (std::size_t t = 0; t < draw.targets.size(); ++t)
    TRY(check(draw.targets[t], fmt::format("target {}", t)));
  if (draw.depth_target) {
    TRY(check(*draw.depth_target, "the depth target"));
    if (draw.depth_target->format != TexelFormat{ChannelType::float32, 1})
      return Error::invalid("the depth target must have one channel of float32");
  }
  if (draw.stencil_target) {
    TRY(check(*draw.stencil_target, "the stencil target"));
    if (draw.stencil_target->format != TexelFormat{ChannelType::unsigned8, 1})
      return Error::invalid("the stencil target must have one channel of unsigned8");
  }
  if (first == nullptr) return Error::invalid("the draw has no target, depth target or stencil target");
  if (draw.depth.test != 0 && !draw.depth_target)
    return Error::invalid("depth is tested, but there is no depth target");
  if (draw.stencil.test != 0 && !draw.stencil_target)
    return Error::invalid("stencil is tested, but there is no stencil target");
  if (draw.blend.size() > draw.targets.size())
    return Error::invalid("{} blend states for {} targets", draw.blend.size(), draw.targets.size());
  for (std::size_t t = 0; t < draw.blend.size(); ++t) TRY(check_blend(draw, t));
  return {};
}

Result<void> check_raster(const Draw& draw) {
  const Viewport& view = draw.viewport;
  for (const float value : {view.x, view.y, view.width, view.height})
    if (!std::isfinite(value) || std::abs(value) > 2.0f * kGreatestExtent)
      return Error::invalid("the viewport {} {} {} x {} is not within {} pixels", view.x, view.y, view.width,
                            view.height, 2 * kGreatestExtent);
  if (view.width < 0 || view.height < 0) return Error::invalid("the viewport's extents are negative");
  for (const float value : {view.least_depth, view.greatest_depth})
    if (!(value >= 0 && value <= 1))
      return Error::invalid("the viewport's depth {} is not from 0 to 1", value);
  for (const float value : {draw.raster.point_size, draw.raster.line_width})
    if (!(value > 0 && value <= 1024))
      return Error::invalid("points or lines {} pixels wide; up to 1024 are possible", value);
  if (!std::isfinite(draw.raster.depth_bias) || !std::isfinite(draw.raster.slope_bias))
    return Error::invalid("the depth bias is not finite");
  return {};
}

}  // namespace

Result<void> check_shader(const Shader& shader, const char* stage, std::size_t batch_bytes) {
  const KernelInfo& info = shader.kernel.info();
  if (!info.unsupported.empty())
    return Error::unsupported("{} shader {}: {}", stage, info.name, info.unsupported[0]);
  if (info.parameters.size() == 2 && info.parameters[0].bytes == batch_bytes && info.parameters[1].bytes == 8)
    return {};
  std::string sizes;
  for (const KernelParameter& parameter : info.parameters) sizes += fmt::format(" {}", parameter.bytes);
  return Error::invalid("{} shader {} has parameters of{} bytes; it must take a batch of {} and an address",
                        stage, info.name, sizes.empty() ? " no" : sizes, batch_bytes);
}

Result<void> check_target(const Target& target, const std::string& what) {
  if (!target.address) return Error::invalid("{} has no memory", what);
  if (target.width < 1 || target.height < 1 || target.width > kGreatestExtent ||
      target.height > kGreatestExtent)
    return Error::invalid("{} is {} x {}; 1 to {} are possible", what, target.width, target.height,
                          kGreatestExtent);
  if (target.layers < 1 || target.layers > kMostLayers)
    return Error::invalid("{} has {} layers; 1 to {} are possible", what, target.layers, kMostLayers);
  if (target.samples != 1 && target.samples != 2 && target.samples != 4 && target.samples != 8)
    return Error::invalid("{} has {} samples; 1, 2, 4 and 8 are possible", what, target.samples);
  TRY(check_format(target.format, what));
  const unsigned alignment = target.format.bytes();
  if (target.row_pitch < std::uint64_t{target.width} * target.format.bytes())
    return Error::invalid("rows of {} take {} bytes, its row pitch is {}", what,
                          target.width * target.format.bytes(), target.row_pitch);
  if (target.slice_pitch < target.height * target.row_pitch && target.layers * target.samples > 1)
    return Error::invalid("slices of {} overlap: {} rows of {} bytes, the slice pitch is {}", what,
                          target.height, target.row_pitch, target.slice_pitch);
  if (target.address.value % alignment != 0 || target.row_pitch % alignment != 0 ||
      target.slice_pitch % alignment != 0)
    return Error::invalid("{} is not aligned to its texels of {} bytes", what, alignment);
  if (extent_of(target) > target.bytes)
    return Error::invalid("{} takes {} bytes of memory that has {}", what, extent_of(target), target.bytes);
  return {};
}

Result<std::uint32_t> indexable_vertices(const Draw& draw) {
  if (draw.vertex_count != 0) return draw.vertex_count;
  std::uint64_t least = ~0ull;
  for (const VertexBuffer& buffer : draw.vertex_buffers)
    if (buffer.instances == 0) least = std::min(least, elements_of(buffer));
  if (least == ~0ull)
    return Error::invalid(
        "indices are drawn without vertex buffers: Draw::vertex_count must say how many there are");
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(least, 1u << 30));
}

Result<void> check_draw(const Draw& draw) {
  TRY(check_stages(draw));
  TRY(check_input(draw));
  TRY(check_indices(draw));
  TRY(check_targets(draw));
  return check_raster(draw);
}

}  // namespace raddle::graphics
