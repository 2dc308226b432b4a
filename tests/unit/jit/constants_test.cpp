// Which constants of vectors become loads (jit/constants.h).
#include "jit/constants.h"

#include <gtest/gtest.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

#include "unit/jit/ir.h"

namespace raddle::jit {
namespace {

/// The module of a function of one block, as text.
std::string loaded_in(const std::string& body, LoadedConstants which) {
  llvm::LLVMContext context;
  auto module = parsed("define <4 x i32> @f(<4 x i32> %x) {\n" + body + "  ret <4 x i32> %r\n}\n", context);
  load_constants(*module, which);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

std::size_t loads_in(const std::string& body, LoadedConstants which) {
  const std::string text = loaded_in(body, which);
  std::size_t count = 0;
  for (auto at = text.find("= load"); at != std::string::npos; at = text.find("= load", at + 1)) ++count;
  return count;
}

const std::string kLanes = "<i32 0, i32 1, i32 2, i32 3>", kEqual = "<i32 7, i32 7, i32 7, i32 7>";

TEST(Constants, WhatDiffersFromLaneToLaneIsLoadedOnceABlock) {
  const std::string body =
      "  %y = add <4 x i32> %x, " + kLanes + "\n  %r = xor <4 x i32> %y, " + kLanes + "\n";
  EXPECT_EQ(loads_in(body, LoadedConstants::by_lane), 1u);
  const std::string text = loaded_in(body, LoadedConstants::by_lane);
  EXPECT_NE(text.find("constant <4 x i32> " + kLanes + ", align 16"), std::string::npos) << text;
}

TEST(Constants, EqualLanesAreLoadedWhereAllAre) {
  const std::string body = "  %r = add <4 x i32> %x, " + kEqual + "\n";
  EXPECT_EQ(loads_in(body, LoadedConstants::by_lane), 0u);
  EXPECT_EQ(loads_in(body, LoadedConstants::all), 1u);
}

TEST(Constants, ShiftsProductsQuotientsAndShufflesKeepTheirs) {
  for (const char* operation : {"shl", "mul", "udiv", "srem"})
    EXPECT_EQ(loads_in(std::string("  %r = ") + operation + " <4 x i32> %x, " + kLanes + "\n",
                       LoadedConstants::all),
              0u)
        << operation;
  EXPECT_EQ(loads_in("  %r = shufflevector <4 x i32> %x, <4 x i32> " + kLanes +
                         ", <4 x i32> <i32 0, i32 4, i32 1, i32 5>\n",
                     LoadedConstants::all),
            0u);
}

TEST(Constants, VectorsOfOddLengthsAreAlignedToo) {
  const std::string body =
      "  %y = extractelement <4 x i32> %x, i32 0\n  %p = inttoptr i32 %y to ptr\n"
      "  store <3 x i32> <i32 1, i32 2, i32 3>, ptr %p\n  %r = add <4 x i32> %x, %x\n";
  const std::string text = loaded_in(body, LoadedConstants::by_lane);
  EXPECT_NE(text.find("constant <3 x i32> <i32 1, i32 2, i32 3>, align 16"), std::string::npos) << text;
}

}  // namespace
}  // namespace raddle::jit
