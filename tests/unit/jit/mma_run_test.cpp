// Which mmas compiled code makes by one call, and which loads go down to them.
#include "jit/mma_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "isa/op.h"
#include "jit/sink_loads.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

using ::testing::ElementsAre;

std::string mma(unsigned d, unsigned a, unsigned b, const std::string& types = "f32.bf16.bf16.f32") {
  return fmt::format(
      "mma.sync.aligned.m16n8k8.row.col.{0} {{%d{1}, %d{2}, %d{3}, %d{4}}}, {{%a{5}, %a{6}}}, "
      "{{%b{7}}}, {{%d{1}, %d{2}, %d{3}, %d{4}}}; ",
      types, 4 * d, 4 * d + 1, 4 * d + 2, 4 * d + 3, 2 * a, 2 * a + 1, b);
}
const std::string kOneMma = mma(0, 0, 0), kOtherMma = mma(1, 0, 1);

ptx::Module parsed_mmas(const std::string& body) {
  auto module = ptx::parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{ .reg .b32 %a<8>, %b<8>, %r; "
      ".reg .f32 %d<80>; .reg .b64 %p; .reg .pred %q; .shared .align 16 .b8 tile[64];\n" +
      body + "ret; }\n");
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  return std::move(*module);
}

/// How many are in the run of each mma of a kernel's only block.
std::vector<std::size_t> mma_runs_of(const std::string& body) {
  const ptx::Module module = parsed_mmas(body);
  const ptx::Function& f = module.functions[0];
  std::vector<std::size_t> found;
  for (const ptx::Instruction& i : f.instructions)
    if (i.op() == isa::Op::mma) found.push_back(mma_run(f, f.blocks[0], i).size());
  return found;
}

TEST(MmaRun, IsOfSixteenAtMost) {
  EXPECT_THAT(mma_runs_of(kOneMma), ElementsAre(1));
  std::string many;
  for (unsigned n = 0; n < kMostProducts + 1; ++n) many += mma(n, 0, 0);
  const auto found = mma_runs_of(many);
  EXPECT_EQ(found.front(), kMostProducts);
  EXPECT_EQ(found.back(), 1u);
}

TEST(MmaRun, GoesOnOverArithmetic) {
  EXPECT_THAT(mma_runs_of(kOneMma + "add.u32 %r, %r, 2; mov.b32 %r, %a0; " + kOtherMma), ElementsAre(2, 2));
  EXPECT_THAT(mma_runs_of(kOneMma + mma(0, 1, 1)), ElementsAre(2, 2)) << "another product of the same D";
}

TEST(MmaRun, GoesOnOverLoadsOfOtherMatrices) {
  const auto between = [](const std::string& to, const std::string& guard = "") {
    return kOneMma + guard + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {" + to + "}, [tile]; " + kOtherMma;
  };
  EXPECT_THAT(mma_runs_of(between("%b1")), ElementsAre(2, 2));
  EXPECT_THAT(mma_runs_of(between("%b0")), ElementsAre(1, 1)) << "is still to be multiplied";
  EXPECT_THAT(mma_runs_of(between("%b1", "@%q ")), ElementsAre(1, 1));
}

TEST(MmaRun, EndsWhereOthersMaySeeOrChangeItsMatrices) {
  for (const char* between :
       {"mov.b32 %r, %d1; ", "mov.b32 %d1, %r; ", "mov.b32 %a1, %r; ", "mov.b32 %b0, %r; ", "bar.sync 0; ",
        "st.shared.b32 [tile], %r; ", "ld.shared.b32 %r, [tile]; "})
    EXPECT_THAT(mma_runs_of(kOneMma + between + kOtherMma), ElementsAre(1, 1)) << between;
}

TEST(MmaRun, IsOfOneSpellingWithoutGuard) {
  EXPECT_THAT(mma_runs_of(kOneMma + mma(1, 0, 1, "f32.f16.f16.f32")), ElementsAre(1, 1));
  EXPECT_THAT(mma_runs_of(kOneMma + "@%q " + kOtherMma), ElementsAre(1, 1));
  std::string elsewhere = kOtherMma;
  elsewhere.replace(elsewhere.rfind("%d4"), 3, "%d9");
  EXPECT_THAT(mma_runs_of(kOneMma + elsewhere), ElementsAre(1, 1)) << "C is no D";
}

/// Whether the last mma's B is known from one before its run.
bool knows_b(const std::string& body) {
  const ptx::Module module = parsed_mmas(body);
  const ptx::Function& f = module.functions[0];
  const ptx::Instruction& last = f.instructions[f.instructions.size() - 2];
  return earlier_with_b(f, f.blocks[0], *mma_run(f, f.blocks[0], last)[0], last) != nullptr;
}

TEST(MmaRun, KnowsBsOfRunsBefore) {
  const std::string load = "ld.shared.b32 %a2, [tile]; ";
  EXPECT_TRUE(knows_b(kOneMma + load + mma(1, 1, 0)));
  EXPECT_FALSE(knows_b(kOneMma + load + mma(1, 1, 1)));
  for (const char* between : {"ld.shared.b32 %b0, [tile]; ", "mov.b32 %b0, %r; ", "bar.sync 0; "})
    EXPECT_FALSE(knows_b(kOneMma + between + load + mma(1, 1, 0))) << between;
}

/// Names of the instructions of a block, once loads have gone down; loads with what they load.
std::string sunk(const std::string& body) {
  const ptx::Module module = parsed_mmas(body);
  const auto changed = sink_loads(module.functions[0]);
  if (!changed) return "";
  std::string names;
  for (const ptx::Instruction& i : changed->instructions) {
    const ptx::Operand& first = changed->operands_of(i)[0];
    if (i.op() == isa::Op::mma) names += "* ";
    if (i.op() == isa::Op::ld) names += changed->registers[first.index].name + " ";
  }
  return names;
}
/// Two As by four Bs.
std::string eight_mmas() {
  std::string all;
  for (unsigned n = 0; n < 8; ++n) all += mma(n, n / 4, n % 4);
  return all;
}
std::string load_of(const std::string& to) { return "ld.global.b32 " + to + ", [%p]; "; }

TEST(SinkLoads, PutsThemWhereTheirMatricesAreMultiplied) {
  EXPECT_EQ(sunk(load_of("%a0") + load_of("%a2") + load_of("%a3") + load_of("%b0") + eight_mmas()),
            "%a0 %b0 * * * * %a2 %a3 * * * * ");
  EXPECT_EQ(sunk(load_of("%a0") + load_of("%b3") + eight_mmas()), "") << "of the first four";
}

TEST(SinkLoads, PassesNothingThatMayChangeThem) {
  for (const char* between : {"st.global.b32 [%p], %r; ", "bar.sync 0; ", "add.u64 %p, %p, 4; ",
                              "mov.b32 %r, %a2; ", "mov.b32 %a2, %r; ", "atom.global.add.u32 %r, [%p], 1; "})
    EXPECT_EQ(sunk(load_of("%a2") + between + eight_mmas()), "") << between;
  const std::string matrix = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%a2}, [tile]; ";
  EXPECT_EQ(sunk(matrix + eight_mmas()), "") << "its products join those before";
  EXPECT_EQ(sunk("ld.volatile.global.b32 %a2, [%p]; " + eight_mmas()), "");
  EXPECT_EQ(sunk("@%q ld.global.b32 %a2, [%p]; " + eight_mmas()), "");
}

}  // namespace
}  // namespace raddle::jit
