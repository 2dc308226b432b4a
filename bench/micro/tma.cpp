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

/// Boxes of 64 elements of 2 bytes by as many rows as `bytes` has, in a tensor of 4 boxes width.
void tile_load(benchmark::State& state, exec::TensorMap::Swizzle swizzle) {
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
  map.rank = bytes / 128 > 256 ? 3 : 2;
  map.address = reinterpret_cast<std::uint64_t>(memory.tensor);
  map.size = {256, 256, 8};
  map.stride = {2, 512, 131072};
  map.box = {64, std::min(bytes / 128, 256u), map.rank == 3 ? bytes / 128 / 256 : 0};
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
  for (auto step : state) {
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
  }
  return true;
}();

}  // namespace
}  // namespace bench
