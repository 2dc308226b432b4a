// Scatters of hosts that have none.
#include "jit/lane_branches.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <string>

#include "unit/jit/ir.h"

namespace raddle::jit {
namespace {

constexpr unsigned kScattered = 8, kPlaces = 16;

/// A module whose function f(values, addresses, bits) scatters eight words twice: by its bits, then the same
/// words plus one by `mask`.
std::string scattering(const std::string& mask) {
  return fmt::format(R"(
declare void @llvm.masked.scatter.v8i32.v8p0(<8 x i32>, <8 x ptr>, i32, <8 x i1>)
define void @f(ptr %values, ptr %addresses, i32 %bits) {{
  %v = load <8 x i32>, ptr %values
  %at = load <8 x ptr>, ptr %addresses
  %b = trunc i32 %bits to i8
  %m = bitcast i8 %b to <8 x i1>
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %v, <8 x ptr> %at, i32 4, <8 x i1> %m)
  %w = add <8 x i32> %v, splat (i32 1)
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %w, <8 x ptr> %at, i32 4, <8 x i1> {})
  ret void
}})",
                     mask);
}

class LaneBranches : public testing::Test {
 protected:
  /// @returns how many calls are left, of which scatters are the only ones
  unsigned make(const std::string& mask) {
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = parsed(scattering(mask), *context);
    branch_per_lane(*module);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
    unsigned scatters = 0;
    variables_ = 0;
    for (llvm::Instruction& i : llvm::instructions(*module->getFunction("f"))) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
      scatters += call != nullptr && call->getCalledFunction()->getName().contains("scatter");
      variables_ += llvm::isa<llvm::AllocaInst>(i);
    }
    jit_ = compiled(std::move(module), std::move(context));
    return scatters;
  }

  /// What f writes, where all was 0. @param places  of the lanes
  std::array<int, kPlaces> run(unsigned bits, const std::array<unsigned, kScattered>& places) {
    alignas(64) std::array<int, kScattered> values;
    alignas(64) std::array<int*, kScattered> addresses;
    std::array<int, kPlaces> memory{};
    for (unsigned lane = 0; lane < kScattered; ++lane) {
      values[lane] = static_cast<int>(10 * (lane + 1));
      addresses[lane] = (bits >> lane & 1) != 0 ? &memory[places[lane]] : nullptr;  // others are nobody's
    }
    llvm::cantFail(jit_->lookup("f"))
        .toPtr<void(const int*, int* const*, unsigned)>()(values.data(), addresses.data(), bits);
    return memory;
  }

  /// Lane by lane, as the host would.
  static std::array<int, kPlaces> expected(unsigned bits, const std::array<unsigned, kScattered>& places,
                                           int more) {
    std::array<int, kPlaces> memory{};
    for (unsigned lane = 0; lane < kScattered; ++lane)
      if ((bits >> lane & 1) != 0) memory[places[lane]] = static_cast<int>(10 * (lane + 1)) + more;
    return memory;
  }

  unsigned variables_ = 0;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

TEST_F(LaneBranches, TheLanesOfEachMaskStoreInTheirOrder) {
  EXPECT_EQ(make("%m"), 0u);
  for (unsigned bits = 0; bits < 1u << kScattered; ++bits)
    for (const std::array<unsigned, kScattered>& places :
         {std::array<unsigned, kScattered>{3, 14, 1, 5, 9, 2, 6, 11}, {7, 7, 7, 3, 3, 7, 0, 0}})
      ASSERT_EQ(run(bits, places), expected(bits, places, 1)) << bits;
}

TEST_F(LaneBranches, ScattersShareTheirVariables) {
  make("%m");
  EXPECT_EQ(variables_, 2u) << "values and addresses";
}

TEST_F(LaneBranches, OfAKnownMaskLLVMMakesStores) {
  EXPECT_EQ(make("<i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>"), 1u);
  EXPECT_EQ(run(0x35, {0, 1, 2, 3, 4, 5, 6, 7}), expected(0x35, {0, 1, 2, 3, 4, 5, 6, 7}, 0));
}

}  // namespace
}  // namespace raddle::jit
