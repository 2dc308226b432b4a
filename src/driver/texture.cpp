// Texture and surface objects: a program's descriptors are checked by the rules of cuTexObjectCreate and
// become an image and a sampler of the runtime.
#include "driver/texture.h"

#include <algorithm>

#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

constexpr std::uint64_t kTexturePitchAlignment = 32;

std::optional<ChannelType> channel_type(CUarray_format format) {
  switch (format) {
    case FORMAT_UNSIGNED_INT8:
      return ChannelType::unsigned8;
    case FORMAT_UNSIGNED_INT16:
      return ChannelType::unsigned16;
    case FORMAT_UNSIGNED_INT32:
      return ChannelType::unsigned32;
    case FORMAT_SIGNED_INT8:
      return ChannelType::signed8;
    case FORMAT_SIGNED_INT16:
      return ChannelType::signed16;
    case FORMAT_SIGNED_INT32:
      return ChannelType::signed32;
    case FORMAT_HALF:
      return ChannelType::float16;
    case FORMAT_FLOAT:
      return ChannelType::float32;
    case FORMAT_UNORM_INT8X1:
    case FORMAT_UNORM_INT8X2:
    case FORMAT_UNORM_INT8X4:
      return ChannelType::unorm8;
    case FORMAT_UNORM_INT16X1:
    case FORMAT_UNORM_INT16X2:
    case FORMAT_UNORM_INT16X4:
      return ChannelType::unorm16;
    case FORMAT_SNORM_INT8X1:
    case FORMAT_SNORM_INT8X2:
    case FORMAT_SNORM_INT8X4:
      return ChannelType::snorm8;
    case FORMAT_SNORM_INT16X1:
    case FORMAT_SNORM_INT16X2:
    case FORMAT_SNORM_INT16X4:
      return ChannelType::snorm16;
  }
  return std::nullopt;
}

}  // namespace

Status make_format(CUarray_format format, unsigned channels, TexelFormat& made) {
  const std::optional<ChannelType> type = channel_type(format);
  if (!type) return CUDA_ERROR_NOT_SUPPORTED;
  if (channels != 1 && channels != 2 && channels != 4) return CUDA_ERROR_INVALID_VALUE;
  made = {*type, channels};
  return CUDA_SUCCESS;
}

