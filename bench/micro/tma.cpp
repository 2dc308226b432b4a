// A tile load by the tensor memory unit against memcpy of the same bytes (target: at most 1.5 times as long
// from 4 KiB on, 3 times at 1 KiB). The tensor is wider than the box, so that rows are apart; memcpy has one
// piece.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "exec/mbarrier.h"
#include "machine/tma/tma_unit.h"

namespace bench {
namespace {

using namespace raddle;

constexpr std::uint32_t kBlock = 2048, kBarrier = 1024;
constexpr std::size_t kTensor = 1 << 20;

struct alignas(128) Memory {
  std::byte shared[160 << 10];
  std::byte tensor[kTensor];
  std::byte map[exec::kTensorMapBytes];
};

/// Boxes of `row` bytes by as many rows as `bytes` has, in a tensor of rows of 512 bytes.
/// @param moves  each load is of another box, which nobody can foresee
void tile_load(benchmark::State& state, exec::TensorMap::Swizzle swizzle, std::uint32_t row = 128,
               bool moves = false) {
  const auto bytes = static_cast<std::uint32_t>(state.range(0));
  static Memory memory;
  exec::ClusterContext cluster{};
  cluster.window = memory.shared;
  cluster.cta_count = 1;
  cluster.shared_bytes = sizeof memory.shared;
  const exec::LaunchContext launch{};
  exec::CtaContext cta{};
  cta.launch = &launch;
  cta.cluster = &cluster;
  cta.shared = cluster.window;
  exec::TensorMap map;
  map.element = exec::TensorMap::Element::f16;
  map.rank = bytes / row > 256 ? 3 : 2;
  map.address = reinterpret_cast<std::uint64_t>(memory.tensor);
  map.size = {256, 256, 8};
  map.stride = {2, 512, 131072};
  map.box = {row / 2, std::min(bytes / row, 256u), map.rank == 3 ? bytes / row / 256 : 0};
  map.step = {1, 1, 1};
  map.swizzle = swizzle;
  exec::encode(map, memory.map);
  auto& barrier = exec::mbarrier_at(memory.shared + kBarrier);
  exec::BulkRequest request{.kind = exec::BulkKind{.direction = exec::BulkDirection::to_shared,
                                                   .mode = exec::BulkMode::tile,
                                                   .rank = static_cast<std::uint8_t>(map.rank)}
                                        .word(),
                            .global = reinterpret_cast<std::uint64_t>(memory.map),
                            .shared = reinterpret_cast<std::uint64_t>(memory.shared + kBlock),
                            .barrier = reinterpret_cast<std::uint64_t>(memory.shared + kBarrier)};
  machine::TmaUnit unit;
  std::uint32_t random = 1;
  for (auto step : state) {
    if (moves) {
      random = random * 1664525 + 1013904223;
      request.coordinates[0] = static_cast<std::int32_t>(random >> 30) * 64;
      request.coordinates[1] = static_cast<std::int32_t>(random >> 24 & 31);
    }
    exec::init_mbarrier(barrier, 1);
    if (unit.submit({.cta = &cta}, request)) state.SkipWithError("refused");
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

void copy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  static Memory memory;
  for (auto step : state) {
    std::memcpy(memory.shared + kBlock, memory.tensor, bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const std::int64_t bytes : {1024, 4096, 16384, 65536}) {
    benchmark::RegisterBenchmark("tma/memcpy", copy)->Arg(bytes);
    benchmark::RegisterBenchmark("tma/tile", [](auto& s) {
      tile_load(s, exec::TensorMap::Swizzle::none);
    })->Arg(bytes);
    benchmark::RegisterBenchmark("tma/tile_swizzled", [](auto& s) {
      tile_load(s, exec::TensorMap::Swizzle::bytes128);
    })->Arg(bytes);
    if (bytes > 4096) continue;
    benchmark::RegisterBenchmark("tma/moving", [](auto& s) {
      tile_load(s, exec::TensorMap::Swizzle::bytes128, 128, true);
    })->Arg(bytes);
    benchmark::RegisterBenchmark("tma/rows_of_64", [](auto& s) {
      tile_load(s, exec::TensorMap::Swizzle::none, 64);
    })->Arg(bytes);
    benchmark::RegisterBenchmark("tma/rows_of_64_swizzled", [](auto& s) {
      tile_load(s, exec::TensorMap::Swizzle::bytes64, 64);
    })->Arg(bytes);
    benchmark::RegisterBenchmark("tma/rows_of_256", [](auto& s) {
      tile_load(s, exec::TensorMap::Swizzle::none, 256);
    })->Arg(bytes);
  }
  return true;
}();

}  // namespace
}  // namespace bench
