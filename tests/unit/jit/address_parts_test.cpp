// What an address must not be folded into: more than an instruction of the host adds up
// (src/jit/baseline/address_parts.h).
#include <fmt/format.h>

#include "baseline_fixture.h"

namespace raddle::jit {
namespace {

class BaselineAddresses : public Baseline {};

const std::string kStart = "  %n = and i64 %a, 7\n  %i = ptrtoint ptr %in to i64\n";
const std::string kRead = "  %r = load i32, ptr %p, align 1";

// The distance leads away from the buffer by a difference, which no address takes, and back by a sum.
TEST_F(BaselineAddresses, DistancesFitAnInstruction) {
  expect_instruction("i64", "i32",
                     kStart +
                         "  %k = sub i64 %i, 4000000000\n  %x = add i64 %k, %n\n  %y = add i64 %x, "
                         "4000000000\n  %p = inttoptr i64 %y to ptr\n" +
                         kRead,
                     "MOV32rm", "IMUL");
}

TEST_F(BaselineAddresses, ManyScaledDistancesFitAnInstruction) {
  constexpr int kSteps = 20, kFar = (1 << 24) - 1;
  std::string text = kStart + fmt::format("  %x0 = sub i64 %n, {}\n", kSteps * kFar);
  for (int k = 0; k < kSteps; ++k) text += fmt::format("  %x{} = add i64 %x{}, {}\n", k + 1, k, kFar);
  expect_instruction("i64", "i32",
                     text + fmt::format("  %p = getelementptr i64, ptr %in, i64 %x{}\n", kSteps) + kRead,
                     "MOV32rm", "IMUL");
}

TEST_F(BaselineAddresses, NothingIsScaledTwice) {
  expect_instruction(
      "i64", "i32",
      kStart + "  %m = and i64 %n, 3\n  %s = shl i64 %m, 2\n  %p = getelementptr i32, ptr %in, i64 %s\n" +
          kRead,
      "SHL64", "IMUL");
}

// Read from the block's end, the sum comes first here.
TEST_F(BaselineAddresses, AShiftThatIsAnAddressByItselfBeforeItIsAPart) {
  expect_instruction("i64", "i32",
                     kStart +
                         "  %s = shl i64 %n, 2\n  %q = inttoptr i64 %s to ptr\n  call void "
                         "@llvm.prefetch.p0(ptr %q, i32 0, i32 3, i32 1)\n  %x = add i64 %i, %s\n  %p = "
                         "inttoptr i64 %x to ptr\n" +
                         kRead,
                     "SHL64", "IMUL");
}

}  // namespace
}  // namespace raddle::jit
