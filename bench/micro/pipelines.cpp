// Kernels that hand data on, against what the machine copies: a ring of mbarriers (a warp fetches by bulk
// copies, others add, a thread stores; target: 60 % of a copy), a single-pass scan and a scan by clusters
// (target: 4 GB/s). Rivals in the same run: memcpy by as many threads as the device has workers, a kernel
// that copies, and std::inclusive_scan by one thread. All read and write `kWords` words once.
#include <benchmark/benchmark.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "raddle/raddle.h"

namespace bench {
namespace {

constexpr std::uint32_t kWords = 64u << 20;  ///< 256 MiB to read and to write: no cache holds them
constexpr double kMoved = 8.0 * kWords;      ///< bytes

constexpr unsigned kTile = 16384, kStages = 4, kConsumers = 256;

/// Every block takes tiles of 16 KiB, each gridDim.x-th one, through a ring of four stages.
constexpr const char* kRing = R"(.version 9.0
.target sm_90
.address_size 64

.extern .shared .align 128 .b8 stage[];

.visible .entry ring(.param .u64 in, .param .u64 out, .param .u32 tiles)
{
.shared .align 8 .b64 full[4];
.shared .align 8 .b64 empty[4];
.reg .pred %p, %done, %first, %more;
.reg .b32 %t, %i, %stages, %tile, %tiles, %step, %slot, %round, %parity, %at, %barrier, %free, %place;
.reg .b32 %a, %b, %c, %d;
.reg .b64 %in, %out, %from, %to;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  ld.param.u32 %tiles, [tiles];
  mov.u32 %t, %tid.x;
  mov.u32 %stages, stage;
  setp.eq.u32 %first, %t, 0;
  @!%first bra READY;
  mov.u32 %i, 0;
INIT:
  shl.b32 %a, %i, 3;
  mov.u32 %barrier, full;
  add.u32 %barrier, %barrier, %a;
  mbarrier.init.shared.b64 [%barrier], 1;
  mov.u32 %barrier, empty;
  add.u32 %barrier, %barrier, %a;
  mbarrier.init.shared.b64 [%barrier], 1;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 4;
  @%p bra INIT;
  fence.mbarrier_init.release.cluster;
READY:
  bar.sync 0;
  mov.u32 %tile, %ctaid.x;
  mov.u32 %step, %nctaid.x;
  mov.u32 %slot, 0;
  mov.u32 %round, 0;
  setp.lt.u32 %p, %t, 256;
  @%p bra CONSUME;

  // The producer: one thread of the last warp.
  setp.ne.u32 %p, %t, 256;
  @%p bra END;
PRODUCE:
  setp.ge.u32 %p, %tile, %tiles;
  @%p bra END;
  shl.b32 %a, %slot, 3;
  mov.u32 %free, empty;
  add.u32 %free, %free, %a;
  mov.u32 %barrier, full;
  add.u32 %barrier, %barrier, %a;
  xor.b32 %parity, %round, 1;
  and.b32 %parity, %parity, 1;
FREE:
  mbarrier.try_wait.parity.shared.b64 %done, [%free], %parity;
  @!%done bra FREE;
  mbarrier.arrive.expect_tx.shared.b64 _, [%barrier], 16384;
  mul.wide.u32 %from, %tile, 16384;
  add.u64 %from, %from, %in;
  shl.b32 %at, %slot, 14;
  add.u32 %at, %at, %stages;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%from], 16384, [%barrier];
  add.u32 %tile, %tile, %step;
  add.u32 %slot, %slot, 1;
  and.b32 %slot, %slot, 3;
  setp.eq.u32 %p, %slot, 0;
  @%p add.u32 %round, %round, 1;
  bra PRODUCE;

CONSUME:
  setp.ge.u32 %p, %tile, %tiles;
  @%p bra END;
  shl.b32 %a, %slot, 3;
  mov.u32 %free, empty;
  add.u32 %free, %free, %a;
  mov.u32 %barrier, full;
  add.u32 %barrier, %barrier, %a;
  and.b32 %parity, %round, 1;
FULL:
  mbarrier.try_wait.parity.shared.b64 %done, [%barrier], %parity;
  @!%done bra FULL;
  shl.b32 %at, %slot, 14;
  add.u32 %at, %at, %stages;
  shl.b32 %place, %t, 4;
  add.u32 %place, %place, %at;
  ld.shared.v4.u32 {%a, %b, %c, %d}, [%place];
  add.u32 %a, %a, 1;
  add.u32 %b, %b, 1;
  add.u32 %c, %c, 1;
  add.u32 %d, %d, 1;
  st.shared.v4.u32 [%place], {%a, %b, %c, %d};
  ld.shared.v4.u32 {%a, %b, %c, %d}, [%place+4096];
  add.u32 %a, %a, 1;
  add.u32 %b, %b, 1;
  add.u32 %c, %c, 1;
  add.u32 %d, %d, 1;
  st.shared.v4.u32 [%place+4096], {%a, %b, %c, %d};
  ld.shared.v4.u32 {%a, %b, %c, %d}, [%place+8192];
  add.u32 %a, %a, 1;
  add.u32 %b, %b, 1;
  add.u32 %c, %c, 1;
  add.u32 %d, %d, 1;
  st.shared.v4.u32 [%place+8192], {%a, %b, %c, %d};
  ld.shared.v4.u32 {%a, %b, %c, %d}, [%place+12288];
  add.u32 %a, %a, 1;
  add.u32 %b, %b, 1;
  add.u32 %c, %c, 1;
  add.u32 %d, %d, 1;
  st.shared.v4.u32 [%place+12288], {%a, %b, %c, %d};
  fence.proxy.async.shared::cta;
  bar.sync 1, 256;
  @!%first bra STORED;
  mul.wide.u32 %to, %tile, 16384;
  add.u64 %to, %to, %out;
  cp.async.bulk.global.shared::cta.bulk_group [%to], [%at], 16384;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
  mbarrier.arrive.shared.b64 _, [%free];
STORED:
  add.u32 %tile, %tile, %step;
  add.u32 %slot, %slot, 1;
  and.b32 %slot, %slot, 3;
  setp.eq.u32 %p, %slot, 0;
  @%p add.u32 %round, %round, 1;
  bra CONSUME;
END:
  @%first cp.async.bulk.wait_group 0;
  ret;
}

// In single assignments, as nvcc writes them.
.visible .entry copy(.param .u64 copy_param_0, .param .u64 copy_param_1)
{
.reg .b32 %r<6>;
.reg .b64 %rd<8>;
  ld.param.u64 %rd1, [copy_param_0];
  ld.param.u64 %rd2, [copy_param_1];
  cvta.to.global.u64 %rd3, %rd2;
  cvta.to.global.u64 %rd4, %rd1;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.s32 %rd5, %r4, 4;
  add.s64 %rd6, %rd4, %rd5;
  ld.global.u32 %r5, [%rd6];
  add.s64 %rd7, %rd3, %rd5;
  st.global.u32 [%rd7], %r5;
  ret;
}
)";

