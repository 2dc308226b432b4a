// A bilinear fetch of one-channel floats near each other: a warp at once, lane by lane, and what a program
// does by hand on its array, with the same clamped edges. Time is per warp.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "exec/abi.h"
#include "machine/texture/texture_unit.h"

namespace {

using raddle::machine::TextureUnit;

constexpr int kSide = 512;

struct Scene {
  std::vector<float> texels = std::vector<float>(kSide * kSide);
  TextureUnit unit;
  raddle::exec::TextureRequest request;
  raddle::exec::TextureLanes lanes{};

  Scene() {
    for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<float>(i % 251);
    raddle::Image image;
    image.levels[0] = {
        {reinterpret_cast<std::uint64_t>(texels.data())}, kSide * 4, kSide * kSide * 4, kSide, kSide, 1};
    raddle::Sampler sampler;
    sampler.filter = raddle::FilterMode::linear;
    std::fill(std::begin(lanes.handle), std::end(lanes.handle), unit.add_texture(image, sampler));
  }

  static float x_of(unsigned lane, unsigned row) { return 100.3f + static_cast<float>(lane + row % 64); }
  static float y_of(unsigned row) { return 0.7f + static_cast<float>(row % kSide); }
  void move_to(unsigned row) {
    for (unsigned l = 0; l < raddle::exec::kWarpSize; ++l) {
      lanes.coordinate[0][l] = std::bit_cast<std::uint32_t>(x_of(l, row));
      lanes.coordinate[1][l] = std::bit_cast<std::uint32_t>(y_of(row));
    }
  }
};

void texture_of_warp(benchmark::State& state) {
  Scene scene;
  unsigned row = 0;
  for (auto _ : state) {
    scene.move_to(row++);
    benchmark::DoNotOptimize(scene.unit.texture_of_warp(scene.request, scene.lanes, ~0u));
  }
}
BENCHMARK(texture_of_warp);

void texture_by_lanes(benchmark::State& state) {
  Scene scene;
  unsigned row = 0;
  for (auto _ : state) {
    scene.move_to(row++);
    for (unsigned l = 0; l < raddle::exec::kWarpSize; ++l)
      benchmark::DoNotOptimize(scene.unit.texture(scene.request, scene.lanes, l).note);
  }
}
BENCHMARK(texture_by_lanes);

float bilinear(const std::vector<float>& texels, float x, float y) {
  const float left = std::floor(x - 0.5f), below = std::floor(y - 0.5f);
  const float a = x - 0.5f - left, b = y - 0.5f - below;
  const auto at = [&](float i, float j) {
    return texels[static_cast<std::size_t>(std::clamp(static_cast<int>(j), 0, kSide - 1) * kSide +
                                           std::clamp(static_cast<int>(i), 0, kSide - 1))];
  };
  return (1 - b) * ((1 - a) * at(left, below) + a * at(left + 1, below)) +
         b * ((1 - a) * at(left, below + 1) + a * at(left + 1, below + 1));
}

void bilinear_by_hand(benchmark::State& state) {
  const Scene scene;
  unsigned row = 0;
  for (auto _ : state) {
    for (unsigned l = 0; l < raddle::exec::kWarpSize; ++l)
      benchmark::DoNotOptimize(bilinear(scene.texels, Scene::x_of(l, row), Scene::y_of(row)));
    ++row;
  }
}
BENCHMARK(bilinear_by_hand);

}  // namespace