namespace {

/// A view's format: ones, twos and fours of u8, s8, u16, s16, u32, s32, f16, f32. Block-compressed ones are
/// not there.
Status view_format(CUresourceViewFormat format, TexelFormat& made) {
  static constexpr ChannelType kTypes[] = {
      ChannelType::unsigned8,  ChannelType::signed8,  ChannelType::unsigned16, ChannelType::signed16,
      ChannelType::unsigned32, ChannelType::signed32, ChannelType::float16,    ChannelType::float32};
  if (format < RES_VIEW_FORMAT_NONE) return CUDA_ERROR_INVALID_VALUE;
  if (format > RES_VIEW_FORMAT_FLOAT_4X32) return CUDA_ERROR_NOT_SUPPORTED;
  const unsigned bytes = made.bytes();
  made = {kTypes[(format - 1) / 3], 1u << (format - 1) % 3};
  return made.bytes() == bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

ImageLevel level_of(const Array& array) {
  const CUDA_ARRAY3D_DESCRIPTOR& d = array.descriptor;
  return {array.address,
          array.layout.row_pitch,
          array.layout.slice_pitch,
          static_cast<std::uint32_t>(d.Width),
          static_cast<std::uint32_t>(array.layout.rows),
          static_cast<std::uint32_t>(array.layout.slices)};
}

Status describe(const CUDA_ARRAY3D_DESCRIPTOR& d, Image& image) {
  image.layered = (d.Flags & ARRAY3D_LAYERED) != 0;
  image.cube = (d.Flags & ARRAY3D_CUBEMAP) != 0;
  image.dimensions = d.Height == 0 ? 1 : d.Depth == 0 || image.layered || image.cube ? 2 : 3;
  return make_format(d.Format, d.NumChannels, image.format);
}

Status image_of_arrays(const std::shared_ptr<Context>& context, TextureObject& object, Image& image) {
  if (object.resource.resType == RESOURCE_TYPE_ARRAY) {
    TRY_ASSIGN(object.array, find<Array>(object.resource.res.array.hArray, context));
    image.levels[0] = level_of(*object.array);
    return describe(object.array->descriptor, image);
  }
  TRY_ASSIGN(object.mipmap, find<MipmappedArray>(object.resource.res.mipmap.hMipmappedArray, context));
  image.level_count = static_cast<unsigned>(object.mipmap->levels.size());
  for (unsigned i = 0; i < image.level_count; ++i) image.levels[i] = level_of(*object.mipmap->levels[i]);
  return describe(object.mipmap->levels[0]->descriptor, image);
}

Status image_of_linear(const CUDA_RESOURCE_DESC& resource, Image& image) {
  const auto& r = resource.res.linear;
  TRY(make_format(r.format, r.numChannels, image.format));
  const std::size_t texels = r.sizeInBytes / image.format.bytes();
  if (r.devPtr == 0 || r.devPtr % kTextureAlignment != 0 || texels == 0 ||
      texels > static_cast<std::size_t>(array_limits::kLinearWidth1d))
    return CUDA_ERROR_INVALID_VALUE;
  image.linear_memory = true;
  image.dimensions = 1;
  image.levels[0] = {{r.devPtr}, r.sizeInBytes, r.sizeInBytes, static_cast<std::uint32_t>(texels), 1, 1};
  return CUDA_SUCCESS;
}

Status image_of_pitched(const CUDA_RESOURCE_DESC& resource, Image& image) {
  const auto& r = resource.res.pitch2D;
  TRY(make_format(r.format, r.numChannels, image.format));
  if (r.devPtr == 0 || r.devPtr % kTextureAlignment != 0 || r.pitchInBytes % kTexturePitchAlignment != 0 ||
      r.width == 0 || r.height == 0 || r.width > static_cast<std::size_t>(array_limits::kLinearWidth2d) ||
      r.height > static_cast<std::size_t>(array_limits::kLinearHeight2d) ||
      r.pitchInBytes > static_cast<std::size_t>(array_limits::kLinearPitch2d) ||
      r.width * image.format.bytes() > r.pitchInBytes)
    return CUDA_ERROR_INVALID_VALUE;
  image.dimensions = 2;
  image.levels[0] = {{r.devPtr},
                     r.pitchInBytes,
                     r.pitchInBytes * r.height,
                     static_cast<std::uint32_t>(r.width),
                     static_cast<std::uint32_t>(r.height),
                     1};
  return CUDA_SUCCESS;
}

}  // namespace

Status image_of(const std::shared_ptr<Context>& context, TextureObject& object, Image& image) {
  switch (object.resource.resType) {
    case RESOURCE_TYPE_ARRAY:
    case RESOURCE_TYPE_MIPMAPPED_ARRAY:
      return image_of_arrays(context, object, image);
    case RESOURCE_TYPE_LINEAR:
      return image_of_linear(object.resource, image);
    case RESOURCE_TYPE_PITCH2D:
      return image_of_pitched(object.resource, image);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

namespace {

/// Narrows an image to a view of it: some of its levels and layers, another format of the same size.
Status apply_view(const CUDA_RESOURCE_VIEW_DESC& view, Image& image) {
  const ImageLevel& whole = image.levels[0];
  const auto fits = [](std::size_t wanted, std::uint32_t extent) { return wanted == 0 || wanted == extent; };
  if (view.format != RES_VIEW_FORMAT_NONE) TRY(view_format(view.format, image.format));
  if (!fits(view.width, whole.width) || !fits(view.height, whole.height) || !fits(view.depth, whole.slices) ||
      view.firstMipmapLevel > view.lastMipmapLevel || view.lastMipmapLevel >= image.level_count ||
      view.firstLayer > view.lastLayer || (view.lastLayer != 0 && !image.layered && !image.cube) ||
      view.lastLayer >= whole.slices)
    return CUDA_ERROR_INVALID_VALUE;
  image.level_count = view.lastMipmapLevel - view.firstMipmapLevel + 1;
  std::copy_n(image.levels.begin() + view.firstMipmapLevel, image.level_count, image.levels.begin());
  if (!image.layered && !image.cube) return CUDA_SUCCESS;
  const std::uint32_t layers = view.lastLayer - view.firstLayer + 1;
  if (image.cube && layers % 6 != 0) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < image.level_count; ++i) {
    image.levels[i].address.value += view.firstLayer * image.levels[i].slice_pitch;
    image.levels[i].slices = layers;
  }
  return CUDA_SUCCESS;
}

}  // namespace

Status sampler_of(const CUDA_TEXTURE_DESC& d, const Image& image, Sampler& sampler) {
  constexpr unsigned kKnown = TRSF_READ_AS_INTEGER | TRSF_NORMALIZED_COORDINATES | TRSF_SRGB |
                              TRSF_DISABLE_TRILINEAR_OPTIMIZATION | TRSF_SEAMLESS_CUBEMAP;
  if ((d.flags & ~kKnown) != 0 || d.filterMode < FILTER_POINT || d.filterMode > FILTER_LINEAR ||
      d.mipmapFilterMode < FILTER_POINT || d.mipmapFilterMode > FILTER_LINEAR)
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < 3; ++i) {
    if (d.addressMode[i] < ADDRESS_WRAP || d.addressMode[i] > ADDRESS_BORDER) return CUDA_ERROR_INVALID_VALUE;
    sampler.address[i] = static_cast<AddressMode>(d.addressMode[i]);
  }
  sampler.filter = static_cast<FilterMode>(d.filterMode);
  sampler.mipmap_filter = static_cast<FilterMode>(d.mipmapFilterMode);
  sampler.normalized_reads = (d.flags & TRSF_READ_AS_INTEGER) == 0;
  sampler.normalized_coordinates = (d.flags & TRSF_NORMALIZED_COORDINATES) != 0;
  sampler.srgb = (d.flags & TRSF_SRGB) != 0;
  sampler.seamless_cube = (d.flags & TRSF_SEAMLESS_CUBEMAP) != 0;
  if (sampler.seamless_cube && !image.cube) return CUDA_ERROR_INVALID_VALUE;
  sampler.mipmap_bias = d.mipmapLevelBias;
  sampler.least_level = d.minMipmapLevelClamp;
  sampler.greatest_level = d.maxMipmapLevelClamp;
  sampler.anisotropy = d.maxAnisotropy;
  std::copy_n(d.borderColor, 4, sampler.border.begin());
  // Levels exist for mipmapped arrays only; the filter between them is not asked for elsewhere.
  if (image.level_count == 1) sampler.mipmap_filter = FilterMode::point;
  return CUDA_SUCCESS;
}

namespace {

/// The object of a handle in a context.
template <class Object>
Answer<std::shared_ptr<Object>> find_in(Context& context,
                                        std::map<std::uint64_t, std::shared_ptr<Object>>& objects,
                                        std::uint64_t handle) {
  const std::lock_guard lock(context.mutex);
  const auto found = objects.find(handle);
  if (found == objects.end()) return CUDA_ERROR_INVALID_VALUE;
  return found->second;
}

template <class Object>
CUtexObject add_to(Context& context, std::map<std::uint64_t, std::shared_ptr<Object>>& objects,
                   std::shared_ptr<Object> object, std::uint64_t handle) {
  const std::lock_guard lock(context.mutex);
  object->handle = handle;
  objects[handle] = std::move(object);
  return handle;
}

/// @tparam Handle  the runtime's
template <class Handle, class Object>
Status end(Context& context, std::map<std::uint64_t, std::shared_ptr<Object>>& objects,
           const std::shared_ptr<Object>& object) {
  {
    const std::lock_guard lock(context.mutex);
    if (objects.erase(object->handle) == 0) return CUDA_ERROR_INVALID_VALUE;  // another thread was faster
  }
  // Programs end an object right after the launch that uses it: work that was given before still finds it.
  context.device.after_work(
      [&device = context.device, object] { (void)device.destroy(Handle{object->handle}); });
  return CUDA_SUCCESS;
}

}  // namespace

template <>
Answer<std::shared_ptr<Texture>> find<Texture>(CUtexObject handle, const std::shared_ptr<Context>& here) {
  return find_in(*here, here->textures, handle);
}
template <>
Answer<std::shared_ptr<Surface>> find<Surface>(CUsurfObject handle, const std::shared_ptr<Context>& here) {
  return find_in(*here, here->surfaces, handle);
}

namespace entry {

Status cuTexObjectCreate(Here context, CUtexObject* handle, const CUDA_RESOURCE_DESC* resource,
                         const CUDA_TEXTURE_DESC* descriptor, const CUDA_RESOURCE_VIEW_DESC* view) {
  if (resource->flags != 0) return CUDA_ERROR_INVALID_VALUE;
  auto texture = std::make_shared<Texture>();
  texture->resource = *resource;
  texture->texture = *descriptor;
  texture->has_view = view != nullptr;
  if (view != nullptr) texture->view = *view;
  Image image;
  Sampler sampler;
  TRY(image_of(context, *texture, image));
  const bool of_arrays = texture->array != nullptr || texture->mipmap != nullptr;
  if (view != nullptr && !of_arrays) return CUDA_ERROR_INVALID_VALUE;
  if (view != nullptr) TRY(apply_view(*view, image));
  TRY(sampler_of(*descriptor, image, sampler));
  if (texture->mipmap != nullptr && !sampler.normalized_coordinates) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(const TextureHandle made, context->device.create_texture(image, sampler));
  *handle = add_to(*context, context->textures, std::move(texture), made.value);
  return CUDA_SUCCESS;
}

Status cuTexObjectDestroy(Here context, In<Texture> texture) {
  return end<TextureHandle>(*context, context->textures, texture);
}

Status cuTexObjectGetResourceDesc(Here, CUDA_RESOURCE_DESC* resource, In<Texture> texture) {
  *resource = texture->resource;
  return CUDA_SUCCESS;
}

Status cuTexObjectGetTextureDesc(Here, CUDA_TEXTURE_DESC* descriptor, In<Texture> texture) {
  *descriptor = texture->texture;
  return CUDA_SUCCESS;
}

Status cuTexObjectGetResourceViewDesc(Here, CUDA_RESOURCE_VIEW_DESC* view, In<Texture> texture) {
  if (!texture->has_view) return CUDA_ERROR_INVALID_VALUE;
  *view = texture->view;
  return CUDA_SUCCESS;
}

Status cuSurfObjectCreate(Here context, CUsurfObject* handle, const CUDA_RESOURCE_DESC* resource) {
  if (resource->flags != 0 || resource->resType != RESOURCE_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
  auto surface = std::make_shared<Surface>();
  surface->resource = *resource;
  Image image;
  TRY(image_of(context, *surface, image));
  if ((surface->array->descriptor.Flags & ARRAY3D_SURFACE_LDST) == 0) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(const SurfaceHandle made, context->device.create_surface(image));
  *handle = add_to(*context, context->surfaces, std::move(surface), made.value);
  return CUDA_SUCCESS;
}

Status cuSurfObjectDestroy(Here context, In<Surface> surface) {
  return end<SurfaceHandle>(*context, context->surfaces, surface);
}

Status cuSurfObjectGetResourceDesc(Here, CUDA_RESOURCE_DESC* resource, In<Surface> surface) {
  *resource = surface->resource;
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
