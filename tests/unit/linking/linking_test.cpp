// Linking as loaders and linkers share it: limits on registers, and the device library.
#include "linking/linking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fatbin/image.h"
#include "ptx/link.h"
#include "ptx/parser.h"

namespace raddle::linking {
namespace {

constexpr const char* kHead = ".version 8.0\n.target sm_90\n.address_size 64\n";

TEST(Linking, ALimitOnRegistersIsTheKernelsUnlessItHasOne) {
  const std::string text = std::string(kHead) + ".entry a() { ret; } .entry b() .maxnreg 40 { ret; }\n";
  const Input input{text, "limited.ptx", false, 24};
  const Linked linked = link({&input, 1}, 90).value();
  EXPECT_EQ(linked.module.find_function("a")->directives.maxnreg, 24u);
  EXPECT_EQ(linked.module.find_function("b")->directives.maxnreg, 40u);
  // It travels with the cubin.
  const std::string cubin = write_cubin(linked, 90);
  const Input again{cubin, "limited.cubin"};
  EXPECT_EQ(link({&again, 1}, 90).value().module.find_function("a")->directives.maxnreg, 24u);
}

TEST(Linking, TheDeviceLibraryIsTakenByThoseWhoCallIt) {
  const std::string text = std::string(kHead) +
                           ".extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 scope);\n"
                           ".entry k() { .param .b64 h; .param .b32 s; st.param.b32 [s], 1; call (h), "
                           "cudaCGGetIntrinsicHandle, (s); "
                           "ret; }\n";
  const Input input{text, "grid.ptx"};
  const Linked linked = link({&input, 1}, 90).value();
  EXPECT_THAT(undefined_names(linked.module), testing::IsEmpty());
  // The cubin holds the program's text alone: where it is loaded, the library is there again.
  EXPECT_EQ(fatbin::ptx_images(write_cubin(linked, 90), "", 90).value().size(), 1u);
  const std::string other = std::string(kHead) + ".entry k() { ret; }\n";
  const Input plain{other, "plain.ptx"};
  EXPECT_THAT(parts(link({&plain, 1}, 90).value().module), testing::ElementsAre("plain.ptx"));
}

TEST(Linking, FunctionsOfLibdeviceAreTakenByThoseWhoCallThem) {
  const auto calling = [](const char* name) {
    return std::string(kHead) + ".extern .func (.param .b64 r) " + name +
           "(.param .b64 x);\n.entry k() { .param .b64 x, r; st.param.f64 [x], 0d3ff0000000000000; call "
           "(r), " +
           name + ", (x); ret; }\n";
  };
  const std::string text = calling("__nv_lgamma"), other = calling("__nv_lgammas");
  const Input input{text, "math.ptx"}, unknown{other, "unknown.ptx"};
  const Linked linked = link({&input, 1}, 90).value();
  EXPECT_THAT(undefined_names(linked.module), testing::IsEmpty());
  EXPECT_NE(linked.module.find_function("__nv_lgamma"), nullptr);
  EXPECT_EQ(linked.module.find_function("__nv_sin"), nullptr) << "only what is needed";
  EXPECT_EQ(ptx::target_capability(linked.module), 90u);
  EXPECT_EQ(fatbin::ptx_images(write_cubin(linked, 90), "", 90).value().size(), 1u);
  EXPECT_THAT(undefined_names(link({&unknown, 1}, 90).value().module), testing::ElementsAre("__nv_lgammas"));
  // A module's own function goes before.
  const std::string own =
      std::string(kHead) + ".visible .func (.param .b64 r) __nv_lgamma(.param .b64 x) { ret; }\n";
  const Input both[] = {input, {own, "own.ptx"}};
  EXPECT_THAT(parts(link(both, 90).value().module), testing::ElementsAre("math.ptx", "own.ptx"));
}

TEST(Linking, NamesThatNobodyDefines) {
  const std::string text = std::string(kHead) +
                           ".extern .global .u32 v;\n.extern .func f();\n"
                           ".entry k() { call f; ret; }\n";
  const Input input{text, "open.ptx"};
  const Linked linked = link({&input, 1}, 90).value();
  EXPECT_THAT(undefined_variables(linked.module), testing::ElementsAre("v"));
  EXPECT_THAT(undefined_names(linked.module), testing::ElementsAre("v", "f"));
}

}  // namespace
}  // namespace raddle::linking
