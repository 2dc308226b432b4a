// At which operations lanes of a warp may meet (jit/in_step.h).
#include "jit/in_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "jit/holds.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

using Meet = bool (*)(const FunctionPlan&, BlockId, BlockId);

bool may_meet(const FunctionPlan& plan, BlockId a, BlockId b) { return plan.may_meet(a, b); }
bool looks_for(const FunctionPlan& plan, BlockId a, BlockId b) {
  const auto places = meeting_places(plan, a);
  return std::ranges::find(places, b) != places.end();
}

/// The warp operations of a kernel of this body that may meet, by their numbers in the text: "01" if the
/// first two may.
std::string meetings_of(const std::string& body, Meet meet = may_meet) {
  auto module = ptx::parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 m) {\n"
      ".reg .b32 %r, %s, %m; .reg .pred %p, %q;\n"
      "mov.u32 %r, %tid.x; setp.eq.u32 %p, %r, 3; setp.eq.u32 %q, %r, 4; ld.param.u32 %m, [m];\n" +
      body + "\nret;\n}\n");
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  const LayoutClass layout = layout_class({32, 1, 1}, 16);
  const FunctionPlan plan(*module, module->functions[0], layout, 16, Holding::groups, false);
  std::vector<BlockId> operations;
  for (BlockId b = 0; b < plan.function.blocks.size(); ++b) {
    const auto& block = plan.function.blocks[b];
    if (block.begin != block.end && holds_lanes(*plan.function.instructions[block.begin].opcode))
      operations.push_back(b);
  }
  std::string pairs;
  for (std::size_t i = 0; i < operations.size(); ++i)
    for (std::size_t k = i + 1; k < operations.size(); ++k)
      if (meet(plan, operations[i], operations[k]))
        pairs += (pairs.empty() ? "" : " ") + std::to_string(i) + std::to_string(k);
  return pairs;
}

const std::string kSync = "bar.warp.sync -1;\n";

TEST(InStep, NotOneBehindTheOther) {
  EXPECT_EQ(meetings_of(kSync + kSync + kSync), "");
  EXPECT_EQ(
      meetings_of("L:\n" + kSync + "add.u32 %r, %r, 1;\n" + kSync + "setp.lt.u32 %p, %r, 9;\n@%p bra L;\n"),
      "");
}

TEST(InStep, OnlyThoseThatMayMeetLookForOneAnother) {
  const std::string again = "add.u32 %r, %r, 1;\nsetp.lt.u32 %p, %r, 9;\n@%p bra L;\n";
  EXPECT_EQ(meetings_of("L:\n" + kSync + kSync + kSync + again, looks_for), "");
  EXPECT_EQ(meetings_of("L:\n" + kSync + "@%q bra A;\n" + kSync + "A:\n" + again, looks_for), "01");
}

TEST(InStep, OnBothSidesOfABranch) {
  EXPECT_EQ(meetings_of("@%p bra A;\n" + kSync + "bra B;\nA:\n" + kSync + "B:\n" + kSync), "01");
}

TEST(InStep, WhereSomePassOneMore) {
  EXPECT_EQ(meetings_of("@%p bra A;\n" + kSync + "A:\n" + kSync + kSync), "01 12");
}

/// Some lanes leave the loop and come to the next; the others come to the one inside again.
TEST(InStep, InALoopThatLanesLeave) {
  EXPECT_EQ(meetings_of("L:\n" + kSync + "add.u32 %r, %r, 1;\nsetp.lt.u32 %p, %r, 9;\n@%p bra L;\n" + kSync),
            "01");
}

/// Lanes pass operations that do not name all, and meet those that wait at one that does.
TEST(InStep, OthersNameFewer) {
  EXPECT_EQ(meetings_of("bar.warp.sync %m;\n" + kSync + "bar.warp.sync %m;\n"), "01 02 12");
  EXPECT_EQ(meetings_of("@%p bra A;\nbar.warp.sync 0x0000ffff;\nA:\n" + kSync + kSync), "");
  EXPECT_EQ(meetings_of("@%p bra A;\nbar.warp.sync %m;\nbra B;\nA:\n" + kSync + "B:\n" + kSync + kSync),
            "01 02 12 23");
}

/// Who does not execute it goes on without waiting.
TEST(InStep, AGuardLetsLanesPass) { EXPECT_EQ(meetings_of("@%p " + kSync + kSync + kSync), "01 12"); }

/// Other operations are no places to meet, but nobody passes them alone.
TEST(InStep, OfOneKind) {
  const std::string vote = "vote.sync.any.pred %q, %p, -1;\n";
  EXPECT_EQ(
      meetings_of("@%p bra A;\n" + kSync + vote + kSync + "bra B;\nA:\n" + kSync + vote + "B:\n" + kSync),
      "03 14 25");
}

}  // namespace
}  // namespace raddle::jit
