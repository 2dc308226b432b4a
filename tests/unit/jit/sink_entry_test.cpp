// What only one way out of a function's begin needs.
#include "jit/sink_entry.h"

#include <gtest/gtest.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ValueSymbolTable.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

#include "unit/jit/ir.h"

namespace raddle::jit {
namespace {

class Sunk {
 public:
  explicit Sunk(const std::string& text) {
    module_ = parsed(text, context_);
    llvm::Function& function = *module_->getFunction("f");
    llvm::FunctionAnalysisManager analyses;
    llvm::PassBuilder().registerFunctionAnalyses(analyses);
    SinkEntry().run(function, analyses);
    EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  }
  std::string block_of(const char* value) const {
    auto* found = module_->getFunction("f")->getValueSymbolTable()->lookup(value);
    return llvm::cast<llvm::Instruction>(found)->getParent()->getName().str();
  }

 private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

/// Two entrances and one loop, into which both lead; `behind` is the last that the begin does.
std::string two_entrances(const std::string& behind) {
  return R"(
define i32 @f(ptr %sizes, ptr %frame, i32 %entrance) {
entry:
  %size = load i32, ptr %sizes
  %below = icmp ult i32 %entrance, %size
  %place = select i1 %below, i32 %size, i32 7
  %both = add i32 %entrance, 1
  )" + behind +
         R"(
  switch i32 %entrance, label %first [ i32 1, label %second
                                       i32 2, label %third ]
first:
  br label %loop
second:
  %kept = load i32, ptr %frame
  br label %loop
loop:
  %n = phi i32 [ %place, %first ], [ %kept, %second ], [ %m, %loop ]
  %m = add i32 %n, %both
  %more = icmp ult i32 %m, 100
  br i1 %more, label %loop, label %end
third:
  ret i32 0
end:
  ret i32 %m
}
)";
}

TEST(SinkEntry, WhatOneEntranceNeedsGoesThere) {
  const Sunk sunk(two_entrances(""));
  EXPECT_EQ(sunk.block_of("size"), "first");
  EXPECT_EQ(sunk.block_of("below"), "first");
  EXPECT_EQ(sunk.block_of("place"), "first");
}

TEST(SinkEntry, WhatSeveralNeedStays) { EXPECT_EQ(Sunk(two_entrances("")).block_of("both"), "entry"); }

TEST(SinkEntry, LoadsDoNotPassStores) {
  const Sunk sunk(two_entrances("store i32 5, ptr %sizes"));
  EXPECT_EQ(sunk.block_of("size"), "entry");
  EXPECT_EQ(sunk.block_of("place"), "first");
}

TEST(SinkEntry, NothingGoesWhereOthersComeBy) {
  const Sunk sunk(R"(
define i32 @f(i32 %a, i1 %if) {
entry:
  %b = mul i32 %a, %a
  br i1 %if, label %then, label %end
then:
  br label %end
end:
  %c = add i32 %b, 1
  ret i32 %c
}
)");
  EXPECT_EQ(sunk.block_of("b"), "entry");
}

}  // namespace
}  // namespace raddle::jit
