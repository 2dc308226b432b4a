// Between which numbers registers lie, and what shapes make of it.
#include "jit/ranges.h"

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <string>

#include "jit/function_plan.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

constexpr Range kAllNumbers;

class RangesOfCode : public ::testing::Test {
 protected:
  /// %d is what is asked for; %n is a parameter, %t a thread's number.
  void compile(const std::string& body) {
    auto parsed = ptx::parse(
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u32 m)\n"
        "{ .reg .b32 %t, %n, %d, %i, %j, %v, %w, %x, %y, %z; .reg .b64 %a, %b, %c, %f; .reg .pred %p, %q;\n"
        "ld.param.u64 %a, [a]; ld.param.u32 %n, [m]; mov.u32 %t, %tid.x;\n" +
        body + "\nst.global.u32 [%a], %d; ret;\n}\n");
    ASSERT_TRUE(parsed.ok()) << parsed.error().to_string();
    module_ = std::make_unique<ptx::Module>(std::move(*parsed));
    const LayoutClass layout{.layout = LaneLayout::one_dimension, .full_warps = true};
    plan_ = std::make_unique<FunctionPlan>(*module_, module_->functions[0], layout, 16, Holding::none, false);
  }
  ptx::RegisterId named(const std::string& name) const {
    const auto& registers = plan_->function.registers;
    for (ptx::RegisterId r = 0; r < registers.size(); ++r)
      if (registers[r].name == name) return r;
    ADD_FAILURE() << name;
    return 0;
  }
  Range range_after(const std::string& body) {
    compile(body);
    return Ranges(plan_->function, plan_->cfg, plan_->live).of(named("%d"));
  }
  const Shape& shape(const std::string& name) const { return plan_->shape(named(name)); }

 private:
  std::unique_ptr<ptx::Module> module_;
  std::unique_ptr<FunctionPlan> plan_;
};

TEST_F(RangesOfCode, FollowArithmetic) {
  EXPECT_EQ(range_after("mov.u32 %d, %tid.y;"), (Range{0, 1023}));
  EXPECT_EQ(range_after("add.u32 %d, %t, 5;"), (Range{5, 1028}));
  EXPECT_EQ(range_after("sub.s32 %d, 5, %t;"), (Range{-1018, 5}));
  EXPECT_EQ(range_after("mul.lo.s32 %d, %t, -2;"), (Range{-2046, 0}));
  EXPECT_EQ(range_after("mad.lo.s32 %d, %t, 3, 1;"), (Range{1, 3070}));
  EXPECT_EQ(range_after("shl.b32 %d, %t, 4;"), (Range{0, 16368}));
  EXPECT_EQ(range_after("shr.u32 %d, %n, 30;"), (Range{0, 3}));
  EXPECT_EQ(range_after("shr.s32 %d, %t, 31;"), (Range{0, 0}));
  EXPECT_EQ(range_after("shr.s32 %d, %n, 31;"), (Range{-1, 0}));
  EXPECT_EQ(range_after("and.b32 %d, %n, 12;"), (Range{0, 12}));
  EXPECT_EQ(range_after("or.b32 %d, %t, 1024;"), (Range{0, 2047}));
}

TEST_F(RangesOfCode, AreAllNumbersWhereTheyMayWrap) {
  EXPECT_EQ(range_after("mov.u32 %d, %n;"), kAllNumbers);
  EXPECT_EQ(range_after("and.b32 %v, %n, 2147483647; add.u32 %d, %v, 1;"), kAllNumbers);
  EXPECT_EQ(range_after("shl.b32 %d, %t, 22;"), kAllNumbers);
  EXPECT_EQ(range_after("mul.lo.s32 %v, %t, %t; mul.lo.s32 %d, %v, %t; mul.lo.s32 %d, %d, %v;"), kAllNumbers);
  EXPECT_EQ(range_after("and.b32 %d, %n, -4;"), kAllNumbers);
  EXPECT_EQ(range_after("xor.b32 %d, %t, %n;"), kAllNumbers);
  EXPECT_EQ(range_after("and.b32 %v, %n, 65535; add.u16x2 %d, %v, %v;"), kAllNumbers);
  EXPECT_EQ(range_after("setp.eq.u32 %p, %n, 0; @%p mov.u32 %d, 5;"), kAllNumbers);
  EXPECT_EQ(range_after("setp.eq.u32 %p, %n, 0; @%p bra L; mov.u32 %d, 5;\nL:"), kAllNumbers)
      << "0 elsewhere";
}

