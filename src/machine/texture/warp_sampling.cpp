#include "machine/texture/warp_sampling.h"

#include <bit>

namespace raddle::machine {
namespace {

constexpr unsigned kLanes = exec::kWarpSize;

/// Lanes that do not execute read what the first one that does reads: they touch no other memory.
[[gnu::always_inline]] inline void gather_points(const Image& image, const exec::TextureRequest& request,
                                                 const exec::TextureLanes& lanes, std::uint32_t active,
                                                 Points<kLanes>& points) {
  const auto first = static_cast<unsigned>(std::countr_zero(active));
  const auto fill = [&](auto& to, const auto* from) {
    for (unsigned l = 0; l < kLanes; ++l) to[l] = (active >> l & 1) != 0 ? from[l] : from[first];
  };
  const unsigned count = isa::coordinate_count(request.geometry);
  for (unsigned d = 0; d < count; ++d) {
    fill(points.coordinate[d], lanes.coordinate[d]);
    if (request.has_offset) fill(points.offset[d], lanes.offset[d]);
  }
  if (!isa::has_layer(request.geometry)) return;
  fill(points.slice, lanes.layer);
  for (std::uint32_t& slice : points.slice) slice = slice_of(image, request.geometry, slice, 0);
}

[[gnu::always_inline]] inline void sample_lanes(const Image& image, const Sampler& sampler,
                                                const exec::TextureRequest& request,
                                                const exec::TextureLanes& lanes, std::uint32_t active,
                                                Texels<kLanes>& texels) {
  Points<kLanes> points;
  gather_points(image, request, lanes, active, points);
  sample_points<kLanes>(View(image, sampler, request, 0), points, request.integer_coordinates, texels);
}

using Sample = void (*)(const Image&, const Sampler&, const exec::TextureRequest&, const exec::TextureLanes&,
                        std::uint32_t, Texels<kLanes>&);

void sample_any(const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
                const exec::TextureLanes& lanes, std::uint32_t active, Texels<kLanes>& texels) {
  sample_lanes(image, sampler, request, lanes, active, texels);
}

#if defined(__x86_64__)
// Products that a fused operation would not round are exact where these add (filter.h), so all give the same
// bits.
__attribute__((target("avx2,f16c"))) void sample_avx2(const Image& image, const Sampler& sampler,
                                                      const exec::TextureRequest& request,
                                                      const exec::TextureLanes& lanes, std::uint32_t active,
                                                      Texels<kLanes>& texels) {
  sample_lanes(image, sampler, request, lanes, active, texels);
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c"))) void sample_avx512(
    const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
    const exec::TextureLanes& lanes, std::uint32_t active, Texels<kLanes>& texels) {
  sample_lanes(image, sampler, request, lanes, active, texels);
}
#endif

Sample sample_of_host() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0)
    return sample_avx512;
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("f16c") != 0) return sample_avx2;
#endif
  return sample_any;
}

const Sample sample_by_host = sample_of_host();

}  // namespace

bool samples_warps(const Image& image, const exec::TextureRequest& request) {
  const bool flat = request.geometry < isa::Geometry::d2ms;  // neither samples nor faces
  return flat && image.samples == 1 && image.level_count == 1 &&
         request.action != exec::TextureRequest::gather;
}

void sample_warp(const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
                 const exec::TextureLanes& lanes, std::uint32_t active, Texels<kLanes>& texels) {
  sample_by_host(image, sampler, request, lanes, active, texels);
}

}  // namespace raddle::machine
