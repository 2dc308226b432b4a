// Which gathers become one of numbers from a base.
#include "jit/near_gathers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <regex>
#include <string>

namespace raddle::jit {
namespace {

/// Lanes in order, as a shuffle names them.
std::string lanes_from(unsigned first, unsigned count) {
  std::string all;
  for (unsigned lane = 0; lane < count; ++lane)
    all += fmt::format("{}i32 {}", lane ? ", " : "", first + lane);
  return "<" + all + ">";
}

struct Gathering {
  std::string offsets;                     ///< computes %offsets, by which the lanes differ from a base
  std::string between = {};                ///< the two gathers
  std::string others = "zeroinitializer";  ///< what lanes that do not run have
  std::string masks[2] = {"%m", "%n"};     ///< their own, the two halves of one if nothing is said
};

/// The IR of a function that gathers words by halves. Vectors of the whole are <n x ...> in its parts, too.
std::string text_of(const Gathering& g, unsigned lanes) {
  const std::string text = fmt::format(
      R"(
declare <h x i32> @llvm.masked.gather.v{half}i32.v{half}p0(<h x ptr>, i32, <h x i1>, <h x i32>)
define <n x i32> @f(i64 %base, <n x i32> %numbers, <n x i32> %others, <n x i1> %mask, <h x i1> %another) {{
  {offsets}
  %one = insertelement <n x i64> poison, i64 %base, i64 0
  %bases = shufflevector <n x i64> %one, <n x i64> poison, <n x i32> zeroinitializer
  %trap = shl <n x i64> %bases, splat (i64 62)
  %far = add <n x i64> %bases, %offsets
  %all = add <n x i64> %far, %trap
  %a = shufflevector <n x i64> %all, <n x i64> poison, <h x i32> {low}
  %b = shufflevector <n x i64> %all, <n x i64> poison, <h x i32> {high}
  %p = inttoptr <h x i64> %a to <h x ptr>
  %q = inttoptr <h x i64> %b to <h x ptr>
  %m = shufflevector <n x i1> %mask, <n x i1> poison, <h x i32> {low}
  %n = shufflevector <n x i1> %mask, <n x i1> poison, <h x i32> {high}
  %v = call <h x i32> @llvm.masked.gather.v{half}i32.v{half}p0(<h x ptr> %p, i32 4, <h x i1> {m}, <h x i32> {others})
  {between}
  %w = call <h x i32> @llvm.masked.gather.v{half}i32.v{half}p0(<h x ptr> %q, i32 4, <h x i1> {n}, <h x i32> {others})
  %r = shufflevector <h x i32> %v, <h x i32> %w, <n x i32> {whole}
  ret <n x i32> %r
}}
)",
      fmt::arg("half", lanes / 2), fmt::arg("offsets", g.offsets), fmt::arg("between", g.between),
      fmt::arg("others", g.others), fmt::arg("m", g.masks[0]), fmt::arg("n", g.masks[1]),
      fmt::arg("low", lanes_from(0, lanes / 2)), fmt::arg("high", lanes_from(lanes / 2, lanes / 2)),
      fmt::arg("whole", lanes_from(0, lanes)));
  const std::string whole = std::regex_replace(text, std::regex("<n x"), fmt::format("<{} x", lanes));
  return std::regex_replace(whole, std::regex("<h x"), fmt::format("<{} x", lanes / 2));
}

/// What the function has after the pass: lanes of its gathers, bits of what numbers count, and the mask.
std::string after(const Gathering& gathering, unsigned lanes) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text_of(gathering, lanes), problem, context);
  if (!module) return problem.getMessage().str();
  llvm::Function& function = *module->getFunction("f");
  llvm::FunctionAnalysisManager analyses;
  NearGathers().run(function, analyses);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  std::string found;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::masked_gather) continue;
    if (const auto* places = llvm::dyn_cast<llvm::GetElementPtrInst>(call->getArgOperand(0))) {
      EXPECT_FALSE(places->getPointerOperandType()->isVectorTy());
      EXPECT_EQ(llvm::cast<llvm::FixedVectorType>(call->getType())->getNumElements(), lanes);
      found += fmt::format("all, of {} bits, {} ", places->getSourceElementType()->getIntegerBitWidth(),
                           call->getArgOperand(2) == function.getArg(3) ? "one mask" : "two masks");
    } else {
      EXPECT_EQ(llvm::cast<llvm::FixedVectorType>(call->getType())->getNumElements(), lanes / 2);
      found += "half ";
    }
  }
  return found;
}

/// By the words of a vector of AVX2 and of AVX-512.
class NearGathersOf : public ::testing::TestWithParam<unsigned> {
 protected:
  static std::string after(const Gathering& gathering) { return jit::after(gathering, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(NearGathers, NearGathersOf, ::testing::Values(8, 16));

const std::string kWide = "%wide = sext <n x i32> %numbers to <n x i64>\n";

std::string shifted(unsigned bits) {
  return fmt::format("%offsets = shl <n x i64> %wide, splat (i64 {})", bits);
}

TEST_P(NearGathersOf, SignedNumbersTimesWhatTheHostMultipliesWith) {
  EXPECT_EQ(after({kWide + shifted(2)}), "all, of 32 bits, one mask ");
  EXPECT_EQ(after({kWide + shifted(3)}), "all, of 64 bits, one mask ");
  EXPECT_EQ(after({"%offsets = sext <n x i32> %numbers to <n x i64>"}), "all, of 8 bits, one mask ");
}

TEST_P(NearGathersOf, MasksOfTheirOwn) {
  EXPECT_EQ(after({.offsets = kWide + shifted(2), .masks = {"%m", "%another"}}),
            "all, of 32 bits, two masks ");
}

TEST_P(NearGathersOf, MasksTheOtherWayRound) {
  EXPECT_EQ(after({.offsets = kWide + shifted(2), .masks = {"%n", "%m"}}), "all, of 32 bits, two masks ");
  EXPECT_EQ(after({.offsets = kWide + shifted(2), .masks = {"%n", "%n"}}), "all, of 32 bits, two masks ");
}

TEST_P(NearGathersOf, NotOtherDistances) {
  EXPECT_EQ(after({kWide + shifted(4)}), "half half ");
  EXPECT_EQ(after({"%wide = zext <n x i32> %numbers to <n x i64>\n" + shifted(2)}), "half half ");
}

TEST_P(NearGathersOf, NotTwoNumbers) {
  EXPECT_EQ(after({kWide + "%too = sext <n x i32> %others to <n x i64>\n"
                           "%offsets = add <n x i64> %wide, %too"}),
            "half half ");
}

TEST_P(NearGathersOf, NotAcrossStores) {
  EXPECT_EQ(after({.offsets = kWide + shifted(2), .between = "store i32 0, ptr null"}), "half half ");
}

TEST_P(NearGathersOf, NotWhereOtherLanesKeepWhatTheyHave) {
  EXPECT_EQ(after({.offsets = kWide + shifted(2), .others = "splat (i32 1)"}), "half half ");
}

/// Two parts of a warp of SSE, say.
TEST(NearGathers, NotOtherVectors) {
  EXPECT_EQ(after({kWide + shifted(2)}, 4), "half half ");
  EXPECT_EQ(after({kWide + shifted(2)}, 32), "half half ");
}

}  // namespace
}  // namespace raddle::jit
