// Which accesses of shared memory behind each other are one (src/jit/joint_windows.cpp), and which masks of
// theirs are bits of a number.
#include <fmt/format.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "jit/deposited_masks.h"
#include "unit/jit/dump.h"
#include "unit/jit/ir.h"

namespace raddle::jit {
namespace {

/// Vectors that a warp's loads or stores of shared memory are, before LLVM.
/// @param what  `load` or `store`
/// @param body  %two is an address that steps by two words, %three one by three, %far one by one
unsigned windows(const std::string& what, const std::string& body) {
  const std::string text = dump_of("ir",
                                   fmt::format(R"(.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {{
 .reg .b32 %t, %two, %three, %far, %x, %y, %z; .reg .b64 %out; .reg .pred %p;
 .shared .align 4 .b8 tile[4096];
 mov.u32 %t, %tid.x; mov.u32 %x, tile;
 mad.lo.u32 %two, %t, 8, %x; mad.lo.u32 %three, %t, 12, %x; mad.lo.u32 %far, %t, 4, %x;
 setp.lt.u32 %p, %t, 7;
 {}
 ld.param.u64 %out, [out]; add.u32 %x, %x, %y; add.u32 %x, %x, %z; st.global.u32 [%out], %x;
 ret;
}})",
                                               body),
                                   {.simd = SimdLevel::avx512, .tier = Tier::optimised}, {.block = {64}});
  const std::string call = "@llvm.masked." + what + ".v";
  unsigned count = 0;
  for (std::size_t at = text.find("call"); at != std::string::npos; at = text.find("call", at + 1))
    count += text.substr(at, text.find('\n', at) - at).find(call) != std::string::npos;
  return count;
}

TEST(JointWindows, PairsAndMembersOfStructures) {
  EXPECT_EQ(windows("load", "ld.shared.u32 %x, [%two+4]; ld.shared.u32 %y, [%two];"), 2);
  EXPECT_EQ(windows("store", "st.shared.u32 [%two], %t; st.shared.u32 [%two+4], %x;"), 2);
  EXPECT_EQ(windows("load",
                    "ld.shared.u32 %x, [%three]; ld.shared.u32 %y, [%three+4]; "
                    "ld.shared.u32 %z, [%three+8];"),
            2);
}

TEST(JointWindows, NotOthers) {
  EXPECT_EQ(windows("load", "ld.shared.u32 %x, [%two]; ld.shared.u32 %y, [%two+1024];"), 4) << "far apart";
  EXPECT_EQ(windows("load", "ld.shared.u32 %x, [%far]; ld.shared.u32 %y, [%far+64];"), 4)
      << "as many vectors";
  EXPECT_EQ(windows("load", "ld.shared.u32 %x, [%two]; ld.shared.u32 %y, [%three];"), 4) << "two registers";
  EXPECT_EQ(windows("load", "ld.shared.u32 %two, [%two]; ld.shared.u32 %y, [%two+4];"), 2)
      << "an address that was loaded: the second gathers";
  EXPECT_EQ(windows("load", "ld.shared.u32 %x, [%two]; @%p ld.shared.u32 %y, [%two+4];"), 4) << "a guard";
  EXPECT_EQ(windows("load", "ld.shared.u32 %x, [%two]; mov.u32 %z, 1; ld.shared.u32 %y, [%two+4];"), 4)
      << "what lies between";
  EXPECT_GT(windows("load", "ld.shared.u32 %x, [%two+2]; ld.shared.u32 %y, [%two+4];"), 2)
      << "one of them is misaligned, and says so";
  EXPECT_EQ(windows("store", "st.shared.u32 [%two], %t; st.shared.u32 [%two+8], %x;"), 4)
      << "one lane's second is another's first";
}

/// pdeps that the pass makes of a mask of 16 lanes spread over 32.
/// @param rest  what lanes from 16 on come from
int deposits(const std::string& places, const std::string& rest = "zeroinitializer") {
  llvm::LLVMContext context;
  const auto module =
      parsed(fmt::format("define <32 x i1> @f(<16 x i1> %m) {{\n %s = shufflevector <16 x i1> %m, <16 x "
                         "i1> {}, <32 x i32> <{}>\n ret <32 x i1> %s\n}}\n",
                         rest, places),
             context);
  llvm::Function& function = *module->getFunction("f");
  llvm::FunctionAnalysisManager analyses;
  DepositMasks().run(function, analyses);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  int count = 0;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    count += call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::x86_bmi_pdep_32;
  }
  return count;
}

/// 32 indices of lanes, by their place.
template <class Lane>
std::string places(const Lane& lane) {
  std::string all;
  for (int place = 0; place < 32; ++place) all += fmt::format("{}i32 {}", place ? ", " : "", lane(place));
  return all;
}

TEST(DepositedMasks, LanesThatKeepTheirOrder) {
  EXPECT_EQ(deposits(places([](int place) { return place % 2 ? 16 : place / 2; })), 1);
  EXPECT_EQ(deposits(places([](int place) { return place / 2 + place % 2 * 16; }), "splat (i1 true)"), 0)
      << "lanes that all are set lie between";
  EXPECT_EQ(deposits(places([](int place) { return place / 2; })), 1) << "and the same, one further on";
  EXPECT_EQ(deposits(places([](int place) { return place < 3 ? 0 : (place - 1) / 2; })), 0)
      << "the first lane thrice";
  EXPECT_EQ(deposits(places([](int place) { return place < 16 ? 15 - place : 16; })), 0) << "turned round";
  EXPECT_EQ(deposits(places([](int place) { return place < 16 ? place : 16; })), 0) << "as they are";
}

}  // namespace
}  // namespace raddle::jit
