// Which loads and stores of variables stay (jit/variables.h).
#include "jit/variables.h"

#include <gtest/gtest.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <string>

#include "unit/jit/ir.h"

namespace raddle::jit {
namespace {

/// What is left of a function: its blocks behind the variables, as text.
struct Left {
  std::string text;
  std::size_t count(const std::string& what) const {
    std::size_t n = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  }
};

Left left_of(const std::string& body) {
  llvm::LLVMContext context;
  auto module = parsed(
      "declare i32 @get()\ndeclare void @use(i32)\ndeclare void @see(ptr)\n"
      "define void @f(i1 %c, i32 %x) {\n  %v = alloca i32\n  %w = alloca i32\n" +
          body + "}\n",
      context);
  llvm::FunctionAnalysisManager functions;
  llvm::Function& function = *module->getFunction("f");
  ForwardVariables().run(function, functions);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  Left left;
  llvm::raw_string_ostream stream(left.text);
  function.print(stream);
  return left;
}

TEST(ForwardVariables, ALoadTakesWhatItsBlockStored) {
  const Left left = left_of(
      "store i32 %x, ptr %v\nstore i32 7, ptr %w\n%a = load i32, ptr %v\ncall void @use(i32 %a)\n"
      "store i32 1, ptr %v\n%b = load i32, ptr %v\ncall void @use(i32 %b)\nret void\n");
  EXPECT_EQ(left.count("@use(i32 %x)"), 1u) << left.text;
  EXPECT_EQ(left.count("@use(i32 1)"), 1u) << left.text;
  EXPECT_EQ(left.count("load") + left.count("store") + left.count("alloca"), 0u) << left.text;
}

TEST(ForwardVariables, WhatAnotherBlockReadsIsStored) {
  const Left left = left_of(
      "store i32 %x, ptr %v\nstore i32 %x, ptr %w\nbr i1 %c, label %one, label %other\n"
      "one:\nbr label %end\nother:\nstore i32 3, ptr %w\nbr label %end\n"
      "end:\n%a = load i32, ptr %v\n%b = load i32, ptr %w\ncall void @use(i32 %a)\ncall void @use(i32 "
      "%b)\nret void\n");
  EXPECT_EQ(left.count("store"), 3u) << left.text;
  EXPECT_EQ(left.count("load"), 2u) << left.text;
}

TEST(ForwardVariables, WhatIsWrittenOverOnAllWaysIsNotStored) {
  const Left left = left_of(
      "store i32 %x, ptr %v\nbr i1 %c, label %one, label %other\n"
      "one:\nstore i32 2, ptr %v\nbr label %end\nother:\nstore i32 3, ptr %v\nbr label %end\n"
      "end:\n%a = load i32, ptr %v\ncall void @use(i32 %a)\nret void\n");
  EXPECT_EQ(left.count("store i32 %x"), 0u) << left.text;
  EXPECT_EQ(left.count("store"), 2u) << left.text;
}

TEST(ForwardVariables, ABlockThatReadsBeforeItWritesKeepsWhatComesBefore) {
  const Left left = left_of(
      "store i32 %x, ptr %v\nbr label %turn\n"
      "turn:\n%a = load i32, ptr %v\n%n = add i32 %a, 1\nstore i32 %n, ptr %v\nbr i1 %c, label %turn, label "
      "%end\n"
      "end:\nret void\n");
  EXPECT_EQ(left.count("store i32 %x"), 1u) << left.text;
  EXPECT_EQ(left.count("store i32 %n"), 1u) << left.text;
}

TEST(ForwardVariables, ALongWayRoundALoopIsFollowed) {
  const Left left = left_of(
      "store i32 %x, ptr %v\nbr label %turn\n"
      "turn:\nbr i1 %c, label %write, label %pass\nwrite:\nstore i32 5, ptr %v\nbr label %pass\n"
      "pass:\nbr i1 %c, label %turn, label %read\nread:\n%a = load i32, ptr %v\ncall void @use(i32 %a)\nret "
      "void\n");
  EXPECT_EQ(left.count("store"), 2u) << left.text;
}

TEST(ForwardVariables, ValuesThatNobodyStoresGoUnlessTheyDoMore) {
  const Left left = left_of(
      "%a = mul i32 %x, %x\n%b = add i32 %a, 1\nstore i32 %b, ptr %v\n"
      "%g = call i32 @get()\nstore i32 %g, ptr %w\nret void\n");
  EXPECT_EQ(left.count("mul") + left.count("add"), 0u) << left.text;
  EXPECT_EQ(left.count("@get"), 1u) << left.text;
}

TEST(ForwardVariables, WhatOthersSeeStays) {
  const Left left = left_of(
      "store i32 %x, ptr %v\ncall void @see(ptr %v)\n%a = load i32, ptr %v\ncall void @use(i32 %a)\nret "
      "void\n");
  EXPECT_EQ(left.count("store"), 1u) << left.text;
  EXPECT_EQ(left.count("load"), 1u) << left.text;
}

}  // namespace
}  // namespace raddle::jit
