// Lanes in memory of which a known one is read.
#include "jit/known_lanes.h"

#include <gtest/gtest.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

#include "unit/jit/ir.h"

namespace raddle::jit {
namespace {

/// What is left of a function that writes two parts to memory and reads a lane.
std::string left_of(const std::string& read) {
  const std::string text = R"(
declare void @look(ptr)
define i32 @f(<8 x i32> %low, <8 x i32> %high, i64 %lane) {
  %lanes = alloca [16 x i32], align 64
  store <8 x i32> %low, ptr %lanes, align 16
  %behind = getelementptr inbounds i8, ptr %lanes, i64 32
  %sum = add <8 x i32> %low, %high
  store <8 x i32> %sum, ptr %behind, align 16
)" + read + R"(
  %one = load i32, ptr %place, align 4
  ret i32 %one
})";
  llvm::LLVMContext context;
  const auto module = parsed(text, context);
  llvm::Function& function = *module->getFunction("f");
  Analyses analyses;
  KnownLanes().run(function, analyses.functions);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  std::string left;
  llvm::raw_string_ostream(left) << function;
  return left;
}

bool is_in_memory(const std::string& text) { return text.find("alloca") != std::string::npos; }

TEST(KnownLanes, AreNotReadFromMemory) {
  const std::string text = left_of("%place = getelementptr inbounds i8, ptr %lanes, i64 40");
  EXPECT_FALSE(is_in_memory(text)) << text;
  EXPECT_NE(text.find("extractelement <8 x i32>"), std::string::npos) << text;
  EXPECT_NE(text.find("i64 2"), std::string::npos) << text;
}

TEST(KnownLanes, OthersStay) {
  EXPECT_TRUE(is_in_memory(left_of("%place = getelementptr inbounds i32, ptr %lanes, i64 %lane")));
  EXPECT_TRUE(
      is_in_memory(left_of("call void @look(ptr %lanes)\n"
                           "%place = getelementptr inbounds i8, ptr %lanes, i64 40")));
}

}  // namespace
}  // namespace raddle::jit
