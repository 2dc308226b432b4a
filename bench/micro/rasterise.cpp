// Finding out which CTA a launch index is: the rasteriser of an SM (W-14), and dividing for every CTA. One SM
// of `sms` takes every sms-th CTA (argument), as when others start in between.
#include <benchmark/benchmark.h>

#include "machine/launch/rasteriser.h"

namespace bench {
namespace {

using raddle::machine::CtaPosition;
using raddle::machine::GridKind;
using raddle::machine::Rasteriser;

volatile std::uint32_t extents[3] = {1536, 1024, 16};  // not known to the compiler, as in a launch
const std::uint32_t kGrid[3] = {extents[0], extents[1], extents[2]};
constexpr std::uint64_t kCtas = 1536ull * 1024 * 16;

GridKind kind_of(std::int64_t depth) {
  GridKind kind;
  kind.depth = static_cast<unsigned>(depth);
  for (unsigned level = 0; level < kind.depth; ++level) {
    kind.levels[level].extent[0] = 2;
    kind.levels[level].extent[1] = 4;
  }
  return kind;
}

/// The divisions that the rasteriser replaces: each level's extents divide the launch index.
void divide(const GridKind& kind, std::uint64_t index, CtaPosition& position) {
  std::uint32_t id[3] = {}, scale[3] = {1, 1, 1}, clusters[3] = {kGrid[0], kGrid[1], kGrid[2]};
  std::uint64_t rank = 0, below = 1;
  for (unsigned step = kind.depth + 1; step-- != 0;) {
    std::uint32_t whole[3];
    for (unsigned axis = 0; axis < 3; ++axis) {
      whole[axis] = step == 0 ? clusters[axis] : kind.levels[step - 1].extent[axis];
      if (step != 0) clusters[axis] /= whole[axis];
      const std::uint64_t at = axis == 2 && step == 0 ? index : index % whole[axis];
      index /= whole[axis];
      id[axis] += static_cast<std::uint32_t>(at) * scale[axis];
      scale[axis] *= whole[axis];
      rank += step == 0 ? 0 : at * below;
      below *= whole[axis];
    }
    if (step != 0) position.clusters[step - 1].rank = static_cast<std::uint32_t>(rank);
  }
  for (unsigned axis = 0; axis < 3; ++axis) position.ctaid[axis] = id[axis];
  position.cluster_rank = static_cast<std::uint32_t>(kind.depth == 0 ? 0 : rank);
}

/// For a plain grid: three divisions and two remainders, as the compiler makes them of the obvious text.
void divide_plain(std::uint64_t index, CtaPosition& position) {
  const std::uint64_t row = index / kGrid[0];
  position.ctaid[0] = static_cast<std::uint32_t>(index % kGrid[0]);
  position.ctaid[1] = static_cast<std::uint32_t>(row % kGrid[1]);
  position.ctaid[2] = static_cast<std::uint32_t>(row / kGrid[1]);
}

void rasterise(benchmark::State& state) {
  const GridKind kind = kind_of(state.range(0));
  const auto others = static_cast<std::uint64_t>(state.range(1) - 1);
  Rasteriser sm;
  sm.reset(kind, kGrid);
  std::uint64_t index = 0;
  for (auto step : state) {
    if (index + others >= kCtas) sm.reset(kind, kGrid), index = 0;
    sm.skip(others);
    benchmark::DoNotOptimize(sm.take().ctaid[0]);
    index += others + 1;
  }
  state.SetItemsProcessed(state.iterations());
}

void divide_each(benchmark::State& state) {
  GridKind kind = kind_of(state.range(0));
  benchmark::DoNotOptimize(kind);
  const auto sms = static_cast<std::uint64_t>(state.range(1));
  CtaPosition position;
  std::uint64_t index = 0;
  for (auto step : state) {
    index = index + sms >= kCtas ? 0 : index + sms;
    if (kind.depth == 0) {
      divide_plain(index, position);
    } else {
      divide(kind, index, position);
    }
    benchmark::DoNotOptimize(position);
  }
  state.SetItemsProcessed(state.iterations());
}

void grids(benchmark::internal::Benchmark* benchmark) {
  for (const int depth : {0, 1, 3})
    for (const int sms : {1, 8, 132}) benchmark->Args({depth, sms});
  benchmark->ArgNames({"levels", "sms"});
}
BENCHMARK(rasterise)->Apply(grids);
BENCHMARK(divide_each)->Apply(grids);

}  // namespace
}  // namespace bench
