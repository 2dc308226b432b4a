// Which atomics compiled code makes in one loop over lanes.
#include "jit/atomic_run.h"

#include <gmock/gmock.h>

#include "isa/op.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

using ::testing::ElementsAre;

/// How many are in the run of each atom and red of the first block of a kernel, or of another function.
std::vector<std::size_t> atomic_runs_of(const std::string& body,
                                        const std::string& head = ".visible .entry k()") {
  const auto module = ptx::parse(".version 8.0\n.target sm_80\n.address_size 64\n" + head +
                                 "\n{ .reg .b32 %r<8>; .reg .f32 %f; "
                                 ".reg .b64 %p; .reg .pred %q; .shared .align 16 .b8 tile[64];\n" +
                                 body + "ret; }\n");
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  const ptx::Function& f = module->functions[0];
  const FunctionPlan plan(*module, f, {}, 16, Holding::none, false);
  std::vector<std::size_t> found;
  for (std::uint32_t n = f.blocks[0].begin; n < f.blocks[0].end; ++n) {
    const ptx::Instruction& i = f.instructions[n];
    if (i.op() == isa::Op::atom || i.op() == isa::Op::red) found.push_back(atomic_run(plan, 0, i).size());
  }
  return found;
}

const std::string kOneRed = "red.shared.add.u32 [tile], 1; ",
                  kOtherRed = "red.shared.add.u32 [tile+4], %r1; ";

TEST(AtomicRun, GoesOnOverArithmeticAndLoadsOfOtherMemory) {
  EXPECT_THAT(atomic_runs_of(kOneRed + kOtherRed), ElementsAre(2, 2));
  for (const char* between :
       {"add.u32 %r1, %r1, 2; ", "ld.global.u32 %r1, [%p]; ", "ld.const.u32 %r1, [%r2]; "})
    EXPECT_THAT(atomic_runs_of(kOneRed + between + kOtherRed), ElementsAre(2, 2)) << between;
  std::string many;
  for (unsigned n = 0; n < kMostAtomics + 1; ++n) many += kOneRed;
  EXPECT_THAT(atomic_runs_of(many).front(), kMostAtomics);
  EXPECT_THAT(atomic_runs_of(many).back(), 1);
}

TEST(AtomicRun, EndsWhereOthersMaySeeIt) {
  for (const char* between : {"bar.sync 0; ", "st.shared.u32 [tile], %r1; ", "ld.shared.u32 %r1, [tile]; ",
                              "ld.u32 %r1, [%p]; ", "ld.volatile.global.u32 %r1, [%p]; ",
                              "st.global.u32 [%p], %r1; ", "membar.cta; ", "red.global.add.u32 [%p], 1; "})
    EXPECT_THAT(atomic_runs_of(kOneRed + between + kOtherRed).front(), 1) << between;
}

TEST(AtomicRun, IsOfOneOperationByTheSameLanes) {
  for (const char* other : {"red.shared.max.u32 [tile], 1; ", "red.shared.add.u64 [tile], 1; ",
                            "@%q red.shared.add.u32 [tile], 1; "})
    EXPECT_THAT(atomic_runs_of(kOneRed + other), ElementsAre(1, 1)) << other;
  EXPECT_THAT(atomic_runs_of("@%q " + kOneRed + "@%q " + kOtherRed), ElementsAre(2, 2));
  EXPECT_THAT(atomic_runs_of("@%q " + kOneRed + "@!%q " + kOtherRed), ElementsAre(1, 1));
  EXPECT_THAT(atomic_runs_of("@%q " + kOneRed + "setp.eq.u32 %q, %r1, 0; @%q " + kOtherRed),
              ElementsAre(1, 1));
}

TEST(AtomicRun, IsOfOperationsInAnyOrder) {
  for (const char* one :
       {"red.shared.add.f32 [tile], %f; ", "red.shared.inc.u32 [tile], %r1; ",
        "atom.shared.exch.b32 %r0, [tile], %r1; ", "red.release.cta.shared.add.u32 [tile], 1; "})
    EXPECT_THAT(atomic_runs_of(std::string(one) + one), ElementsAre(1, 1)) << one;
}

TEST(AtomicRun, HasNoResultsThatAreRead) {
  const std::string atom = "atom.shared.add.u32 %r0, [tile], 1; ";
  EXPECT_THAT(atomic_runs_of(atom + atom), ElementsAre(2, 2));
  EXPECT_THAT(atomic_runs_of(atom + atom + atom + "st.global.u32 [%p], %r0; "), ElementsAre(2, 2, 1))
      << "the second's is";
  EXPECT_THAT(atomic_runs_of(atom + atom + atom + "bra next; next: st.global.u32 [%p], %r0; "),
              ElementsAre(2, 2, 1))
      << "in another block";
  EXPECT_THAT(
      atomic_runs_of(atom + "atom.shared.add.u32 %result, [tile], 1; ", ".func (.reg .b32 %result) f()"),
      ElementsAre(1, 1))
      << "by who called the function";
}

}  // namespace
}  // namespace raddle::jit
