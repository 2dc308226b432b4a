// Which registers kernels that run as regions write to their frame at a barrier, and read after it.
#include "jit/frame.h"

#include <gmock/gmock.h>

#include "isa/op.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr ptx::RegisterId kC = 2;  // %c

struct Barriers {
  std::vector<std::vector<std::string>> first, saved, loaded, held;
};

/// Names of the registers at each barrier, in program order.
Barriers barriers_of(const std::string& body) {
  auto module = ptx::parse(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{ .reg .b32 %a, %b, %c, %z; .reg "
      ".pred %p;\n" +
      body + "}\n");
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  const ptx::Function& f = module->functions[0];
  auto cfg = ptx::build_cfg(f);
  Barriers result;
  auto names = [&](const std::vector<ptx::RegisterId>& registers) {
    std::vector<std::string> text;
    for (auto r : registers) text.push_back(f.registers[r].name);
    return text;
  };
  const AlsoRead load_reads_c = [](ptx::BlockId, const ptx::Instruction& i) {
    return i.op() == isa::Op::ld ? std::vector{kC} : std::vector<ptx::RegisterId>();
  };
  for (const auto& [n, use] : frame_uses(f, cfg, ptx::liveness(f, cfg), load_reads_c)) {
    result.first.push_back(names(use.first));
    result.saved.push_back(names(use.saved));
    result.loaded.push_back(names(use.loaded));
    result.held.push_back(names(use.held));
  }
  return result;
}

TEST(Frame, KeepsARegisterOverSeveralBarriersAndTouchesItTwice) {
  Barriers b =
      barriers_of("mov.u32 %a, %tid.x; bar.sync 0; bar.sync 0; bar.sync 0; st.shared.u32 [%a], %a; ret;");
  EXPECT_THAT(b.first, ElementsAre(ElementsAre("%a"), IsEmpty(), IsEmpty()));
  EXPECT_THAT(b.saved, ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
  EXPECT_THAT(b.loaded, ElementsAre(IsEmpty(), IsEmpty(), ElementsAre("%a")));
  EXPECT_THAT(b.held, ElementsAre(ElementsAre("%a"), ElementsAre("%a"), ElementsAre("%a")));
}

TEST(Frame, SavesAgainWhatChanged) {
  Barriers b = barriers_of(
      "mov.u32 %a, %tid.x; mov.u32 %b, %tid.x; bar.sync 0; add.u32 %a, %a, 1; bar.sync 0; st.shared.u32 "
      "[%a], "
      "%b; ret;");
  EXPECT_THAT(b.first, ElementsAre(ElementsAre("%a", "%b"), IsEmpty()));
  EXPECT_THAT(b.saved, ElementsAre(IsEmpty(), ElementsAre("%a")));
  EXPECT_THAT(b.loaded, ElementsAre(ElementsAre("%a"), ElementsAre("%a", "%b")));
}

TEST(Frame, LoadsWhatOnePathChangesAndTheNextBarrierSaves) {
  Barriers b = barriers_of(
      "mov.u32 %a, %tid.x; setp.eq.u32 %p, %a, 3; bar.sync 0; @%p bra SKIP; mov.u32 %a, 7; SKIP: bar.sync 0; "
      "st.shared.u32 [%a], %a; ret;");
  EXPECT_THAT(b.first, ElementsAre(ElementsAre("%a", "%p"), IsEmpty()));
  EXPECT_THAT(b.saved, ElementsAre(IsEmpty(), ElementsAre("%a")));
  EXPECT_THAT(b.loaded, ElementsAre(ElementsAre("%a", "%p"), ElementsAre("%a")));
}

TEST(Frame, AGuardedDefinitionNeedsTheOldValue) {
  Barriers b = barriers_of(
      "mov.u32 %a, %tid.x; setp.eq.u32 %p, %a, 3; bar.sync 0; @%p mov.u32 %a, 7; bar.sync 0; st.shared.u32 "
      "[%a], %a; ret;");
  EXPECT_THAT(b.loaded, ElementsAre(ElementsAre("%a", "%p"), ElementsAre("%a")));
}

TEST(Frame, InALoopWhatDoesNotChangeIsSavedTheFirstTime) {
  Barriers b = barriers_of(
      "mov.u32 %a, 0; mov.u32 %b, %tid.x; AGAIN: bar.sync 0; add.u32 %a, %a, 1; setp.lt.u32 %p, %a, %b; @%p "
      "bra "
      "AGAIN; ret;");
  EXPECT_THAT(b.first, ElementsAre(ElementsAre("%b")));
  EXPECT_THAT(b.saved, ElementsAre(ElementsAre("%a")));
  EXPECT_THAT(b.loaded, ElementsAre(ElementsAre("%a", "%b")));
}

TEST(Frame, ATurnLoadsNothingThatItOnlyCarriesAlong) {
  // Of two regions of a loop, the first has no need of %b, nor the second of %c.
  Barriers b = barriers_of(
      "mov.u32 %a, 0; mov.u32 %b, %tid.x; mov.u32 %c, %tid.x; AGAIN: bar.sync 0; st.shared.u32 [%c], 1; "
      "bar.sync 0; add.u32 %a, %a, %b; setp.lt.u32 %p, %a, 9; @%p bra AGAIN; ret;");
  EXPECT_THAT(b.first, ElementsAre(ElementsAre("%b", "%c"), IsEmpty()));
  EXPECT_THAT(b.saved, ElementsAre(ElementsAre("%a"), IsEmpty()));
  EXPECT_THAT(b.loaded, ElementsAre(ElementsAre("%c"), ElementsAre("%a", "%b")));
}

TEST(Frame, WhatTheEntryAndATurnMayChangeIsSavedEachTime) {
  Barriers b = barriers_of(
      "mov.u32 %b, %tid.x; mov.u32 %a, 0; AGAIN: mov.u32 %b, 7; bar.sync 0; add.u32 %a, %a, %b; setp.lt.u32 "
      "%p, %a, 9; @%p bra AGAIN; ret;");
  EXPECT_THAT(b.first, ElementsAre(IsEmpty()));
  EXPECT_THAT(b.saved, ElementsAre(ElementsAre("%a", "%b")));
}

TEST(Frame, LoadsWhatAnInstructionReadsBesideItsOperands) {
  Barriers b = barriers_of(
      "mov.u32 %a, 64; mov.u32 %c, %tid.x; AGAIN: bar.sync 0; ld.shared.u32 %b, [%a]; bar.sync 0; add.u32 "
      "%a, "
      "%a, %c; setp.lt.u32 %p, %a, 900; @%p bra AGAIN; ret;");
  EXPECT_THAT(b.loaded, ElementsAre(ElementsAre("%a", "%c"), ElementsAre("%a", "%c")));
}

TEST(Frame, ARegisterThatIsNeverWrittenIsZeroAfterBarriersToo) {
  Barriers b = barriers_of("bar.sync 0; st.shared.u32 [%z], %z; ret;");
  EXPECT_THAT(b.first, ElementsAre(ElementsAre("%z")));
}

TEST(FrameLayout, SharesPlacesBetweenWhatNoBarrierHoldsTogether) {
  FrameLayout frame;
  const auto first = frame.place(64, {0, 1});
  EXPECT_EQ(first % 64, 0u);
  EXPECT_NE(frame.place(64, {1, 2}), first);
  EXPECT_EQ(frame.place(64, {2, 3}), first);
  EXPECT_NE(frame.place(4, {7}), first);  // another size
  EXPECT_EQ(frame.bytes(), 64u + 2 * 64 + 4);
}

}  // namespace
}  // namespace raddle::jit