TEST_F(RangesOfCode, KnowRemaindersOfTheSameNumberOnly) {
  EXPECT_EQ(range_after("and.b32 %v, %n, -64; sub.s32 %d, %n, %v;"), (Range{0, 63}));
  EXPECT_EQ(range_after("shr.s32 %v, %t, 31; add.s32 %w, %n, %v; and.b32 %x, %w, -64; sub.s32 %d, %n, %x;"),
            (Range{0, 63}));
  EXPECT_EQ(range_after("add.s32 %w, %n, 1; and.b32 %x, %w, -64; sub.s32 %d, %n, %x;"), kAllNumbers);
  EXPECT_EQ(range_after("and.b32 %v, %n, -63; sub.s32 %d, %n, %v;"), kAllNumbers);
  EXPECT_EQ(range_after("mov.u32 %i, %n; and.b32 %v, %i, -64; add.s32 %i, %i, %n; sub.s32 %d, %i, %v;"),
            kAllNumbers);
}

std::string loop(const std::string& start, const std::string& body, const std::string& after = "") {
  return start + "\nLOOP: mov.u32 %d, %i;\n" + body + "\n@%p bra LOOP;\n" + after;
}

TEST_F(RangesOfCode, EndWhereLoopsEnd) {
  const std::string from_thread = "mov.u32 %i, %t;";
  EXPECT_EQ(range_after(loop(from_thread, "add.s32 %j, %i, 128; setp.lt.s32 %p, %i, 384; mov.u32 %i, %j;")),
            (Range{0, 1023 + 128}));
  EXPECT_EQ(range_after(loop("mov.u32 %i, 3;", "add.s32 %i, %i, 2; setp.le.u32 %p, %i, 99;")),
            (Range{3, 99 + 2}));
  EXPECT_EQ(range_after(loop("mov.u32 %i, 3;", "add.s32 %j, %i, 2; setp.lt.s32 %p, %j, 99; mov.u32 %i, %j;")),
            (Range{3, 98 + 2}));
}

TEST_F(RangesOfCode, DoNotEndWithoutALimitThatEveryTurnTests) {
  const std::string start = "mov.u32 %i, 3;";
  EXPECT_EQ(range_after(loop(start, "add.s32 %i, %i, 2; setp.lt.s32 %p, %i, %n;")), kAllNumbers);
  EXPECT_EQ(range_after(loop(start, "add.s32 %i, %i, 2; setp.ne.s32 %p, %i, 99;")), kAllNumbers);
  EXPECT_EQ(range_after(loop(start, "add.s32 %i, %i, 2; setp.lt.s32 %p, %n, 99;")), kAllNumbers);
  EXPECT_EQ(range_after(loop(start, "add.s32 %i, %i, %t; setp.lt.s32 %p, %i, 99;")), kAllNumbers);
  EXPECT_EQ(range_after(loop(start, "add.s32 %i, %i, -2; setp.lt.s32 %p, %i, 99;")), kAllNumbers);
  EXPECT_EQ(range_after(loop(start, "add.s32 %i, %i, 9; setp.lt.s32 %p, %i, 2147483647;")), kAllNumbers);
  EXPECT_EQ(range_after(loop(start, "add.s32 %i, %i, 2; setp.lt.s32 %p, %i, 99;",
                             "setp.eq.u32 %q, %n, 0; @%q bra LOOP;")),
            kAllNumbers)
      << "the loop begins again where it ended";
  EXPECT_EQ(range_after(loop(start, "setp.lt.s32 %p, %j, 99; add.s32 %j, %i, 2; mov.u32 %i, %j;")),
            kAllNumbers)
      << "of the turn before";
}

