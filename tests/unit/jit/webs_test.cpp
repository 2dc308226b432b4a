// Which places of a register stay together (jit/webs.h).
#include "jit/webs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ptx/cfg.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

/// The webs of a register in a kernel of this body, in the order of its text: a letter for each place that
/// names it, a new one for each new register. An instruction's sources come before its destinations.
std::string webs_of(const std::string& body, const std::string& name = "%r") {
  auto module = ptx::parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".func (.reg .b32 %result) f(.reg .b32 %x) { ret; }\n"
      ".visible .entry k(.param .u64 m) {\n"
      ".reg .b32 %r, %s, %t; .reg .b64 %w; .reg .pred %p, %q;\n" +
      body + "\nret;\n}\n");
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  ptx::Function before = module->functions[1];
  const auto separated = separate_webs(*module, before);
  ptx::Function after = separated ? *separated : before;
  std::vector<ptx::RegisterId> seen;
  std::vector<ptx::RegisterPlace> places;
  std::string webs;
  for (ptx::Instruction& i : after.instructions) {
    ptx::register_places(after, i, places);
    for (const ptx::RegisterPlace& place : places) {
      if (after.registers[*place.name].name != name) continue;
      const auto known = std::ranges::find(seen, *place.name);
      webs += static_cast<char>('a' + (known - seen.begin()));
      if (known == seen.end()) seen.push_back(*place.name);
    }
  }
  EXPECT_EQ(separated.has_value(), seen.size() > 1 || after.registers.size() > before.registers.size());
  return webs;
}

TEST(Webs, OfAStraightLine) {
  EXPECT_EQ(webs_of("mov.u32 %r, %tid.x; mov.u32 %s, %r; mov.u32 %r, 7; mov.u32 %t, %r;"), "aabb");
  EXPECT_EQ(webs_of("mov.u32 %r, %tid.x; mov.u32 %s, %r; mov.u32 %t, %r;"), "aaa");
  EXPECT_EQ(webs_of("mov.u32 %r, 1; add.u32 %r, %r, 1; add.u32 %r, %r, %r; mov.u32 %s, %r;"), "aabbbcc");
}

TEST(Webs, OfValuesThatNothingSets) {
  EXPECT_EQ(webs_of("mov.u32 %s, %r; mov.u32 %r, 1; mov.u32 %t, %r; mov.u32 %r, 2; mov.u32 %t, %r;"),
            "abbcc");
}

TEST(Webs, AGuardedWriteKeepsTheOldValue) {
  EXPECT_EQ(webs_of("mov.u32 %r, 1; setp.eq.u32 %p, %s, 0; @%p mov.u32 %r, 2; mov.u32 %t, %r;"), "aaa");
  EXPECT_EQ(webs_of("mov.u32 %r, 1; mov.u32 %t, %r; mov.u32 %r, 3; @%p mov.u32 %r, 2; mov.u32 %t, %r;"),
            "aabbb");
}

TEST(Webs, MeetWhereBranchesDo) {
  const std::string both = "@%p bra ELSE; mov.u32 %r, 1; bra JOIN; ELSE: mov.u32 %r, 2; JOIN: ";
  EXPECT_EQ(webs_of(both + "mov.u32 %s, %r;"), "aaa");
  EXPECT_EQ(webs_of(both + "mov.u32 %r, 3; mov.u32 %s, %r;"), "abcc");
  EXPECT_EQ(webs_of("mov.u32 %r, 1; @%p bra JOIN; mov.u32 %s, %r; mov.u32 %r, 2; JOIN: mov.u32 %t, %r;"),
            "aaaa");
  EXPECT_EQ(webs_of("@%p bra ELSE; mov.u32 %r, 1; mov.u32 %s, %r; bra JOIN;"
                    "ELSE: mov.u32 %r, 2; mov.u32 %s, %r; JOIN: mov.u32 %t, %s;"),
            "aabb");
}

TEST(Webs, GoAroundLoops) {
  EXPECT_EQ(webs_of("mov.u32 %r, 0; L: add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 9; @%p bra L;"), "aaaa");
  EXPECT_EQ(webs_of("mov.u32 %r, 5; mov.u32 %s, %r; L: mov.u32 %r, %t; add.u32 %t, %r, 1;"
                    "setp.lt.u32 %p, %t, 9; @%p bra L; mov.u32 %r, 2; mov.u32 %s, %r;"),
            "aabbcc");
  EXPECT_EQ(webs_of("mov.u32 %r, 5; L: mov.u32 %t, %r; setp.lt.u32 %p, %t, 9; mov.u32 %r, %s; mov.u32 %s, %r;"
                    "@%p bra L;"),
            "aaaa");
}

TEST(Webs, OfAddressesAndVectors) {
  EXPECT_EQ(webs_of("mov.u32 %r, 0; st.shared.u32 [%r], %s; ld.shared.v2.u32 {%r, %s}, [16];"
                    "st.shared.v2.u32 [%s], {%s, %r};"),
            "aabb");
  EXPECT_EQ(webs_of("mov.u32 %r, 0; ld.shared.u32 %r, [%r]; ld.shared.u32 %r, [%r]; mov.u32 %s, %r;"),
            "aabbcc");
  EXPECT_EQ(webs_of("mov.u32 %r, 0; mov.u32 %s, %r; mov.b64 {%r, %r}, %w; mov.u32 %s, %r;"), "aabbb");
}

TEST(Webs, OfPredicates) {
  const std::string twice = "setp.eq.u32 %p, %s, 0; @%p mov.u32 %r, 1; setp.eq.u32 %p, %s, 1;";
  EXPECT_EQ(webs_of(twice + "@!%p mov.u32 %r, 2;", "%p"), "aabb");
  EXPECT_EQ(webs_of(twice + "@%p setp.eq.u32 %p, %s, 2; @%p mov.u32 %r, 2;", "%p"), "aabbbb");
}

TEST(Webs, OfCalls) {
  EXPECT_EQ(webs_of("mov.u32 %r, 1; call (%r), f, (%r); mov.u32 %s, %r;"), "aabb");
  EXPECT_EQ(webs_of("mov.u32 %r, 1; @%p call (%r), f, (%r); mov.u32 %s, %r;"), "aaaa");
}

TEST(Webs, OfMatricesAreOne) {
  EXPECT_EQ(webs_of("mov.u32 %r, 1; mov.u32 %s, %r;"
                    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r}, [0]; mov.u32 %s, %r;"),
            "aaaa");
}

TEST(Webs, OfFormalParametersAndResultsAreOne) {
  auto module = ptx::parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".func (.reg .b32 %result) f(.reg .b32 %x) {\n"
      "mov.u32 %result, 1; add.u32 %x, %x, %result; mov.u32 %result, %x; mov.u32 %x, 0; ret; }\n");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  EXPECT_FALSE(separate_webs(*module, module->functions[0]).has_value());
}

}  // namespace
}  // namespace raddle::jit
