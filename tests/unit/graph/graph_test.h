// What tests of graphs share: a device on the interpreter, kernels, and ways to fail.
#pragma once

#include <gtest/gtest.h>

#include "raddle/graph.hpp"
#include "raddle/raddle.h"

namespace raddle::graph {

/// out[i] = in[i] * factor + 1, 32-bit numbers.
inline constexpr const char* kScale = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 po, .param .u64 pi, .param .u32 pf)
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [po];
  ld.param.u64 %rd2, [pi];
  ld.param.u32 %r1, [pf];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r6, %r3, %r4, %r5;
  mul.wide.u32 %rd3, %r6, 4;
  add.s64 %rd4, %rd2, %rd3;
  add.s64 %rd5, %rd1, %rd3;
  ld.global.u32 %r7, [%rd4];
  mad.lo.u32 %r8, %r7, %r1, 1;
  st.global.u32 [%rd5], %r8;
  ret;
}
// Sets flags[mine], and ends when flags[other] is set.
.visible .entry meet(.param .u64 pflags, .param .u32 mine, .param .u32 other)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [pflags];
  ld.param.u32 %r1, [mine];
  ld.param.u32 %r2, [other];
  mul.wide.u32 %rd2, %r1, 4;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd1, %rd2;
  add.s64 %rd5, %rd1, %rd3;
  mov.u32 %r3, 1;
  st.volatile.global.u32 [%rd4], %r3;
again:
  ld.volatile.global.u32 %r4, [%rd5];
  setp.eq.u32 %p1, %r4, 0;
  @%p1 bra again;
  ret;
}
// Takes its time, and writes it.
.visible .entry spin(.param .u64 po, .param .u32 turns)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [po];
  ld.param.u32 %r1, [turns];
  mov.u32 %r2, 0;
again:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, %r1;
  @%p1 bra again;
  st.global.u32 [%rd1], %r2;
  ret;
}
// out[i] += in[i]
.visible .entry accumulate(.param .u64 po, .param .u64 pi)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [po];
  ld.param.u64 %rd2, [pi];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  add.s64 %rd5, %rd1, %rd3;
  ld.global.u32 %r4, [%rd4];
  ld.global.u32 %r5, [%rd5];
  add.u32 %r5, %r5, %r4;
  st.global.u32 [%rd5], %r5;
  ret;
}
)";

using Words = std::vector<std::uint32_t>;

/// Words of a bound or temporal resource.
inline Words read(Executor& executor, const std::string& name, std::size_t count) {
  Words words(count);
  const auto result = executor.read(name, 0, words.data(), count * 4);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return words;
}

inline Device open_device(DeviceOptions options = {}) {
  options.engine = "interp";
  options.pin = false;
  auto device = Device::open(options);
  EXPECT_TRUE(device.ok()) << device.error().to_string();
  return std::move(*device);
}

inline KernelCode code(const char* name) {
  static const auto program = [] {
    const raddle::Program::Image images[] = {{.bytes = kScale}};
    return std::make_shared<const raddle::Program>(raddle::Program::read(images, 90).value());
  }();
  return KernelCode::find(program, name).value();
}

inline std::shared_ptr<const Schedule> schedule_of(const Graph& graph, SchedulerOptions options = {},
                                                   Target target = {}, const History* history = nullptr) {
  Scheduler scheduler(target, options, history);
  auto schedule = scheduler.schedule(graph);
  EXPECT_TRUE(schedule.ok()) << schedule.error().to_string();
  return schedule.ok() ? *schedule : nullptr;
}

#define RADDLE_ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

}  // namespace raddle::graph
