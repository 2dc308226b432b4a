// Which variables are written by halves.
#include "jit/halved_stores.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "unit/jit/ir.h"

namespace raddle::jit {
namespace {

/// Stores that the pass makes of one of eight addresses and one of sixteen, of what is read as `type`; 0 if
/// one of them is longer than 32 bytes.
/// @param behind  code behind the load
/// @param weights  of the branch that leads to the code, and around it
int halves(const char* type, const char* behind = "", const char* weights = "1, i32 1") {
  llvm::LLVMContext context;
  const auto module = parsed(fmt::format(R"(
define {0} @f(<8 x i64> %few, <16 x i64> %many, i32 %lane, ptr %service, i1 %taken) {{
  %array = alloca [32 x i64], align 64
  br i1 %taken, label %stores, label %none, !prof !0
none:
  ret {0} zeroinitializer
stores:
  store <8 x i64> %few, ptr %array, align 16
  %behind = getelementptr i64, ptr %array, i32 8
  store <16 x i64> %many, ptr %behind, align 16
  %place = getelementptr i64, ptr %array, i32 %lane
  %value = load {0}, ptr %place, align 8
  {1}
  ret {0} %value
}}
declare void @other()
!0 = !{{!"branch_weights", i32 {2}}}
)",
                                         type, behind, weights),
                             context);
  llvm::Function& function = *module->getFunction("f");
  llvm::FunctionAnalysisManager analyses;
  HalveStores().run(function, analyses);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  int count = 0;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i);
    if (store == nullptr) continue;
    if (function.getDataLayout().getTypeStoreSize(store->getValueOperand()->getType()) > 32) return 0;
    ++count;
  }
  return count;
}

TEST(HalvedStores, WhatIsReadByLane) {
  EXPECT_EQ(halves("i64"), 2 + 4);
  EXPECT_EQ(halves("i32"), 2 + 4);
}

TEST(HalvedStores, NotWhereTheMachineIsCalled) {
  EXPECT_EQ(halves("i64", "call void %service()"), 0);
  EXPECT_EQ(halves("i64", "call void @other()"), 2 + 4);
}

TEST(HalvedStores, NotInCodeThatHardlyEverRuns) {
  EXPECT_EQ(halves("i64", "", "1, i32 2000"), 0);
  EXPECT_EQ(halves("i64", "", "2000, i32 1"), 2 + 4);
}

TEST(HalvedStores, NotWhatIsReadAsItWasWritten) { EXPECT_EQ(halves("<8 x i64>"), 0); }

}  // namespace
}  // namespace raddle::jit
