// A warp's fetch gives each lane what the lane alone gets, bit for bit: both come from one template, but
// vector code decides about edges, borders and lanes that do not execute for all of them at once.
#include "machine/texture/warp_sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "machine/texture/texture_unit.h"

namespace raddle::machine {
namespace {

constexpr unsigned kLanes = exec::kWarpSize;

/// RADDLE_TEST_SEED.
std::uint32_t seed_of_textures() {
  const char* const given = std::getenv("RADDLE_TEST_SEED");
  return static_cast<std::uint32_t>(given == nullptr ? 1 : std::atoi(given));
}

unsigned drawn_below(std::mt19937& random, unsigned bound) { return random() % bound; }

struct Drawn {
  std::vector<std::byte> texels;
  Image image;
  Sampler sampler;
  exec::TextureRequest request;
};

/// An image of a few texels a side, any format, any sampler; requests of one level without faces.
Drawn draw(std::mt19937& random) {
  Drawn d;
  d.image.format.type = static_cast<ChannelType>(drawn_below(random, 12));
  d.image.format.channels = 1u << drawn_below(random, 3);
  d.image.dimensions = 1 + drawn_below(random, 3);
  d.image.linear_memory = d.image.dimensions == 1 && drawn_below(random, 4) == 0;
  d.image.layered = d.image.dimensions < 3 && drawn_below(random, 3) == 0;
  ImageLevel& level = d.image.levels[0];
  level.width = 1 + drawn_below(random, 9);
  if (d.image.dimensions > 1) level.height = 1 + drawn_below(random, 9);
  if (d.image.dimensions > 2 || d.image.layered) level.slices = 1 + drawn_below(random, 5);
  level.row_pitch = level.width * d.image.format.bytes() + drawn_below(random, 3) * 16;
  level.slice_pitch = level.row_pitch * level.height;
  d.texels.resize(level.slice_pitch * level.slices);
  for (std::byte& byte : d.texels) byte = static_cast<std::byte>(random());
  level.address = {reinterpret_cast<std::uint64_t>(d.texels.data())};
  for (AddressMode& mode : d.sampler.address) mode = static_cast<AddressMode>(drawn_below(random, 5));
  d.sampler.filter = static_cast<FilterMode>(drawn_below(random, 2));
  d.sampler.normalized_coordinates = drawn_below(random, 2) == 0;
  d.sampler.normalized_reads = drawn_below(random, 2) == 0;
  d.sampler.srgb = drawn_below(random, 4) == 0;
  for (float& border : d.sampler.border) border = static_cast<float>(drawn_below(random, 7)) / 4 - 0.5f;
  using isa::Geometry;
  d.request.geometry = d.image.dimensions == 3   ? Geometry::d3
                       : d.image.dimensions == 2 ? (d.image.layered ? Geometry::a2d : Geometry::d2)
                                                 : (d.image.layered ? Geometry::a1d : Geometry::d1);
  d.request.integer_coordinates = d.image.linear_memory || drawn_below(random, 3) == 0;
  d.request.has_offset = drawn_below(random, 3) == 0;
  return d;
}

float coordinate(std::mt19937& random, const Drawn& d, unsigned dimension) {
  switch (drawn_below(random, 40)) {
    case 0:
      return std::numeric_limits<float>::quiet_NaN();
    case 1:
      return std::numeric_limits<float>::infinity();
    case 2:
      return -std::numeric_limits<float>::infinity();
    case 3:
      return 3e38f;
    case 4:
      return -1e20f;
    default:
      break;
  }
  const ImageLevel& level = d.image.levels[0];
  const auto extent = static_cast<float>(dimension == 0   ? level.width
                                         : dimension == 1 ? level.height
                                                          : level.slices);
  const float whole = d.sampler.normalized_coordinates ? 1 : extent;
  return (static_cast<float>(drawn_below(random, 4096)) / 1024 - 1.5f) * whole;
}

void draw_lanes(std::mt19937& random, const Drawn& d, exec::TextureLanes& lanes) {
  for (unsigned l = 0; l < kLanes; ++l) {
    lanes.layer[l] = drawn_below(random, 8);
    for (unsigned k = 0; k < 3; ++k) {
      lanes.coordinate[k][l] = d.request.integer_coordinates
                                   ? (drawn_below(random, 20) == 0 ? random() : drawn_below(random, 14) - 2)
                                   : std::bit_cast<std::uint32_t>(coordinate(random, d, k));
      lanes.offset[k][l] = static_cast<std::int32_t>(drawn_below(random, 16)) - 8;
    }
  }
}

TEST(WarpSampling, GivesEachLaneWhatItGetsAlone) {
  std::mt19937 random(seed_of_textures());
  for (unsigned round = 0; round < 4000; ++round) {
    const Drawn d = draw(random);
    TextureUnit unit;
    const std::uint64_t handle = unit.add_texture(d.image, d.sampler);
    exec::TextureLanes lanes{};
    draw_lanes(random, d, lanes);
    std::fill(std::begin(lanes.handle), std::end(lanes.handle), handle);
    const std::uint32_t active =
        (drawn_below(random, 3) == 0 ? ~0u : random()) | 3u << drawn_below(random, 31);
    exec::TextureLanes together = lanes, alone = lanes;
    ASSERT_TRUE(unit.texture_of_warp(d.request, together, active));
    for (unsigned l = 0; l < kLanes; ++l) {
      if ((active >> l & 1) == 0) continue;
      ASSERT_EQ(unit.texture(d.request, alone, l).note, nullptr);
      for (unsigned c = 0; c < 4; ++c)
        ASSERT_EQ(together.result[c][l], alone.result[c][l])
            << "round " << round << ", lane " << l << ", channel " << c << ", seed " << seed_of_textures();
    }
  }
}

/// What vector code does not answer is asked lane by lane: textures that differ, one lane.
TEST(WarpSampling, LeavesOtherRequestsToLanes) {
  std::mt19937 random(seed_of_textures());
  const Drawn d = draw(random);
  TextureUnit unit;
  exec::TextureLanes lanes{};
  std::fill(std::begin(lanes.handle), std::end(lanes.handle), unit.add_texture(d.image, d.sampler));
  EXPECT_TRUE(unit.texture_of_warp(d.request, lanes, 3));
  EXPECT_FALSE(unit.texture_of_warp(d.request, lanes, 2));
  lanes.handle[5] = unit.add_texture(d.image, d.sampler);
  EXPECT_TRUE(unit.texture_of_warp(d.request, lanes, 3)) << "lane 5 does not execute";
  EXPECT_FALSE(unit.texture_of_warp(d.request, lanes, 0x21));
  lanes.handle[5] = 77;
  EXPECT_FALSE(unit.texture_of_warp(d.request, lanes, 0x21)) << "no texture: the lane says so";
}

}  // namespace
}  // namespace raddle::machine
