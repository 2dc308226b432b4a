// Scatters of hosts that have none.
#include "jit/lane_branches.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <string>
#include <vector>

namespace raddle::jit {
namespace {

/// A module whose function f scatters a vector by a mask, and another by `mask`.
std::string scattering(const std::string& mask) {
  return "declare void @llvm.masked.scatter.v4i32.v4p0(<4 x i32>, <4 x ptr>, i32, <4 x i1>)\n"
         "define void @f(<4 x i32> %a, <4 x i32> %b, <4 x ptr> %at, <4 x i1> %m, <4 x i1> %n) {\n"
         "  call void @llvm.masked.scatter.v4i32.v4p0(<4 x i32> %a, <4 x ptr> %at, i32 4, <4 x i1> %m)\n"
         "  call void @llvm.masked.scatter.v4i32.v4p0(<4 x i32> %b, <4 x ptr> %at, i32 4, <4 x i1> " +
         mask + ")\n  ret void\n}\n";
}

/// What the function stores: argument and lane, each in a block that the lane's bit leads to.
std::vector<std::string> stores_of(const std::string& text, unsigned& calls) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  branch_per_lane(*module);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::vector<std::string> stores;
  calls = 0;
  for (llvm::Instruction& i : llvm::instructions(*module->getFunction("f"))) {
    calls += llvm::isa<llvm::CallInst>(i);
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i);
    if (store == nullptr) continue;
    EXPECT_EQ(store->getAlign(), llvm::Align(4));
    const auto* value = llvm::cast<llvm::ExtractElementInst>(store->getValueOperand());
    const auto* address = llvm::cast<llvm::ExtractElementInst>(store->getPointerOperand());
    EXPECT_EQ(value->getIndexOperand(), address->getIndexOperand());
    const auto lane = llvm::cast<llvm::ConstantInt>(value->getIndexOperand())->getZExtValue();
    const auto* branch = llvm::cast<llvm::BranchInst>(i.getParent()->getSinglePredecessor()->getTerminator());
    EXPECT_EQ(branch->getSuccessor(0), i.getParent());
    const auto* bit =
        llvm::cast<llvm::Instruction>(llvm::cast<llvm::ICmpInst>(branch->getCondition())->getOperand(0));
    EXPECT_EQ(llvm::cast<llvm::ConstantInt>(bit->getOperand(1))->getZExtValue(), 1U << lane);
    stores.push_back(value->getVectorOperand()->getName().str() + std::to_string(lane));
  }
  return stores;
}

TEST(LaneBranches, AScatterIsAStoreOfEachLane) {
  unsigned calls = 0;
  EXPECT_EQ(stores_of(scattering("%n"), calls),
            (std::vector<std::string>{"a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"}));
  EXPECT_EQ(calls, 0);
}

TEST(LaneBranches, OfAKnownMaskLLVMMakesStores) {
  unsigned calls = 0;
  EXPECT_EQ(stores_of(scattering("<i1 1, i1 0, i1 1, i1 1>"), calls),
            (std::vector<std::string>{"a0", "a1", "a2", "a3"}));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace raddle::jit
