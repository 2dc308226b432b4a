// The cost of the driver API to a program (the runtime API: runtime.cpp): launches through libcuda.so.1,
// loading a module, starting a second time with the code cache filled, copies beside memcpy.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "driver/exported.h"
#include "example_ptx.h"

namespace bench {
namespace {

using namespace raddle::driver;

constexpr const char* kNullKernel =
    ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry null_kernel()\n{\n\tret;\n}\n";

/// Whether the call succeeded; else the benchmark names it.
bool succeeds(benchmark::State& state, CUresult result) {
  if (result == CUDA_SUCCESS) return true;
  const char* text = "no such error";
  cuGetErrorString(result, &text);
  state.SkipWithError(text);
  return false;
}

/// The primary context, made current once for the whole program.
bool has_context(benchmark::State& state) {
  CUcontext context = nullptr;
  return succeeds(state, cuInit(0)) && succeeds(state, cuDevicePrimaryCtxRetain(&context, 0)) &&
         succeeds(state, cuCtxSetCurrent(context));
}

CUresult launch(CUfunction function, CUstream stream = nullptr) {
  return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
}

benchmark::Counter each(std::int64_t count) {
  return benchmark::Counter(static_cast<double>(count),
                            benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// Launches of an empty kernel, each round awaited (target: under 3 microseconds a launch, back to back).
void null_launch(benchmark::State& state) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  if (!has_context(state) || !succeeds(state, cuModuleLoadData(&module, kNullKernel)) ||
      !succeeds(state, cuModuleGetFunction(&function, module, "null_kernel")))
    return;
  const auto launches = state.range(0);
  for (auto step : state) {
    for (std::int64_t i = 0; i < launches; ++i)
      if (!succeeds(state, launch(function))) return;
    if (!succeeds(state, cuCtxSynchronize())) return;
  }
  state.counters["s_per_launch"] = each(launches);
  cuModuleUnload(module);
}

/// Two streams, with an event.
struct TwoStreams {
  CUstream streams[2] = {};
  CUevent event = nullptr;
  bool made(benchmark::State& state) {
    return has_context(state) && succeeds(state, cuStreamCreate(&streams[0], STREAM_NON_BLOCKING)) &&
           succeeds(state, cuStreamCreate(&streams[1], STREAM_NON_BLOCKING)) &&
           succeeds(state, cuEventCreate(&event, EVENT_DISABLE_TIMING));
  }
  ~TwoStreams() {
    cuEventDestroy_v2(event);
    for (CUstream stream : streams) cuStreamDestroy_v2(stream);
  }
};

/// Events that nothing runs before, each recorded in a stream and waited for by the other one; all awaited at
/// the end (target: under a microsecond for the two calls).
void event_between_streams(benchmark::State& state) {
  constexpr std::int64_t kEvents = 1000;
  TwoStreams two;
  if (!two.made(state)) return;
  for (auto step : state) {
    for (std::int64_t i = 0; i < kEvents; ++i)
      if (!succeeds(state, cuEventRecord(two.event, two.streams[i % 2])) ||
          !succeeds(state, cuStreamWaitEvent(two.streams[(i + 1) % 2], two.event, 0)))
        return;
    if (!succeeds(state, cuCtxSynchronize())) return;
  }
  state.counters["s_per_event"] = each(kEvents);
}
BENCHMARK(event_between_streams)
    ->Name("driver/event/recorded_and_waited_for")
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

/// Launches of an empty kernel in two streams by turns (target: under a microsecond more than in one).
/// @param ordered  each waits for the one before it, by an event
void launches_by_turns(benchmark::State& state, bool ordered) {
  constexpr std::int64_t kLaunches = 1000;
  TwoStreams two;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  if (!two.made(state) || !succeeds(state, cuModuleLoadData(&module, kNullKernel)) ||
      !succeeds(state, cuModuleGetFunction(&function, module, "null_kernel")))
    return;
  for (auto step : state) {
    for (std::int64_t i = 0; i < kLaunches; ++i) {
      if (ordered && (!succeeds(state, cuEventRecord(two.event, two.streams[(i + 1) % 2])) ||
                      !succeeds(state, cuStreamWaitEvent(two.streams[i % 2], two.event, 0))))
        return;
      if (!succeeds(state, launch(function, two.streams[i % 2]))) return;
    }
    if (!succeeds(state, cuCtxSynchronize())) return;
  }
  state.counters["s_per_launch"] = each(kLaunches);
  cuModuleUnload(module);
}
BENCHMARK_CAPTURE(launches_by_turns, , false)
    ->Name("driver/launch/two_streams")
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(launches_by_turns, , true)
    ->Name("driver/launch/two_streams_in_order")
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK(null_launch)
    ->Name("driver/launch/back_to_back")
    ->Arg(1000)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK(null_launch)->Name("driver/launch/awaited")->Arg(1)->Unit(benchmark::kMicrosecond)->UseRealTime();

/// Loading 1 MB of PTX text (target: under 50 ms): no kernel is compiled before its first use.
void load_module(benchmark::State& state) {
  const std::string text = large_module(1'000'000);
  if (!has_context(state)) return;
  for (auto step : state) {
    CUmodule module = nullptr;
    if (!succeeds(state, cuModuleLoadData(&module, text.c_str()))) return;
    state.PauseTiming();
    cuModuleUnload(module);
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(load_module)->Name("driver/load/1_MB")->Unit(benchmark::kMillisecond)->UseRealTime();

/// What a program does first: loads a module, runs a kernel. The exit status of the program that main makes
/// of it.
int first_launch() {
  const std::string text = large_module(5'000);
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr memory = 0;
  unsigned columns = 0;
  void* arguments[] = {&memory, &memory, &columns};
  for (CUresult result :
       {cuInit(0), cuDevicePrimaryCtxRetain(&context, 0), cuCtxSetCurrent(context),
        cuMemAlloc_v2(&memory, 1 << 20), cuModuleLoadData(&module, text.c_str()),
        cuModuleGetFunction(&function, module, "softmax_half_0"),
        cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr), cuCtxSynchronize()})
    if (result != CUDA_SUCCESS) return 1;
  return 0;
}

/// A whole process, start to end, that runs its first kernel: with the cache on disk empty, or filled by the
/// one before it.
void start(benchmark::State& state, bool is_cached) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  for (auto step : state) {
    state.PauseTiming();
    if (!is_cached) std::filesystem::remove_all(std::getenv("RADDLE_CACHE"));
    state.ResumeTiming();
    if (std::system(("'" + self + "' --first-launch").c_str()) != 0)
      return state.SkipWithError("the process failed");
  }
}
BENCHMARK_CAPTURE(start, , false)
    ->Name("driver/start/compiled")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(start, , true)->Name("driver/start/cached")->Unit(benchmark::kMillisecond)->UseRealTime();

constexpr std::size_t kSizes[] = {4 << 10, 1 << 20, 64 << 20};

/// The rival of the copies: the C library, between the same two kinds of memory.
void copy_memcpy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<char> from(bytes, 1), to(bytes, 2);
  for (auto step : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

enum class Way { to_device, to_host, on_device };

void copy(benchmark::State& state, Way way) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<char> host(bytes, 1);
  CUdeviceptr device = 0, other = 0;
  if (!has_context(state) || !succeeds(state, cuMemAlloc_v2(&device, bytes)) ||
      !succeeds(state, cuMemAlloc_v2(&other, bytes)) || !succeeds(state, cuMemsetD8_v2(device, 3, bytes)) ||
      !succeeds(state, cuMemsetD8_v2(other, 4, bytes)))
    return;
  for (auto step : state) {
    CUresult result = way == Way::to_device ? cuMemcpyHtoD_v2(device, host.data(), bytes)
                      : way == Way::to_host ? cuMemcpyDtoH_v2(host.data(), device, bytes)
                                            : cuMemcpyDtoD_v2(other, device, bytes);
    if (result == CUDA_SUCCESS && way == Way::on_device) result = cuCtxSynchronize();
    if (!succeeds(state, result)) return;
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  cuMemFree_v2(device);
  cuMemFree_v2(other);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const std::size_t bytes : kSizes) {
    const auto argument = static_cast<std::int64_t>(bytes);
    benchmark::RegisterBenchmark("driver/copy/memcpy", copy_memcpy)->Arg(argument)->UseRealTime();
    for (auto [name, way] :
         {std::pair{"driver/copy/to_device", Way::to_device}, std::pair{"driver/copy/to_host", Way::to_host},
          std::pair{"driver/copy/on_device", Way::on_device}})
      benchmark::RegisterBenchmark(name, [way = way](benchmark::State& state) { copy(state, way); })
          ->Arg(argument)
          ->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace bench

/// The benchmarks' own code cache, so that the user's is neither read nor filled.
int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--first-launch") return bench::first_launch();
  std::string directory = (std::filesystem::temp_directory_path() / "raddle_bench_XXXXXX").string();
  if (!mkdtemp(directory.data())) return 1;
  setenv("RADDLE_CACHE", directory.c_str(), 1);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::filesystem::remove_all(directory);
  return 0;
}
