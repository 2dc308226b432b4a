// Texture references (CUDA driver API manual, "Texture Reference Management"): every change makes the texture
// anew, and later launches read that one.
#include "driver/texture_reference.h"

#include <algorithm>

#include "base/notice.h"
#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {

// What the manual calls the default: coordinates in texels, for which there is clamping only; integers that
// read as numbers.
TextureReference::TextureReference() { std::ranges::fill(bound.texture.addressMode, ADDRESS_CLAMP); }

namespace {

constexpr unsigned kOverrideFormat = 1;  ///< CU_TRSA_OVERRIDE_FORMAT
constexpr int kDefaultUnit = -1;         ///< CU_PARAM_TR_DEFAULT

Answer<TextureHandle> make_texture(const std::shared_ptr<Context>& context, TextureReference& reference) {
  CUDA_RESOURCE_DESC& resource = reference.bound.resource;
  if (resource.resType == RESOURCE_TYPE_LINEAR) {
    resource.res.linear.format = reference.format;
    resource.res.linear.numChannels = reference.channels;
  }
  Image image;
  Sampler sampler;
  TRY(image_of(context, reference.bound, image));
  TRY(sampler_of(reference.bound.texture, image, sampler));
  if (reference.bound.mipmap != nullptr && !sampler.normalized_coordinates) return CUDA_ERROR_INVALID_VALUE;
  if (image.linear_memory) sampler.filter = FilterMode::point;  // "no effect if bound to linear memory"
  TRY_ASSIGN(const TextureHandle made, context->device.create_texture(image, sampler));
  return made;
}

/// For launches from now on. Settings come one after the other and need not fit before the last one is there:
/// what does not make a texture shows when a kernel reads it.
Status apply(TextureReference& reference) {
  const std::shared_ptr<Module> module = reference.module.lock();
  if (module == nullptr) return reference.is_of_module() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  if (!reference.is_bound) return module->module.unbind(reference.name);
  Answer<TextureHandle> made = make_texture(reference.context, reference);
  if (!made.ok()) {
    const char* const why = result_name(made.error());
    return module->module.unbind(reference.name,
                                 fmt::format("its format, filter and flags do not fit what was given ({})",
                                             why == nullptr ? "an unknown error" : why));
  }
  const Result<void> bound = module->module.bind(reference.name, std::move(made).value());
  if (!bound && bound.error().code == ErrorCode::unsupported)
    base::notice("raddle: {}\n", bound.error().message);
  return bound;
}

/// Binds a resource in the place of what was bound.
/// @param check  of the resource; else only a kernel would show that it is wrong
Status bind(TextureReference& reference, const CUDA_RESOURCE_DESC& resource) {
  TextureObject wanted;
  wanted.resource = resource;
  wanted.texture = reference.bound.texture;
  Image image;
  TRY(image_of(reference.context, wanted, image));
  // The memory of an array that goes is read by launches that were given.
  reference.context->device.after_work([array = reference.bound.array, mipmap = reference.bound.mipmap] {});
  reference.bound = std::move(wanted);
  reference.is_bound = true;
  return apply(reference);
}

/// What an array brings: its format.
void take_format(TextureReference& reference, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  reference.format = descriptor.Format;
  reference.channels = descriptor.NumChannels;
}

/// Changes one setting.
template <class Change>
Status change(TextureReference& reference, const Change& change) {
  const std::lock_guard lock(reference.mutex);
  change(reference.bound.texture);
  return apply(reference);
}

/// Tells one setting.
template <class T>
Status tell(TextureReference& reference, T CUDA_TEXTURE_DESC::* setting, T* value) {
  const std::lock_guard lock(reference.mutex);
  *value = reference.bound.texture.*setting;
  return CUDA_SUCCESS;
}

bool is_filter(CUfilter_mode mode) { return mode == FILTER_POINT || mode == FILTER_LINEAR; }

Status set_address_2d(TextureReference& reference, const CUDA_ARRAY_DESCRIPTOR& descriptor,
                      CUdeviceptr address, std::size_t pitch) {
  const std::lock_guard lock(reference.mutex);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D = {address,          descriptor.Format, descriptor.NumChannels,
                          descriptor.Width, descriptor.Height, pitch};
  TRY(bind(reference, resource));
  reference.format = descriptor.Format;
  reference.channels = descriptor.NumChannels;
  return CUDA_SUCCESS;
}

}  // namespace

