// Which instructions are written twice, as they test whether addresses have wrapped, and how often the code
// that mostly runs tests.
#include "jit/check_groups.h"

#include <gmock/gmock.h>

#include <string>

#include "ptx/parser.h"
#include "unit/jit/dump.h"

namespace raddle::jit {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// %i is an index strided over the lanes, %a an address of the kernel's.
std::string with_index(const std::string& body) {
  return ".version 8.7\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 p)\n"
         "{ .reg .b32 %t, %i, %j, %v, %w, %x; .reg .b64 %a, %b, %c; .reg .pred %p, %q;\n"
         "ld.param.u64 %a, [p];\nmov.u32 %t, %tid.x;\nmad.lo.u32 %i, %ctaid.x, 97, %t;\n" +
         body + "\nret;\n}\n";
}

/// Of all blocks: the rows of each group's first and last instruction, as in "mul-st".
std::vector<std::string> groups_of(const std::string& body) {
  auto module = ptx::parse(with_index(body));
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  const ptx::Function& f = module->functions[0];
  const LayoutClass layout{.layout = LaneLayout::one_dimension, .full_warps = true};
  const FunctionPlan plan(*module, f, layout, 16, Holding::none, false);
  const CheckGroups groups(plan);
  std::vector<std::string> found;
  for (ptx::BlockId b : plan.order.blocks)
    for (const CheckGroup& group : groups.of(b)) {
      auto name = [&](std::uint32_t n) { return std::string(plan.function.instructions[n].opcode->row->id); };
      found.push_back(name(group.begin) + "-" + name(group.end - 1));
    }
  return found;
}

const std::string kFive =  // loads and a store near one place
    "mul.wide.u32 %b, %i, 4; add.u64 %b, %a, %b; ld.global.u32 %v, [%b]; ld.global.u32 %w, [%b+4];"
    "add.u32 %v, %v, %w; ld.global.u32 %w, [%b+8]; add.u32 %v, %v, %w; ld.global.u32 %w, [%b+12];"
    "add.u32 %v, %v, %w; ld.global.u32 %w, [%b+16]; add.u32 %v, %v, %w; st.global.u32 [%b+20], %v;";

TEST(CheckGroups, GoFromTheFirstCheckToTheLast) {
  EXPECT_THAT(groups_of("add.u32 %x, %t, 1;" + kFive + "add.u32 %x, %x, %v;"), ElementsAre("mul-st"));
}

TEST(CheckGroups, AreOfAtLeastTwo) {
  EXPECT_THAT(groups_of("mul.wide.u32 %b, %i, 4; st.global.u64 [%a], %b;"), IsEmpty());
  EXPECT_THAT(groups_of("st.global.u32 [%a], %t;"), IsEmpty());
}

TEST(CheckGroups, EndWhereLittleIsChecked) {
  std::string between;
  for (int k = 0; k < 9; ++k) between += "mul.lo.u32 %v, %v, %v;";
  EXPECT_THAT(groups_of("mul.wide.u32 %b, %i, 4; add.u64 %b, %a, %b; ld.global.u32 %v, [%b];" + between +
                        "st.global.u32 [%b], %v; st.global.u32 [%b+128], %v;"),
              ElementsAre("mul-ld", "st-st"));
}

TEST(CheckGroups, LeaveOutWhatMustRunOnce) {
  const std::string pair = "ld.global.u32 %v, [%b]; st.global.u32 [%b+4], %v;";
  for (const char* once :
       {"bar.sync 0;", "atom.global.add.u32 %w, [%a], 1;", "ld.volatile.global.u32 %w, [%b];",
        "add.cc.u32 %w, %v, 1;", "vote.sync.any.pred %q, %p, 0xffffffff;"})
    EXPECT_THAT(groups_of("mul.wide.u32 %b, %i, 4; add.u64 %b, %a, %b;" + pair + once + pair),
                ElementsAre("mul-st", "ld-st"))
        << once;
}

// Lanes that have left the loop still need their old %b: its flag falls although nothing wraps.
TEST(CheckGroups, LeaveOutAddressesThatOthersHold) {
  const std::string parts =
      "mul.wide.u32 %b, %i, 4; add.u64 %b, %a, %b;\n"
      "AGAIN: ld.global.u32 %v, [%b]; ld.global.u32 %w, [%b+4]; add.u64 %b, %b, 8; setp.lt.u32 %p, %v, %w;\n"
      "@%p bra AGAIN;\nst.global.u32 [%b], %v; st.global.u32 [%b+4], %w;";
  EXPECT_THAT(groups_of(parts), IsEmpty());
}

/// How often `what` stands in the code of a kernel of this body, as LLVM has optimised it.
unsigned count(const std::string& body, const std::string& what) {
  const std::string dump =
      dump_of("optimised", with_index(body), {.tier = Tier::optimised}, {.block = {96, 1, 1}});
  unsigned times = 0;
  for (auto at = dump.find(what); at != std::string::npos; at = dump.find(what, at + 1)) ++times;
  return times;
}

TEST(CheckGroups, AreTestedOnce) {
  EXPECT_EQ(count(kFive, ", -31"), 1) << "the first index of a warp whose last wraps";
}

}  // namespace
}  // namespace raddle::jit
