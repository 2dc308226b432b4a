// Which loops around mbarrier.try_wait are nothing but the wait.
#include "ptx/awaits.h"

#include <algorithm>

#include "isa/op.h"
#include "ptx_test.h"

namespace raddle::ptx::test {
namespace {

constexpr std::string_view kTry = "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;\n";

/// Of the first try_wait of a kernel.
bool awaited(const std::string& body) {
  const Module module = must_parse(kernel_text(body));
  const Function& function = function_of(module, "k");
  const auto found = std::ranges::find(function.instructions, isa::Op::mbarrier_try_wait, &Instruction::op);
  if (found == function.instructions.end()) return ADD_FAILURE() << "no try_wait", false;
  return is_awaited(function, build_cfg(function), *found);
}

/// AGAIN: try_wait, then this, then ret.
bool waits_in(std::string_view rest) { return awaited(fmt::format("AGAIN:\n{}{}\nDONE:\nret;", kTry, rest)); }

TEST(Awaits, LoopsThatOnlyAsk) {
  EXPECT_TRUE(waits_in("@!%p1 bra AGAIN;"));
  EXPECT_TRUE(waits_in("@%p1 bra DONE;\nbra AGAIN;"));
  EXPECT_TRUE(waits_in("selp.b32 %r3, 1, 0, %p1;\nsetp.eq.b32 %p2, %r3, 0;\n@%p2 bra AGAIN;"));
  EXPECT_TRUE(
      waits_in("selp.u32 %r3, 1, 0, %p1;\nsetp.ne.u32 %p2, %r3, 0;\nnot.pred %p3, %p2;\n@%p3 bra AGAIN;"));
}

TEST(Awaits, SleepsAndClocksChangeNothing) {
  EXPECT_TRUE(
      waits_in("@%p1 bra DONE;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, 64;\n@%p2 bra AGAIN;\n"
               "mov.u64 %rd1, %globaltimer;\nnanosleep.u32 100;\nbra AGAIN;"));
}

TEST(Awaits, WhatIsAskedMustBeTheSame) {
  EXPECT_TRUE(waits_in("mov.u32 %r2, 1;\n@!%p1 bra AGAIN;"));
  EXPECT_FALSE(waits_in("xor.b32 %r2, %r2, 1;\n@!%p1 bra AGAIN;"));
  EXPECT_FALSE(waits_in("add.u32 %r1, %r1, 8;\n@!%p1 bra AGAIN;"));
  EXPECT_FALSE(waits_in("ld.shared.u32 %r2, [%r4];\n@!%p1 bra AGAIN;"));
}

TEST(Awaits, EffectsAreSeen) {
  EXPECT_FALSE(waits_in("@%p1 bra DONE;\nst.shared.u32 [%r4], %r5;\nbra AGAIN;"));
  EXPECT_FALSE(waits_in("@%p1 bra DONE;\nbar.sync 0;\nbra AGAIN;"));
  EXPECT_FALSE(waits_in("@%p1 bra DONE;\natom.shared.add.u32 %r5, [%r4], 1;\nbra AGAIN;"));
  EXPECT_TRUE(waits_in("@!%p1 bra AGAIN;\nst.shared.u32 [%r4], %r5;"));  // after a "yes"
}

TEST(Awaits, OtherWaysOutMeanThatItPolls) {
  EXPECT_FALSE(waits_in(""));
  EXPECT_FALSE(waits_in("@%p1 bra AGAIN;"));
  EXPECT_FALSE(waits_in("@%p1 bra DONE;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, 64;\n@%p2 bra AGAIN;"));
  EXPECT_FALSE(waits_in("@%p1 bra DONE;\nsetp.gt.u32 %p2, %r5, 64;\n@%p2 trap;\nbra AGAIN;"));
  EXPECT_FALSE(awaited(fmt::format("AGAIN:\n@%p3 {}@!%p1 bra AGAIN;\nret;", kTry)));
}

// Two objects in turn: a "no" of the first goes on to the second.
TEST(Awaits, TwoInTurnAreAPoll) {
  EXPECT_FALSE(waits_in(
      "@%p1 bra DONE;\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], %r2;\n@!%p2 bra AGAIN;"));
}

}  // namespace
}  // namespace raddle::ptx::test
