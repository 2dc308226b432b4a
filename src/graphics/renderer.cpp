#include <cstring>

#include "graphics/check.h"
#include "graphics/kernels/targets.h"
#include "graphics/stages.h"

namespace raddle::graphics {

struct Renderer::Impl {
  Device* device;
  std::unique_ptr<Stages> stages;
  DevicePtr status;     ///< a Status, of all draws
  DevicePtr workspace;  ///< of draw()
  std::uint64_t workspace_bytes = 0;

  ~Impl() {
    if (workspace) (void)device->free_later(workspace).ok();
    if (status) (void)device->free_later(status).ok();
  }
};

namespace {

/// Nothing of these draws would be seen.
bool is_empty(const Draw& draw) {
  return draw.instance_count == 0 || (draw.indices ? draw.index_count : draw.vertex_count) == 0;
}

TargetView target_view(const Target& target) {
  return {target.address.value, target.row_pitch, target.slice_pitch, target.format};
}

Result<void> run_all(const std::vector<DrawStep>& steps, Stream& stream) {
  for (const DrawStep& step : steps) TRY(step.run(stream));
  return {};
}

Error error_of(const Status& status) {
  const auto limit = [&status](const char* what, const char* name) {
    return Error::make(
        ErrorCode::out_of_memory,
        "a draw has at least {} {}, more than the {} of DrawLimits::{}; what it has drawn is incomplete",
        status.needed, what, status.limit, name);
  };
  switch (static_cast<DrawError>(status.error)) {
    case DrawError::index_out_of_range:
      return Error::invalid("an index names vertex {}, and there are {}; its primitives were left out",
                            status.needed, status.limit);
    case DrawError::triangles:
      return limit("triangles after clipping", "triangles");
    case DrawError::bin_entries:
      return limit("triangles in squares of the target", "bin_entries");
    case DrawError::fragment_quads:
      return limit("quads of fragments", "fragment_quads");
    case DrawError::tessellated_points:
      return limit("points of divided patches", "tessellated_points");
    case DrawError::tessellated_primitives:
      return limit("primitives of divided patches", "tessellated_primitives");
    case DrawError::geometry_vertices:
      return limit("places for vertices of the geometry shader", "geometry_vertices");
    case DrawError::none:
      break;
  }
  return Error::invalid("a draw has failed with the unknown number {}", status.error);
}

}  // namespace

Target Target::packed(DevicePtr address, std::uint32_t width, std::uint32_t height, TexelFormat format,
                      std::uint32_t layers, std::uint32_t samples) {
  Target target;
  target.address = address;
  target.row_pitch = std::uint64_t{width} * format.bytes();
  target.slice_pitch = target.row_pitch * height;
  target.bytes = target.slice_pitch * layers * samples;
  target.width = width, target.height = height, target.layers = layers, target.samples = samples;
  target.format = format;
  return target;
}

Image Target::image() const {
  Image image;
  image.format = format;
  image.layered = layers > 1;
  image.samples = samples;
  image.levels[0] = {address, row_pitch, slice_pitch, width, height, layers * samples};
  return image;
}

std::vector<Argument> DrawStep::views() const {
  std::vector<Argument> views;
  std::size_t at = 0;
  for (const std::size_t bytes : arguments) {
    views.emplace_back(packed.data() + at, bytes);
    at += bytes;
  }
  return views;
}

Result<void> DrawStep::run(Stream& stream) const {
  if (!kernel) return stream.fill(to, value, bytes);
  LaunchConfig here = config;
  here.stream = &stream;
  Kernel called = *kernel;
  const std::vector<Argument> all = views();
  TRY(called.launch(here, std::span<const Argument>(all)));
  return {};
}

Renderer::Renderer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Renderer::~Renderer() = default;
Renderer::Renderer(Renderer&&) noexcept = default;
Renderer& Renderer::operator=(Renderer&&) noexcept = default;

Result<Renderer> Renderer::create(Device& device) {
  auto impl = std::make_unique<Impl>();
  impl->device = &device;
  TRY_ASSIGN(impl->stages, Stages::load(device));
  TRY_ASSIGN(impl->status, device.allocate(sizeof(Status)));
  TRY(device.fill(impl->status, 0, sizeof(Status)));
  return Renderer(std::move(impl));
}

Result<std::uint64_t> Renderer::workspace_bytes(const Draw& draw) const {
  TRY(check_draw(draw));
  if (is_empty(draw)) return std::uint64_t{0};
  TRY_ASSIGN(const Plan plan, plan_draw(draw, {}, {}));
  return plan.bytes;
}

Result<std::vector<DrawStep>> Renderer::steps(const Draw& draw, DevicePtr workspace) const {
  TRY(check_draw(draw));
  if (is_empty(draw)) return std::vector<DrawStep>{};
  if (workspace.value % 256 != 0) return Error::invalid("a draw's workspace must be aligned to 256 bytes");
  TRY_ASSIGN(const Plan plan, plan_draw(draw, workspace, impl_->status));
  return steps_of(*impl_->stages, draw, plan);
}

Result<void> Renderer::draw(Stream& stream, const Draw& draw) {
  TRY_ASSIGN(const std::uint64_t bytes, workspace_bytes(draw));
  if (bytes > impl_->workspace_bytes) {
    if (impl_->workspace) TRY(impl_->device->free_later(impl_->workspace));
    impl_->workspace = {}, impl_->workspace_bytes = 0;
    TRY_ASSIGN(impl_->workspace, impl_->device->allocate(bytes));
    impl_->workspace_bytes = bytes;
  }
  TRY_ASSIGN(const std::vector<DrawStep> all, steps(draw, impl_->workspace));
  return run_all(all, stream);
}

Result<std::vector<DrawStep>> Renderer::clear_steps(const Target& target, const float (&colour)[4]) const {
  TRY(check_target(target, "the target to clear"));
  ClearData data{target_view(target), target.width, target.height, target.layers * target.samples, {}};
  for (int c = 0; c < 4; ++c) {
    data.value[c] = colour[c];
    if (target.format.type > ChannelType::signed32) continue;
    const std::uint32_t bits = static_cast<std::uint32_t>(static_cast<std::int64_t>(colour[c]));
    std::memcpy(&data.value[c], &bits, sizeof bits);
  }
  const std::uint64_t texels = std::uint64_t{target.width} * target.height * data.slices;
  return std::vector<DrawStep>{launch_step("clear", impl_->stages->clear,
                                           std::min<std::uint64_t>((texels + 127) / 128, 1024), 128, data)};
}

Result<void> Renderer::clear(Stream& stream, const Target& target, const float (&colour)[4]) const {
  TRY_ASSIGN(const std::vector<DrawStep> all, clear_steps(target, colour));
  return run_all(all, stream);
}

Result<std::vector<DrawStep>> Renderer::resolve_steps(const Target& from, const Target& to) const {
  TRY(check_target(from, "the target to resolve"));
  TRY(check_target(to, "the target to resolve into"));
  if (to.samples != 1) return Error::invalid("the target to resolve into has {} samples", to.samples);
  if (from.width != to.width || from.height != to.height || from.layers != to.layers ||
      from.format != to.format)
    return Error::invalid("targets of other extents or formats cannot be resolved into each other");
  if (from.format.type <= ChannelType::signed32) return Error::invalid("integers cannot be averaged");
  const ResolveData data{target_view(from), target_view(to), to.width, to.height, to.layers, from.samples};
  const std::uint64_t texels = std::uint64_t{to.width} * to.height * to.layers;
  return std::vector<DrawStep>{launch_step("resolve", impl_->stages->resolve,
                                           std::min<std::uint64_t>((texels + 127) / 128, 1024), 128, data)};
}

Result<void> Renderer::resolve(Stream& stream, const Target& from, const Target& to) const {
  TRY_ASSIGN(const std::vector<DrawStep> all, resolve_steps(from, to));
  return run_all(all, stream);
}

Result<void> Renderer::check() {
  Status status;
  TRY(impl_->device->read(&status, impl_->status, sizeof status));
  if (status.error == 0) return {};
  TRY(impl_->device->fill(impl_->status, 0, sizeof status));
  return error_of(status);
}

}  // namespace raddle::graphics