namespace entry {

Status cuModuleGetTexRef(Here context, CUtexref* handle, In<Module> module, const char* name) {
  if (!module->module.has_texture_reference(name)) return CUDA_ERROR_NOT_FOUND;
  *handle = named_reference<TextureReference, CUtexref>(context, module, name, module->texture_references,
                                                        Process::instance().texture_references);
  return CUDA_SUCCESS;
}

Status cuTexRefCreate(Here context, CUtexref* handle) {
  auto made = std::make_shared<TextureReference>();
  made->context = context;
  *handle = Process::instance().texture_references.add(made);
  return CUDA_SUCCESS;
}

// A module's references end with the module.
Status cuTexRefDestroy(Here, In<TextureReference> reference) {
  if (reference->is_of_module()) return CUDA_ERROR_INVALID_VALUE;
  Process::instance().texture_references.remove(reference->handle);
  return CUDA_SUCCESS;
}

// Kernels name their references themselves.
Status cuParamSetTexRef(Here, In<Function> function, int unit, In<TextureReference> reference) {
  const bool is_of_function = reference->module.lock() == function->module;
  return unit == kDefaultUnit && is_of_function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Status cuTexRefSetArray(Here, In<TextureReference> reference, In<Array> array, unsigned flags) {
  if (flags != kOverrideFormat) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(reference->mutex);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array->handle;
  TRY(bind(*reference, resource));
  take_format(*reference, array->descriptor);
  return CUDA_SUCCESS;
}

Status cuTexRefSetMipmappedArray(Here, In<TextureReference> reference, In<MipmappedArray> array,
                                 unsigned flags) {
  if (flags != kOverrideFormat) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(reference->mutex);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = array->handle;
  TRY(bind(*reference, resource));
  take_format(*reference, array->levels[0]->descriptor);
  return CUDA_SUCCESS;
}

Status cuTexRefSetAddress_v2(Here, std::size_t* offset, In<TextureReference> reference, CUdeviceptr address,
                             std::size_t bytes) {
  const std::size_t beyond = address % kTextureAlignment;
  if (beyond != 0 && offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(reference->mutex);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = RESOURCE_TYPE_LINEAR;
  resource.res.linear = {address - beyond, reference->format, reference->channels, bytes + beyond};
  TRY(bind(*reference, resource));
  if (offset != nullptr) *offset = beyond;
  return CUDA_SUCCESS;
}

Status cuTexRefSetAddress2D_v2(Here, In<TextureReference> reference, const CUDA_ARRAY_DESCRIPTOR* descriptor,
                               CUdeviceptr address, std::size_t pitch) {
  return set_address_2d(*reference, *descriptor, address, pitch);
}
Status cuTexRefSetAddress2D_v3(Here, In<TextureReference> reference, const CUDA_ARRAY_DESCRIPTOR* descriptor,
                               CUdeviceptr address, std::size_t pitch) {
  return set_address_2d(*reference, *descriptor, address, pitch);
}

// An array's own format overrides it; that of pitched memory came with the memory.
Status cuTexRefSetFormat(Here, In<TextureReference> reference, CUarray_format format, int channels) {
  TexelFormat known;
  TRY(make_format(format, static_cast<unsigned>(channels), known));
  const std::lock_guard lock(reference->mutex);
  const CUresourcetype type = reference->bound.resource.resType;
  const bool is_fixed = reference->is_bound && type != RESOURCE_TYPE_LINEAR;
  const bool is_same = reference->format == format && reference->channels == static_cast<unsigned>(channels);
  if (is_fixed) return is_same ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  reference->format = format;
  reference->channels = static_cast<unsigned>(channels);
  return apply(*reference);
}

Status cuTexRefSetAddressMode(Here, In<TextureReference> reference, int dimension, CUaddress_mode mode) {
  if (dimension < 0 || dimension > 2 || mode < ADDRESS_WRAP || mode > ADDRESS_BORDER)
    return CUDA_ERROR_INVALID_VALUE;
  return change(*reference, [&](CUDA_TEXTURE_DESC& d) { d.addressMode[dimension] = mode; });
}

Status cuTexRefSetFilterMode(Here, In<TextureReference> reference, CUfilter_mode mode) {
  if (!is_filter(mode)) return CUDA_ERROR_INVALID_VALUE;
  return change(*reference, [&](CUDA_TEXTURE_DESC& d) { d.filterMode = mode; });
}

Status cuTexRefSetMipmapFilterMode(Here, In<TextureReference> reference, CUfilter_mode mode) {
  if (!is_filter(mode)) return CUDA_ERROR_INVALID_VALUE;
  return change(*reference, [&](CUDA_TEXTURE_DESC& d) { d.mipmapFilterMode = mode; });
}

Status cuTexRefSetMipmapLevelBias(Here, In<TextureReference> reference, float bias) {
  return change(*reference, [&](CUDA_TEXTURE_DESC& d) { d.mipmapLevelBias = bias; });
}

Status cuTexRefSetMipmapLevelClamp(Here, In<TextureReference> reference, float least, float greatest) {
  return change(*reference, [&](CUDA_TEXTURE_DESC& d) {
    d.minMipmapLevelClamp = least;
    d.maxMipmapLevelClamp = greatest;
  });
}

Status cuTexRefSetMaxAnisotropy(Here, In<TextureReference> reference, unsigned most) {
  return change(*reference, [&](CUDA_TEXTURE_DESC& d) { d.maxAnisotropy = most; });
}

Status cuTexRefSetBorderColor(Here, In<TextureReference> reference, float* color) {
  return change(*reference, [&](CUDA_TEXTURE_DESC& d) { std::copy_n(color, 4, d.borderColor); });
}

Status cuTexRefSetFlags(Here, In<TextureReference> reference, unsigned flags) {
  constexpr unsigned kKnown =
      TRSF_READ_AS_INTEGER | TRSF_NORMALIZED_COORDINATES | TRSF_SRGB | TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
  if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  return change(*reference, [&](CUDA_TEXTURE_DESC& d) { d.flags = flags; });
}

Status cuTexRefGetAddress_v2(Here, CUdeviceptr* address, In<TextureReference> reference) {
  const std::lock_guard lock(reference->mutex);
  const CUDA_RESOURCE_DESC& resource = reference->bound.resource;
  if (!reference->is_bound) return CUDA_ERROR_INVALID_VALUE;
  if (resource.resType == RESOURCE_TYPE_LINEAR)
    *address = resource.res.linear.devPtr;
  else if (resource.resType == RESOURCE_TYPE_PITCH2D)
    *address = resource.res.pitch2D.devPtr;
  else
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

Status cuTexRefGetArray(Here, CUarray* array, In<TextureReference> reference) {
  const std::lock_guard lock(reference->mutex);
  if (reference->bound.array == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *array = reference->bound.resource.res.array.hArray;
  return CUDA_SUCCESS;
}

Status cuTexRefGetMipmappedArray(Here, CUmipmappedArray* array, In<TextureReference> reference) {
  const std::lock_guard lock(reference->mutex);
  if (reference->bound.mipmap == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *array = reference->bound.resource.res.mipmap.hMipmappedArray;
  return CUDA_SUCCESS;
}

Status cuTexRefGetAddressMode(Here, CUaddress_mode* mode, In<TextureReference> reference, int dimension) {
  if (dimension < 0 || dimension > 2) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(reference->mutex);
  *mode = reference->bound.texture.addressMode[dimension];
  return CUDA_SUCCESS;
}

Status cuTexRefGetFilterMode(Here, CUfilter_mode* mode, In<TextureReference> reference) {
  return tell(*reference, &CUDA_TEXTURE_DESC::filterMode, mode);
}

Status cuTexRefGetFormat(Here, CUarray_format* format, int* channels, In<TextureReference> reference) {
  const std::lock_guard lock(reference->mutex);
  if (format != nullptr) *format = reference->format;
  if (channels != nullptr) *channels = static_cast<int>(reference->channels);
  return CUDA_SUCCESS;
}

Status cuTexRefGetMipmapFilterMode(Here, CUfilter_mode* mode, In<TextureReference> reference) {
  return tell(*reference, &CUDA_TEXTURE_DESC::mipmapFilterMode, mode);
}

Status cuTexRefGetMipmapLevelBias(Here, float* bias, In<TextureReference> reference) {
  return tell(*reference, &CUDA_TEXTURE_DESC::mipmapLevelBias, bias);
}

Status cuTexRefGetMipmapLevelClamp(Here, float* least, float* greatest, In<TextureReference> reference) {
  const std::lock_guard lock(reference->mutex);
  *least = reference->bound.texture.minMipmapLevelClamp;
  *greatest = reference->bound.texture.maxMipmapLevelClamp;
  return CUDA_SUCCESS;
}

Status cuTexRefGetMaxAnisotropy(Here, int* most, In<TextureReference> reference) {
  const std::lock_guard lock(reference->mutex);
  *most = static_cast<int>(reference->bound.texture.maxAnisotropy);
  return CUDA_SUCCESS;
}

Status cuTexRefGetBorderColor(Here, float* color, In<TextureReference> reference) {
  const std::lock_guard lock(reference->mutex);
  std::copy_n(reference->bound.texture.borderColor, 4, color);
  return CUDA_SUCCESS;
}

Status cuTexRefGetFlags(Here, unsigned* flags, In<TextureReference> reference) {
  return tell(*reference, &CUDA_TEXTURE_DESC::flags, flags);
}

}  // namespace entry
}  // namespace raddle::driver
