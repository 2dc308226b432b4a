#include "isa/harness/textures.h"

#include <algorithm>
#include <bit>

namespace raddle::testing {
namespace {

using isa::Geometry;

// Handles count what is added: textures of these geometries (numbers, then integers, for each), surfaces of
// them, multi-sample textures, the sampler. Files of tests name some by number.
constexpr Geometry kGeometries[] = {Geometry::d1,  Geometry::d2,   Geometry::d3,   Geometry::a1d,
                                    Geometry::a2d, Geometry::cube, Geometry::acube};
constexpr Geometry kMultisample[] = {Geometry::d2ms, Geometry::a2dms};
constexpr unsigned kSurfaces = 2 * std::size(kGeometries);
constexpr unsigned kMultisamples = kSurfaces + std::size(kGeometries);
constexpr unsigned kSampler = kMultisamples + 2 * std::size(kMultisample);
constexpr std::uint64_t kFirstGeneration = std::uint64_t{1} << 32;

template <std::size_t N>
unsigned place_in(const Geometry (&list)[N], Geometry geometry) {
  return static_cast<unsigned>(std::ranges::find(list, geometry) - list);
}

bool is_cube(Geometry g) { return g == Geometry::cube || g == Geometry::acube; }

}  // namespace

std::uint64_t TestTextures::texture(Geometry geometry, bool integers) {
  const unsigned first = isa::has_sample(geometry) ? kMultisamples + 2 * place_in(kMultisample, geometry)
                                                   : 2 * place_in(kGeometries, geometry);
  return kFirstGeneration | (first + integers) << 4 | 13;
}
std::uint64_t TestTextures::surface(Geometry geometry) {
  return kFirstGeneration | (kSurfaces + place_in(kGeometries, geometry)) << 4 | 14;
}
std::uint64_t TestTextures::sampler() { return kFirstGeneration | kSampler << 4 | 15; }

void TestTextures::add_texture(Geometry geometry, bool integers) {
  Image image;
  image.format = {integers ? ChannelType::signed32 : ChannelType::float32, 4};
  image.dimensions = is_cube(geometry) ? 2 : isa::coordinate_count(geometry);
  image.layered = isa::has_layer(geometry);
  image.cube = is_cube(geometry);
  image.samples = isa::has_sample(geometry) ? kSamples : 1;
  image.level_count = image.samples > 1 ? 1 : 2;
  const unsigned slices = geometry == Geometry::cube                             ? 6
                          : geometry == Geometry::acube                          ? 12
                          : geometry == Geometry::d1 || geometry == Geometry::d2 ? 1
                          : geometry == Geometry::d2ms                           ? 2
                                                                                 : 4;
  for (unsigned l = 0; l < image.level_count; ++l) {
    const unsigned width = (image.cube ? 4 : 8) >> l, height = image.dimensions == 1 ? 1 : 4 >> l;
    auto& memory = memory_.emplace_back();
    for (unsigned s = 0; s < slices; ++s)
      for (unsigned y = 0; y < height; ++y)
        for (unsigned x = 0; x < width; ++x)
          for (unsigned c = 0; c < 4; ++c) {
            const unsigned value = x + 8 * y + 32 * s + 384 * c + 2048 * l;
            memory.push_back(integers ? value : std::bit_cast<std::uint32_t>(static_cast<float>(value)));
          }
    image.levels[l] = {{reinterpret_cast<std::uint64_t>(memory.data())},
                       16u * width,
                       16u * width * height,
                       width,
                       height,
                       slices};
  }
  Sampler sampler;
  sampler.filter = sampler.mipmap_filter = integers ? FilterMode::point : FilterMode::linear;
  sampler.greatest_level = 1;
  unit_.add_texture(image, sampler);
}

TestTextures::TestTextures() {
  for (const Geometry g : kGeometries)
    for (const bool integers : {false, true}) add_texture(g, integers);
  for (unsigned i = 0; i < sizeof surface_; ++i) surface_[i] = static_cast<std::byte>(i * 7);
  for (const Geometry g : kGeometries) {
    const bool flat = isa::coordinate_count(g) == 1 && !isa::has_layer(g);
    Image image;
    image.format = {ChannelType::unsigned32, 1};
    image.dimensions = isa::coordinate_count(g);
    image.layered = isa::has_layer(g);
    const std::uint32_t slices = g == Geometry::a1d ? 8 : g == Geometry::d3 || g == Geometry::a2d ? 2 : 1;
    const std::uint32_t row = flat ? 512 : 64, height = 512 / row / slices;
    image.levels[0] = {{reinterpret_cast<std::uint64_t>(surface_)},
                       row,
                       std::uint64_t{row} * height,
                       row / 4,
                       height,
                       slices};
    unit_.add_surface(image);
  }
  for (const Geometry g : kMultisample)
    for (const bool integers : {false, true}) add_texture(g, integers);
  Sampler sampler;
  sampler.address.fill(AddressMode::wrap);
  unit_.add_sampler(sampler, true);
}

std::uint32_t coordinate_mask(const isa::Opcode& opcode, bool is_first) {
  const bool traps = opcode.has(isa::Mod::trap);
  if (!is_first) return traps ? 1 : 0x80000003;
  if (opcode.has(isa::Mod::p)) return traps ? 6 : 0x8000001e;
  const std::uint32_t bytes = std::max(opcode.vector_length() * isa::byte_size(opcode.type()), 1u);
  return (traps ? 0x3fu : 0x8000007fu) & ~(bytes - 1);
}

}  // namespace raddle::testing