TEST_F(RangesOfCode, GiveQuotientsAndRemaindersConstantDistances) {
  compile(
      "mov.u32 %i, %t; shr.s32 %v, %i, 31; shr.u32 %j, %v, 30; add.s32 %w, %i, %j; shr.s32 %d, %w, 2;"
      "and.b32 %y, %w, -4; sub.s32 %z, %i, %y; add.s32 %x, %i, 255; setp.lt.u32 %q, %x, 511;");
  ASSERT_TRUE(shape("%d").scalar());
  ASSERT_TRUE(shape("%z").scalar());
  for (unsigned l = 0; l < 32; ++l) {
    EXPECT_EQ(shape("%d").offset(l), l / 4);
    EXPECT_EQ(shape("%z").offset(l), l % 4);
  }
  EXPECT_TRUE(shape("%q").uniform());
}

TEST_F(RangesOfCode, GiveNothingOfNumbersThatMayBeNegative) {
  compile(
      "add.s32 %i, %t, %n; shr.s32 %v, %i, 31; shr.u32 %j, %v, 30; add.s32 %w, %i, %j; shr.s32 %d, %w, 2;"
      "mad.lo.s32 %y, %n, 32, %t; add.s32 %x, %y, 255; setp.lt.u32 %q, %x, 511;");
  EXPECT_FALSE(shape("%d").affine);
  EXPECT_FALSE(shape("%q").uniform()) << "it may wrap within the warp";
}

TEST_F(RangesOfCode, LanesBetweenTwoMultiplesOfTheirNumberCompareAlike) {
  const auto is_alike = [&](const std::string& comparison) {
    compile("add.s32 %x, %t, 31; " + comparison + " mov.u32 %d, 0;");
    return shape("%q").uniform();
  };
  EXPECT_TRUE(is_alike("setp.lt.u32 %q, %x, 95;"));
  EXPECT_TRUE(is_alike("setp.gt.s32 %q, %x, 94;"));
  EXPECT_FALSE(is_alike("setp.lt.u32 %q, %x, 96;"));
  EXPECT_FALSE(is_alike("setp.le.u32 %q, %x, 95;"));
}

TEST_F(RangesOfCode, LanesLieInFoursAtUnknownDistances) {
  compile(
      "shr.u32 %i, %t, 2; mul.lo.s32 %v, %i, %n; cvt.s64.s32 %b, %v; add.s64 %b, %a, %b; and.b32 %j, %t, 3;"
      "shl.b32 %w, %j, 4; cvt.u64.u32 %c, %w; add.s64 %f, %b, %c; mul.lo.s32 %x, %t, %n; mov.u32 %d, 0;");
  EXPECT_FALSE(shape("%f").affine);
  EXPECT_EQ(shape("%v").step_in_fours(), 0);
  EXPECT_EQ(shape("%f").step_in_fours(), 16);
  EXPECT_EQ(shape("%x").step_in_fours(), std::nullopt);
}

TEST_F(RangesOfCode, LanesDoNotLieInFoursWhereSomeKeepOldValues) {
  compile(
      "shr.u32 %i, %t, 2; mul.lo.s32 %v, %i, %n; setp.gt.u32 %p, %t, 17; @%p mul.lo.s32 %v, %i, 5;"
      "add.u32 %w, %v, %n; mov.u32 %d, 0;");
  EXPECT_EQ(shape("%v").step_in_fours(), std::nullopt);
  EXPECT_EQ(shape("%w").step_in_fours(), std::nullopt);
}

}  // namespace
}  // namespace raddle::jit
