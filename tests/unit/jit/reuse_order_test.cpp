// Which straight code gets another order.
#include "jit/reuse_order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "unit/jit/ir.h"

namespace raddle::jit {
namespace {

constexpr unsigned kSums = 8;

/// A loop that makes each of kSums sums of as many products as there are factors, one after the other.
/// @param between  a sum and the next
std::string summing(unsigned factors, const std::string& between) {
  std::string before, body, after;
  for (unsigned f = 0; f < factors; ++f)
    before += fmt::format(
        "  %p{0} = getelementptr <16 x float>, ptr %at, i64 {0}\n"
        "  %f{0} = load <16 x float>, ptr %p{0}\n",
        f);
  for (unsigned s = 0; s < kSums; ++s) {
    for (unsigned f = 0; f < factors; ++f) {
      const std::string last = f == 0 ? "zeroinitializer" : fmt::format("%s{}.{}", s, f - 1);
      body += fmt::format(
          "  %q{0}.{1} = getelementptr <16 x float>, ptr %row, i64 {2}\n"
          "  %v{0}.{1} = load <16 x float>, ptr %q{0}.{1}\n"
          "  %s{0}.{1} = call <16 x float> @llvm.fma.v16f32(<16 x float> %f{1}, "
          "<16 x float> %v{0}.{1}, <16 x float> {3})\n",
          s, f, s * factors + f, last);
    }
    body += between;
    after += fmt::format(
        "  %o{0} = getelementptr <16 x float>, ptr %to, i64 {0}\n"
        "  store <16 x float> %s{0}.{1}, ptr %o{0}\n",
        s, factors - 1);
  }
  return fmt::format(
      "declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)\n"
      "define void @f(ptr %at, ptr %row, ptr %to, ptr %other) {{\n{}  br label %loop\nloop:\n"
      "  %n = phi i32 [ 0, %0 ], [ %m, %loop ]\n{}{}"
      "  %m = add i32 %n, 1\n  %more = icmp ult i32 %m, 9\n"
      "  br i1 %more, label %loop, label %end\nend:\n  ret void\n}}\n",
      before, body, after);
}

struct Result {
  bool keeps;         ///< what keeps_order() says
  unsigned farthest;  ///< products between a factor's first and last
};

std::unique_ptr<llvm::Module> ordered(const std::string& text, unsigned vector_bits,
                                      llvm::LLVMContext& context) {
  auto module = parsed(text, context);
  llvm::Function& function = *module->getFunction("f");
  llvm::FunctionAnalysisManager analyses;
  llvm::PassBuilder().registerFunctionAnalyses(analyses);
  OrderForReuse(vector_bits).run(function, analyses);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  return module;
}

Result after(unsigned factors, const std::string& between = "") {
  llvm::LLVMContext context;
  const auto module = ordered(summing(factors, between), 512, context);
  llvm::Function& function = *module->getFunction("f");
  std::map<const llvm::Value*, unsigned> first;
  unsigned products = 0, farthest = 0;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    const auto* product = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    if (product == nullptr) continue;
    const auto found = first.emplace(product->getArgOperand(0), products).first;
    farthest = std::max(farthest, products++ - found->second);
  }
  EXPECT_EQ(products, kSums * factors);
  return {keeps_order(*module), farthest};
}

TEST(ReuseOrder, WhatSumsShareIsReadOnce) {
  const Result result = after(64);
  EXPECT_TRUE(result.keeps);
  EXPECT_LT(result.farthest, 2 * kSums);
}

TEST(ReuseOrder, WhatFitsTheRegistersStays) {
  const Result result = after(20);
  EXPECT_FALSE(result.keeps);
  EXPECT_EQ(result.farthest, (kSums - 1) * 20);
}

/// Like `summing`, in parts of eight lanes that multiply with the same numbers from memory.
std::string summing_parts(unsigned parts, unsigned factors) {
  std::string before, body, after;
  for (unsigned n = 0; n < parts * factors; ++n)
    before += fmt::format(
        "  %p{0} = getelementptr <8 x float>, ptr %at, i64 {0}\n"
        "  %f{0} = load <8 x float>, ptr %p{0}\n",
        n);
  for (unsigned s = 0; s < kSums; ++s)
    for (unsigned f = 0; f < factors; ++f) {
      if (f % 2 == 0)  // a number for two factors
        body += fmt::format(
            "  %v{0}.{1} = load <8 x float>, ptr getelementptr (<8 x float>, ptr @row, i64 {2})\n", s, f,
            s * factors + f);
      for (unsigned p = 0; p < parts; ++p)
        body += fmt::format(
            "  %s{0}.{1}.{2} = call <8 x float> @llvm.fma.v8f32(<8 x float> %f{3}, <8 x float> %v{0}.{5}, "
            "<8 x float> {4})\n",
            s, f, p, p * factors + f, f == 0 ? "zeroinitializer" : fmt::format("%s{}.{}.{}", s, f - 1, p),
            f / 2 * 2);
    }
  for (unsigned p = 0; p < parts; ++p)  // what all sums of a part make: the parts are strands
    for (unsigned s = 0; s < kSums; ++s)
      body += fmt::format("  %t{}.{} = fadd <8 x float> %s{}.{}.{}, {}\n", s, p, s, factors - 1, p,
                          s == 0 ? "zeroinitializer" : fmt::format("%t{}.{}", s - 1, p));
  for (unsigned p = 0; p < parts; ++p)
    after += fmt::format(
        "  %o{0} = getelementptr <8 x float>, ptr %to, i64 {0}\n  store <8 x float> %t{1}.{0}, ptr %o{0}\n",
        p, kSums - 1);
  return fmt::format(
      "declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)\n"
      "@row = external global <8 x float>\n"
      "define void @f(ptr %at, ptr %to) {{\n{}  br label %loop\nloop:\n"
      "  %n = phi i32 [ 0, %0 ], [ %m, %loop ]\n{}{}"
      "  %m = add i32 %n, 1\n  %more = icmp ult i32 %m, 9\n"
      "  br i1 %more, label %loop, label %end\nend:\n  ret void\n}}\n",
      before, body, after);
}

struct Parts {
  bool keeps;
  unsigned changes;  ///< products behind one of another part
  unsigned loads;
  unsigned fences;
};

Parts after_parts(unsigned parts, unsigned factors) {
  llvm::LLVMContext context;
  const auto module = ordered(summing_parts(parts, factors), 256, context);
  llvm::Function& function = *module->getFunction("f");
  Parts found{.keeps = keeps_order(*module)};
  llvm::StringRef part;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    found.loads += llvm::isa<llvm::LoadInst>(i);
    found.fences += llvm::isa<llvm::FenceInst>(i);
    if (!llvm::isa<llvm::IntrinsicInst>(i)) continue;
    const llvm::StringRef here = i.getName().rsplit('.').second;
    found.changes += !part.empty() && here != part;
    part = here;
  }
  return found;
}