/// A device with buffers of random words, zeroes for the result.
struct Bench {
  raddle::Device device;
  raddle::Buffer<std::uint32_t> in, out;
};

raddle::Result<Bench> prepare() {
  TRY_ASSIGN(raddle::Device device, raddle::Device::open({.tier = "optimised"}));
  std::vector<std::uint32_t> words(kWords);
  std::iota(words.begin(), words.end(), 1u);
  TRY_ASSIGN(raddle::Buffer<std::uint32_t> in, device.buffer(words));
  TRY_ASSIGN(raddle::Buffer<std::uint32_t> out, device.buffer(std::vector<std::uint32_t>(kWords)));
  return Bench{std::move(device), std::move(in), std::move(out)};
}

using Run = std::function<raddle::Result<void>()>;

/// Once to compile and to check: the word at `at` is `want`. Then as often as asked.
raddle::Result<void> measure(benchmark::State& state, Bench& bench, const Run& run, std::size_t at,
                             std::uint32_t want) {
  TRY(run());
  std::vector<std::uint32_t> got(kWords);
  TRY(bench.out.read(got));
  if (got[at] != want) return raddle::Error::invalid("word {} is {}, not {}", at, got[at], want);
  for (auto step : state) TRY(run());
  state.SetBytesProcessed(static_cast<std::int64_t>(kMoved) * state.iterations());
  return {};
}

raddle::Result<void> wait(raddle::Result<raddle::Launch> launch) {
  if (!launch.ok()) return launch.error();
  TRY(launch->wait());
  return {};
}

raddle::Result<void> ring(benchmark::State& state) {
  TRY_ASSIGN(Bench bench, prepare());
  TRY_ASSIGN(raddle::Module module, bench.device.load(kRing));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("ring"));
  const raddle::LaunchConfig config{
      .grid = {16}, .block = {kConsumers + 32}, .shared_bytes = kStages * kTile};
  const Run run = [&] { return wait(kernel.launch(config, bench.in, bench.out, kWords * 4 / kTile)); };
  return measure(state, bench, run, kWords - 1, kWords + 1);
}

