// What an entry of a queue task costs: appended by the host, by blocks that each append two (a tree), and one
// after the other, each by the block before it (a chain: from an append to the block that it starts). The
// rival is a block of a grid that is launched whole.
#include <benchmark/benchmark.h>

#include <string>

#include "raddle/raddle.h"

namespace bench {
namespace {

constexpr const char* kQueuesPtx = R"(.version 9.0
.target sm_90
.address_size 64
.extern .func (.param .b32 answer) raddle_queue_append (.param .b64 queue, .param .b64 entry, .param .b64 bytes);
.extern .func (.param .b32 answer) raddle_queue_entry (.param .b64 to, .param .b64 bytes);

.visible .entry nothing()
{
  ret;
}

// The entry says how many levels are below it: so many entries, each with one level less, are appended.
.visible .entry below(.param .u32 children)
{
.local .align 8 .b64 entry;
.reg .pred %done;
.reg .b32 %t, %child, %children, %answer;
.reg .b64 %at, %level;
  mov.u32 %t, %tid.x;
  setp.ne.u32 %done, %t, 0;
  @%done bra END;
  mov.u64 %at, entry;
  cvta.local.u64 %at, %at;
  {
  .param .b64 to; .param .b64 bytes; .param .b32 answer;
  st.param.b64 [to], %at;
  st.param.b64 [bytes], 8;
  call.uni (answer), raddle_queue_entry, (to, bytes);
  ld.param.b32 %answer, [answer];
  }
  ld.u64 %level, [%at];
  setp.eq.u64 %done, %level, 0;
  @%done bra END;
  sub.u64 %level, %level, 1;
  st.u64 [%at], %level;
  ld.param.u32 %children, [children];
  mov.u32 %child, 0;
NEXT:
  {
  .param .b64 queue; .param .b64 from; .param .b64 bytes; .param .b32 answer;
  st.param.b64 [queue], 0;
  st.param.b64 [from], %at;
  st.param.b64 [bytes], 8;
  call.uni (answer), raddle_queue_append, (queue, from, bytes);
  ld.param.b32 %answer, [answer];
  }
  add.u32 %child, %child, 1;
  setp.lt.u32 %done, %child, %children;
  @%done bra NEXT;
END:
  ret;
}
)";

struct Opened {
  raddle::Device device;
  raddle::Module module;
  static raddle::Result<Opened> make() {
    TRY_ASSIGN(raddle::Device device, raddle::Device::open());
    TRY_ASSIGN(raddle::Module module, device.load(kQueuesPtx));
    return Opened{std::move(device), std::move(module)};
  }
};

void count(benchmark::State& state, double entries) {
  state.counters["s_per_entry"] = benchmark::Counter(
      entries, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// @param children  of an entry that is not in the last level
raddle::Result<void> walk(benchmark::State& state, std::uint32_t children, std::uint64_t levels,
                          std::uint64_t entries) {
  TRY_ASSIGN(Opened opened, Opened::make());
  TRY_ASSIGN(raddle::Kernel kernel, opened.module.kernel("below"));
  TRY_ASSIGN(raddle::TaskRecord record, kernel.record({.block = {32}}, children));
  record.make_queue(1u << 17, sizeof levels, raddle::QueueEnding::drained);
  record.ready = 1;
  TRY_ASSIGN(const raddle::DevicePtr task, opened.device.allocate(sizeof record + record.queue_bytes()));
  for (auto step : state) {
    const std::uint64_t slot[] = {0, levels};
    TRY(opened.device.write(task, &record, sizeof record));
    TRY(opened.device.write(task + sizeof record, slot, sizeof slot));
    TRY_ASSIGN(raddle::Launch launch, opened.device.default_stream().launch(task));
    TRY(launch.wait());
  }
  TRY(opened.device.read(&record, task, sizeof record));
  if (record.taken != entries) return raddle::Error::invalid("{} entries, not {}", record.taken, entries);
  count(state, static_cast<double>(entries));
  return {};
}

constexpr std::uint32_t kEntries = 100000;

raddle::Result<void> by_host(benchmark::State& state) {
  TRY_ASSIGN(Opened opened, Opened::make());
  TRY_ASSIGN(raddle::Kernel kernel, opened.module.kernel("nothing"));
  TRY_ASSIGN(raddle::TaskRecord record, kernel.record({.block = {32}}));
  record.make_queue(4096, sizeof(std::uint64_t));
  TRY_ASSIGN(const raddle::DevicePtr task, opened.device.allocate(sizeof record + record.queue_bytes()));
  for (auto step : state) {
    TRY(opened.device.write(task, &record, sizeof record));
    TRY_ASSIGN(raddle::Launch launch, opened.device.default_stream().launch(task));
    for (std::uint64_t i = 0; i < kEntries;) {
      TRY_ASSIGN(const raddle::Append appended, launch.append(i));
      i += appended == raddle::Append::done;
    }
    TRY(launch.close());
    TRY(launch.wait());
  }
  count(state, kEntries);
  return {};
}

raddle::Result<void> grid(benchmark::State& state) {
  TRY_ASSIGN(Opened opened, Opened::make());
  TRY_ASSIGN(raddle::Kernel kernel, opened.module.kernel("nothing"));
  for (auto step : state) {
    TRY_ASSIGN(raddle::Launch launch, kernel.launch({.grid = {kEntries}, .block = {32}}));
    TRY(launch.wait());
  }
  count(state, kEntries);
  return {};
}

template <class Run>
void add(const char* name, Run run) {
  benchmark::RegisterBenchmark(name,
                               [=](benchmark::State& state) {
                                 if (raddle::Result<void> done = run(state); !done.ok())
                                   state.SkipWithError(done.error().to_string().c_str());
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

[[maybe_unused]] const bool kQueues = [] {
  add("queues/rival/grid", grid);
  add("queues/by_host", by_host);
  add("queues/tree", [](benchmark::State& state) { return walk(state, 2, 15, (2u << 15) - 1); });
  add("queues/chain", [](benchmark::State& state) { return walk(state, 1, 20000, 20001); });
  return true;
}();

}  // namespace
}  // namespace bench
