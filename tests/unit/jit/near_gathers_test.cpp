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

#include <string>

namespace raddle::jit {
namespace {

/// A vector of 16 numbers as text.
std::string sixteen(const std::string& type, const std::string& number) {
  std::string all;
  for (int lane = 0; lane < 16; ++lane) all += (lane ? ", " : "") + type + " " + number;
  return "<" + all + ">";
}

/// The IR of a function that gathers 16 words by halves; `offsets` computes %offsets, by which the lanes'
/// addresses differ from a base.
/// @param between  the two gathers
/// @param others   what lanes that do not run have
std::string gathering(const std::string& offsets, const std::string& between, const std::string& others) {
  return fmt::format(R"(
declare <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x i32>)
define <16 x i32> @f(i64 %base, <16 x i32> %numbers, <16 x i32> %others, <8 x i1> %m, <8 x i1> %n) {{
  {}
  %one = insertelement <16 x i64> poison, i64 %base, i64 0
  %bases = shufflevector <16 x i64> %one, <16 x i64> poison, <16 x i32> zeroinitializer
  %trap = shl <16 x i64> %bases, {}
  %far = add <16 x i64> %bases, %offsets
  %all = add <16 x i64> %far, %trap
  %a = shufflevector <16 x i64> %all, <16 x i64> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %b = shufflevector <16 x i64> %all, <16 x i64> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %p = inttoptr <8 x i64> %a to <8 x ptr>
  %q = inttoptr <8 x i64> %b to <8 x ptr>
  %v = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> %p, i32 4, <8 x i1> %m, <8 x i32> {})
  {}
  %w = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> %q, i32 4, <8 x i1> %n, <8 x i32> {})
  %r = shufflevector <8 x i32> %v, <8 x i32> %w, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  ret <16 x i32> %r
}}
)",
                     offsets, sixteen("i64", "62"), others, between, others);
}

/// What the function has after the pass: the lanes of its gathers, and the bits of what numbers count.
std::string after(const std::string& offsets, const std::string& between = "",
                  const std::string& others = "zeroinitializer") {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(gathering(offsets, between, others), problem, context);
  if (!module) return problem.getMessage().str();
  llvm::Function& function = *module->getFunction("f");
  llvm::FunctionAnalysisManager analyses;
  NearGathers().run(function, analyses);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  std::string found;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::masked_gather) continue;
    found += fmt::format("{} ", llvm::cast<llvm::FixedVectorType>(call->getType())->getNumElements());
    if (const auto* places = llvm::dyn_cast<llvm::GetElementPtrInst>(call->getArgOperand(0))) {
      EXPECT_FALSE(places->getPointerOperandType()->isVectorTy());
      found += fmt::format("of {} ", places->getSourceElementType()->getIntegerBitWidth());
    }
  }
  return found;
}

const std::string kWide = "%wide = sext <16 x i32> %numbers to <16 x i64>\n";

std::string shifted(const char* bits) { return "%offsets = shl <16 x i64> %wide, " + sixteen("i64", bits); }

TEST(NearGathers, SignedNumbersTimesWhatTheHostMultipliesWith) {
  EXPECT_EQ(after(kWide + shifted("2")), "16 of 32 ");
  EXPECT_EQ(after(kWide + shifted("3")), "16 of 64 ");
  EXPECT_EQ(after("%offsets = sext <16 x i32> %numbers to <16 x i64>"), "16 of 8 ");
}

TEST(NearGathers, NotOtherDistances) {
  EXPECT_EQ(after(kWide + shifted("4")), "8 8 ");
  EXPECT_EQ(after("%wide = zext <16 x i32> %numbers to <16 x i64>\n" + shifted("2")), "8 8 ");
}

TEST(NearGathers, NotTwoNumbers) {
  EXPECT_EQ(after(kWide + "%too = sext <16 x i32> %others to <16 x i64>\n"
                          "%offsets = add <16 x i64> %wide, %too"),
            "8 8 ");
}

TEST(NearGathers, NotAcrossStores) {
  EXPECT_EQ(after(kWide + shifted("2"), "store i32 0, ptr null"), "8 8 ");
}

TEST(NearGathers, NotWhereOtherLanesKeepWhatTheyHave) {
  EXPECT_EQ(after(kWide + shifted("2"), "", "splat (i32 1)"), "8 8 ");
}

}  // namespace
}  // namespace raddle::jit
