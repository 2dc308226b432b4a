// Which wgmmas compiled code makes by one call.
#include "jit/wgmma_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ptx/fences.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

using ::testing::ElementsAre;

/// One wgmma as text: so much of its name, D, and what stands behind A.
std::string wgmma(const std::string& types, const std::string& d, const std::string& rest) {
  const std::string shape = types.find("s32") == std::string::npos ? "m64n8k16" : "m64n8k32";
  return fmt::format("wgmma.mma_async.sync.aligned.{}.{} {{{}}}, {}; ", shape, types, d, rest);
}
const std::string kD = "%d0, %d1, %d2, %d3";
const std::string kOne = wgmma("f32.bf16.bf16", kD, "%a, %b, %p, 1, 1, 0, 0");

/// Step and count of each wgmma of a kernel's only block, as digits.
std::vector<std::string> runs_of(const std::string& body) {
  auto module = ptx::parse(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{ .reg .b32 %d<4>, %e<4>, %r; "
      ".reg .b64 %a, %b; .reg .pred %p, %q; .shared .align 16 .b8 tile[16];\n" +
      body + "ret; }\n");
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  const ptx::Function& f = module->functions[0];
  std::vector<std::string> found;
  for (const ptx::Instruction& i : f.instructions) {
    if (!ptx::is_wgmma(i)) continue;
    const WgmmaRun run = wgmma_run(f, f.blocks[0], i);
    found.push_back(fmt::format("{}{}", run.step, run.count));
  }
  return found;
}

TEST(WgmmaRun, IsOfFourAtMost) {
  EXPECT_THAT(runs_of(kOne), ElementsAre("01"));
  EXPECT_THAT(runs_of(kOne + kOne + kOne), ElementsAre("03", "13", "23"));
  EXPECT_THAT(runs_of(kOne + kOne + kOne + kOne + kOne + kOne),
              ElementsAre("04", "14", "24", "34", "02", "12"));
}

TEST(WgmmaRun, GoesOnOverArithmetic) {
  EXPECT_THAT(runs_of(kOne + "add.u64 %a, %a, 2; setp.ne.b64 %p, %a, 0; " + kOne), ElementsAre("02", "12"));
  EXPECT_THAT(runs_of(kOne + wgmma("f32.bf16.bf16", kD, "%a, %b, 1, 1, 1, 0, 0")), ElementsAre("02", "12"));
}

TEST(WgmmaRun, EndsWhereOthersMaySee) {
  for (const char* between : {"wgmma.commit_group.sync.aligned; ", "wgmma.wait_group.sync.aligned 0; ",
                              "st.shared.b32 [tile], %r; ", "ld.shared.b32 %r, [tile]; ", "mov.b32 %r, %d1; ",
                              "mov.b32 %d1, %r; ", "bar.sync 0; "})
    EXPECT_THAT(runs_of(kOne + between + kOne), ElementsAre("01", "01")) << between;
}

TEST(WgmmaRun, IsOfOneProductAndOneD) {
  const std::string by_registers = "{%e0, %e1, %e2, %e3}, %b, %p, 1, 1, 0";
  const std::string others[] = {wgmma("f32.bf16.bf16", "%d1, %d0, %d2, %d3", "%a, %b, %p, 1, 1, 0, 0"),
                                wgmma("f32.f16.f16", kD, "%a, %b, %p, 1, 1, 0, 0"),
                                wgmma("f32.bf16.bf16", kD, "%a, %b, %p, -1, 1, 0, 0"),
                                wgmma("f32.bf16.bf16", kD, "%a, %b, %p, 1, 1, 0, 1"),
                                wgmma("f32.bf16.bf16", kD, by_registers),
                                "@%q " + kOne};
  for (const std::string& other : others)
    EXPECT_THAT(runs_of(kOne + other), ElementsAre("01", "01")) << other;
}

/// D is rounded, or clamped, after each.
TEST(WgmmaRun, IsOfSumsThatMayBeSplit) {
  const auto twice = [](const std::string& one) { return runs_of(one + one); };
  EXPECT_THAT(twice(wgmma("f16.f16.f16", "%d0, %d1", "%a, %b, %p, 1, 1, 0, 0")), ElementsAre("01", "01"));
  EXPECT_THAT(twice(wgmma("s32.s8.s8", kD, "%a, %b, %p")), ElementsAre("02", "12"));
  std::string clamped = wgmma("s32.s8.s8", kD, "%a, %b, %p");
  clamped.replace(clamped.find(".s32"), 4, ".satfinite.s32");
  EXPECT_THAT(twice(clamped), ElementsAre("01", "01"));
}

}  // namespace
}  // namespace raddle::jit
