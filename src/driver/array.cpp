// Arrays and mipmapped arrays: making, describing and ending them. Copies to and from them are copies of
// memory; see Array::at.
#include "driver/array.h"

#include <algorithm>
#include <bit>

#include "base/round_up.h"
#include "driver/entry.h"
#include "driver/process.h"

namespace raddle::driver {
namespace {

constexpr std::size_t kRowAlignment = 64, kArrayAlignment = 512;

/// Channels of the formats that say so themselves; 0: as many as the descriptor says.
unsigned format_channels(CUarray_format format) {
  if (format < FORMAT_UNORM_INT8X1 || format > FORMAT_SNORM_INT16X4) return 0;
  return 1u << (format - FORMAT_UNORM_INT8X1) % 3;
}

bool within(std::size_t value, int limit) { return value <= static_cast<std::size_t>(limit); }

bool within_limits(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  using namespace array_limits;
  const bool layered = (d.Flags & ARRAY3D_LAYERED) != 0;
  if ((d.Flags & ARRAY3D_CUBEMAP) != 0)
    return within(d.Width, kLayeredExtent) && within(d.Depth, layered ? kCubeLayers : 6);
  if (layered)
    return within(d.Width, kLayeredExtent) && within(d.Height, kLayeredExtent) && within(d.Depth, kLayers);
  if (d.Height == 0) return within(d.Width, kWidth1d);
  if (d.Depth == 0) {
    const bool gather = (d.Flags & ARRAY3D_TEXTURE_GATHER) != 0;
    return within(d.Width, gather ? kLayeredExtent : kWidth2d) &&
           within(d.Height, gather ? kLayeredExtent : kHeight2d);
  }
  const bool is_deep = d.Depth > kExtent3d;  // then half as wide and high at most
  const int side = is_deep ? kExtent3d / 2 : kExtent3d;
  return within(d.Width, side) && within(d.Height, side) && within(d.Depth, kExtent3d * 2);
}

/// Which extents may be 0: the rules of cuArray3DCreate.
bool shape_is_legal(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const bool layered = (d.Flags & ARRAY3D_LAYERED) != 0;
  if (d.Width == 0) return false;
  if ((d.Flags & ARRAY3D_CUBEMAP) != 0)
    return d.Width == d.Height && (layered ? d.Depth != 0 && d.Depth % 6 == 0 : d.Depth == 6);
  if (layered) return d.Depth != 0;
  if ((d.Flags & ARRAY3D_TEXTURE_GATHER) != 0) return d.Height != 0 && d.Depth == 0;
  return d.Height != 0 || d.Depth == 0;
}

Status check_array(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  constexpr unsigned kKnown = ARRAY3D_LAYERED | ARRAY3D_SURFACE_LDST | ARRAY3D_CUBEMAP |
                              ARRAY3D_TEXTURE_GATHER | ARRAY3D_COLOR_ATTACHMENT;
  if ((d.Flags & ~kKnown) != 0 || channel_bytes(d.Format) == 0) return CUDA_ERROR_NOT_SUPPORTED;
  const unsigned channels = format_channels(d.Format);
  if (d.NumChannels != 1 && d.NumChannels != 2 && d.NumChannels != 4) return CUDA_ERROR_INVALID_VALUE;
  if (channels != 0 && channels != d.NumChannels) return CUDA_ERROR_INVALID_VALUE;
  return shape_is_legal(d) && within_limits(d) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Answer<std::shared_ptr<Array>> make_array(const std::shared_ptr<Context>& context,
                                          const CUDA_ARRAY3D_DESCRIPTOR& descriptor, bool is_level) {
  TRY_ASSIGN(const DevicePtr memory, context->device.allocate(ArrayLayout(descriptor).bytes()));
  return std::make_shared<Array>(context, descriptor, memory, is_level);
}

/// Levels below the first halve every extent but the layers, down to 1.
CUDA_ARRAY3D_DESCRIPTOR level_descriptor(CUDA_ARRAY3D_DESCRIPTOR d, unsigned level) {
  const auto halve = [level](std::size_t extent) {
    return extent == 0 ? 0 : std::max<std::size_t>(extent >> level, 1);
  };
  d.Width = halve(d.Width);
  d.Height = halve(d.Height);
  if ((d.Flags & (ARRAY3D_LAYERED | ARRAY3D_CUBEMAP)) == 0) d.Depth = halve(d.Depth);
  return d;
}

unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const bool has_layers = (d.Flags & (ARRAY3D_LAYERED | ARRAY3D_CUBEMAP)) != 0;
  return static_cast<unsigned>(std::bit_width(std::max({d.Width, d.Height, has_layers ? 0 : d.Depth})));
}

}  // namespace

unsigned channel_bytes(CUarray_format format) {
  switch (format) {
    case FORMAT_UNSIGNED_INT8:
    case FORMAT_SIGNED_INT8:
    case FORMAT_UNORM_INT8X1:
    case FORMAT_UNORM_INT8X2:
    case FORMAT_UNORM_INT8X4:
    case FORMAT_SNORM_INT8X1:
    case FORMAT_SNORM_INT8X2:
    case FORMAT_SNORM_INT8X4:
      return 1;
    case FORMAT_UNSIGNED_INT16:
    case FORMAT_SIGNED_INT16:
    case FORMAT_HALF:
    case FORMAT_UNORM_INT16X1:
    case FORMAT_UNORM_INT16X2:
    case FORMAT_UNORM_INT16X4:
    case FORMAT_SNORM_INT16X1:
    case FORMAT_SNORM_INT16X2:
    case FORMAT_SNORM_INT16X4:
      return 2;
    case FORMAT_UNSIGNED_INT32:
    case FORMAT_SIGNED_INT32:
    case FORMAT_FLOAT:
      return 4;
  }
  return 0;
}

ArrayLayout::ArrayLayout(const CUDA_ARRAY3D_DESCRIPTOR& d)
    : texel_bytes(channel_bytes(d.Format) * d.NumChannels),
      row_pitch(round_up(d.Width * texel_bytes, kRowAlignment)),
      slice_pitch(row_pitch * std::max<std::size_t>(d.Height, 1)),
      rows(std::max<std::size_t>(d.Height, 1)),
      slices(std::max<std::size_t>(d.Depth, 1)) {}

Array::~Array() { (void)context->device.free_later(address); }

template <>
Answer<std::shared_ptr<Array>> find<Array>(CUarray handle, const std::shared_ptr<Context>& here) {
  auto array = Process::instance().arrays.find(handle);
  if (array == nullptr || array->context != here) return CUDA_ERROR_INVALID_HANDLE;
  return array;
}

template <>
Answer<std::shared_ptr<MipmappedArray>> find<MipmappedArray>(CUmipmappedArray handle,
                                                             const std::shared_ptr<Context>& here) {
  auto mipmap = Process::instance().mipmapped_arrays.find(handle);
  if (mipmap == nullptr || mipmap->context != here) return CUDA_ERROR_INVALID_HANDLE;
  return mipmap;
}

namespace entry {

Status cuArray3DCreate_v2(Here context, CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  TRY(check_array(*descriptor));
  TRY_ASSIGN(std::shared_ptr<Array> array, make_array(context, *descriptor, false));
  *handle = Process::instance().arrays.add(std::move(array));
  return CUDA_SUCCESS;
}

Status cuArrayCreate_v2(Here context, CUarray* handle, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  const CUDA_ARRAY3D_DESCRIPTOR wanted{descriptor->Width,  descriptor->Height,      0,
                                       descriptor->Format, descriptor->NumChannels, 0};
  return cuArray3DCreate_v2(context, handle, &wanted);
}

Status cuArray3DGetDescriptor_v2(Here, CUDA_ARRAY3D_DESCRIPTOR* descriptor, In<Array> array) {
  *descriptor = array->descriptor;
  return CUDA_SUCCESS;
}

Status cuArrayGetDescriptor_v2(Here, CUDA_ARRAY_DESCRIPTOR* descriptor, In<Array> array) {
  const CUDA_ARRAY3D_DESCRIPTOR& d = array->descriptor;
  *descriptor = {d.Width, d.Height, d.Format, d.NumChannels};
  return CUDA_SUCCESS;
}

Status cuArrayDestroy(Here, In<Array> array) {
  if (array->level_of_mipmap) return CUDA_ERROR_INVALID_VALUE;
  Process::instance().arrays.remove(array->handle);
  return CUDA_SUCCESS;
}

// Only arrays that get their memory later have requirements, and those cannot be made here.
Status cuArrayGetMemoryRequirements(Here, CUDA_ARRAY_MEMORY_REQUIREMENTS*, In<Array>, In<CUdevice>) {
  return CUDA_ERROR_INVALID_VALUE;
}

// Arrays whose memory is mapped piece by piece, and those of several planes, cannot be made here.
Status cuArrayGetSparseProperties(Here, void*, In<Array>) { return CUDA_ERROR_INVALID_VALUE; }

Status cuArrayGetPlane(Here, CUarray*, In<Array>, unsigned) { return CUDA_ERROR_INVALID_VALUE; }

Status cuMipmappedArrayCreate(Here context, CUmipmappedArray* handle,
                              const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels) {
  if (levels == 0) return CUDA_ERROR_INVALID_VALUE;
  auto mipmap = std::make_shared<MipmappedArray>();
  mipmap->context = context;
  TRY(check_array(*descriptor));
  levels = std::min(levels, most_levels(*descriptor));
  for (unsigned level = 0; level < levels; ++level) {
    TRY_ASSIGN(std::shared_ptr<Array> array, make_array(context, level_descriptor(*descriptor, level), true));
    mipmap->levels.push_back(std::move(array));
  }
  for (const std::shared_ptr<Array>& level : mipmap->levels) Process::instance().arrays.add(level);
  *handle = Process::instance().mipmapped_arrays.add(std::move(mipmap));
  return CUDA_SUCCESS;
}

Status cuMipmappedArrayGetLevel(Here, CUarray* array, In<MipmappedArray> mipmap, unsigned level) {
  if (level >= mipmap->levels.size()) return CUDA_ERROR_INVALID_VALUE;
  *array = mipmap->levels[level]->handle;
  return CUDA_SUCCESS;
}

Status cuMipmappedArrayDestroy(Here, In<MipmappedArray> mipmap) {
  Process::instance().mipmapped_arrays.remove(mipmap->handle);
  for (const std::shared_ptr<Array>& level : mipmap->levels) Process::instance().arrays.remove(level->handle);
  return CUDA_SUCCESS;
}

Status cuMipmappedArrayGetMemoryRequirements(Here, CUDA_ARRAY_MEMORY_REQUIREMENTS*, In<MipmappedArray>,
                                             In<CUdevice>) {
  return CUDA_ERROR_INVALID_VALUE;
}

Status cuMipmappedArrayGetSparseProperties(Here, void*, In<MipmappedArray>) {
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace entry
}  // namespace raddle::driver