raddle::Result<void> copy_kernel(benchmark::State& state) {
  TRY_ASSIGN(Bench bench, prepare());
  TRY_ASSIGN(raddle::Module module, bench.device.load(kRing));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("copy"));
  const raddle::LaunchConfig config{.grid = {kWords / 256}, .block = {256}};
  const Run run = [&] { return wait(kernel.launch(config, bench.in, bench.out)); };
  return measure(state, bench, run, kWords - 1, kWords);
}

constexpr const char* kExamples = RADDLE_EXAMPLES_DIR "/kernels/";

raddle::Result<void> cluster_scan(benchmark::State& state) {
  constexpr unsigned kCluster = 8, kThreads = 256, kItems = 16, kRun = kCluster * kThreads * kItems;
  TRY_ASSIGN(Bench bench, prepare());
  TRY_ASSIGN(raddle::Module module, bench.device.load_file(std::string(kExamples) + "cluster_scan.ptx"));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("cluster_scan"));
  const raddle::LaunchConfig config{
      .grid = {kWords / (kThreads * kItems)}, .block = {kThreads}, .cluster = {kCluster}};
  const Run run = [&] { return wait(kernel.launch(config, bench.in, bench.out, kWords)); };
  return measure(state, bench, run, kRun - 1, kRun * (kRun + 1) / 2);
}

raddle::Result<void> scan_lookback(benchmark::State& state) {
  constexpr unsigned kThreads = 256, kItems = 16, kTiles = kWords / (kThreads * kItems);
  TRY_ASSIGN(Bench bench, prepare());
  TRY_ASSIGN(raddle::Module module, bench.device.load_file(std::string(kExamples) + "scan_lookback.ptx"));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("scan_lookback"));
  TRY_ASSIGN(raddle::Buffer<std::uint64_t> tiles, bench.device.buffer<std::uint64_t>(kTiles));
  TRY_ASSIGN(raddle::Buffer<std::uint32_t> ticket, bench.device.buffer<std::uint32_t>(1));
  const raddle::LaunchConfig config{.grid = {kTiles}, .block = {kThreads}};
  const Run run = [&]() -> raddle::Result<void> {
    TRY(bench.device.fill(tiles.address(), 0, kTiles * 8));
    TRY(bench.device.fill(ticket.address(), 0, 4));
    return wait(kernel.launch(config, bench.in, bench.out, tiles, ticket, kWords));
  };
  return measure(state, bench, run, 999'999, 1'000'000u * 500'000u + 500'000u);
}

void memcpy_threads(benchmark::State& state) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::uint32_t> in(kWords, 1), out(kWords);
  const std::size_t share = kWords / threads;
  for (auto step : state) {
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < threads; ++i)
      all.emplace_back([&, i] { std::memcpy(&out[i * share], &in[i * share], share * 4); });
    all.clear();
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(kMoved) * state.iterations());
}

void library_scan(benchmark::State& state) {
  std::vector<std::uint32_t> in(kWords, 1), out(kWords);
  for (auto step : state) {
    std::inclusive_scan(in.begin(), in.end(), out.begin());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(kMoved) * state.iterations());
}

void add(const char* name, raddle::Result<void> (*run)(benchmark::State&)) {
  benchmark::RegisterBenchmark(name,
                               [=](benchmark::State& state) {
                                 if (raddle::Result<void> done = run(state); !done.ok())
                                   state.SkipWithError(done.error().to_string().c_str());
                               })
      ->Unit(benchmark::kMicrosecond)
      ->UseRealTime();
}

[[maybe_unused]] const bool kPipelines = [] {
  benchmark::RegisterBenchmark("pipelines/memcpy", memcpy_threads)
      ->Unit(benchmark::kMicrosecond)
      ->UseRealTime();
  benchmark::RegisterBenchmark("pipelines/inclusive_scan", library_scan)
      ->Unit(benchmark::kMicrosecond)
      ->UseRealTime();
  add("pipelines/copy_kernel", copy_kernel);
  add("pipelines/ring", ring);
  add("pipelines/cluster_scan", cluster_scan);
  add("pipelines/scan_lookback", scan_lookback);
  return true;
}();

}  // namespace
}  // namespace bench
