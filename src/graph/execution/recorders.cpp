#include "graph/execution/recorders.h"

#include <fmt/format.h>

#include "graph/resources/ranges.h"

namespace raddle::graph {

Images::~Images() { clear(); }

// Destroying fails only for handles that are not there.
void Images::clear() {
  for (const TextureHandle handle : textures_) (void)device_.destroy(handle);
  for (const SurfaceHandle handle : surfaces_) (void)device_.destroy(handle);
  textures_.clear(), surfaces_.clear();
}

Result<TextureHandle> Images::texture(const Image& image, const Sampler& sampler) {
  TRY_ASSIGN(const TextureHandle handle, device_.create_texture(image, sampler));
  textures_.push_back(handle);
  return handle;
}

Result<SurfaceHandle> Images::surface(const Image& image) {
  TRY_ASSIGN(const SurfaceHandle handle, device_.create_surface(image));
  surfaces_.push_back(handle);
  return handle;
}

Result<DevicePtr> PassRecorder::address(const View& view) const {
  for (const Access& access : pass_.accesses) {
    if (access.view.resource != view.resource) continue;
    const ResourceInfo& info = context_.graph->info(view.resource);
    if (!view_error(info, view).empty() || (pass_.pieces == 1 && !covers(info, access.view, view))) continue;
    const View whole = resolved(info, view);
    const std::uint64_t offset = info.is_image ? info.shape.offset(whole.mip, whole.layer) : whole.begin;
    return context_.addresses[view.resource.index] + offset;
  }
  return pass_.line.error(ErrorCode::invalid,
                          fmt::format("pass '{}' uses a view that it does not name", pass_.name));
}

Result<Image> PassRecorder::image(const View& view) const {
  TRY(address(view));
  const ResourceInfo& info = context_.graph->info(view.resource);
  if (!info.is_image)
    return pass_.line.error(ErrorCode::invalid, fmt::format("'{}' is a buffer, no image", info.name));
  const View whole = resolved(info, view);
  const ImageShape& shape = info.shape;
  if (whole.mips > Image::kMaxLevels)
    return pass_.line.error(ErrorCode::invalid, fmt::format("'{}' has too many levels", info.name));
  Image image;
  image.format = shape.format;
  image.dimensions = shape.dimensions;
  image.layered = shape.layers > 1 && !shape.cube;
  image.cube = shape.cube;
  image.level_count = whole.mips;
  for (std::uint32_t level = 0; level < whole.mips; ++level) {
    const std::uint32_t mip = whole.mip + level;
    const std::uint64_t row = std::uint64_t{shape.width_of(mip)} * shape.format.bytes();
    image.levels[level] = {
        .address = context_.addresses[view.resource.index] + shape.offset(mip, whole.layer),
        .row_pitch = row,
        .slice_pitch = row * shape.height_of(mip),
        .width = shape.width_of(mip),
        .height = shape.height_of(mip),
        .slices = shape.depth_of(mip) * whole.layers};
  }
  return image;
}

Result<TextureHandle> PassRecorder::texture(const View& view, const Sampler& sampler) {
  TRY_ASSIGN(const Image wanted, image(view));
  return context_.images.texture(wanted, sampler);
}

Result<SurfaceHandle> PassRecorder::surface(const View& view) {
  TRY_ASSIGN(const Image wanted, image(view));
  return context_.images.surface(wanted);
}

Result<PlanRecorder::Node> PlanRecorder::next_known() {
  if (next_ == known_.size()) return Error::invalid("more work than before");
  return known_[next_++];
}

Result<void> PlanRecorder::launch(const Kernel& kernel, const LaunchConfig& config,
                                  std::span<const Argument> arguments) {
  if (!is_update_) return add(work_.add_launch(kernel, config, arguments, after_));
  TRY_ASSIGN(const Node node, next_known());
  return work_.set_launch(node, kernel, config, arguments);
}

Result<void> PlanRecorder::copy(const BoxCopy& copy) {
  if (!is_update_) return add(work_.add_copy(copy, after_));
  TRY_ASSIGN(const Node node, next_known());
  return work_.set_copy(node, copy);
}

Result<void> PlanRecorder::fill(const RowFill& fill) {
  if (!is_update_) return add(work_.add_fill(fill, after_));
  TRY_ASSIGN(const Node node, next_known());
  return work_.set_fill(node, fill);
}

Result<void> PlanRecorder::call(std::function<void()> function) {
  if (!is_update_) return add(work_.add_call(std::move(function), after_));
  TRY_ASSIGN(const Node node, next_known());
  return work_.set_call(node, std::move(function));
}

Result<void> PlanRecorder::add(Result<Node> node) {
  TRY(node);
  nodes_.push_back(*node);
  after_.assign(1, {.node = *node});
  return {};
}

Result<void> StreamRecorder::launch(const Kernel& kernel, const LaunchConfig& config,
                                    std::span<const Argument> arguments) {
  LaunchConfig here = config;
  here.stream = &stream_;
  Kernel copy = kernel;
  TRY(copy.launch(here, arguments));
  return {};
}

Result<void> StreamRecorder::call(std::function<void()> function) {
  stream_.call(std::move(function));
  return {};
}

}  // namespace raddle::graph
