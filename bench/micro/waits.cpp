// What waiting costs on one worker: an mbarrier's phase handed from warp to warp and from block to block
// (target: 100 ns from the wait to the resumed warp), the barrier of a cluster (150 ns a block). Rivals in
// the same run: two threads that hand a word to each other by std::atomic::wait on one core, and bar.sync.
#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <string>
#include <thread>

#include "raddle/raddle.h"

namespace bench {
namespace {

constexpr unsigned kRounds = 20000;

constexpr const char* kPtx = R"(.version 9.0
.target sm_90
.address_size 64

// Two warps: one says ping, the other one says pong. A thread of each arrives, all of its lanes wait.
.visible .entry two_warps(.param .u32 rounds)
{
.shared .align 8 .b64 phase[2];
.reg .pred %first, %done, %more, %one;
.reg .b32 %t, %lane, %own, %other, %round, %rounds, %parity;
  ld.param.u32 %rounds, [rounds];
  mov.u32 %t, %tid.x;
  and.b32 %lane, %t, 31;
  setp.eq.u32 %one, %lane, 0;
  setp.lt.u32 %first, %t, 32;
  mov.u32 %own, phase;
  add.u32 %other, %own, 8;
  setp.ne.u32 %done, %t, 0;
  @%done bra READY;
  mbarrier.init.shared.b64 [%own], 1;
  mbarrier.init.shared.b64 [%other], 1;
READY:
  bar.sync 0;
  mov.u32 %round, 0;
  @!%first bra PONG;
PING:
  and.b32 %parity, %round, 1;
  @%one mbarrier.arrive.shared.b64 _, [%own];
PING_WAIT:
  mbarrier.try_wait.parity.shared.b64 %done, [%other], %parity;
  @!%done bra PING_WAIT;
  add.u32 %round, %round, 1;
  setp.lt.u32 %more, %round, %rounds;
  @%more bra PING;
  ret;
PONG:
  and.b32 %parity, %round, 1;
PONG_WAIT:
  mbarrier.try_wait.parity.shared.b64 %done, [%own], %parity;
  @!%done bra PONG_WAIT;
  @%one mbarrier.arrive.shared.b64 _, [%other];
  add.u32 %round, %round, 1;
  setp.lt.u32 %more, %round, %rounds;
  @%more bra PONG;
  ret;
}

// Two blocks of a cluster, a warp each: each waits for its own object, at which the other one arrives.
.visible .entry two_blocks(.param .u32 rounds)
{
.shared .align 8 .b64 phase;
.reg .pred %first, %done, %more, %one;
.reg .b32 %t, %rank, %peer, %own, %other, %round, %rounds, %parity;
  ld.param.u32 %rounds, [rounds];
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  setp.eq.u32 %one, %t, 0;
  setp.eq.u32 %first, %rank, 0;
  mov.u32 %own, phase;
  xor.b32 %peer, %rank, 1;
  mapa.shared::cluster.u32 %other, %own, %peer;
  @%one mbarrier.init.shared.b64 [%own], 1;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mov.u32 %round, 0;
  @!%first bra PONG;
PING:
  and.b32 %parity, %round, 1;
  @%one mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%other];
PING_WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [%own], %parity;
  @!%done bra PING_WAIT;
  add.u32 %round, %round, 1;
  setp.lt.u32 %more, %round, %rounds;
  @%more bra PING;
  bra END;
PONG:
  and.b32 %parity, %round, 1;
PONG_WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [%own], %parity;
  @!%done bra PONG_WAIT;
  @%one mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%other];
  add.u32 %round, %round, 1;
  setp.lt.u32 %more, %round, %rounds;
  @%more bra PONG;
END:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}

.visible .entry cluster_barrier(.param .u32 rounds)
{
.reg .pred %more;
.reg .b32 %round, %rounds;
  ld.param.u32 %rounds, [rounds];
  mov.u32 %round, 0;
AGAIN:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  add.u32 %round, %round, 1;
  setp.lt.u32 %more, %round, %rounds;
  @%more bra AGAIN;
  ret;
}

// The same by bar.sync of a barrier that makes warps fibers, as those of clusters do.
.visible .entry block_barrier(.param .u32 rounds)
{
.reg .pred %more;
.reg .b32 %round, %rounds;
  ld.param.u32 %rounds, [rounds];
  mov.u32 %round, 0;
AGAIN:
  bar.sync 1;
  add.u32 %round, %round, 1;
  setp.lt.u32 %more, %round, %rounds;
  @%more bra AGAIN;
  ret;
}
)";

/// @param waits  of one launch that the time is divided by
raddle::Result<void> rounds(benchmark::State& state, const char* name, const raddle::LaunchConfig& config,
                            double waits) {
  TRY_ASSIGN(raddle::Device device, raddle::Device::open({.tier = "optimised", .workers = 1}));
  TRY_ASSIGN(raddle::Module module, device.load(kPtx));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel(name));
  {
    TRY_ASSIGN(raddle::Launch launch, kernel.launch(config, kRounds));
    TRY(launch.wait());
  }
  for (auto step : state) {
    TRY_ASSIGN(raddle::Launch launch, kernel.launch(config, kRounds));
    TRY(launch.wait());
  }
  state.counters["s_per_wait"] =
      benchmark::Counter(waits, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  return {};
}

void add(const std::string& name, const char* kernel, raddle::LaunchConfig config, double waits) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) {
                                 if (raddle::Result<void> done = rounds(state, kernel, config, waits);
                                     !done.ok())
                                   state.SkipWithError(done.error().to_string().c_str());
                               })
      ->Unit(benchmark::kMicrosecond)
      ->UseRealTime();
}

void on_first_core(pthread_t thread) {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  pthread_setaffinity_np(thread, sizeof first, &first);
}

/// Two threads on one core.
void two_threads(benchmark::State& state) {
  std::atomic<unsigned> word{0};
  auto play = [&](unsigned own) {
    for (unsigned turn = own; turn < 2 * kRounds; turn += 2) {
      for (unsigned seen; (seen = word.load(std::memory_order_acquire)) != turn;) word.wait(seen);
      word.store(turn + 1, std::memory_order_release);
      word.notify_one();
    }
  };
  for (auto step : state) {
    word = 0;
    std::thread ping([&] { on_first_core(pthread_self()), play(0); });
    std::thread pong([&] { on_first_core(pthread_self()), play(1); });
    ping.join();
    pong.join();
  }
  state.counters["s_per_wait"] = benchmark::Counter(
      2.0 * kRounds, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

[[maybe_unused]] const bool kWaits = [] {
  benchmark::RegisterBenchmark("waits/two_threads", two_threads)
      ->Unit(benchmark::kMicrosecond)
      ->UseRealTime();
  add("waits/mbarrier/two_warps", "two_warps", {.grid = {1}, .block = {64}}, 2.0 * kRounds);
  add("waits/mbarrier/two_blocks", "two_blocks", {.grid = {2}, .block = {32}, .cluster = {2}}, 2.0 * kRounds);
  for (const unsigned threads : {32u, 128u, 256u}) {
    const std::string size = std::to_string(threads);
    add("waits/bar_sync/" + size, "block_barrier", {.grid = {8}, .block = {threads}}, 8.0 * kRounds);
    add("waits/barrier_cluster/" + size, "cluster_barrier", {.grid = {8}, .block = {threads}, .cluster = {8}},
        8.0 * kRounds);
  }
  return true;
}();

}  // namespace
}  // namespace bench
