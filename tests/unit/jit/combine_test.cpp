// What one look at each instruction makes of it.
#include "jit/combine.h"

#include <gtest/gtest.h>
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

/// The body of the function f behind the pass, as text without its first and last line.
std::string combined(const std::string& text) {
  llvm::LLVMContext context;
  const auto module = parsed(text, context);
  llvm::Function& function = *module->getFunction("f");
  llvm::PassBuilder builder;
  llvm::FunctionAnalysisManager analyses;
  builder.registerFunctionAnalyses(analyses);
  Combine().run(function, analyses);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  std::string body;
  llvm::raw_string_ostream stream(body);
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block) stream << i << "\n";
  return body;
}

std::string straight(const std::string& head, const std::string& body) {
  return combined("define " + head + " {\n" + body + "}\n");
}

/// Phis of a loop in a loop, which are given `begin` and each other, and at the end of a turn `end`.
std::string loops(const std::string& begin, const std::string& end) {
  return combined(R"(
define <4 x i1> @f(i1 %again, <4 x i1> %mask) {
entry:
  br label %outer
outer:
  %a = phi <4 x i1> [ )" +
                  begin + R"(, %entry ], [ %c, %close ]
  br label %inner
inner:
  %b = phi <4 x i1> [ %a, %outer ], [ %b, %inner ]
  br i1 %again, label %inner, label %close
close:
  %c = phi <4 x i1> [ )" +
                  end + R"(, %inner ]
  br i1 %again, label %outer, label %end
end:
  ret <4 x i1> %c
}
)");
}

TEST(Combine, PhisThatCanOnlyBeOneValue) {
  EXPECT_NE(loops("zeroinitializer", "%b").find("ret <4 x i1> zeroinitializer"), std::string::npos);
  EXPECT_NE(loops("%mask", "%b").find("ret <4 x i1> %mask"), std::string::npos);
}

TEST(Combine, PhisOfOneValueAndOfNone) {
  const std::string body = loops("poison", "%mask");
  EXPECT_NE(body.find("ret <4 x i1> %mask"), std::string::npos) << body;
  EXPECT_EQ(body.find("phi"), std::string::npos) << body;
}

TEST(Combine, NotPhisThatAreGivenTwoValues) {
  EXPECT_NE(loops("%mask", "zeroinitializer").find("%a = phi"), std::string::npos);
}

TEST(Combine, DistancesAreAddedUp) {
  EXPECT_EQ(straight("ptr @f(ptr %p)", R"(
  %a = getelementptr inbounds i32, ptr %p, i32 3
  %b = getelementptr inbounds [4 x i64], ptr %a, i64 0, i64 1
  ret ptr %b
)"),
            "  %1 = getelementptr inbounds i8, ptr %p, i64 20\n  ret ptr %1\n");
  EXPECT_EQ(straight("ptr @f(ptr %p)", R"(
  %a = getelementptr inbounds i8, ptr %p, i64 12
  %b = getelementptr i8, ptr %a, i64 -12
  ret ptr %b
)"),
            "  ret ptr %p\n");
}

TEST(Combine, CastsOfCasts) {
  EXPECT_EQ(straight("<4 x i32> @f(<4 x i32> %x)", R"(
  %a = bitcast <4 x i32> %x to <4 x float>
  %b = bitcast <4 x float> %a to <4 x i32>
  ret <4 x i32> %b
)"),
            "  ret <4 x i32> %x\n");
}

TEST(Combine, WhatIsLoadedIsWhatItIsReadAs) {
  EXPECT_EQ(straight("float @f(ptr %p)", R"(
  %a = load i32, ptr %p, align 2, !invariant.load !{}
  %b = bitcast i32 %a to float
  ret float %b
)"),
            "  %1 = load float, ptr %p, align 2, !invariant.load !0\n  ret float %1\n");
  for (const char* kept : {"load volatile i32, ptr %p", "load atomic i32, ptr %p monotonic, align 4"}) {
    const std::string body = straight("float @f(ptr %p)", std::string("  %a = ") + kept + R"(
  %b = bitcast i32 %a to float
  ret float %b
)");
    EXPECT_NE(body.find(kept), std::string::npos) << body;
    EXPECT_NE(body.find("bitcast"), std::string::npos) << body;
  }
  EXPECT_NE(straight("i32 @f(ptr %p, ptr %q)", R"(
  %a = load i32, ptr %p, align 4
  %b = bitcast i32 %a to float
  store float %b, ptr %q
  ret i32 %a
)")
                .find("load i32"),
            std::string::npos);
}

// A number in a general register would first have to go to a vector's.
TEST(Combine, OneValueForAllLanesKeepsItsRegister) {
  const std::string body = straight("<4 x float> @f(i32 %x)", R"(
  %a = insertelement <4 x i32> poison, i32 %x, i64 0
  %b = shufflevector <4 x i32> %a, <4 x i32> poison, <4 x i32> zeroinitializer
  %c = bitcast <4 x i32> %b to <4 x float>
  ret <4 x float> %c
)");
  EXPECT_NE(body.find("bitcast <4 x i32> %b"), std::string::npos) << body;
}

TEST(Combine, IndicesAreExtended) {
  const std::string body =
      straight("ptr @f(ptr %p, i32 %n)", "  %a = getelementptr i16, ptr %p, i32 %n\n  ret ptr %a\n");
  EXPECT_NE(body.find("sext i32 %n to i64"), std::string::npos) << body;
  EXPECT_NE(body.find("getelementptr i16, ptr %p, i64 %1"), std::string::npos) << body;
}

