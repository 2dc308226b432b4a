// Textures and surfaces of the C++ API: checks, then the machine's texture unit.
#include <algorithm>

#include "machine/texture/texel.h"
#include "runtime/device_impl.h"

namespace raddle {
namespace {

Result<void> check_image(const Image& image) {
  const unsigned channels = image.format.channels;
  if (channels != 1 && channels != 2 && channels != 4)
    return Error::invalid("an image has 1, 2 or 4 channels, not {}", channels);
  if (image.dimensions < 1 || image.dimensions > 3)
    return Error::invalid("an image has 1 to 3 dimensions, not {}", image.dimensions);
  if (image.level_count < 1 || image.level_count > Image::kMaxLevels)
    return Error::invalid("an image has 1 to {} levels, not {}", Image::kMaxLevels, image.level_count);
  if (image.samples < 1) return Error::invalid("the texels of an image have at least one sample");
  if (image.samples > 1 &&
      (image.dimensions != 2 || image.cube || image.linear_memory || image.level_count != 1))
    return Error::invalid("an image with {} samples a texel has two dimensions and one level", image.samples);
  for (unsigned i = 0; i < image.level_count; ++i) {
    const ImageLevel& level = image.levels[i];
    if (!level.address || level.width == 0 || level.height == 0 || level.slices == 0)
      return Error::invalid("level {} of an image is empty", i);
    if (image.cube && (level.slices % 6 != 0 || level.width != level.height))
      return Error::invalid("level {} of a cube map has no six square faces", i);
  }
  if (image.levels[0].slices % image.samples != 0)
    return Error::invalid("{} slices hold no layers of {} samples", image.levels[0].slices, image.samples);
  return {};
}

}  // namespace

Result<TextureHandle> Device::create_texture(const Image& image, const Sampler& sampler) {
  TRY(check_image(image));
  const bool linear = sampler.filter == FilterMode::linear || sampler.mipmap_filter == FilterMode::linear;
  if (linear && !image.linear_memory && !machine::reads_numbers(image.format.type, sampler.normalized_reads))
    return Error::invalid("linear filtering needs texels that read as numbers");
  const TextureHandle handle{impl_->textures().add_texture(image, sampler)};
  if (handle.value == 0) return Error::make(ErrorCode::out_of_memory, "too many textures");
  return handle;
}

Result<SurfaceHandle> Device::create_surface(const Image& image) {
  TRY(check_image(image));
  if (image.samples > 1) return Error::invalid("a surface has one sample a texel, not {}", image.samples);
  const SurfaceHandle handle{impl_->textures().add_surface(image)};
  if (handle.value == 0) return Error::make(ErrorCode::out_of_memory, "too many surfaces");
  return handle;
}

Result<void> Device::destroy(TextureHandle texture) {
  if (impl_->textures().remove(texture.value)) return {};
  return Error::invalid("no texture has the handle {:#x}", texture.value);
}

Result<void> Device::destroy(SurfaceHandle surface) {
  if (impl_->textures().remove(surface.value)) return {};
  return Error::invalid("no surface has the handle {:#x}", surface.value);
}

}  // namespace raddle
