// Modules on their way from the balanced tier to the optimised one.
#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "baseline_fixture.h"
#include "jit/bitcode.h"

namespace raddle::jit {
namespace {

class HalfwayTest : public Baseline {
 protected:
  static bool has_variables(const llvm::Module& module) {
    for (const llvm::Function& function : module)
      for (const llvm::Instruction& i : llvm::instructions(function))
        if (llvm::isa<llvm::AllocaInst>(i)) return true;
    return false;
  }

  std::string bytes_of(const std::string& text, const HostTarget& target, Tier tier, const Halfway& halfway) {
    Effort effort(1e9);
    const auto made = generate_object(*parse(text, target), target, tier, effort, halfway);
    EXPECT_TRUE(made) << made.error().message;
    return (*made)->getBuffer().str();
  }
};

// With a variable that the passes make a value.
constexpr const char* kDoubled = R"(
define void @f(ptr %in, ptr %out) {
  %v = alloca i64
  %x = load i64, ptr %in
  store i64 %x, ptr %v
  %y = load i64, ptr %v
  %z = add i64 %y, %x
  store i64 %z, ptr %out
  ret void
})";

// A variable that passes which combine do not know to be one value.
constexpr const char* kCounted = R"(
define void @f(ptr %out, i64 %end) {
entry:
  %v = alloca i64
  store i64 1, ptr %v
  br label %loop
loop:
  %x = load i64, ptr %v
  %y = mul i64 %x, 3
  store i64 %y, ptr %v
  %more = icmp ult i64 %y, %end
  br i1 %more, label %loop, label %done
done:
  %z = load i64, ptr %v
  store i64 %z, ptr %out
  ret void
})";

TEST_F(HalfwayTest, OptimisedCodeGoesOnBehindThePassesOfBalancedCode) {
  for (const HostTarget& target : known_targets()) {
    std::string bitcode;
    bytes_of(kDoubled, target, Tier::balanced, {.to = &bitcode});
    ASSERT_FALSE(bitcode.empty());
    llvm::LLVMContext context;
    const auto module = module_of(bitcode, context);
    EXPECT_FALSE(has_variables(*module)) << "the passes came first";
    Effort effort(1e9);
    auto made = generate_object(*module, target, Tier::optimised, effort, {.is_from = true});
    ASSERT_TRUE(made);
    EXPECT_EQ(run(std::move(*made)), run(make_by_llvm(kDoubled, target)));
    EXPECT_NE(bytes_of(kCounted, target, Tier::optimised, {.is_from = true}),
              bytes_of(kCounted, target, Tier::optimised, {}))
        << "no pass for variables comes a second time";
  }
}

// A line of another function's: whoever checks the module drops all lines.
TEST_F(HalfwayTest, NothingChecksWhatThisProcessHasWritten) {
  constexpr const char* kWrongLine = R"(
define void @f() !dbg !3 {
  ret void, !dbg !5
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!6}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a", directory: "")
!2 = !DISubroutineType(types: !{null})
!3 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!4 = distinct !DISubprogram(name: "g", file: !1, line: 1, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DILocation(line: 7, scope: !4)
!6 = !{i32 2, !"Debug Info Version", i32 3})";
  llvm::SMDiagnostic problem;
  make_target_machine(host_target(SimdLevel::host), Tier::quick);  // initialises LLVM
  const auto written = llvm::parseAssemblyString(kWrongLine, problem, context_);
  ASSERT_TRUE(written) << problem.getMessage().str();
  llvm::LLVMContext context;
  const auto module = module_of(bitcode_of(*written), context);
  const llvm::DebugLoc& line = module->getFunction("f")->getEntryBlock().front().getDebugLoc();
  ASSERT_TRUE(line);
  EXPECT_EQ(line.getLine(), 7u);
}

}  // namespace
}  // namespace raddle::jit
