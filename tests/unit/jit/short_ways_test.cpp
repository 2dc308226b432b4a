// Ways around which lanes branch that become guarded instructions, so that warps that run together do not
// part there.
#include "jit/short_ways.h"

#include <fmt/format.h>

#include <algorithm>

#include "unit/jit/dump.h"

namespace raddle::jit {
namespace {

std::string text_of(const std::string& body) {
  return fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 n) {{
 .reg .b64 %at; .reg .b32 %t, %s, %n, %x, %y; .reg .pred %p, %q;
 .shared .align 16 .b8 tile[1024];
 ld.param.u64 %at, [data];
 ld.param.u32 %n, [n];
 mov.u32 %t, %tid.x;
 mov.u32 %s, tile;
 mad.lo.u32 %s, %t, 4, %s;
 mov.u32 %x, 7;
 setp.gt.u32 %p, %t, %n;
 setp.eq.u32 %q, %t, %n;
 bar.sync 0;
 {}
 bar.sync 0;
 st.shared.u32 [%s], %x;
 ret;
}})",
                     body);
}

/// Branches at which warps that run together may part.
std::size_t partings(const std::string& body) {
  const EngineOptions options{.tier = Tier::optimised, .together = Together::wherever_possible};
  const std::string ir = dump_of("ir", text_of(body), options, {.block = {64}});
  std::size_t count = 0;
  for (std::size_t at = 0; (at = ir.find("\napart", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(ShortWays, TheirInstructionsAreGuarded) {
  EXPECT_EQ(partings("@%p bra DONE; st.shared.u32 [%s], %t; DONE:"), 0u);
  EXPECT_EQ(partings("@!%p bra DONE; ld.shared.u32 %x, [%s]; DONE:"), 0u);
  EXPECT_EQ(partings("@%p bra DONE; add.u32 %x, %t, 1; mul.lo.u32 %x, %x, %t; bra DONE; DONE:"), 0u);
  EXPECT_EQ(
      partings("@%p bra DONE; st.shared.u32 [%s], %t; DONE: @%q bra ALSO; ld.shared.u32 %x, [%s]; ALSO:"),
      0u);
}

/// Instructions that get a guard.
std::size_t guarded(const std::string& body) {
  const auto module = ptx::parse(text_of(body));
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  constexpr unsigned kPartLanes = 16, kWarps = 2;
  const FunctionPlan plan(*module, module->functions[0], layout_class({64, 1, 1}, kPartLanes), kPartLanes,
                          Holding::none, false, Control::together, kWarps);
  const auto changed = guard_short_ways(plan);
  if (!changed) return 0;
  const auto has_guard = [](const ptx::Instruction& i) { return i.guard != ptx::kNone; };
  return std::ranges::count_if(changed->instructions, has_guard) -
         std::ranges::count_if(module->functions[0].instructions, has_guard);
}

TEST(ShortWays, WhatNobodyElseReadsNeedsNoGuard) {
  EXPECT_EQ(guarded("@%p bra DONE; shl.b32 %y, %t, 2; add.u32 %y, %y, %s; st.shared.u32 [%y], %t; DONE:"),
            1u);
  EXPECT_EQ(guarded("@%p bra DONE; shl.b32 %y, %t, 2; add.u32 %x, %y, %s; DONE:"), 1u);
}

TEST(ShortWays, OthersAreBranchedAround) {
  EXPECT_EQ(partings("@%p bra DONE; add.u32 %x, %x, %t; add.u32 %x, %x, %n; xor.b32 %x, %x, %t; add.u32 %x, "
                     "%x, %n; xor.b32 %x, %x, %t; DONE:"),
            1u)
      << "long";
  EXPECT_EQ(partings("@%p bra DONE; ld.global.u32 %x, [%at]; DONE:"), 1u) << "memory that may not be there";
  EXPECT_EQ(
      partings("@%p bra DONE; setp.lt.u32 %p, %x, 9; add.u32 %x, %x, 1; DONE: selp.u32 %x, %x, %t, %p;"), 1u)
      << "the guard changes";
  EXPECT_EQ(partings("@%q bra WAY; @%p bra DONE; WAY: add.u32 %x, %t, 1; DONE:"), 2u)
      << "two ways lead there";
  EXPECT_EQ(partings("@%p bra DONE; @%q add.u32 %x, %t, 1; DONE:"), 1u) << "it has a guard";
}

}  // namespace
}  // namespace raddle::jit
