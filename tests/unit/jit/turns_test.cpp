// How far registers move in a turn of a loop around a barrier.
#include "jit/turns.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ptx/parser.h"

namespace raddle::jit {
namespace {

/// The steps of %a in the loop of `body`, as a sum; "unknown".
std::string step_of_a(const std::string& body) {
  auto module = ptx::parse(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{ .reg .b32 %i, %n, %t, %u; .reg "
      ".b64 %a, %b, %c, %w; .reg .pred %p;\nmov.u32 %n, %ctaid.x; mov.u32 %t, %tid.x; cvt.u64.u32 %b, %n; "
      "mov.u64 %a, 0; mov.u32 %i, 0; AGAIN:\n" +
      body + "\nsetp.lt.u32 %p, %i, %n; @%p bra AGAIN; ret; }\n");
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  const ptx::Function& f = module->functions[0];
  const auto name_of = [&](ptx::RegisterId r) { return f.registers[r].name; };
  ptx::RegisterId a = 0;
  while (name_of(a) != "%a") ++a;
  const auto cfg = ptx::build_cfg(f);
  const Order order = linear_order(*module, f, cfg);
  const auto step = Turns(f, order).step(order.loops.at(0).header, a);
  if (!step) return "unknown";
  std::string text;
  for (const TurnStep::Term& term : step->terms) {
    text += fmt::format("{}{}", text.empty() ? "" : " + ", term.times);
    for (const ptx::Operand* factor : term.factors) text += " " + name_of(factor->index);
  }
  return text;
}

TEST(Turns, ARegisterMovesByWhatIsAddedToIt) {
  EXPECT_EQ(step_of_a("bar.sync 0; add.u64 %a, %a, 128;"), "128");
  EXPECT_EQ(step_of_a("bar.sync 0; add.u64 %a, %b, %a;"), "1 %b");
  EXPECT_EQ(step_of_a("bar.sync 0; sub.u64 %a, %a, %b;"), "-1 %b");
  EXPECT_EQ(step_of_a("bar.sync 0; add.u32 %i, %i, 1;"), "");
}

TEST(Turns, AnAddressMovesAsTheIndexThatItFollowsFrom) {
  // a[(i + t) * n + n], i += 32
  EXPECT_EQ(
      step_of_a("add.u32 %u, %i, %t; mad.lo.u32 %u, %u, %n, %n; mul.wide.u32 %w, %u, 4; add.u64 %a, %b, "
                "%w; bar.sync 0; add.u32 %i, %i, 32;"),
      "unknown");  // %u is written twice
  EXPECT_EQ(step_of_a("mad.lo.u32 %u, %i, %n, %t; mul.wide.u32 %w, %u, 4; add.u64 %a, %b, %w; bar.sync 0; "
                      "add.u32 %i, %i, 32;"),
            "128 %n");
  EXPECT_EQ(
      step_of_a("shl.b32 %u, %i, 2; cvt.u64.u32 %w, %u; sub.u64 %a, %b, %w; bar.sync 0; add.u32 %i, %i, "
                "%n;"),
      "-4 %n");
  EXPECT_EQ(
      step_of_a("cvt.u64.u32 %w, %i; add.u64 %c, %w, %w; add.u64 %a, %c, %b; bar.sync 0; add.u32 %i, %i, "
                "8;"),
      "8 + 8");
}

TEST(Turns, OtherwiseItIsNotKnown) {
  EXPECT_EQ(step_of_a("add.u64 %a, %a, 128;"), "unknown");  // no barrier
  EXPECT_EQ(step_of_a("bar.sync 0; @%p add.u64 %a, %a, 128;"), "unknown");
  EXPECT_EQ(step_of_a("bar.sync 0; add.u64 %a, %a, %w; add.u64 %w, %w, 1;"), "unknown");
  EXPECT_EQ(step_of_a("bar.sync 0; mul.lo.u64 %a, %a, 3;"), "unknown");
  EXPECT_EQ(step_of_a("bar.sync 0; ld.global.u64 %a, [%a];"), "unknown");
  EXPECT_EQ(step_of_a("bar.sync 0; add.u64 %w, %a, 1; add.u64 %a, %w, 1;"), "unknown");  // round in a circle
}

}  // namespace
}  // namespace raddle::jit
