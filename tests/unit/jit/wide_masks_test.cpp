// Masks from block to block on hosts without registers for them.
#include "jit/wide_masks.h"

#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

#include "unit/jit/ir.h"

namespace raddle::jit {
namespace {

struct Masks {
  unsigned phis = 0, logic = 0;            ///< of masks
  unsigned wide_phis = 0, wide_logic = 0;  ///< of 32-bit lanes
  unsigned narrowed = 0;                   ///< comparisons with zero
};

Masks masks_after(const std::string& text) {
  llvm::LLVMContext context;
  const auto module = parsed(text, context);
  llvm::Function& function = *module->getFunction("f");
  llvm::FunctionAnalysisManager analyses;
  WideMasks().run(function, analyses);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  Masks found;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    const bool is_mask = i.getType()->isVectorTy() && i.getType()->getScalarType()->isIntegerTy(1);
    const bool is_phi = llvm::isa<llvm::PHINode>(i), is_logic = i.isBitwiseLogicOp();
    (is_mask ? found.phis : found.wide_phis) += is_phi && i.getType()->isVectorTy();
    (is_mask ? found.logic : found.wide_logic) += is_logic;
    const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&i);
    found.narrowed += compare != nullptr && compare->getPredicate() == llvm::CmpInst::ICMP_SLT;
  }
  return found;
}

/// Lanes stay in a loop for as long as their counts are below a limit.
constexpr const char* kLoopOfMasks = R"(
define <8 x i32> @f(<8 x i32> %limit, <8 x i1> %first) {
  br label %loop
loop:
  %in = phi <8 x i1> [ %first, %0 ], [ %stay, %loop ]
  %left = phi <8 x i1> [ zeroinitializer, %0 ], [ %gone, %loop ]
  %n = phi <8 x i32> [ zeroinitializer, %0 ], [ %kept, %loop ]
  %m = add <8 x i32> %n, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %kept = select <8 x i1> %in, <8 x i32> %m, <8 x i32> %n
  %below = icmp ult <8 x i32> %kept, %limit
  %stay = and <8 x i1> %in, %below
  %leaves = xor <8 x i1> %stay, %in
  %gone = or <8 x i1> %left, %leaves
  %bits = bitcast <8 x i1> %stay to i8
  %none = icmp eq i8 %bits, 0
  br i1 %none, label %end, label %loop
end:
  %words = sext <8 x i1> %gone to <8 x i32>
  ret <8 x i32> %words
}
)";

TEST(WideMasks, FromBlockToBlock) {
  const Masks found = masks_after(kLoopOfMasks);
  EXPECT_EQ(found.phis + found.logic, 0);
  EXPECT_EQ(found.wide_phis, 3);  // two masks, and the counts
  EXPECT_EQ(found.wide_logic, 3);
  EXPECT_EQ(found.narrowed, 2);  // for the selection and for the bits; the words are there
}

TEST(WideMasks, WhatABlockComparesAndSelectsStays) {
  const Masks found = masks_after(R"(
define <8 x float> @f(<8 x float> %a, <8 x float> %b) {
  %c = fcmp olt <8 x float> %a, %b
  %d = select <8 x i1> %c, <8 x float> %a, <8 x float> %b
  ret <8 x float> %d
}
)");
  EXPECT_EQ(found.wide_phis + found.wide_logic + found.narrowed, 0);
}

TEST(WideMasks, ComparisonsThatOtherBlocksRead) {
  const Masks found = masks_after(R"(
define <8 x float> @f(<8 x float> %a, <8 x float> %b, i1 %if) {
  %c = fcmp olt <8 x float> %a, %b
  br i1 %if, label %then, label %end
then:
  %d = select <8 x i1> %c, <8 x float> %a, <8 x float> %b
  ret <8 x float> %d
end:
  ret <8 x float> %a
}
)");
  EXPECT_EQ(found.narrowed, 1);
}

TEST(WideMasks, OthersThanOfEightLanesStay) {
  std::string text = kLoopOfMasks;
  for (std::string::size_type at = 0; (at = text.find("<8 x i1>", at)) != std::string::npos;)
    text.replace(at, 8, "<4 x i1>");
  for (std::string::size_type at = 0; (at = text.find("<8 x i32>", at)) != std::string::npos;)
    text.replace(at, 9, "<4 x i32>");
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("<i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>", "<i32 1, i32 1, i32 1, i32 1>");
  replace("to i8", "to i4");
  replace("icmp eq i8", "icmp eq i4");
  const Masks found = masks_after(text);
  EXPECT_EQ(found.phis, 2);
  EXPECT_EQ(found.logic, 3);
}

}  // namespace
}  // namespace raddle::jit
