#include "machine/texture/texture_unit.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "machine/texture/sampling.h"
#include "machine/texture/surface.h"
#include "machine/texture/warp_sampling.h"
#include "numerics/half.h"

namespace raddle::machine {
namespace {

using exec::TextureQuery;

std::size_t index_of(std::uint64_t handle) { return (handle & 0xffffffff) >> 4; }

SamplePoint point_of(const exec::TextureRequest& request, const exec::TextureLanes& lanes, unsigned lane) {
  SamplePoint p;
  const unsigned count = isa::coordinate_count(request.geometry);
  for (unsigned d = 0; d < count; ++d) {
    p.at[d] = std::bit_cast<float>(lanes.coordinate[d][lane]);
    p.index[d] = static_cast<std::int32_t>(lanes.coordinate[d][lane]);
    if (request.has_offset) p.offset[d] = lanes.offset[d][lane];
  }
  if (isa::has_layer(request.geometry)) p.layer = lanes.layer[lane];
  if (isa::has_sample(request.geometry)) p.sample = lanes.sample[lane];
  if (request.action == exec::TextureRequest::level)
    p.level = request.integer_coordinates ? static_cast<float>(static_cast<std::int32_t>(lanes.level[lane]))
                                          : std::bit_cast<float>(lanes.level[lane]);
  if (request.action == exec::TextureRequest::gradient)
    for (unsigned g = 0; g < 2; ++g)
      for (unsigned d = 0; d < count; ++d)
        p.gradient[g][d] = std::bit_cast<float>(lanes.gradient[g][d][lane]);
  return p;
}

std::uint32_t half_of(std::uint32_t number) {
  return numerics::narrow<numerics::f16>(double{std::bit_cast<float>(number)}).bits;
}

void give(const exec::TextureRequest& request, const Texel& texel, exec::TextureLanes& lanes, unsigned lane) {
  if (request.result == exec::TextureRequest::half_pair) {
    lanes.result[0][lane] = half_of(texel[0]) | half_of(texel[1]) << 16;
    lanes.result[1][lane] = half_of(texel[2]) | half_of(texel[3]) << 16;
    return;
  }
  for (unsigned c = 0; c < 4; ++c)
    lanes.result[c][lane] = request.result == exec::TextureRequest::half ? half_of(texel[c]) : texel[c];
}

/// The codes of OpenCL's cl_channel_type, which PTX's .channel_data_type follows.
std::uint32_t data_type_code(ChannelType type) {
  switch (type) {
    case ChannelType::snorm8:
      return 0x10d0;
    case ChannelType::snorm16:
      return 0x10d1;
    case ChannelType::unorm8:
      return 0x10d2;
    case ChannelType::unorm16:
      return 0x10d3;
    case ChannelType::signed8:
      return 0x10d7;
    case ChannelType::signed16:
      return 0x10d8;
    case ChannelType::signed32:
      return 0x10d9;
    case ChannelType::unsigned8:
      return 0x10da;
    case ChannelType::unsigned16:
      return 0x10db;
    case ChannelType::unsigned32:
      return 0x10dc;
    case ChannelType::float16:
      return 0x10dd;
    case ChannelType::float32:
      return 0x10de;
  }
  return 0;
}

/// And those of cl_channel_order.
std::uint32_t order_code(unsigned channels) {
  return channels == 1 ? 0x10b0 : channels == 2 ? 0x10b2 : 0x10b5;
}

std::uint32_t answer(TextureQuery query, const Image& image, const Sampler& sampler,
                     std::uint32_t level_wanted) {
  const ImageLevel& level = image.levels[std::min(level_wanted, image.level_count - 1)];
  switch (query) {
    case TextureQuery::width:
      return level.width;
    case TextureQuery::height:
      return image.dimensions > 1 ? level.height : 0;
    case TextureQuery::depth:
      return image.dimensions > 2 ? level.slices : 0;
    case TextureQuery::channel_data_type:
      return data_type_code(image.format.type);
    case TextureQuery::channel_order:
      return order_code(image.format.channels);
    case TextureQuery::normalized_coordinates:
      return sampler.normalized_coordinates ? 1 : 0;
    case TextureQuery::array_size:
      return image.layered ? level.slices / (image.cube ? 6 : image.samples) : 0;
    case TextureQuery::mipmap_levels:
      return image.level_count;
    case TextureQuery::samples:
      return image.samples;
    case TextureQuery::filter_mode:
      return static_cast<std::uint32_t>(sampler.filter);
    case TextureQuery::address_mode_0:
      return static_cast<std::uint32_t>(sampler.address[0]);
    case TextureQuery::address_mode_1:
      return static_cast<std::uint32_t>(sampler.address[1]);
    case TextureQuery::address_mode_2:
      return static_cast<std::uint32_t>(sampler.address[2]);
    default:
      return 0;
  }
}

/// What queries ask of a sampler, which a texture has in it.
bool is_about_sampler(TextureQuery query) {
  return query >= TextureQuery::filter_mode && query <= TextureQuery::force_unnormalized_coordinates;
}

/// A texture's own sampler, with what one beside it decides.
Sampler combined(Sampler own, const Sampler& beside, bool force_unnormalized_coordinates) {
  own.address = beside.address;
  own.filter = beside.filter;
  own.normalized_coordinates &= !force_unnormalized_coordinates;
  return own;
}

/// By what a handle names and what it is used as: texture, surface, sampler.
constexpr const char* kUsedAsOther[3][3] = {
    {nullptr, "a texture object is used as a surface", nullptr},
    {"a surface object is used as a texture", nullptr, "a surface object is used as a sampler"},
    {"a sampler is used as a texture", "a sampler is used as a surface", nullptr}};
constexpr const char* kEnded[] = {"the texture object was destroyed", "the surface object was destroyed",
                                  "the sampler's module was unloaded"};
constexpr const char* kUnknown[] = {"no texture object has this handle", "no surface object has this handle",
                                    "no sampler has this handle"};

/// What is wrong with a request to a texture of this image; null: nothing.
TextureProblem problem_of(const Image& image, isa::Geometry geometry, std::uint32_t sample) {
  const bool wants_cube = geometry == isa::Geometry::cube || geometry == isa::Geometry::acube;
  if (wants_cube && !image.cube) return {"the texture's image is no cube map"};
  if (!isa::has_sample(geometry)) {
    if (image.samples > 1) return {"the texture's image has several samples a texel, which .2dms reads"};
    return {};
  }
  if (image.dimensions != 2 || image.cube) return {"the texture's image has not two dimensions"};
  if (sample >= image.samples)
    return {"the texture's texels have no such sample", FaultKind::illegal_address};
  return {};
}

}  // namespace

TextureUnit::~TextureUnit() {
  for (std::atomic<Descriptor*>& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
}

TextureUnit::Descriptor* TextureUnit::slot(std::size_t index) const {
  if (index >= kChunk * kChunks) return nullptr;
  Descriptor* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &chunk[index % kChunk];
}

std::uint64_t TextureUnit::add(Kind kind, const Image& image, const Sampler& sampler,
                               bool force_unnormalized_coordinates, const std::string& why) {
  const std::lock_guard lock(mutex_);
  std::size_t index = used_;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    if (used_ == kChunk * kChunks) return 0;
    if (used_ % kChunk == 0) chunks_[used_ / kChunk].store(new Descriptor[kChunk], std::memory_order_release);
    ++used_;
  }
  Descriptor& d = *slot(index);
  d.image = image;
  d.sampler = sampler;
  d.force_unnormalized_coordinates = force_unnormalized_coordinates;
  d.why = why;
  const std::uint64_t handle = std::uint64_t{++d.generation} << 32 | static_cast<std::uint64_t>(index) << 4 |
                               static_cast<std::uint64_t>(kind);
  d.handle.store(handle, std::memory_order_release);
  return handle;
}

std::uint64_t TextureUnit::add_texture(const Image& image, const Sampler& sampler) {
  return add(Kind::texture, image, sampler);
}
std::uint64_t TextureUnit::add_surface(const Image& image) { return add(Kind::surface, image, {}); }
std::uint64_t TextureUnit::add_sampler(const Sampler& sampler, bool force_unnormalized_coordinates) {
  return add(Kind::sampler, {}, sampler, force_unnormalized_coordinates);
}
std::uint64_t TextureUnit::add_unbound(const std::string& why) {
  return add(Kind::unbound, {}, {}, false, why);
}

bool TextureUnit::remove(std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  Descriptor* const d = handle == 0 ? nullptr : slot(index_of(handle));
  if (d == nullptr || d->handle.load(std::memory_order_relaxed) != handle) return false;
  d->handle.store(0, std::memory_order_release);
  free_.push_back(index_of(handle));
  return true;
}

const TextureUnit::Descriptor* TextureUnit::find(std::uint64_t handle, Kind kind) const {
  if (kind_of(handle) != kind) return nullptr;
  const Descriptor* const d = slot(index_of(handle));
  return d != nullptr && d->handle.load(std::memory_order_acquire) == handle ? d : nullptr;
}

TextureProblem TextureUnit::no_such(std::uint64_t handle, Kind kind) const {
  if (const Descriptor* const unbound = find(handle, Kind::unbound)) return {unbound->why.c_str()};
  constexpr auto kFirst = static_cast<std::uint64_t>(Kind::texture);
  const Kind claimed = kind_of(handle);
  const auto wanted = static_cast<std::uint64_t>(kind) - kFirst,
             named = static_cast<std::uint64_t>(claimed) - kFirst;
  if (named <= 2 && named != wanted && find(handle, claimed) != nullptr) return {kUsedAsOther[named][wanted]};
  const Descriptor* const d = slot(index_of(handle));
  const std::uint64_t generation = handle >> 32;
  const bool ended = named == wanted && d != nullptr && generation != 0 && generation <= d->generation;
  return {ended ? kEnded[wanted] : kUnknown[wanted]};
}

const TextureUnit::Descriptor* TextureUnit::find_sampler(std::uint64_t handle) const {
  const Descriptor* const apart = find(handle, Kind::sampler);
  return apart != nullptr ? apart : find(handle, Kind::texture);
}

TextureProblem TextureUnit::texture(const exec::TextureRequest& request, exec::TextureLanes& lanes,
                                    unsigned lane) const {
  const Descriptor* const d = find(lanes.handle[lane], Kind::texture);
  if (d == nullptr) return no_such(lanes.handle[lane], Kind::texture);
  const SamplePoint point = point_of(request, lanes, lane);
  if (const TextureProblem problem = problem_of(d->image, request.geometry, point.sample);
      problem.note != nullptr)
    return problem;
  Sampler sampler;
  const Sampler* used = &d->sampler;
  if (request.has_sampler) {
    const Descriptor* const beside = find_sampler(lanes.sampler[lane]);
    if (beside == nullptr) return no_such(lanes.sampler[lane], Kind::sampler);
    sampler = combined(d->sampler, beside->sampler, beside->force_unnormalized_coordinates);
    used = &sampler;
  }
  give(request,
       request.action == exec::TextureRequest::gather ? gather(d->image, *used, request, point)
                                                      : sample(d->image, *used, request, point),
       lanes, lane);
  return {};
}

bool TextureUnit::texture_of_warp(const exec::TextureRequest& request, exec::TextureLanes& lanes,
                                  std::uint32_t active) const {
  if (std::has_single_bit(active)) return false;  // as the interpreter asks
  const std::uint64_t handle = lanes.handle[std::countr_zero(active)];
  std::uint64_t others = 0;
  for (unsigned l = 0; l < exec::kWarpSize; ++l)
    others |= (active >> l & 1) != 0 ? lanes.handle[l] ^ handle : 0;
  if (others != 0 || request.has_sampler || request.result != exec::TextureRequest::bits32) return false;
  const Descriptor* const d = find(handle, Kind::texture);
  if (d == nullptr || !samples_warps(d->image, request)) return false;
  Texels<exec::kWarpSize> texels;
  sample_warp(d->image, d->sampler, request, lanes, active, texels);
  for (unsigned c = 0; c < 4; ++c) std::ranges::copy(texels[c], lanes.result[c]);
  return true;
}

TextureProblem TextureUnit::surface(const exec::SurfaceRequest& request, exec::SurfaceLanes& lanes,
                                    unsigned lane) const {
  const Descriptor* const d = find(lanes.handle[lane], Kind::surface);
  if (d == nullptr) return no_such(lanes.handle[lane], Kind::surface);
  SurfacePoint point;
  std::array<std::uint64_t, 4> values{};
  for (unsigned k = 0; k < isa::coordinate_count(request.geometry); ++k)
    point.at[k] = lanes.coordinate[k][lane];
  if (isa::has_layer(request.geometry)) point.layer = lanes.layer[lane];
  const bool loads = request.action == exec::SurfaceRequest::load;
  for (unsigned e = 0; e < request.elements && !loads; ++e) values[e] = lanes.value[e][lane];
  switch (access_surface(d->image, request, point, values)) {
    case SurfaceResult::outside:
      return {"the coordinates are outside the surface", FaultKind::illegal_address};
    case SurfaceResult::misaligned:
      return {"the x coordinate is no multiple of the access", FaultKind::misaligned_address};
    case SurfaceResult::done:
      break;
  }
  for (unsigned e = 0; e < request.elements && loads; ++e) lanes.value[e][lane] = values[e];
  return {};
}

TextureProblem TextureUnit::query(TextureQuery query, exec::TextureQueryLanes& lanes, unsigned lane) const {
  const std::uint64_t handle = lanes.handle[lane];
  const Descriptor* const texture = find(handle, Kind::texture);
  const Descriptor* const surface = find(handle, Kind::surface);
  std::uint32_t& result = lanes.result[lane];
  switch (query) {
    case TextureQuery::is_texture:
      result = texture != nullptr;
      return {};
    case TextureQuery::is_sampler:
      result = find_sampler(handle) != nullptr;
      return {};
    case TextureQuery::is_surface:
      result = surface != nullptr;
      return {};
    default:
      break;
  }
  const bool sampler = is_about_sampler(query);
  const Descriptor* const d = sampler ? find_sampler(handle) : texture != nullptr ? texture : surface;
  if (d == nullptr)
    return no_such(handle, sampler                            ? Kind::sampler
                           : kind_of(handle) == Kind::surface ? Kind::surface
                                                              : Kind::texture);
  result = query == TextureQuery::force_unnormalized_coordinates
               ? std::uint32_t{d->force_unnormalized_coordinates}
               : answer(query, d->image, d->sampler, lanes.level[lane]);
  return {};
}

}  // namespace raddle::machine
