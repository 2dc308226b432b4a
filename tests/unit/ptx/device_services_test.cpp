#include "ptx/device_services.h"

#include <gmock/gmock.h>

#include "ptx_test.h"

namespace raddle::ptx::test {
namespace {

/// The service of the only declaration in a module.
std::optional<DeviceService> service_of(const std::string& declaration) {
  const Module module = must_parse(module_text(declaration));
  return find_device_service(module, module.functions[0]);
}

TEST(DeviceServices, AreDeclaredAsCudasCompilersDo) {
  EXPECT_EQ(service_of(".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);"),
            DeviceService::vprintf);
  EXPECT_EQ(service_of(".extern .func (.param .b64 r) malloc(.param .b64 n);"), DeviceService::malloc);
  EXPECT_EQ(service_of(".extern .func free(.param .b64 p);"), DeviceService::free);
  EXPECT_EQ(
      service_of(".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "
                 ".param .b64 s);"),
      DeviceService::assert_fail);
  EXPECT_EQ(service_of(".extern .func (.param .b32 r) __cudaCDP2GetLastError();"),
            DeviceService::device_runtime);
}

TEST(DeviceServices, OfTheFirstDynamicParallelismHaveTheirOldNames) {
  using F = DeviceRuntimeFunction;
  EXPECT_EQ(find_device_runtime("cudaDeviceSynchronize"), F::synchronize);
  EXPECT_EQ(find_device_runtime("cudaGetParameterBufferV2"), F::get_parameter_buffer);
  EXPECT_EQ(find_device_runtime("cudaLaunchDeviceV2_ptsz"), F::launch_device);
  EXPECT_EQ(find_device_runtime("cudaLaunchDevice"), F::launch_device_plainly);
  EXPECT_EQ(find_device_runtime("__cudaCDP2DeviceSynchronize"), std::nullopt);
  EXPECT_EQ(find_device_runtime("cudaCDP2GetLastError"), std::nullopt);
}

TEST(DeviceServices, OtherFunctionsAreNone) {
  EXPECT_EQ(service_of(".extern .func (.param .b32 r) printf(.param .b64 f, .param .b64 a);"), std::nullopt);
  EXPECT_EQ(service_of(".extern .func (.param .b32 r) vprintf(.param .b64 f);"), std::nullopt);
  EXPECT_EQ(service_of(".extern .func (.param .b8 r[128]) malloc(.param .b64 n);"), std::nullopt);
  EXPECT_EQ(service_of(".extern .func __assertfail();"), std::nullopt);
  EXPECT_EQ(service_of(".func (.param .b64 r) malloc(.param .b64 n) { ret; }"), std::nullopt) << "defined";
}

TEST(DeviceServices, OneOfOtherParametersIsNamed) {
  const Module module = must_parse(module_text(".extern .func free();\n.entry k() { call.uni free; ret; }"));
  EXPECT_THAT(analyze(module, id_of(module, "k")).unresolved,
              testing::ElementsAre("free with these parameters"));
}

}  // namespace
}  // namespace raddle::ptx::test
