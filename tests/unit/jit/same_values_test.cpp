// Values that are equal in all warps that run together, so that one warp computes them for all.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "jit/function_plan.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

/// Whether %x, to which the last of the given instructions writes, is equal in all warps of such a block.
bool is_same(const std::string& body, exec::BlockShape block = {256, 1, 1}) {
  const auto module = ptx::parse(fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 n) {{
 .reg .b64 %at; .reg .b32 %t, %lane, %row, %n, %x, %y; .reg .pred %p, %q;
 .shared .align 16 .b8 tile[1024];
 ld.param.u64 %at, [data];
 ld.param.u32 %n, [n];
 mov.u32 %t, %tid.x;
 mov.u32 %row, %tid.y;
 and.b32 %lane, %t, 31;
 {}
 st.global.u32 [%at], %x;
 ret;
}})",
                                             body));
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  constexpr unsigned kPartLanes = 16, kWarps = 4;
  const FunctionPlan plan(*module, module->functions[0], layout_class(block, kPartLanes), kPartLanes,
                          Holding::none, false, Control::together, kWarps);
  const auto& registers = plan.function.registers;
  const auto x = std::ranges::find(registers, "%x", &ptx::Register::name);
  return plan.same_in_all_warps(static_cast<ptx::RegisterId>(x - registers.begin()));
}

TEST(SameValues, PlacesInTheWarp) {
  EXPECT_TRUE(is_same("mul.lo.u32 %x, %lane, %n;"));
  EXPECT_TRUE(is_same("and.b32 %x, %t, 7;"));
  EXPECT_FALSE(is_same("and.b32 %x, %t, 63;"));
  EXPECT_FALSE(is_same("and.b32 %x, %t, -32;"));
  EXPECT_FALSE(is_same("shr.u32 %y, %t, 5; and.b32 %x, %y, 1;"));
}

TEST(SameValues, WhatLanesTellEachOther) {
  EXPECT_TRUE(is_same("shfl.sync.bfly.b32 %x, %lane, 16, 31, -1;"));
  EXPECT_TRUE(is_same("setp.lt.u32 %p, %lane, %n; vote.sync.ballot.b32 %x, %p, -1;"));
  EXPECT_FALSE(is_same("shfl.sync.bfly.b32 %x, %t, 16, 31, -1;"));
  EXPECT_FALSE(is_same("setp.lt.u32 %p, %t, %n; @%p shfl.sync.bfly.b32 %x, %lane, 16, 31, -1;"));
}

TEST(SameValues, ColumnsOfRows) {
  EXPECT_TRUE(is_same("mov.u32 %x, %t;", {16, 16, 1}));
  EXPECT_TRUE(is_same("mov.u32 %x, %t;", {32, 8, 1}));
  EXPECT_FALSE(is_same("mov.u32 %x, %row;", {16, 16, 1}));
  EXPECT_FALSE(is_same("mov.u32 %x, %t;", {48, 8, 1}));
  EXPECT_FALSE(is_same("mov.u32 %x, %t;", {16, 4, 4})) << "not found out";
}

}  // namespace
}  // namespace raddle::jit
