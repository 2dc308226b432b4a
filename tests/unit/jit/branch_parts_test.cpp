// Which parts of a guard are scalars, and may decide a branch for all lanes.
#include "jit/branch_parts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ptx/parser.h"
#include "unit/jit/dump.h"

namespace raddle::jit {
namespace {

/// A kernel with the predicates %u and %w, each equal for all lanes, %v and %z, which are not, and a branch
/// round a store behind the given instructions.
std::string branching(const std::string& body, const std::string& guard = "%p") {
  return fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 n) {{
 .reg .b64 %at; .reg .b32 %t, %n; .reg .pred %u, %w, %v, %z, %p, %q, %s;
 ld.param.u64 %at, [data];
 ld.param.u32 %n, [n];
 mov.u32 %t, %tid.x;
 mad.wide.u32 %at, %t, 4, %at;
 setp.eq.u32 %u, %n, 7;
 setp.gt.u32 %w, %n, 9;
 setp.eq.u32 %v, %t, %n;
 setp.gt.u32 %z, %t, 5;
 {}
 @{} bra done;
 st.global.u32 [%at], %t;
done:
 ret;
}})",
                     body, guard);
}

/// "or" or "and", the names of scalars, and of what lanes differ in.
std::string parts_of(const std::string& body, const std::string& guard = "%p") {
  const auto module = ptx::parse(branching(body, guard));
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  constexpr unsigned kPartLanes = 8;
  const FunctionPlan plan(*module, module->functions[0], layout_class({64, 1, 1}, kPartLanes), kPartLanes,
                          Holding::none, false);
  const auto parts = parts_of_branch(plan, 0);
  if (!parts) return "";
  std::string text = parts->any_decides ? "or" : "and";
  for (const auto* some : {&parts->uniform, &parts->by_lane}) {
    text += ";";
    for (const ptx::Operand& part : *some) text += " " + plan.function.registers[part.index].name;
  }
  return text;
}

TEST(BranchParts, OneOperationOfAScalarAndLanes) {
  EXPECT_EQ(parts_of("or.pred %p, %v, %u;"), "or; %u; %v");
  EXPECT_EQ(parts_of("and.pred %p, %u, %v;", "!%p"), "and; %u; %v");
}

TEST(BranchParts, SeveralOfTheSame) {
  EXPECT_EQ(parts_of("or.pred %s, %v, %u; or.pred %q, %w, %z; or.pred %p, %s, %q;"), "or; %w %u; %z %v");
  EXPECT_EQ(parts_of("and.pred %q, %v, %z; and.pred %p, %q, %w;"), "and; %w; %v %z");
}

TEST(BranchParts, WhatIsMadeByAnotherOperationIsOnePart) {
  EXPECT_EQ(parts_of("and.pred %q, %v, %z; or.pred %p, %q, %w;"), "or; %w; %q");
  EXPECT_EQ(parts_of("xor.pred %q, %v, %w; or.pred %p, %q, %u;"), "or; %u; %q");
}

TEST(BranchParts, NoneWhereLanesOrScalarsAreAlone) {
  EXPECT_EQ(parts_of("or.pred %p, %v, %z;"), "");
  EXPECT_EQ(parts_of("or.pred %p, %u, %w;"), "");
  EXPECT_EQ(parts_of("setp.eq.u32 %p, %t, %n;"), "");
  EXPECT_EQ(parts_of("xor.pred %p, %v, %u;"), "");
}

TEST(BranchParts, NotWhatIsMadeAnewBehind) {
  EXPECT_EQ(parts_of("or.pred %p, %v, %u; setp.eq.u32 %u, %n, 8;"), "");
  EXPECT_EQ(parts_of("or.pred %u, %v, %u;", "%u"), "");
  EXPECT_EQ(parts_of("or.pred %p, %v, %z; or.pred %p, %p, %w;"), "");
  EXPECT_EQ(parts_of("or.pred %q, %v, %u; setp.eq.u32 %u, %n, 8; or.pred %p, %q, %w;"), "or; %w; %q");
}

TEST(BranchParts, NotWhatSomeLanesMake) {
  EXPECT_EQ(parts_of("setp.eq.u32 %p, %t, 3; @%z or.pred %p, %v, %u;"), "");
}

TEST(BranchParts, HostsWithoutMaskRegistersBranchByScalars) {
  const auto text = [](SimdLevel level) {
    return dump_of("ir", branching("or.pred %p, %v, %u;"), {.simd = level, .tier = Tier::optimised},
                   {.block = {64}});
  };
  EXPECT_NE(text(SimdLevel::avx2).find("all_alike"), std::string::npos);
  EXPECT_NE(text(SimdLevel::sse42).find("all_alike"), std::string::npos);
  EXPECT_EQ(text(SimdLevel::avx512).find("all_alike"), std::string::npos);
}

}  // namespace
}  // namespace raddle::jit