TEST(ReuseOrder, OfFewRegistersOnePartComesAfterTheOther) {
  const Parts found = after_parts(2, 32);
  EXPECT_TRUE(found.keeps);
  EXPECT_EQ(found.changes, 1);
  EXPECT_EQ(found.fences, 1);
  EXPECT_EQ(found.loads, 2 * 32 + 2 * kSums * 16);  // each part reads the numbers for itself
}

TEST(ReuseOrder, APartAloneStays) {
  const Parts found = after_parts(1, 32);
  EXPECT_FALSE(found.keeps);
  EXPECT_EQ(found.fences, 0);
}

constexpr unsigned kRows = 8, kColumns = 4;  // of a matrix of sums

/// A block that sums a matrix: each step multiplies each row's number, from memory, by each column's vector.
/// The sums of a row and of a column lie far from each other.
/// @param turns  whether the block is a loop
/// @param weight  of the branch to it, of 2,000
std::string summing_matrix(unsigned steps, bool turns, unsigned weight = 1000) {
  std::string body, after;
  const auto last = [](unsigned sum, unsigned step) {
    return step == 0 ? "zeroinitializer" : fmt::format("%s{}.{}", sum, step - 1);
  };
  for (unsigned step = 0; step < steps; ++step) {
    for (unsigned row = 0; row < kRows; ++row)
      body += fmt::format(
          "  %n{0} = load float, ptr getelementptr (float, ptr @rows, i64 {0})\n"
          "  %i{0} = insertelement <8 x float> poison, float %n{0}, i64 0\n"
          "  %r{0} = shufflevector <8 x float> %i{0}, <8 x float> poison, <8 x i32> zeroinitializer\n",
          step * kRows + row);
    for (unsigned column = 0; column < kColumns; ++column)
      body += fmt::format("  %c{0} = load <8 x float>, ptr getelementptr (<8 x float>, ptr @row, i64 {0})\n",
                          step * kColumns + column);
    for (unsigned sum = 0; sum < kRows * kColumns; ++sum)
      body += fmt::format(
          "  %s{0}.{1} = call <8 x float> @llvm.fma.v8f32(<8 x float> %r{2}, <8 x float> %c{3}, "
          "<8 x float> {4})\n",
          sum, step, step * kRows + sum * 3 % kRows, step * kColumns + (sum / 8 + sum) % kColumns,
          last(sum, step));
  }
  for (unsigned sum = 0; sum < kRows * kColumns; ++sum)
    after += fmt::format(
        "  %o{0} = getelementptr <8 x float>, ptr %to, i64 {0}\n  store <8 x float> {1}, ptr %o{0}\n", sum,
        last(sum, steps));
  return fmt::format(
      "declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)\n"
      "@rows = external global float\n@row = external global <8 x float>\n"
      "define void @f(ptr %to, i1 %sums, i1 %more) {{\n  br i1 %sums, label %block, label %end, !prof !0\n"
      "block:\n{}{}  br i1 %more, label %{}, label %end\nend:\n  ret void\n}}\n"
      "!0 = !{{!\"branch_weights\", i32 {}, i32 {}}}\n",
      body, after, turns ? "block" : "end", weight, 2000 - weight);
}