TEST(Combine, AccessesOfAllLanesOrNone) {
  const std::string body = combined(R"(
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <4 x i1>, <4 x i32>)
declare void @llvm.masked.store.v4i32.p0(<4 x i32>, ptr, i32, <4 x i1>)
define void @f(ptr %p, ptr %q, <4 x i1> %m) {
  %a = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr %p, i32 4, <4 x i1> splat (i1 true), <4 x i32> undef)
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %a, ptr %q, i32 8, <4 x i1> splat (i1 true)), !nontemporal !0
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %a, ptr %p, i32 8, <4 x i1> zeroinitializer)
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %a, ptr %p, i32 8, <4 x i1> %m)
  ret void
}
!0 = !{i32 1}
)");
  EXPECT_NE(body.find("load <4 x i32>, ptr %p, align 4"), std::string::npos) << body;
  EXPECT_NE(body.find("store <4 x i32> %1, ptr %q, align 8, !nontemporal"), std::string::npos) << body;
  EXPECT_EQ(body.find("zeroinitializer"), std::string::npos) << body;
  EXPECT_NE(body.find("<4 x i1> %m"), std::string::npos) << body;
}

TEST(Combine, Constants) {
  EXPECT_EQ(straight("i32 @f(i32 %x)", "  %a = sub i32 %x, 3\n  %b = add i32 5, %a\n  ret i32 %b\n"),
            "  %1 = add i32 %x, 2\n  ret i32 %1\n");
  EXPECT_EQ(straight("i32 @f(i32 %x)", "  %a = mul i32 %x, 8\n  ret i32 %a\n"),
            "  %1 = shl i32 %x, 3\n  ret i32 %1\n");
  EXPECT_EQ(straight("float @f(float %x)", "  %a = fdiv float %x, 4.0\n  ret float %a\n"),
            "  %1 = fmul float %x, 2.500000e-01\n  ret float %1\n");
  EXPECT_NE(straight("float @f(float %x)", "  %a = fdiv float %x, 3.0\n  ret float %a\n").find("fdiv"),
            std::string::npos);
}

TEST(Combine, SumsOfWhichAShiftLeavesNothing) {
  const auto shifted = [](const std::string& by) {
    return straight("i64 @f(i64 %x)", "  %a = add i64 %x, 12\n  %b = shl i64 %a, " + by + "\n  ret i64 %b\n");
  };
  EXPECT_EQ(shifted("62"), "  %1 = shl i64 %x, 62\n  ret i64 %1\n");
  EXPECT_NE(shifted("61").find("add"), std::string::npos);
}

TEST(Combine, OneValueForAllLanesIsComputedOnce) {
  const std::string body = straight("<4 x i32> @f(i32 %x)", R"(
  %a = insertelement <4 x i32> poison, i32 %x, i64 0
  %b = shufflevector <4 x i32> %a, <4 x i32> poison, <4 x i32> zeroinitializer
  %c = and <4 x i32> %b, <i32 7, i32 7, i32 7, i32 7>
  ret <4 x i32> %c
)");
  EXPECT_NE(body.find("and i32 %x, 7"), std::string::npos) << body;
}

TEST(Combine, PartsOfWhatLiesSideBySide) {
  const auto part = [](const std::string& lanes) {
    return straight("<2 x i32> @f(<2 x i32> %a, <2 x i32> %b)", R"(
  %c = shufflevector <2 x i32> %a, <2 x i32> %b, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %d = shufflevector <4 x i32> %c, <4 x i32> poison, <2 x i32> )" + lanes +
                                                                    "\n  ret <2 x i32> %d\n");
  };
  EXPECT_EQ(part("<i32 2, i32 3>"), "  ret <2 x i32> %b\n");
  EXPECT_NE(part("<i32 1, i32 2>").find("shuffle"), std::string::npos);
  EXPECT_NE(part("<i32 3, i32 2>").find("shuffle"), std::string::npos);
}

TEST(Combine, NegationsAreSpared) {
  const std::string body = combined(R"(
define i32 @f(i1 %c, i32 %x, i32 %y) {
  %not = xor i1 %c, true
  %s = select i1 %not, i32 %x, i32 %y
  br i1 %not, label %a, label %b
a:
  ret i32 %s
b:
  ret i32 0
}
)");
  EXPECT_NE(body.find("select i1 %c, i32 %y, i32 %x"), std::string::npos) << body;
  EXPECT_NE(body.find("br i1 %c, label %b, label %a"), std::string::npos) << body;
  EXPECT_EQ(straight("i1 @f(i32 %x)", "  %a = icmp slt i32 %x, 3\n  %b = xor i1 %a, true\n  ret i1 %b\n"),
            "  %a = icmp sge i32 %x, 3\n  ret i1 %a\n");
}

TEST(Combine, WhatOneWayReadsGoesThere) {
  const auto sunk = [](const std::string& made) {
    const std::string body = combined("define i32 @f(i1 %c, i32 %x, ptr %p) {\n  %a = " + made + R"(
  br i1 %c, label %then, label %end
then:
  ret i32 %a
end:
  store i32 0, ptr %p
  ret i32 0
}
)");
    return body.find("%a =") > body.find("br i1");
  };
  EXPECT_TRUE(sunk("mul i32 %x, 3"));
  EXPECT_FALSE(sunk("load i32, ptr %p"));
}

}  // namespace
}  // namespace raddle::jit
