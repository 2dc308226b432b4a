// Copies of threads from global to shared memory (cp.async) against the loads and stores that programs write
// without them (target: at most as long), in the same run: tiles alone, of every size and for neighbouring
// and scattered lanes; and the matrix product of examples/kernels with and without double buffering.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "raddle/raddle.h"

namespace bench {
namespace {

constexpr unsigned kTileThreads = 256, kTileBlocks = 64, kTileRounds = 256, kWays = 4;

/// Every thread copies `bytes` kWays times a round, from a tile that moves on each round. Scattered lanes lie
/// in rows of eight, `pitch` bytes apart, which the compiler does not know.
std::string tile_kernel(unsigned bytes, bool scattered, bool async) {
  const char* types[] = {"b32 %v0", "b64 %w0", "v2.b64 {%w0, %w1}"};
  const std::string type = types[bytes / 8];
  const auto space = type.find(' ');
  std::string copies;
  for (unsigned k = 0; k < kWays; ++k) {
    const unsigned at = k * kTileThreads * bytes;
    copies +=
        async ? fmt::format("  cp.async.{}.shared.global [%to+{}], [%from+{}], {};\n",
                            bytes == 16 ? "cg" : "ca", at, k * bytes * (scattered ? 8 : kTileThreads), bytes)
              : fmt::format("  ld.global.{0} {1}, [%from+{3}];\n  st.shared.{0} [%to+{2}], {1};\n",
                            type.substr(0, space), type.substr(space + 1), at,
                            k * bytes * (scattered ? 8 : kTileThreads));
  }
  return fmt::format(
      R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry tiles(.param .u64 in, .param .u64 out, .param .u32 pitch)
{{
  .reg .pred %more; .reg .b32 %t, %to, %i, %x, %y, %pitch, %v0; .reg .b64 %from, %out, %w0, %w1;
  .shared .align 16 .b8 tile[{0}];
  ld.param.u64 %from, [in]; ld.param.u64 %out, [out]; ld.param.u32 %pitch, [pitch];
  mov.u32 %t, %tid.x; mov.u32 %to, tile; mad.lo.u32 %to, %t, {1}, %to;
  {2}
  mov.u32 %i, 0;
LOOP:
{3}  cp.async.wait_all;
  bar.sync 0;
  add.u64 %from, %from, 64; add.u32 %i, %i, 1; setp.lt.u32 %more, %i, {4};
  @%more bra LOOP;
  ld.shared.u32 %v0, [%to]; mad.wide.u32 %out, %t, 4, %out; st.global.u32 [%out], %v0;
  ret;
}}
)",
      kTileThreads * bytes * kWays, bytes,
      scattered
          ? fmt::format("shr.u32 %y, %t, 3; and.b32 %x, %t, 7; mul.lo.u32 %x, %x, {}; "
                        "mad.lo.u32 %x, %y, %pitch, %x; cvt.u64.u32 %w0, %x; add.u64 %from, %from, %w0;",
                        bytes)
          : fmt::format("mad.wide.u32 %from, %t, {}, %from;", bytes),
      copies, kTileRounds);
}

raddle::Result<void> copy_tiles(benchmark::State& state, unsigned bytes, bool scattered, bool async) {
  constexpr std::uint32_t kPitch = 1024;
  TRY_ASSIGN(raddle::Device device, raddle::Device::open({.workers = 1}));
  TRY_ASSIGN(raddle::Module module, device.load(tile_kernel(bytes, scattered, async)));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("tiles"));
  TRY_ASSIGN(raddle::Buffer<std::uint32_t> in, device.buffer(std::vector<std::uint32_t>(1 << 18)));
  TRY_ASSIGN(raddle::Buffer<std::uint32_t> out, device.buffer(std::vector<std::uint32_t>(kTileThreads)));
  TRY_ASSIGN([[maybe_unused]] const raddle::LaunchReport compiled, kernel.compile({kTileThreads}));
  for (auto step : state) {
    TRY_ASSIGN(raddle::Launch launch,
               kernel.launch({.grid = {kTileBlocks}, .block = {kTileThreads}}, in, out, kPitch));
    TRY(launch.wait());
  }
  state.SetBytesProcessed(std::int64_t{state.iterations()} * kTileBlocks * kTileThreads * kTileRounds *
                          kWays * bytes);
  return {};
}

raddle::Result<void> multiply(benchmark::State& state, const char* name) {
  constexpr int kSize = 512;
  std::stringstream text;
  text << std::ifstream(RADDLE_EXAMPLES_DIR "/kernels/sgemm_tiled.ptx").rdbuf();
  TRY_ASSIGN(raddle::Device device, raddle::Device::open({.workers = 1}));
  TRY_ASSIGN(raddle::Module module, device.load(text.str()));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel(name));
  TRY_ASSIGN(raddle::Buffer<float> a, device.buffer(std::vector<float>(kSize * kSize, 1)));
  TRY_ASSIGN(raddle::Buffer<float> c, device.buffer(std::vector<float>(kSize * kSize)));
  TRY_ASSIGN([[maybe_unused]] const raddle::LaunchReport compiled, kernel.compile({32, 8}));
  for (auto step : state) {
    TRY_ASSIGN(raddle::Launch launch,
               kernel.launch({.grid = {kSize / 32, kSize / 64}, .block = {32, 8}}, a, a, c, kSize));
    TRY(launch.wait());
  }
  state.counters["flops"] = benchmark::Counter(
      2.0 * kSize * kSize * kSize * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  return {};
}

void or_skip(benchmark::State& state, const raddle::Result<void>& done) {
  if (!done.ok()) state.SkipWithError(done.error().to_string().c_str());
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const unsigned bytes : {4u, 8u, 16u})
    for (const bool scattered : {false, true})
      for (const bool async : {false, true})
        benchmark::RegisterBenchmark(
            fmt::format("copies/{}/{}/{}", bytes, scattered ? "scattered" : "neighbours",
                        async ? "cp.async" : "ld+st")
                .c_str(),
            [=](auto& state) { or_skip(state, copy_tiles(state, bytes, scattered, async)); })
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime();
  for (const char* name : {"sgemm_64x32", "sgemm_64x32_async"})
    benchmark::RegisterBenchmark(fmt::format("copies/{}", name).c_str(),
                                 [=](auto& state) { or_skip(state, multiply(state, name)); })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace bench
