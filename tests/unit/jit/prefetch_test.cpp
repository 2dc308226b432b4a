// Which loads are prefetched.
#include "jit/prefetch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace raddle::jit {
namespace {

/// Prefetches that the pass puts into the function @f of a module.
int prefetches_of(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  llvm::PassBuilder passes;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  llvm::Function& function = *module->getFunction("f");
  PrefetchLoads().run(function, functions);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  int count = 0;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block)
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
        count += call->getIntrinsicID() == llvm::Intrinsic::prefetch;
  return count;
}

/// In a loop over a 32-bit counter that steps by `step`, around a load marked by `mark`.
int prefetches(const char* step, const char* mark, const char* type = "<16 x i32>") {
  return prefetches_of(fmt::format(R"(
define void @f(i64 %base, i32 %n, i32 %stride) {{
entry:
  br label %turn
turn:
  %i = phi i32 [ 0, %entry ], [ %next, %turn ]
  %wide = sext i32 %i to i64
  %bytes = shl nsw i64 %wide, 2
  %address = add i64 %base, %bytes
  %pointer = inttoptr i64 %address to ptr
  %value = load volatile {2}, ptr %pointer, align 4{1}
  %next = add i32 %i, {0}
  %more = icmp slt i32 %next, %n
  br i1 %more, label %turn, label %done
done:
  ret void
}}
!0 = !{{}}
)",
                                   step, mark, type));
}

constexpr const char* kMarked = ", !raddle.device !0";

TEST(Prefetch, TakesLoadsThatStepFarOrByAnUnknownDistance) {
  EXPECT_EQ(prefetches("%stride", kMarked), 1);
  EXPECT_EQ(prefetches("262144", kMarked), 1);
  EXPECT_EQ(prefetches("-262144", kMarked), 1);
}

TEST(Prefetch, TakesEveryLineOfALongLoad) { EXPECT_EQ(prefetches("%stride", kMarked, "<64 x i32>"), 4); }

TEST(Prefetch, LeavesNearStepsToTheProcessor) { EXPECT_EQ(prefetches("16", kMarked), 0); }

TEST(Prefetch, LeavesLoadsOfOtherMemory) { EXPECT_EQ(prefetches("%stride", ""), 0); }

/// In straight code, of a row of 128 bytes by parts: its second part lies `apart` bytes behind the first.
int prefetches_in_line(int apart, const char* type, const char* mark = kMarked) {
  return prefetches_of(fmt::format(R"(
define void @f(ptr %row) {{
  %first = load volatile {1}, ptr %row, align 4{2}
  %second = getelementptr i8, ptr %row, i64 {0}
  %rest = load volatile {1}, ptr %second, align 4{2}
  ret void
}}
!0 = !{{}}
)",
                                   apart, type, mark));
}

TEST(Prefetch, TakesEachLineOfARowOutsideOfLoops) {
  EXPECT_EQ(prefetches_in_line(64, "<16 x i32>"), 2);
  EXPECT_EQ(prefetches_in_line(32, "<8 x i32>"), 1) << "two parts of a line";
  EXPECT_EQ(prefetches_in_line(64, "<16 x i32>", ""), 0) << "of other memory";
  EXPECT_EQ(prefetches_in_line(64, "i32"), 0) << "of all lanes one word";
}

}  // namespace
}  // namespace raddle::jit
