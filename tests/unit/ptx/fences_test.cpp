// Which wgmmas have the wgmma.fence that PTX asks for.
#include "ptx/fences.h"

#include "ptx_test.h"

namespace raddle::ptx::test {
namespace {

constexpr std::string_view kWgmmaFence = "wgmma.fence.sync.aligned;\n";
constexpr std::string_view kProduct =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, %b, %b, %more, 1, 1, 0, 0;\n";
constexpr std::string_view kProductOfRegisters =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, %b, "
    "%more, "
    "1, 1, 0;\n";
constexpr std::string_view kWaitForAll =
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";

/// Of a body's wgmmas in order: f fenced, u not.
std::string fenced(const std::string& body) {
  const Module module = must_parse(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n.reg .f32 %d<5>;\n"
      ".reg .b32 %a<4>;\n.reg .b64 %b;\n.reg .pred %more;\n" +
      body + "ret;\n}\n");
  const Function& function = function_of(module, "k");
  const std::vector<bool> is_fenced = fenced_wgmmas(function);
  std::string text;
  for (std::size_t n = 0; n < is_fenced.size(); ++n)
    if (is_wgmma(function.instructions[n])) text += is_fenced[n] ? 'f' : 'u';
  return text;
}

std::string text_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

TEST(Fences, TheFirstWgmmaWantsOne) {
  EXPECT_EQ(fenced(text_of({kWgmmaFence, kProduct, kProduct, kWaitForAll, kProduct})), "fff");
  EXPECT_EQ(fenced(text_of({kProduct, kWgmmaFence, kProduct})), "uf");
}

TEST(Fences, AccessesWantOne) {
  for (const std::string_view access :
       {"add.f32 %d1, %d4, %d4;\n", "add.f32 %d4, %d4, %d3;\n", "setp.eq.f32 %more, %d0, %d4;\n"}) {
    EXPECT_EQ(fenced(text_of({kWgmmaFence, kProduct, kWaitForAll, access, kProduct})), "fu") << access;
    EXPECT_EQ(fenced(text_of({kWgmmaFence, kProduct, kWaitForAll, access, kWgmmaFence, kProduct})), "ff")
        << access;
  }
  EXPECT_EQ(fenced(text_of({kWgmmaFence, "add.u32 %a2, %a1, 1;\n", kProduct, kProductOfRegisters})), "fu");
}

TEST(Fences, CopiesAreWhatTheyCopy) {
  EXPECT_EQ(fenced(text_of({kWgmmaFence, "mov.f32 %d0, 0f00000000;\nmov.f32 %d1, %d0;\n", kProduct})), "f");
  EXPECT_EQ(fenced(text_of({"add.f32 %d4, %d4, %d4;\n", kWgmmaFence, "mov.f32 %d1, %d4;\n", kProduct})), "f");
  EXPECT_EQ(fenced(text_of({kWgmmaFence, "add.f32 %d4, %d4, %d4;\nmov.f32 %d1, %d4;\n", kProduct})), "u");
  EXPECT_EQ(
      fenced(text_of({kWgmmaFence, "add.f32 %d1, %d4, %d4;\n@%more mov.f32 %d1, 0f00000000;\n", kProduct})),
      "u");
}

TEST(Fences, OnEveryPath) {
  EXPECT_EQ(fenced(text_of({"@%more bra THERE;\n", kWgmmaFence, "THERE:\n", kProduct})), "u");
  EXPECT_EQ(fenced(text_of({kWgmmaFence, "AGAIN:\n", kProduct, kWaitForAll, "@%more bra AGAIN;\n"})), "f");
  EXPECT_EQ(fenced(text_of({kWgmmaFence, "AGAIN:\n", kProduct, kWaitForAll,
                            "add.f32 %d4, %d4, %d1;\n@%more bra AGAIN;\n"})),
            "u");
  EXPECT_EQ(fenced(text_of({"AGAIN:\n", kWgmmaFence, kProduct, kWaitForAll,
                            "add.f32 %d4, %d4, %d1;\n@%more bra AGAIN;\n"})),
            "f");
}

}  // namespace
}  // namespace raddle::ptx::test
