// Whether a core's caches hold a block's shared, local and constant memory together (K-11a): each thread
// reads all three in turn, over and over. Misses of the first-level data cache are counted where the
// processor shows its counters to the program; elsewhere (most virtual machines) valgrind counts them:
//   RADDLE_WORKERS=1 valgrind --tool=cachegrind --cache-sim=yes bench_micro --benchmark_filter=regions/8
#include <benchmark/benchmark.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>

#include "raddle/raddle.h"

namespace bench {
namespace {

constexpr unsigned kThreads = 128, kBlocks = 16, kRounds = 4096;

/// Misses of loads in the first-level data cache by this thread and the threads that it starts from now on.
class CacheMisses {
 public:
  CacheMisses() {
    perf_event_attr what{};
    what.size = sizeof what;
    what.type = PERF_TYPE_HW_CACHE;
    what.config = PERF_COUNT_HW_CACHE_L1D | (PERF_COUNT_HW_CACHE_OP_READ << 8) |
                  (PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
    what.inherit = what.exclude_kernel = 1;
    counter_ = static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, 0));
  }
  ~CacheMisses() {
    if (counter_ >= 0) close(counter_);
  }
  CacheMisses(const CacheMisses&) = delete;
  CacheMisses& operator=(const CacheMisses&) = delete;

  std::optional<std::uint64_t> count() const {
    std::uint64_t value = 0;
    if (counter_ < 0 || read(counter_, &value, sizeof value) != sizeof value) return {};
    return value;
  }

 private:
  int counter_;
};

/// Reads `bytes` each of shared, local (all threads' together) and constant memory, kRounds times a thread.
std::string kernel(unsigned bytes) {
  const std::string size = std::to_string(bytes), own = std::to_string(bytes / kThreads);
  const std::string mask = std::to_string(bytes - 1), own_mask = std::to_string(bytes / kThreads - 1);
  return ".version 9.0\n.target sm_90\n.address_size 64\n.const .align 16 .b8 table[" + size + "];\n" +
         ".visible .entry regions(.param .u64 out)\n{\n.shared .align 16 .b8 tile[" + size + "];\n" +
         ".local .align 16 .b8 own[" + own + "];\n" + R"(
.reg .pred %more;
.reg .b32 %t, %at, %mine, %sum, %v, %place;
.reg .b64 %out, %constant, %offset;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  shl.b32 %at, %t, 2;
  mov.u32 %mine, 0;
  mov.u32 %sum, 0;
LOOP:
  mov.u32 %place, tile;
  add.u32 %place, %place, %at;
  ld.shared.u32 %v, [%place];
  add.u32 %sum, %sum, %v;
  cvt.u64.u32 %offset, %at;
  mov.u64 %constant, table;
  add.u64 %constant, %constant, %offset;
  ld.const.u32 %v, [%constant];
  add.u32 %sum, %sum, %v;
  mov.u32 %place, own;
  add.u32 %place, %place, %mine;
  ld.local.u32 %v, [%place];
  add.u32 %sum, %sum, %v;
  st.local.u32 [%place], %sum;
  add.u32 %at, %at, )" +
         std::to_string(kThreads * 4) + ";\n  and.b32 %at, %at, " + mask +
         ";\n  add.u32 %mine, %mine, 4;\n  add.u32 %t, %t, 65536;\n  setp.lt.u32 %more, %t, " +
         std::to_string(kRounds * 65536) + ";\n  and.b32 %mine, %mine, " + own_mask +
         ";\n  @%more bra LOOP;\n  st.global.u32 [%out], %sum;\n  ret;\n}\n";
}

raddle::Result<void> read_regions(benchmark::State& state) {
  const CacheMisses misses;  // before the device's threads
  TRY_ASSIGN(raddle::Device device, raddle::Device::open({.workers = 1}));
  TRY_ASSIGN(raddle::Module module, device.load(kernel(static_cast<unsigned>(state.range(0)) << 10)));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("regions"));
  TRY_ASSIGN(raddle::Buffer<std::uint32_t> out, device.buffer(std::vector<std::uint32_t>(1)));
  TRY_ASSIGN([[maybe_unused]] const raddle::LaunchReport compiled, kernel.compile({kThreads}));
  const auto before = misses.count();
  for (auto step : state) {
    TRY_ASSIGN(raddle::Launch launch, kernel.launch({.grid = {kBlocks}, .block = {kThreads}}, out));
    TRY(launch.wait());
  }
  const double reads = static_cast<double>(state.iterations()) * kBlocks * kThreads * kRounds * 3;
  state.counters["reads"] = benchmark::Counter(reads, benchmark::Counter::kIsRate);
  if (const auto after = misses.count())
    state.counters["misses_per_1000_reads"] = 1000 * static_cast<double>(*after - *before) / reads;
  else
    state.SetLabel("no cache counters here");
  return {};
}

void regions(benchmark::State& state) {
  if (raddle::Result<void> done = read_regions(state); !done.ok())
    state.SkipWithError(done.error().to_string().c_str());
}
// KiB of each: three fit a first-level cache of 32 KiB, or do not.
BENCHMARK(regions)
    ->Name("memory/regions")
    ->Arg(4)
    ->Arg(8)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace bench
