// Selections behind the branch that has decided them.
#include "jit/merge_selects.h"

#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <string>

#include "unit/jit/ir.h"

namespace raddle::jit {
namespace {

class Merged {
 public:
  explicit Merged(const std::string& text) {
    module_ = parsed(text, context_);
    llvm::PassBuilder builder;
    llvm::FunctionAnalysisManager analyses;
    builder.registerFunctionAnalyses(analyses);
    MergeSelects().run(function(), analyses);
    EXPECT_FALSE(llvm::verifyFunction(function(), &llvm::errs()));
  }
  llvm::Function& function() { return *module_->getFunction("f"); }
  unsigned selects() {
    unsigned found = 0;
    for (const llvm::Instruction& i : llvm::instructions(function())) found += llvm::isa<llvm::SelectInst>(i);
    return found;
  }
  /// What the phi called "result" has from a block, as text.
  std::string from(const std::string& block) {
    for (llvm::BasicBlock& b : function())
      for (const llvm::PHINode& phi : b.phis()) {
        if (phi.getName() != "result") continue;
        for (unsigned n = 0; n < phi.getNumIncomingValues(); ++n)
          if (phi.getIncomingBlock(n)->getName() == block) return text_of(*phi.getIncomingValue(n));
      }
    return "";
  }

 private:
  static std::string text_of(const llvm::Value& value) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    value.print(stream);
    return text;
  }
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

/// What a register that may wrap is read as behind the branch that asked whether it has.
/// @param near      the block that control comes from if it has not
/// @param lanes_by  the operation that makes lanes of what is equal in all
std::string wrapped(const std::string& near, const std::string& condition, const std::string& lanes_by) {
  const bool is_edge = near == "entry";
  return "define <4 x i32> @f(i1 %ok, i1 %other, i32 %base, <4 x i32> %old) {\nentry:\n  br i1 %ok, label %" +
         std::string(is_edge ? "both" : "near") + ", label %wrapped\n" +
         (is_edge ? "" : "near:\n  br label %both\n") + R"(
wrapped:
  %vector = mul <4 x i32> %old, <i32 3, i32 3, i32 3, i32 3>
  br label %both
both:
  %kept = phi <4 x i32> [ poison, %)" +
         near + R"( ], [ %vector, %wrapped ]
  %one = insertelement <4 x i32> poison, i32 %base, i64 0
  %all = shufflevector <4 x i32> %one, <4 x i32> poison, <4 x i32> zeroinitializer
  %lanes = )" +
         lanes_by + R"( <4 x i32> %all, <i32 0, i32 1, i32 2, i32 3>
  %result = select i1 %)" +
         condition + R"(, <4 x i32> %lanes, <4 x i32> %kept
  ret <4 x i32> %result
}
)";
}

TEST(MergeSelects, ComeByWay) {
  Merged merged(wrapped("near", "ok", "add"));
  EXPECT_EQ(merged.selects(), 0u);
  EXPECT_NE(merged.from("near").find("add <4 x i32>"), std::string::npos) << merged.from("near");
  EXPECT_NE(merged.from("wrapped").find("%vector"), std::string::npos) << merged.from("wrapped");
}

TEST(MergeSelects, TheBranchMayBeTheEdge) {
  Merged merged(wrapped("entry", "ok", "add"));
  EXPECT_EQ(merged.selects(), 0u);
  EXPECT_NE(merged.from("entry").find("add <4 x i32>"), std::string::npos) << merged.from("entry");
}

TEST(MergeSelects, NotByAnotherFlag) { EXPECT_EQ(Merged(wrapped("near", "other", "add")).selects(), 1u); }

TEST(MergeSelects, NotIfMoreThanLanesWereMadeAgain) {
  EXPECT_EQ(Merged(wrapped("near", "ok", "mul")).selects(), 1u);
}

TEST(MergeSelects, NotWhereAnEdgeTellsNoWay) {
  EXPECT_EQ(Merged(R"(
define i32 @f(i1 %ok, i1 %again, i32 %a, i32 %b) {
entry:
  br i1 %ok, label %near, label %wrapped
near:
  br i1 %again, label %both, label %middle
wrapped:
  br i1 %again, label %both, label %middle
middle:
  br label %both
both:
  %result = select i1 %ok, i32 %a, i32 %b
  ret i32 %result
}
)")
                .selects(),
            1u);
}

TEST(MergeSelects, NotWhereASwitchComesTwice) {
  EXPECT_EQ(Merged(R"(
define i32 @f(i1 %ok, i32 %which, i32 %a, i32 %b) {
entry:
  br i1 %ok, label %near, label %both
near:
  switch i32 %which, label %elsewhere [
    i32 0, label %both
    i32 1, label %both
  ]
both:
  %more = add i32 %a, 1
  %result = select i1 %ok, i32 %more, i32 %b
  ret i32 %result
elsewhere:
  ret i32 0
}
)")
                .selects(),
            1u);
}

TEST(MergeSelects, InALoopTheTurnBeforeTellsWhatItsOwnIs) {
  Merged merged(R"(
define i32 @f(i1 %ok, i32 %limit) {
entry:
  br i1 %ok, label %loop, label %end
loop:
  %n = phi i32 [ 0, %entry ], [ %next, %loop ]
  %more = add i32 %n, 7
  %result = select i1 %ok, i32 %more, i32 1
  %next = mul i32 %result, 3
  %stays = icmp ult i32 %next, %limit
  br i1 %stays, label %loop, label %end
end:
  %last = phi i32 [ 0, %entry ], [ %result, %loop ]
  ret i32 %last
}
)");
  EXPECT_EQ(merged.selects(), 0u);
  EXPECT_NE(merged.from("loop").find("add i32 %next, 7"), std::string::npos) << merged.from("loop");
}

}  // namespace
}  // namespace raddle::jit
