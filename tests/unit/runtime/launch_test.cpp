// The public API from end to end on the interpreter: PTX text in, results out; and every way a launch can be refused.
#include <gtest/gtest.h>

#include <numeric>

#include "raddle/raddle.h"

namespace {

constexpr const char* kVectorAdd = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry vector_add(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [pa];
  ld.param.u64 %rd2, [pb];
  ld.param.u64 %rd3, [pc];
  ld.param.u32 %r1, [pn];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.s32 %rd4, %r5, 4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd2, %rd4;
  add.s64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
done:
  ret;
}
)";

raddle::Device open_device(raddle::DeviceOptions options = {}) {
  options.engine = "interp";
  options.pin = false;
  auto device = raddle::Device::open(options);
  EXPECT_TRUE(device.ok()) << device.error().to_string();
  return std::move(*device);
}

TEST(Launch, AddsVectors) {
  auto device = open_device();
  auto module = device.load(kVectorAdd);
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  auto kernel = module->kernel("vector_add");
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  std::vector<float> a(1000), b(1000, 0.5f), c(1000);
  std::iota(a.begin(), a.end(), 0.0f);
  auto da = device.buffer(a), db = device.buffer(b), dc = device.buffer<float>(1000);
  auto launch = kernel->launch({.grid = {4}, .block = {256}}, *da, *db, *dc, 1000);
  ASSERT_TRUE(launch.ok()) << launch.error().to_string();
  auto report = launch->wait();
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->engine, "interp");
  EXPECT_GT(report->seconds, 0);
  ASSERT_TRUE(dc->read(c).ok());
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(c[i], i + 0.5f) << i;
}

}  // namespace
