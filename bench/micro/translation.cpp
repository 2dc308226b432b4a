// Accesses of modelled spaces by second and core (target: 20 million): lanes that load and store neighbours,
// or words a stride apart. The buffer is two huge pages, which the TLB of an SM holds.
#include <benchmark/benchmark.h>

#include <string>

#include "raddle/raddle.h"

namespace bench {
namespace {

constexpr unsigned kTouchThreads = 256, kTouchBlocks = 256, kTouchRounds = 16;
constexpr std::uint64_t kTouches = std::uint64_t{kTouchThreads} * kTouchBlocks * kTouchRounds * 2;

/// Each thread adds 1 to kTouchRounds words; words of neighbours, and of a thread's rounds, lie `stride`
/// bytes apart.
constexpr const char* kTouchKernel = R"(
.version 8.7
.target sm_90
.address_size 64
.visible .entry touch(.param .u64 memory, .param .u32 stride, .param .u32 mask)
{
  .reg .pred %more;
  .reg .b32 %t, %b, %n, %x, %round, %stride, %mask, %v;
  .reg .b64 %memory, %offset, %at;
  ld.param.u64 %memory, [memory];
  ld.param.u32 %stride, [stride];
  ld.param.u32 %mask, [mask];
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mad.lo.u32 %x, %b, %n, %t;
  mov.u32 %round, 0;
again:
  mul.lo.u32 %v, %x, %stride;
  and.b32 %v, %v, %mask;
  cvt.u64.u32 %offset, %v;
  add.u64 %at, %memory, %offset;
  ld.global.u32 %v, [%at];
  add.u32 %v, %v, 1;
  st.global.u32 [%at], %v;
  add.u32 %x, %x, 32;
  add.u32 %round, %round, 1;
  setp.ne.u32 %more, %round, 16;
  @%more bra again;
  ret;
}
)";

void translation(benchmark::State& state, const char* engine, raddle::Translation how) {
  constexpr std::uint32_t kBytes = 4 << 20;
  const auto stride = static_cast<std::uint32_t>(state.range(0));
  auto device =
      raddle::Device::open({.engine = engine, .code_cache = "off", .workers = 1, .translation = how});
  if (!device.ok()) return state.SkipWithError(device.error().to_string().c_str());
  auto module = device->load(kTouchKernel);
  auto kernel = module->kernel("touch");
  auto memory = device->allocate(kBytes);
  for (auto step : state) {
    auto launch =
        kernel->launch({.grid = {kTouchBlocks}, .block = {kTouchThreads}}, *memory, stride, kBytes - 4);
    const auto report = launch->wait();
    if (!report.ok()) return state.SkipWithError(report.error().to_string().c_str());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kTouches));
}

BENCHMARK_CAPTURE(translation, direct, "jit", raddle::Translation::direct)->Arg(4)->Arg(4096)->UseRealTime();
BENCHMARK_CAPTURE(translation, modelled, "jit", raddle::Translation::modelled)
    ->Arg(4)
    ->Arg(4096)
    ->UseRealTime();
BENCHMARK_CAPTURE(translation, interpreted, "interp", raddle::Translation::modelled)
    ->Arg(4)
    ->Arg(4096)
    ->UseRealTime();

}  // namespace
}  // namespace bench