struct Bundles {
  bool keeps;
  unsigned fences;
  unsigned loads;
};

Bundles after_matrix(const std::string& text) {
  llvm::LLVMContext context;
  const auto module = ordered(text, 256, context);
  Bundles found{.keeps = keeps_order(*module)};
  for (llvm::Instruction& i : llvm::instructions(*module->getFunction("f"))) {
    found.loads += llvm::isa<llvm::LoadInst>(i);
    found.fences += llvm::isa<llvm::FenceInst>(i);
  }
  return found;
}

TEST(ReuseOrder, SumsOfAMatrixShareWhatTheyReadInBundles) {
  const Bundles found = after_matrix(summing_matrix(32, true));
  EXPECT_TRUE(found.keeps);
  EXPECT_EQ(found.fences, 3);
  EXPECT_LE(found.loads, 4 * 32 * 7);  // eight sums in turn would read all rows and columns
}

TEST(ReuseOrder, ABarriersLoopIsNoneOfLLVMs) {
  const Bundles found = after_matrix(summing_matrix(32, false));
  EXPECT_TRUE(found.keeps);
  EXPECT_EQ(found.fences, 3);
}

TEST(ReuseOrder, WhatIsInNoLoopMustSaveMore) {
  EXPECT_TRUE(after_matrix(summing_matrix(12, true)).keeps);
  EXPECT_FALSE(after_matrix(summing_matrix(12, false)).keeps);
}

TEST(ReuseOrder, WhatHardlyRunsStays) { EXPECT_FALSE(after_matrix(summing_matrix(32, false, 1)).keeps); }

TEST(ReuseOrder, NotAcrossStores) {
  const Result result = after(64, "  store volatile i32 0, ptr %other\n");
  EXPECT_FALSE(result.keeps);
  EXPECT_EQ(result.farthest, (kSums - 1) * 64);
}

}  // namespace
}  // namespace raddle::jit
